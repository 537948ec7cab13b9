"""The promises of released claims that both files show, checked without SQL, by Polars."""

import itertools
import re

import numpy as np
import polars as pl

from cloister.io.columns import as_numbers, as_text, map_categories
from cloister.shapes.claims.format.group_tables import coarser_groups
from cloister.shapes.claims.format.hierarchies import OF_NUMBERS, TOP_CODED, hierarchies
from cloister.shapes.claims.format.released_columns import (
    CLAIMS,
    FLAG,
    KEPT,
    NUMBER,
    PATIENTS,
    PSEUDONYM,
    QUASI,
    SUPPRESSED,
    TABLES,
)

PLACE = "\0place"


def broken(files, promise):
    """The promises that both files break; what follows from others is not asked where these are broken."""
    form = promise.form
    for table in TABLES:
        if files.of(table).columns != form.names(table):
            return ["columns"]
    found = [promise for promise, holds in _form(files, form) if not holds]
    if found:
        return found
    return [
        promise for promise, holds in (*_order(files, form), *_labels(files, form, promise.plan.risk.k)) if not holds
    ]


def _form(files, form):
    for table in TABLES:
        frame = files.of(table)
        flags = [frame[name].is_in(["0", "1"]).fill_null(False).all() for name in form.names(table, FLAG)]
        yield "flags", all(flags)
        tops = [name for name, one in form.of(table).items() if one.role == QUASI and one.level == one.top]
        whole = [frame[name].drop_nulls().n_unique() <= 1 for name in tops if form.of(table)[name].hierarchy != "file"]
        yield "one label", all(whole)
        yield "labels", all(_labels_fit(column, frame[name]) for name, column in form.of(table).items())
    hidden = [
        files.claims[name].is_null() | (files.claims[f"{SUPPRESSED}{name}"] == "0")
        for name in form.names(CLAIMS, QUASI)
    ]
    yield "suppressed cells", all(column.all() for column in hidden)
    yield "patients", files.patients.height > 0
    ids, owners = files.patients.to_series(0), files.claims.to_series(0)
    if form.ids == NUMBER:
        yield "ids", (ids == pl.Series(range(1, ids.len() + 1)).cast(pl.String)).fill_null(False).all()
    else:
        yield "ids", ids.str.contains(r"^[0-9a-f]{64}$").fill_null(False).all() and ids.n_unique() == ids.len()
    yield "owners", map_categories(owners, lambda texts: texts.is_in(ids.implode())).fill_null(False).all()


def _labels_fit(column, released):
    """Whether every label is one of the level; true where unknown."""
    known = hierarchies({})
    if column.role != QUASI or column.hierarchy not in known:
        return True
    hierarchy = known[column.hierarchy]()
    texts = released.drop_nulls().unique().to_list()
    if column.level == len(hierarchy.levels) + 1:
        return all(text == "*" for text in texts)
    if hierarchy in OF_NUMBERS:
        return all(_is_of_level(text, hierarchy, column.level) for text in texts)
    if column.level == len(hierarchy.levels):  # above the groups, whose labels are known whatever the groups are
        return {*texts} <= {*coarser_groups().values(), "other"}
    return True


def _is_of_level(text, hierarchy, level):
    """Whether one of the numbers that a label can begin with has this label."""
    if level == 0:
        return hierarchy.numbers.covers(text)
    if TOP_CODED.fullmatch(text):
        return True
    first = re.search(r"[0-9]{1,9}", text)
    number = int(first[0]) if first else 0
    # bands of days, of weeks and of months of 30 days, some without their first number
    begins = (number, 7 * number, 7 * number + 1, 30 * number)
    return any(hierarchy.levels[level - 1](str(begin)) == text for begin in begins)


def _order(files, form):
    """Whether rows are sorted by what they hold, pseudonyms left out, which are numbered by their first appearance."""
    rows = files.claims.select(form.names(CLAIMS, QUASI, KEPT, FLAG))
    kinds = rows.unique().sort(rows.columns, nulls_last=False).with_row_index(PLACE)
    places = rows.join(kinds, on=rows.columns, how="left", nulls_equal=True, maintain_order="left")[PLACE].to_numpy()
    yield "order of claims", (np.diff(files.owners * (kinds.height + 1) + places) >= 0).all()
    # of each patient the places of the claims, as bytes that sort as they do
    text = places.astype(">u4").tobytes()
    ends = [0, *(4 * np.cumsum(np.bincount(files.owners, minlength=files.patients.height))).tolist()]
    own = files.patients.select(form.names(PATIENTS, QUASI, KEPT, FLAG)).rows()
    # hashes tell patients apart who are alike in all else; numbers say nothing
    last = [""] * len(own) if form.ids == NUMBER else files.patients.to_series(0).to_list()
    keys = [
        (tuple((cell is not None, (cell or "").encode()) for cell in row), text[begin:end], name)
        for row, (begin, end), name in zip(own, itertools.pairwise(ends), last, strict=True)
    ]
    yield "order of patients", all(one <= two for one, two in itertools.pairwise(keys))
    groups = {}
    for table in TABLES:
        for name, column in form.of(table).items():
            if column.role == PSEUDONYM:
                groups.setdefault(column.numbered_with, []).append(as_text(files.of(table)[name]).alias("id"))
    for series in groups.values():
        met = pl.concat(series).drop_nulls().unique(maintain_order=True)
        yield "pseudonyms", met.to_list() == [str(number) for number in range(1, met.len() + 1)]


def _labels(files, form, k):
    """Whether each label of a quasi-identifier is that of k patients or more; a missing value is no label."""
    n, fewest = files.patients.height, []
    for table, owners in ((PATIENTS, pl.Series(range(n))), (CLAIMS, pl.Series(files.owners))):
        for name in form.names(table, QUASI):
            (labels,) = as_numbers([files.of(table)[name]])
            held = (labels.cast(pl.Int64) * n + owners).drop_nulls().unique() // n
            fewest.append(min(held.value_counts(name=PLACE)[PLACE].to_list(), default=k))
    yield "k patients of each label", all(own >= k for own in fewest)
