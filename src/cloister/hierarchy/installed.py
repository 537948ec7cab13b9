"""Hierarchy builders of other packages, by entry points of the group ``cloister.hierarchies``.

The object of an entry point takes the words after the colon of ``--qi COLUMN=NAME:WORDS`` and returns a function from a
value to its labels, from fine to coarse and without ``*``; None for a value that is not covered. A package is loaded
when a setting names its builder, never because a manifest does: for a release it is a hierarchy file, which whoever
compares with the original gives again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import ClassVar

from cloister.errors import InputError
from cloister.hierarchy.bound import ROOT, BuiltHierarchy, Hierarchy, Levels, of_values_present

GROUP = "cloister.hierarchies"
Labels = Callable[[str], Sequence[str] | None]


@dataclass(frozen=True)
class InstalledHierarchy(BuiltHierarchy[tuple[str, ...]]):
    """The levels that another package gives; their domain is the distinct values present."""

    kind: ClassVar[str] = "file"

    spec: str
    package: str
    labels: Labels = field(repr=False)

    def _read(self, text: str) -> tuple[str, ...] | None:
        try:
            found = self.labels(text)
            read = None if found is None else tuple(found)
        except Exception as error:  # its message may quote the value
            raise self._fault(f"raised {type(error).__name__} for a value") from None
        if read is not None and not all(isinstance(label, str) and label not in ("", ROOT) for label in read):
            raise self._fault("gave a label that is no text, is empty or is *")
        return read

    def _refusal(self, texts: Sequence[str]) -> tuple[str, str]:  # noqa: ARG002 - of the base class
        return f"are not covered by {self.spec} of the package {self.package}", "Correct the values."

    def _levels(self, texts: Sequence[str], read: Sequence[tuple[str, ...]]) -> Levels:
        depths = {len(labels) for labels in read}
        if len(depths) > 1:
            raise self._fault(f"gave from {min(depths)} to {max(depths)} labels for a value, not always as many")
        for level in range(1, max(depths, default=0)):
            pairs = {(labels[level - 1], labels[level]) for labels in read}
            if len(pairs) > len({low for low, _ in pairs}):
                raise self._fault(f"put values with one label of level {level} under several of level {level + 1}")
        return of_values_present([*zip(*read, strict=True)], len(texts))

    def _fault(self, what: str) -> InputError:
        return InputError(f"The hierarchy {self.spec} of the package {self.package} {what}. Report it to its authors.")


def load_installed(spec: str) -> Hierarchy | None:
    """Return the hierarchy of another package that these words name; None if no package has the builder."""
    name, _, words = spec.partition(":")
    found = [*entry_points(group=GROUP, name=name)]
    if not found:
        return None
    packages = sorted({"unknown" if one.dist is None else one.dist.name for one in found})
    if len(found) > 1:
        raise InputError(f"Several packages have a hierarchy {name}: {', '.join(packages)}. Uninstall all but one.")
    if "/" in spec:
        raise InputError(f"The words of {name}, a hierarchy of the package {packages[0]}, must be without /.")
    try:
        labels: Labels = found[0].load()(words)
    except Exception as error:  # whatever another package raises
        problem = f"{type(error).__name__}: {str(error)[:200]}".removesuffix(": ")
        raise InputError(f"The hierarchy {name} of the package {packages[0]} cannot be made ({problem}).") from None
    return InstalledHierarchy(spec, packages[0], labels)


def list_installed() -> list[str]:
    """Return the names of the builders of other packages, none of which is loaded."""
    return sorted({one.name for one in entry_points(group=GROUP)})
