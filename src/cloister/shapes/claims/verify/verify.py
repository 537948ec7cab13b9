"""Whether a release of claims keeps its promise, recomputed from what is written.

Shares no code with what protects: form, labels and order are recomputed with Polars, and the adversary is simulated
again with NumPy (`verify_simulation`). The files alone show their form, and the risk where values are drawn from the
released claims. The risk against the original claims, from which values were drawn before truncation and suppression,
takes the original (`verify_original`).
"""

import itertools
import math
import re

import numpy as np
import polars as pl

from cloister.io.columns import as_numbers, as_text, of_each
from cloister.results import Checks, Verdict
from cloister.shapes.claims.format.data import years_of
from cloister.shapes.claims.format.group_tables import coarser_groups
from cloister.shapes.claims.format.hierarchies import OF_NUMBERS, TOP_CODED, NamedHierarchy, hierarchies
from cloister.shapes.claims.format.manifest import ClaimsPromise
from cloister.shapes.claims.format.plan import ClaimsPlan
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
    ClaimsForm,
    ReleasedColumn,
    WrittenClaims,
)

from .original import PreparedOriginal, compare
from .risk import original_holds, risk_holds, seed_of

HOW = "form recounted with Polars, risk simulated again with other random numbers, independently of the search"
PLACE = "\0place"


def verify(files: WrittenClaims, promise: ClaimsPromise, original: PreparedOriginal | None = None) -> Verdict:
    """Return the verdict on what stands in the files, also against the original."""
    checks = Checks()
    if _form_holds(checks, files, promise.form):
        _order_holds(checks, files, promise.form)
        _labels_hold(checks, files, promise.form, promise.k)
        truth = None if original is None else compare(checks, files, promise.form, original)
        if original is not None and truth is not None and promise.percentile is not None:
            _truncation_holds(checks, files, original, promise.percentile, promise.plan)
        seed = seed_of(files)
        risk_holds(checks, files, promise, seed)
        if truth is not None:
            original_holds(checks, files, promise, seed, truth)
    return checks.verdict(HOW)


def _form_holds(checks: Checks, files: WrittenClaims, form: ClaimsForm) -> bool:
    for table in TABLES:
        frame = files.of(table)
        if not checks.require(frame.columns == form.names(table), f"the columns of {table} are those declared"):
            return False
        flags = [frame[name].is_in(["0", "1"]).fill_null(False).all() for name in form.names(table, FLAG)]
        checks.require(all(flags), f"flags of {table} are 0 or 1")
        tops = [name for name, one in form.of(table).items() if one.role == QUASI and one.level == one.top]
        whole = [frame[name].drop_nulls().n_unique() <= 1 for name in tops if form.of(table)[name].hierarchy != "file"]
        checks.require(all(whole), f"a column of {table} at its highest level has one label")
        are_of_level = [_labels_fit(column, frame[name]) for name, column in form.of(table).items()]
        checks.require(all(are_of_level), f"labels of {table} are those of the levels declared")
    hidden = [
        files.claims[name].is_null() | (files.claims[f"{SUPPRESSED}{name}"] == "0")
        for name in form.names(CLAIMS, QUASI)
    ]
    checks.require(all(column.all() for column in hidden), "cells whose flags say that they were suppressed are empty")
    if not checks.require(files.patients.height > 0, "there are patients"):
        return False
    ids, owners = files.patients.to_series(0), files.claims.to_series(0)
    if form.ids == NUMBER:
        numbers = pl.Series(range(1, ids.len() + 1)).cast(pl.String)
        is_right = checks.require((ids == numbers).fill_null(False).all(), "ids are numbers in released order")
    else:
        is_hash = ids.str.contains(r"^[0-9a-f]{64}$").fill_null(False).all() and ids.n_unique() == ids.len()
        hashed = "ids are keyed hashes of 64 hexadecimal digits, another one for each patient"
        is_right = checks.require(is_hash, hashed)
    belongs = of_each(owners, lambda texts: texts.is_in(ids.implode())).fill_null(False).all()
    return checks.require(belongs, "every claim is that of a patient of the release") and is_right


def _labels_fit(column: ReleasedColumn, released: pl.Series) -> bool:
    """Whether the highest level is that of the hierarchy, and every label one of the level; true where unknown."""
    known = hierarchies({})
    if column.role != QUASI or column.hierarchy not in known or column.level is None:
        return True
    hierarchy = known[column.hierarchy]()
    if not isinstance(hierarchy, NamedHierarchy) or column.top != len(hierarchy.levels) + 1:
        return False
    texts = released.drop_nulls().unique().to_list()
    if column.level == column.top:
        return all(text == "*" for text in texts)
    if hierarchy in OF_NUMBERS:
        return all(_is_of_level(text, hierarchy, column.level) for text in texts)
    if column.level == len(hierarchy.levels):  # above the groups, whose labels are known whatever the groups are
        return {*texts} <= {*coarser_groups().values(), "other"}
    return True


