"""The input of trajectories: events with their source, and auxiliary attributes of patients."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Unpack

import numpy as np

from cloister.errors import InputError, setting
from cloister.io import EventColumns, EventSource, Query, read_table
from cloister.io.attributes import AttributesTable, join_attributes, ranks
from cloister.io.columns import list_columns
from cloister.settings.reading import HowRead
from cloister.sources import read_code_events

from .data import Attributes, Trajectories, TrajectoriesRequest, Unknown, encode
from .domain import OTHER_CODES, describe_unknown_codes

GWAS_SETS = 18  # Sets of the policy ``gwas``, whatever the data


def is_made_of_data(policy: str) -> bool:
    """Return whether the words of a policy make its sets from the codes of the data, rare codes among them."""
    return policy.startswith(("level:", "sim:", "sup:"))


@dataclass(frozen=True)
class GivenTrajectories:
    """Trajectories with their source."""

    trajectories: Trajectories
    attributes: AttributesTable | None = None
    name: str = "trajectories"
    columns: EventColumns = EventColumns()  # noqa: RUF009  (frozen)
    not_released: tuple[str, ...] = ()
    delimiter: str = ","
    format: Literal["csv", "parquet"] = "csv"
    notes: tuple[str, ...] = ()
    source: EventSource | None = field(default=None, repr=False)


def read_given(
    path: str | Path | Query,
    columns: EventColumns,
    attributes: str | Path | None = None,
    *,
    usual_delimiter: str | None = None,
    **how: Unpack[HowRead],
) -> GivenTrajectories:
    """Read trajectories with their source."""
    source = read_code_events(path, columns=columns, usual_delimiter=usual_delimiter, **how)
    trajectories, table = encode(source), None
    if attributes is not None:
        read = read_table(attributes, usual_delimiter=source.delimiter or ",", **how | {"delimiter": None})
        table = join_attributes(read.frame, trajectories.ids, read.name, source.columns.id, source.name)
    kept = source.name, source.columns, source.not_released, source.delimiter or ",", source.format, source.notes
    return GivenTrajectories(trajectories, table, *kept, source)


def check_known(given: GivenTrajectories, request: TrajectoriesRequest) -> None:
    """Reject codes that are not in the hierarchy, with the line of the first, unless such codes are allowed."""
    vocabulary, hierarchy = given.trajectories.vocabulary, request.code_hierarchy
    outside = hierarchy.outside(vocabulary) if request.on_unknown_code is Unknown.ERROR else []
    if outside and given.source is not None:
        wrong, count = given.source.codes.is_in(outside), (len(outside), len(vocabulary))
        given.source.refuse(wrong, describe_unknown_codes(hierarchy), OTHER_CODES, given.columns.code, count)


def check_trajectories(trajectories: Trajectories) -> Trajectories:
    """Return trajectories after checking that they can be used."""
    if not isinstance(trajectories, Trajectories):
        raise InputError("Trajectories are needed, as Trajectories.read or Trajectories.from_records return them.")
    if not trajectories.n_patients:
        raise InputError("There are no patients, so there is nothing to release.")
    return trajectories


def attributes_of(table: AttributesTable | None, n_patients: int, sensitive: str | None) -> Attributes:
    """Return the auxiliary columns as the methods see them."""
    if table is None:
        if sensitive is not None:
            raise InputError(
                f"The sensitive column {sensitive!r} is looked for in an attributes file. Give one with ",
                setting("attributes"),
            )
        return Attributes(np.zeros(n_patients, dtype=np.int64))
    if sensitive is not None and sensitive not in table.frame.columns:
        raise InputError(
            f"{table.name} has no column {sensitive!r} to be sensitive. Its columns: "
            f"{list_columns(table.frame.columns)}.",
            file=table.name,
            column=sensitive,
        )
    rank = ranks(table.frame)
    if sensitive is None:
        return Attributes(rank)
    values = table.frame[sensitive].rank("dense").fill_null(0).to_numpy().astype(np.int64) - 1
    return Attributes(rank, values.astype(np.int32))
