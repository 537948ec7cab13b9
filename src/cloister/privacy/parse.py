"""Rules from words: those of the command line, ``MODEL=VALUES`` or ``MODEL:NAME=VALUES``, and those of a manifest."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from cloister.errors import InputError, did_you_mean

from .class_size import SIGNIFICANCE, AverageRisk, DeltaPresence, KAnonymity, KMap, KPatients
from .l_diversity import AlphaKAnonymity, EntropyLDiversity, LDiversity, RecursiveLDiversity
from .likeness import BetaLikeness, DeltaDisclosure, EnhancedBetaLikeness
from .rule import PrivacyRule
from .t_closeness import TCloseness
from .uniqueness import PopulationUniqueness, SampleUniqueness

WHOLE = re.compile(r"[0-9]{1,100}")
"""Python itself refuses to read numbers of some thousand digits."""

REAL = re.compile(r"-?([0-9]{1,100}(\.[0-9]{0,100})?|\.[0-9]{1,100})(e[+-]?[0-9]{1,3})?", re.IGNORECASE)
BUILDER = re.compile(r"[a-z0-9]+(:[^/\\]*)?(/[a-z]+=[+-]?[0-9]+)*")
"""A hierarchy in words, as against the path of a file."""

CLOSENESS = re.compile(rf"(?P<column>.+?)=\s*(?P<t>{REAL.pattern})\s*(,(?P<distance>.*))?", re.DOTALL | re.IGNORECASE)
"""A hierarchy may hold equal signs, as bounds do: the first one that a number follows, and no more, ends the column."""

LONGEST_SHOWN = 100
"""A longer word is a mistake that need not be repeated in a message."""


@dataclass(frozen=True)
class Form:
    """How one rule is written."""

    usage: str
    make: Callable[[str, list[str]], PrivacyRule]
    is_named: bool = True


class _NotWritten(Exception):
    """A text is not of the form of its rule."""


def parse_rule(text: str) -> PrivacyRule:
    """Return the rule that ``text`` names, as ``k-anonymity=5`` or ``l-diversity:diagnosis=2``.

    The name ends at the last equal sign, so names of columns may hold colons, commas and equal signs (for t-closeness:
    at the first one that a number follows, since hierarchies may hold equal signs too). A population or
    hierarchy is not read here: the rule holds where to find it as ``source``, to be replaced by `with_population` or
    `with_hierarchy`.

    Examples
    --------
    >>> parse_rule("recursive-l-diversity:diagnosis=3,2")
    RecursiveLDiversity(c=3.0, l=2, column='diagnosis')
    """
    model = re.split("[:=]", text, maxsplit=1)[0]
    form = FORMS.get(model.strip())
    if form is None:
        model = model.strip()
        hint = did_you_mean(model[:LONGEST_SHOWN], FORMS)
        asked = f"The rule {model!r}" if len(model) <= LONGEST_SHOWN else "The rule asked for"
        raise InputError(f"{asked} is not known.{hint} Rules of this version: {', '.join(FORMS)}.")
    rest = text[len(model) :]
    try:
        if form.is_named != rest.startswith(":"):
            raise _NotWritten
        name, _, values = rest.removeprefix(":").rpartition("=")
        if form.is_named != bool(name):
            raise _NotWritten
        return form.make(name, values.split(","))
    except _NotWritten:
        raise InputError(f"The rule {model.strip()} is written as in {form.usage}.") from None


def _whole(text: str) -> int:
    if not WHOLE.fullmatch(text.strip()):
        raise _NotWritten
    return int(text)


def _real(text: str) -> float:
    if not REAL.fullmatch(text.strip()):
        raise _NotWritten
    return float(text)


def _one(values: list[str]) -> str:
    (value,) = _several(values, 1)
    return value


def _several(values: list[str], n_values: int) -> list[str]:
    if len(values) != n_values:
        raise _NotWritten
    return values


def _numbers(
    kind: Callable[..., PrivacyRule], *read: Callable[[str], float]
) -> Callable[[str, list[str]], PrivacyRule]:
    """Return what makes a rule of so many numbers, each read in its way, and of the column if it has one."""

    def make(name: str, values: list[str]) -> PrivacyRule:
        numbers = [one(text) for one, text in zip(read, _several(values, len(read)), strict=True)]
        return kind(*numbers, *([name] if name else []))

    return make


def _k_map(name: str, values: list[str]) -> PrivacyRule:
    if not WHOLE.fullmatch(name):
        return KMap(_whole(_one(values)), name=PurePath(name).name, source=name)
    significance = _real(values.pop()) if len(values) == 2 else SIGNIFICANCE
    return KMap(_whole(_one(values)), size=int(name), significance=significance)


def _presence(name: str, values: list[str]) -> PrivacyRule:
    lower, upper = _several(values, 2)
    return DeltaPresence(_real(lower), _real(upper), name=PurePath(name).name, source=name)


def _population_uniqueness(name: str, values: list[str]) -> PrivacyRule:
    estimator = values.pop().strip() if len(values) == 2 else "dankar"
    return PopulationUniqueness(_real(_one(values)), _whole(name), estimator)


def _closeness(text: str) -> PrivacyRule:
    """The column ends before the first equal sign that a number and a comma, or a number alone, follows."""
    match = CLOSENESS.fullmatch(text)
    if match is None:
        raise _NotWritten
    column, t, distance = match["column"], _real(match["t"]), match["distance"]
    if distance in (None, "equal", "ordered"):
        return TCloseness(t, column, distance or "equal")
    if distance in ("", "hierarchical"):
        raise _NotWritten
    spec = distance if BUILDER.fullmatch(distance) else PurePath(distance).name
    return TCloseness(t, column, "hierarchical", spec=spec, source=distance)


FORMS: dict[str, Form] = {
    KAnonymity.model: Form("k-anonymity=5", _numbers(KAnonymity, _whole), is_named=False),
    KPatients.model: Form("k-patients:patient_id=5", _numbers(KPatients, _whole)),
    KMap.model: Form("k-map:census.csv=5 or, for a population of a million, k-map:1000000=5", _k_map),
    LDiversity.model: Form("l-diversity:diagnosis=2", _numbers(LDiversity, _whole)),
    EntropyLDiversity.model: Form("entropy-l-diversity:diagnosis=2.5", _numbers(EntropyLDiversity, _real)),
    RecursiveLDiversity.model: Form(
        "recursive-l-diversity:diagnosis=3,2 (c, l)", _numbers(RecursiveLDiversity, _real, _whole)
    ),
    TCloseness.model: Form(
        "t-closeness:diagnosis=0.2, t-closeness:age=0.2,ordered or t-closeness:diagnosis=0.2,icd9",
        lambda name, values: _closeness(f"{name}={','.join(values)}"),
    ),
    DeltaPresence.model: Form("delta-presence:census.csv=0,0.5 (lower, upper)", _presence),
    AlphaKAnonymity.model: Form(
        "alpha-k-anonymity:diagnosis=0.5,5 (alpha, k)", _numbers(AlphaKAnonymity, _real, _whole)
    ),
    BetaLikeness.model: Form("beta-likeness:diagnosis=1", _numbers(BetaLikeness, _real)),
    EnhancedBetaLikeness.model: Form("enhanced-beta-likeness:diagnosis=1", _numbers(EnhancedBetaLikeness, _real)),
    DeltaDisclosure.model: Form("delta-disclosure:diagnosis=1", _numbers(DeltaDisclosure, _real)),
    AverageRisk.model: Form("average-risk=0.1", _numbers(AverageRisk, _real), is_named=False),
    SampleUniqueness.model: Form("sample-uniqueness=0.01", _numbers(SampleUniqueness, _real), is_named=False),
    PopulationUniqueness.model: Form(
        "population-uniqueness:1000000=0.01 or population-uniqueness:1000000=0.01,zayatz", _population_uniqueness
    ),
}
"""How each rule is written, by its model."""


Description = Mapping[str, Any]


def rule_of(description: object) -> PrivacyRule:
    """Return the rule whose ``describe()`` is ``description``.

    A population or hierarchy is known by its name only: the rule describes itself, and can be given the thing by
    `with_population` or `with_hierarchy`, but cannot be checked before.

    Raises
    ------
    ValueError, TypeError, KeyError : No rule describes itself so.

    Examples
    --------
    >>> rule_of({"model": "k-anonymity", "k": 5})
    KAnonymity(k=5)
    """
    if not isinstance(description, Mapping):
        raise TypeError("a rule is stated as an object")
    model = description["model"]
    if not isinstance(model, str) or model not in MAKERS:
        raise ValueError("the model is not known")
    rule = MAKERS[model](description)
    if rule.describe() != dict(description):
        raise ValueError("the rule is stated with more or other keys than it has")
    return rule


def _published_k_map(description: Description) -> PrivacyRule:
    if "population" in description:
        return KMap(description["k"], name=_text(description["population"]))
    size = description["population_size"]
    if size is None or ("class_size" in description and description["class_size"] is None):
        raise ValueError("a number is missing")
    return KMap(
        description["k"], size=size, significance=description["significance"], least=description.get("class_size")
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a name is a text")
    return value


def _published_numbers(kind: Callable[..., PrivacyRule]) -> Callable[[Description], PrivacyRule]:
    """What makes a rule that is told by its fields."""
    return lambda description: kind(**{name: value for name, value in description.items() if name != "model"})


NUMBERED: tuple[type[PrivacyRule], ...] = (
    *(
        KAnonymity,
        KPatients,
        AverageRisk,
        SampleUniqueness,
        LDiversity,
        EntropyLDiversity,
        RecursiveLDiversity,
        AlphaKAnonymity,
    ),
    *(BetaLikeness, EnhancedBetaLikeness, DeltaDisclosure),
)

MAKERS: dict[str, Callable[[Description], PrivacyRule]] = {
    **{kind.model: _published_numbers(kind) for kind in NUMBERED},
    KMap.model: _published_k_map,
    TCloseness.model: lambda description: TCloseness(
        description["t"],
        description["column"],
        description["distance"],
        spec=_text(description["hierarchy"]) if "hierarchy" in description else None,
    ),
    DeltaPresence.model: lambda description: DeltaPresence(
        description["lower"], description["upper"], name=_text(description["population"])
    ),
    PopulationUniqueness.model: lambda description: PopulationUniqueness(
        description["share"], description["population_size"], description["estimator"]
    ),
}
"""What makes each rule from what a manifest states, by its model."""
