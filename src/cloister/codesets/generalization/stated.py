"""What the manifest of a release of generalized code sets states, as far as its verification needs it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cloister.release_folder import stated
from cloister.results import Manifest

from .data import Method, TermLoss, Uncovered
from .manifest import FREQUENT


@dataclass(frozen=True)
class Stated:
    """Settings and promises of a manifest.

    Attributes
    ----------
    method, k, m, privacy, policy, uncovered, code_hierarchy, repeats : settings
    numbered : whether records have ids
    codes, suppressed : how many codes there are said to be, and of how many something is suppressed
    """

    method: Method
    k: int
    m: int | None
    privacy: str
    policy: str | None
    uncovered: Uncovered | None
    code_hierarchy: str
    repeats: bool
    numbered: bool
    codes: int
    suppressed: int

    @property
    def by_sets(self) -> bool:
        """Whether terms keep to the sets of the utility policy."""
        return self.method is not Method.APRIORI

    @property
    def uncovered_together(self) -> bool:
        """Whether codes of no set may share a term."""
        return self.uncovered is not Uncovered.SUPPRESS

    @property
    def is_frequent(self) -> bool:
        """Whether the sets of the utility policy were chosen because they are frequent."""
        return self.policy is not None and self.policy.startswith(FREQUENT)


def read_stated(manifest: Manifest) -> Stated:
    """Return what a manifest states.

    Raises
    ------
    InputError
        It lacks something, or has something else in its place.
    """
    return stated(lambda: _read(manifest), "a release of generalized code sets")


def _read(manifest: Manifest) -> Stated:
    settings, method = manifest["settings"], Method(manifest["method"])
    by_sets = method is not Method.APRIORI
    m = settings["m"]
    if not isinstance(manifest["columns"], dict):
        raise TypeError("columns are not by name")
    if by_sets:
        TermLoss(settings["loss"])
    elif settings["loss"] is not None or settings["uncovered"] is not None:
        raise ValueError("a setting that the method does not have")
    return Stated(
        method=method,
        k=_whole(settings["k"], 1),
        m=None if m is None else _whole(m, 1),
        privacy=_text(settings["privacy"]),
        policy=None if settings["policy"] is None else _text(settings["policy"]),
        uncovered=Uncovered(settings["uncovered"]) if by_sets else None,
        code_hierarchy=_text(settings["code_hierarchy"]),
        repeats=_one_of(settings["repeats"], (True, False)),
        numbered=_one_of(settings["ids"], ("number", "drop")) == "number",
        codes=_whole(manifest["utility"]["codes"], 1),
        suppressed=_whole(manifest["utility"]["suppressed_codes"], 0),
    )


def _whole(value: Any, least: int) -> int:
    if type(value) is not int or value < least:
        raise ValueError("not a number as it must be")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _one_of(value: Any, known: Sequence[Any]) -> Any:
    if not any(type(value) is type(each) and value == each for each in known):
        raise ValueError("not a word that is known")
    return value
