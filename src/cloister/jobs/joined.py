"""A table with the codes of another source as one more column, so that both are protected together."""

from dataclasses import replace
from itertools import pairwise

import polars as pl

from cloister.codesets.data import CodeSets
from cloister.errors import InputError
from cloister.io import Source, as_text


def with_codes(table: Source, identifier: str | None, codes: CodeSets, name: str, file: str) -> Source:
    """Return a table with a column of codes, separated by spaces; empty for patients without codes.

    Parameters
    ----------
    identifier : column of the table that tells patients apart
    codes : of another file, with the ids of the patients
    name : of the new column
    file : that the codes came from, for messages

    Raises
    ------
    InputError
        There is nothing to join by, or codes of patients who are not in the table.
    """
    if identifier is None or codes.ids is None:
        lacking = table.name if identifier is None else file
        raise InputError(f"Codes are joined to a table by the ids of patients, but {lacking} has none. Name its id.")
    if identifier not in table.frame.columns:
        raise InputError(f"The id column {identifier!r} is not in {table.name}.", file=table.name, column=identifier)
    if name in table.frame.columns:
        raise InputError(
            f"{table.name} has a column {name!r}, and there is a source of that name. Rename one of them.",
            file=table.name,
            column=name,
        )
    ids = as_text(table.frame[identifier])
    own = as_text(codes.ids)
    strangers = int((~own.is_in(ids.drop_nulls().unique().implode())).sum())
    if strangers:
        raise InputError(
            f"{strangers:,} of {len(own):,} patients of {file} are not in {table.name}. Leave them out, or add them.",
            file=file,
        )
    cells = pl.DataFrame({"id": own, name: texts_of(codes)})
    joined = pl.DataFrame({"id": ids}).join(cells, on="id", how="left", maintain_order="left")
    return replace(table, frame=table.frame.with_columns(joined[name]))


def texts_of(codes: CodeSets) -> pl.Series:
    """Return the codes of each patient, separated by spaces."""
    vocabulary, starts = codes.vocabulary, codes.offsets.tolist()
    items = codes.items.tolist()
    rows = (items[start:end] for start, end in pairwise(starts))
    return pl.Series("codes", [" ".join(vocabulary[item] for item in row) for row in rows], dtype=pl.String)
