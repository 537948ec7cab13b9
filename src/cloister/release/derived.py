"""The parts of a release that follow from its files: manifest sections, codebook and report counts.

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
    """The parts that follow from released files and from the statements of their maker; everyone derives the same."""

    @abstractmethod
    def parts(self) -> Mapping[Place, Part]:
        """Return the derived parts of the manifest, by their place."""

    @abstractmethod
    def codebook(self) -> pl.DataFrame:
        """Return the rows of ``codebook.csv``."""

    @abstractmethod
    def report_counts(self) -> ReportCounts:
        """Return the counts from which the report's figures are computed."""

    def tables(self) -> Mapping[str, pl.DataFrame]:
        """Return the released tables in memory, by file name without its ending."""
        return {}

    def add_to(self, stated: Manifest) -> Manifest:
        """Return the manifest: the statements of the maker, with the derived parts in their places."""
        manifest: Manifest = copy.deepcopy(stated)
        for place, part in self.parts().items():
            inside = manifest
            for name in place[:-1]:
                inside = inside.setdefault(name, {})
            inside[place[-1]] = publish_part(part)
        return manifest

    def differing(self, manifest: Manifest) -> list[str]:
        """Return the places at which a manifest differs from the derived parts, in content or in order."""
        parts = {place: publish_part(part) for place, part in self.parts().items()}
        return [
            ".".join(place) for place, part in parts.items() if json.dumps(_at(manifest, place)) != json.dumps(part)
        ]


def publish_part(part: Part) -> object:
    """Return a part of a manifest in its JSON form."""
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
