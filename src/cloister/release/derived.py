"""What follows from the files of a release: parts of its manifest, its codebook, and what its report counts.

A release is written as what its maker states and what follows from its files. Anyone who verifies it derives the same
again, by the same functions, and compares.
"""

import copy
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import polars as pl

from cloister.release.figures import ReportCounts
from cloister.release.head import Section
from cloister.results import Manifest

Place: TypeAlias = tuple[str, ...]
"""Where something is in a manifest, as in ``("risk", "highest")``."""

Part: TypeAlias = "Section | Sequence[Section | str] | Mapping[str, int | str] | str | int | float | None"
"""What a manifest says at a place; all of it follows."""


class Derived(ABC):
    """What follows from released files and from what their maker states of them; the same wherever it is derived."""

    @abstractmethod
    def parts(self) -> Mapping[Place, Part]:
        """Return the parts of the manifest that follow, by their place."""

    @abstractmethod
    def codebook(self) -> pl.DataFrame:
        """Return what ``codebook.csv`` lists."""

    @abstractmethod
    def report_counts(self) -> ReportCounts:
        """Return what the figures of the report are made of."""

    def tables(self) -> Mapping[str, pl.DataFrame]:
        """Return the released tables that are at hand, by the names of their files without endings."""
        return {}

    def add_to(self, stated: Manifest) -> Manifest:
        """Return what the maker of a release states, with the parts that follow in their places."""
        manifest: Manifest = copy.deepcopy(stated)
        for place, part in self.parts().items():
            inside = manifest
            for name in place[:-1]:
                inside = inside.setdefault(name, {})
            inside[place[-1]] = publish_part(part)
        return manifest

    def differing(self, manifest: Manifest) -> list[str]:
        """Return the places of a manifest that say something else than what follows, or in another order."""
        parts = {place: publish_part(part) for place, part in self.parts().items()}
        return [
            ".".join(place) for place, part in parts.items() if json.dumps(_at(manifest, place)) != json.dumps(part)
        ]


def publish_part(part: Part) -> object:
    """Return a part of a manifest as JSON has it."""
    if isinstance(part, Section):
        return part.as_json()
    if isinstance(part, Sequence) and not isinstance(part, str):
        return [one if isinstance(one, str) else one.as_json() for one in part]
    return dict(part) if isinstance(part, Mapping) else part


def _at(manifest: Manifest, place: Place) -> object:
    found: object = manifest
    for name in place:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found