def _is_of_level(text: str, hierarchy: NamedHierarchy, level: int) -> bool:
    """Whether one of the numbers that a label can begin with has this label."""
    if level == 0:
        return hierarchy.accepts(text)
    if TOP_CODED.fullmatch(text):
        return True
    first = re.search(r"[0-9]{1,9}", text)
    number = int(first[0]) if first else 0
    # bands of days, of weeks and of months of 30 days, some without their first number
    begins = (number, 7 * number, 7 * number + 1, 30 * number)
    return any(hierarchy.levels[level - 1](str(begin)) == text for begin in begins)


def _order_holds(checks: Checks, files: WrittenClaims, form: ClaimsForm) -> None:
    """Rows are sorted by what they hold, pseudonyms left out, which are numbered by their first appearance."""
    rows = files.claims.select(form.names(CLAIMS, QUASI, KEPT, FLAG))
    # the place of each claim among all kinds of claims, of which there are fewer to be sorted
    kinds = rows.unique().sort(rows.columns, nulls_last=False).with_row_index(PLACE)
    places = rows.join(kinds, on=rows.columns, how="left", nulls_equal=True, maintain_order="left")[PLACE].to_numpy()
    is_sorted = (np.diff(files.owners * (kinds.height + 1) + places) >= 0).all()
    checks.require(bool(is_sorted), "claims are sorted by patient and then by their released values")
    # of each patient the places of the claims, as bytes that sort as they do
    text = places.astype(">u4").tobytes()
    ends = [0, *(4 * np.cumsum(np.bincount(files.owners, minlength=files.patients.height))).tolist()]
    own = files.patients.select(form.names(PATIENTS, QUASI, KEPT, FLAG)).rows()
    # hashes tell patients apart who are alike in all else; numbers say nothing
    last, by_id = [""] * len(own), ""
    if form.ids != NUMBER:
        last, by_id = files.patients.to_series(0).to_list(), ", and by their ids where these are alike"
    keys = [
        (tuple((cell is not None, (cell or "").encode()) for cell in row), text[begin:end], name)
        for row, (begin, end), name in zip(own, itertools.pairwise(ends), last, strict=True)
    ]
    are_sorted = all(one <= two for one, two in itertools.pairwise(keys))
    checks.require(are_sorted, f"patients are sorted by their released values and then by their claims{by_id}")
    groups: dict[str, list[pl.Series]] = {}
    for table in TABLES:
        for name, column in form.of(table).items():
            if column.role == PSEUDONYM:
                groups.setdefault(str(column.numbered_with), []).append(as_text(files.of(table)[name]).alias("id"))
    for group, series in groups.items():
        met = pl.concat(series).drop_nulls().unique(maintain_order=True)
        right = met.to_list() == [str(number) for number in range(1, met.len() + 1)]
        checks.require(right, f"pseudonyms ({group}) are numbered by their first appearance")


def _labels_hold(checks: Checks, files: WrittenClaims, form: ClaimsForm, k: int) -> None:
    """Look for labels of quasi-identifiers that fewer than k patients have; a missing value is no label."""
    n, fewest = files.patients.height, []
    for table, owners in ((PATIENTS, pl.Series(range(n))), (CLAIMS, pl.Series(files.owners))):
        for name in form.names(table, QUASI):
            (labels,) = as_numbers([files.of(table)[name]])
            held = (labels.cast(pl.Int64) * n + owners).drop_nulls().unique() // n
            fewest.append(min(held.value_counts(name=PLACE)[PLACE].to_list(), default=k))
    checks.require(all(own >= k for own in fewest), f"each label of a quasi-identifier is that of {k} patients or more")


def _truncation_holds(
    checks: Checks, files: WrittenClaims, original: PreparedOriginal, percentile: float, plan: ClaimsPlan
) -> None:
    """Look for the claims that the percentile leaves of every released patient, suppressed claims aside.

    By nearest rank over those who have claims: El Emam et al. (2012), JMIR 14(1):e33, appendix, section 1.
    """
    (data, origin), owners = original, original.data.owners
    by_year, loses_more = plan.truncation.per == "patient-year", plan.suppression.treatment == "claims"
    if by_year and data.plan.claims.column("date") is None:
        checks.require(False, "claims have years to be cut by")
        return
    columns = [pl.Series("owner", owners), *([years_of(data).alias("year")] if by_year else [])]
    groups = pl.DataFrame(columns).group_by(pl.all()).len()
    counts = groups["len"].cast(pl.Int64).to_numpy()
    if percentile < 100 and counts.size:
        rank = max(1, math.ceil(round(percentile * counts.size / 100, 9)))
        counts = np.minimum(counts, np.sort(counts)[rank - 1])
    left = np.bincount(groups["owner"], weights=counts, minlength=data.n_patients).astype(np.int64)[origin]
    released = np.bincount(files.owners, minlength=files.patients.height)
    # suppression takes whole claims by one treatment only: then fewer may be left, by the others none may be missing
    right = released <= left if loses_more else released == left
    each = "patient and year" if by_year else "patient"
    cut = f"as many claims of each {each} as the {percentile:g}th percentile is, or fewer where there are"
    had = "all of their claims" if percentile >= 100 else cut
    more = ", or fewer by suppression" if loses_more else ""
    checks.require(bool(right.all()), f"released patients have {had}{more}")
