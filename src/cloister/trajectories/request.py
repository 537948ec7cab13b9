"""What is asked about: trajectories with where they came from and what rides along; settings beside the method's."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from cloister.errors import InputError
from cloister.hierarchy import Hierarchy
from cloister.io import EventColumns, EventSource, Query
from cloister.sources import read_code_events

from .data import Trajectories
from .domain import Unknown, unknown_codes
from .encode import encode
from .side import SideTable, read_side

WORKLOAD = re.compile(r"frequent:([0-9]{1,3}(?:\.[0-9]{1,9})?)")
"""How a workload is written."""

GWAS_SETS = 18
"""Sets of the policy ``gwas``, whatever the data."""


def is_made_of_data(policy: str) -> bool:
    """Whether the words for a policy are of one whose sets are made of the codes of the data, rare ones among them."""
    return policy.startswith(("level:", "sim:", "sup:"))


@dataclass(frozen=True)
class GivenTrajectories:
    """Trajectories as they were given.

    Attributes
    ----------
    source : the events as read, to name the line of one; None where there is no file
    """

    trajectories: Trajectories
    side: SideTable | None = None
    name: str = "trajectories"
    columns: EventColumns = EventColumns()  # noqa: RUF009  (frozen)
    not_released: tuple[str, ...] = ()
    delimiter: str = ","
    format: Literal["csv", "parquet"] = "csv"
    notes: tuple[str, ...] = ()
    source: EventSource | None = field(default=None, repr=False)


@dataclass(frozen=True)
class ReleaseSettings:
    """What is asked of a release besides what is asked of the method.

    Attributes
    ----------
    workload : which pairs and sets of pairs are asked for, such as ``frequent:1``: those that at least so many percent
        of the patients have; None: none
    policy : where the sets of codes came from that must not be generalized with others
    """

    unknown: Unknown = Unknown.ERROR
    workload: str | None = None
    policy: str | None = None

    def __post_init__(self) -> None:
        if self.workload is not None:
            percent_of(self.workload)


def percent_of(workload: str) -> float:
    """Return the percentage that a workload names."""
    found = WORKLOAD.fullmatch(workload)
    percent = float(found[1]) if found else 0.0
    if not 0 < percent <= 100:
        raise InputError(
            "A workload is written as frequent:1: pairs of code and age, and sets of them, that at least 1 percent of "
            "the patients have."
        )
    return percent


def read_given(
    path: str | Path | Query,
    columns: EventColumns,
    side: str | Path | None = None,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    missing: Sequence[str] = (),
    usual_delimiter: str | None = None,
) -> GivenTrajectories:
    """Read trajectories with where they came from."""
    source = read_code_events(
        path,
        columns=columns,
        encoding=encoding,
        delimiter=delimiter,
        missing=missing,
        usual_delimiter=usual_delimiter,
    )
    given = GivenTrajectories(
        trajectories=Trajectories.of(encode(source)),
        name=source.name,
        columns=source.columns,
        not_released=source.not_released,
        delimiter=source.delimiter or ",",
        format=source.format,
        notes=source.notes,
        source=source,
    )
    return given if side is None else _with_side(given, side, encoding, missing)


def _with_side(
    given: GivenTrajectories, path: str | Path, encoding: str | None, missing: Sequence[str]
) -> GivenTrajectories:
    ids = given.trajectories.ids
    if ids is None:
        raise InputError("Side columns are joined by id, but the trajectories have none.")
    table = read_side(
        path,
        ids,
        id=given.columns.id,
        events=given.name,
        encoding=encoding,
        missing=missing,
        usual_delimiter=given.delimiter,
    )
    return replace(given, side=table)


def check_known(given: GivenTrajectories, hierarchy: Hierarchy, unknown: Unknown) -> None:
    """Refuse codes that the hierarchy does not have, and name the first line that has one; not where they may be so."""
    vocabulary = given.trajectories.vocabulary
    outside = hierarchy.outside(vocabulary) if unknown is Unknown.ERROR else []
    if outside and given.source is not None:
        lines = given.source.codes.is_in(outside).arg_true()
        message = unknown_codes(len(outside), len(vocabulary), hierarchy)
        raise given.source.refusal(
            message.replace(". Correct", f" ({given.name}, {{place}} is the first). Correct", 1),
            int(lines[0]) + 1,
            given.columns.code,
        )


def check_trajectories(trajectories: Trajectories) -> Trajectories:
    """Return trajectories if they can be used."""
    if not isinstance(trajectories, Trajectories):
        raise InputError("Trajectories are needed, as Trajectories.read or Trajectories.from_records return them.")
    if not trajectories.n_patients:
        raise InputError("There are no patients, so there is nothing to release.")
    return trajectories
