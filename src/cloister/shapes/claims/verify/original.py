"""Compare a release of claims with its original.

Every label is recoded again, every released claim is looked for among those of the original, and pseudonyms are
compared with the ids that they stand for.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from cloister.io import as_text
from cloister.io.columns import as_numbers, pack_text
from cloister.results import Checks
from cloister.shapes.claims.format.data import Claims
from cloister.shapes.claims.format.hierarchies import hierarchy_named, relabel
from cloister.shapes.claims.format.plan import HMAC
from cloister.shapes.claims.format.released_columns import (
    CLAIMS,
    FLAG,
    KEPT,
    NUMBER,
    PATIENTS,
    PSEUDONYM,
    QUASI,
    TABLES,
    TRUNCATED,
    ClaimsForm,
    WrittenClaims,
)

from .simulation import History, Numbers

ROW = "\0row"
"""The same in all rows, so that files without other columns keep their rows."""

RELEASED_ID, ID, ROWS, KEY = "\0number", "\0id", "\0rows", "\0key"
PATIENT, _PLACE, _NTH = "\0patient", "\0place", "\0nth"

Pair = tuple[pl.DataFrame, pl.DataFrame]
"""Released rows with their keys and numbers, and rows of the original with theirs and ids."""

ROWS_AT_ONCE = 1_000_000
"""Claims, released and original ones, that are compared together."""

AT_ONCE = 4_000_000
"""Pairs of a number and an id that are compared together: where many rows look alike, each number could have many."""


class PreparedOriginal(NamedTuple):
    """The custodian's data: patients and claims after steps 1 to 6, as frames.

    ``origin``, (n_released,): the row of each released patient, -1 of one whom the plan omits; None without a
    crosswalk.
    """

    data: Claims
    origin: Numbers | None


@dataclass(frozen=True, eq=False, repr=False)
class Truth:
    """The claims of all patients of the original, unchanged and at the levels of the release.

    ``patients``, (n_released,): the row of each released one.
    """

    n_patients: int
    patients: Numbers
    base: History
    recoded: History


def compare(checks: Checks, files: WrittenClaims, form: ClaimsForm, original: PreparedOriginal) -> Truth | None:
    """Recode the original, and look up every released row in it; None if the matching of patients is not known."""
    data, origin = original
    patients, claims = recode_file(data, form, PATIENTS), recode_file(data, form, CLAIMS)
    has_levels = patients is not None and claims is not None
    checks.require(has_levels, "levels are those of the hierarchies of the plan")
    if patients is None or claims is None:
        return None
    if not _patients_hold(checks, files, form, original, patients) or origin is None:
        return None
    (ids_of_patients, ids_of_claims), numbers = (_ids(one, form) for one in (data, files))
    files = WrittenClaims(*(files.of(table).with_columns(*own) for table, own in zip(TABLES, numbers, strict=True)))
    claims_with_ids = claims.hstack(ids_of_claims.select(pl.all().name.prefix(ID)))
    rows = ClaimRows.of(files, form, claims_with_ids, data.owners, origin)
    of_patients = "every released claim is one of the patient's, as recoded again, suppressed cells aside"
    checks.require(all(some.are_own() for some in rows.by_patients()), of_patients)
    here, there = (np.bincount(frame[PATIENT].to_numpy(), minlength=origin.size) for frame in (rows.here, rows.there))
    is_missing, is_flagged = here < there, files.patients[TRUNCATED].to_numpy() == "1"
    as_flagged = bool(np.all(is_missing == is_flagged) and np.all(here <= there))
    checks.require(as_flagged, f"claims are missing of all patients with {TRUNCATED}, and of no others")
    if any(form.names(table, PSEUDONYM) for table in (PATIENTS, CLAIMS)):
        for_one = "each pseudonym belongs to one original id, and no two to the same"
        checks.require(_pseudonyms_hold(files, form, ids_of_patients, rows, origin), for_one)
    base, recoded = ([pack_text(frame[name]) for name in form.names(CLAIMS, QUASI)] for frame in (data.claims, claims))
    return Truth(data.n_patients, origin, History(data.owners, base), History(data.owners, recoded))


def _patients_hold(
    checks: Checks, files: WrittenClaims, form: ClaimsForm, original: PreparedOriginal, patients: pl.DataFrame
) -> bool:
    """Whether it is known which patient of the original, as recoded again, each released one is."""
    (data, origin), ids, names = original, files.patients.to_series(0), patients.columns
    released = files.patients.with_columns(pl.lit("").alias(ROW)).select(names)
    # the ids of the original are keyed hashes, too, after step 1, if the plan asks for that
    hashes = data.patients[form.names(PATIENTS)[0]] if data.plan.ids.patients.startswith(HMAC) else None
    if form.ids != NUMBER:
        is_hashed = hashes is not None and ids.is_in(hashes.implode()).all()
        checks.require(is_hashed, "ids are the keyed hashes of ids of the original")
    if origin is None:
        there = patients.group_by(names).len(ROWS)
        counts = released.group_by(names).len(_NTH).join(there, on=names, how="left", nulls_equal=True)
        fits = (counts[_NTH] <= counts[ROWS].fill_null(0)).all()
        checks.require(fits, "every released patient is one of the original, as recoded again (without crosswalk)")
        return False
    if not checks.require((origin >= 0).all(), "no released patient is excluded by the plan"):
        return False
    is_known = origin.size == released.height and np.unique(origin).size == origin.size
    if not checks.require(is_known, "every released patient is another one of the original"):
        return False
    checks.require(released.equals(patients[origin]), "patients are those of the original, as recoded again")
    if hashes is not None:
        checks.require(ids.equals(hashes.gather(pl.Series(origin))), "every patient has the hash of the own id")
    return True


def recode_file(data: Claims, form: ClaimsForm, table: str) -> pl.DataFrame | None:
    """The columns of a file at their levels; None where one is not there, or its highest level is another."""
    frame, qi = data.of(table), data.plan.of(table).qi
    if not {*form.names(table, QUASI, KEPT, PSEUDONYM)} <= {*frame.columns}:
        return None
    columns, held = [pl.Series(ROW, [""]).new_from_index(0, frame.height)], as_text if table == PATIENTS else pack_text
    for name in form.names(table, QUASI, KEPT):
        text, column = held(frame[name]), form.of(table)[name]
        if column.role == QUASI:
            if name not in qi or column.level is None:
                return None
            hierarchy = hierarchy_named(qi[name], data.plan.grouping.tables)
            if column.top != hierarchy.bind(name, text.drop_nulls().unique().sort().to_list()).n_levels - 1:
                return None
            text = relabel(text, hierarchy, column.level)
        columns.append(held(text).alias(name))
    return pl.DataFrame(columns)


def select_quasi_identifiers(patients: pl.DataFrame, form: ClaimsForm) -> pl.DataFrame:
    """Return the quasi-identifiers of patients as text, and a column that is the same in all rows."""
    own = [as_text(patients[name]) for name in form.names(PATIENTS, QUASI)]
    return pl.DataFrame([pl.Series(ROW, [""]).new_from_index(0, patients.height), *own])


def _ids(data: Claims | WrittenClaims, form: ClaimsForm) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The columns of pseudonyms of both files, with numbers in place of ids, the same for the same id."""
    names = [form.names(table, PSEUDONYM) for table in TABLES]
    numbers = as_numbers([data.of(table)[name] for table, own in zip(TABLES, names, strict=True) for name in own])
    return pl.DataFrame(numbers[: len(names[0])]), pl.DataFrame(numbers[len(names[0]) :])


def _pseudonyms_hold(
    files: WrittenClaims, form: ClaimsForm, patients: pl.DataFrame, rows: "ClaimRows", origin: Numbers
) -> bool:
    """Whether the pseudonyms of each group of columns keep the company of the original ids."""
    groups: dict[str, Pseudonyms] = defaultdict(Pseudonyms)
    keys = pl.Series(KEY, range(files.patients.height), dtype=pl.UInt32)
    for name in form.names(PATIENTS, PSEUDONYM):
        own = patients[name].gather(pl.Series(origin))
        pair = pl.DataFrame([keys, files.patients[name].alias(RELEASED_ID)]), pl.DataFrame([keys, own.alias(ID)])
        groups[str(form.patients[name].numbered_with)].add(*pair)
    names = form.names(CLAIMS, PSEUDONYM)
    # several numbers of a claim stand for ids of one claim
    wanted = [*([name] for name in names), *([names] if len(names) > 1 else [])]
    for pairs in rows.pseudonyms(wanted):
        for some, pair in zip(wanted, pairs, strict=True):
            groups["\0together" if len(some) > 1 else str(form.claims[some[0]].numbered_with)].add(*pair)
    return all(group.holds() for group in groups.values())


class Pseudonyms:
    """The original ids that released numbers can denote, one to one.

    A released row can be any row of the original with the same key: the patient and what is released of the row. Each
    number must have one id that all of its rows can have, each so often as the number; two numbers never have the same.
    """

    def __init__(self) -> None:
        self._is_lost = False
        self._able = pl.DataFrame()
        self._n_groups: dict[str, int] = defaultdict(int)

    def add(self, own: pl.DataFrame, other: pl.DataFrame) -> None:
        """Look at released rows with the columns key and number, and at the original's with key and id."""
        groups, ids = own.group_by(KEY, RELEASED_ID).len("often"), other.group_by(KEY, ID).len("there")
        # rows without a number are rows without an id
        empty = groups.filter(pl.col(RELEASED_ID).is_null()).join(ids.filter(pl.col(ID).is_null()), on=KEY, how="left")
        self._is_lost |= not (empty["often"] <= empty["there"]).fill_null(False).all()
        groups, ids = groups.drop_nulls(RELEASED_ID), ids.drop_nulls(ID)
        sizes = groups.group_by(KEY).len().join(ids.group_by(KEY).len("there"), on=KEY)
        # parts by key, so that rows that look alike stay together, and few pairs are there at once
        n_parts = 1 + int(sizes.select((pl.col("len").cast(pl.Int64) * pl.col("there")).sum()).item()) // AT_ONCE
        for part in range(n_parts):
            some = [frame.filter(pl.col(KEY).hash(0) % n_parts == part) for frame in (groups, ids)]
            fits = some[0].join(some[1], on=KEY, how="inner").filter(pl.col("often") <= pl.col("there"))
            fits = fits.group_by(RELEASED_ID, ID).len(ROWS)
            both = pl.concat([self._able, fits]) if self._able.width else fits
            self._able = both.group_by(RELEASED_ID, ID).agg(pl.col(ROWS).sum())
        for number, n_groups in groups.group_by(RELEASED_ID).len().rows():
            self._n_groups[number] += n_groups

    def holds(self) -> bool:
        """Return whether each number can have its own id."""
        if self._is_lost or not self._n_groups:
            return not self._is_lost
        # an edge where all rows of a number can have an id
        able = [(number, original) for number, original, rows in self._able.rows() if rows == self._n_groups[number]]
        sides = map(set, zip(*able, strict=True))
        places = [{name: place for place, name in enumerate(sorted(side))} for side in sides]
        edges = np.array([(places[0][one], places[1][two]) for one, two in able], dtype=np.int64).reshape(-1, 2)
        return _n_matched(edges[:, 0], edges[:, 1]) == len(self._n_groups)


def _n_matched(ones: Numbers, others: Numbers) -> int:
    """How many things at most can be paired with another each, no other twice, by pairs of their numbers from 0 on."""
    if not ones.size:
        return 0
    graph = csr_array((np.ones(ones.size, dtype=np.int8), (ones, others)))
    return int((maximum_bipartite_matching(graph, perm_type="column") >= 0).sum())


@dataclass(frozen=True, eq=False, repr=False)
class ClaimRows:
    """The claims of the released patients.

    Texts are numbers, the same in both frames: tens of millions of cells are compared for each pattern of suppression.

    here : released claims, one row each, with the flags of suppressed cells
    there : the original's claims of these patients at the levels of the release, with the ids that pseudonyms stand for
    """

    form: ClaimsForm
    n_patients: int
    here: pl.DataFrame
    there: pl.DataFrame

    @staticmethod
    def of(
        files: WrittenClaims, form: ClaimsForm, claims: pl.DataFrame, owners: Numbers, origin: Numbers
    ) -> "ClaimRows":
        """Take the claims of released patients, from all claims of the original at the levels of the release.

        owners : (n_claims,) row of the patient of each
        origin : (n_released,) row of each released patient in the original
        """
        number = np.full(max(owners.max(initial=-1), origin.max(initial=-1)) + 1, -1, dtype=np.int64)
        number[origin] = np.arange(origin.size)
        is_released = number[owners] >= 0
        here = files.claims.drop(form.names(CLAIMS)[0]).with_columns(pl.Series(PATIENT, files.owners, pl.UInt32))
        there = claims.filter(is_released).with_columns(pl.Series(PATIENT, number[owners[is_released]], pl.UInt32))
        for name in form.names(CLAIMS, QUASI, KEPT):
            here, there = map(pl.DataFrame.with_columns, (here, there), as_numbers([here[name], there[name]]))
        return ClaimRows(form, origin.size, here, there)

    def by_patients(self) -> Iterator["ClaimRows"]:
        """Yield the claims of some patients at a time, to limit memory."""
        both = [np.bincount(frame[PATIENT].to_numpy(), minlength=self.n_patients) for frame in (self.here, self.there)]
        part = np.cumsum(both[0] + both[1]) // ROWS_AT_ONCE
        for first, last in pairwise([0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), self.n_patients]):
            mine = pl.col(PATIENT).is_between(first, last, closed="left")
            yield replace(self, here=self.here.filter(mine), there=self.there.filter(mine))

    def are_own(self) -> bool:
        """Return whether every released claim can correspond to a different claim of its patient."""
        flags, by = self.form.names(CLAIMS, FLAG), [PATIENT, *self.form.names(CLAIMS, QUASI, KEPT)]
        is_whole = pl.all_horizontal(pl.lit(True), *(pl.col(flag) == "0" for flag in flags))
        whole = self.here.filter(is_whole).group_by(by).len(ROWS)
        left = self.there.with_columns(pl.int_range(pl.len()).over(by).alias(_NTH))
        left = left.join(whole, on=by, how="left", nulls_equal=True).with_columns(pl.col(ROWS).fill_null(0))
        if left.filter(pl.col(_NTH) < pl.col(ROWS)).height != whole[ROWS].sum():
            return False
        # whole claims that look alike stand for each other, so that those with suppressed cells may have any left over
        others = left.filter(pl.col(_NTH) >= pl.col(ROWS))
        pairs = list(self._alike([_PLACE], [_PLACE], self.here.filter(~is_whole), others))
        wanted = sum(own.height for own, _ in pairs)
        if not wanted:
            return True
        edges = [own.join(other, on=KEY, suffix="_there").drop(KEY) for own, other in pairs]
        rows, theirs = (column.rank("dense").to_numpy().astype(np.int64) - 1 for column in pl.concat(edges))
        return _n_matched(rows, theirs) == wanted

    def pseudonyms(self, wanted: Sequence[Sequence[str]]) -> Iterator[list[Pair]]:
        """Rows of some patients that can be each other, with the numbers and ids of columns, together if several."""
        names = sorted({name for some in wanted for name in some})
        ids = [f"{ID}{name}" for name in names]
        for one in self.by_patients() if names else ():
            # all patterns together: there may be hundreds, with few rows each
            patterns = list(zip(*one._alike(names, ids, one.here, one.there), strict=True))
            if patterns:
                own, other = (pl.concat(side) for side in patterns)
                yield [
                    (_together(own, some, RELEASED_ID), _together(other, [f"{ID}{name}" for name in some], ID))
                    for some in wanted
                ]

    def _alike(
        self, released: Sequence[str], ids: Sequence[str], here: pl.DataFrame, there: pl.DataFrame
    ) -> Iterator[Pair]:
        """Released claims by which of their cells are suppressed, and claims that look alike; with these columns."""
        quasi, kept = self.form.names(CLAIMS, QUASI), self.form.names(CLAIMS, KEPT)
        here, there = here.with_row_index(_PLACE), there.with_row_index(_PLACE)
        patterns = here.partition_by(self.form.names(CLAIMS, FLAG), as_dict=True, maintain_order=True)
        n_keys = 0
        for pattern, some in patterns.items():
            by = [PATIENT, *(name for name, flag in zip(quasi, pattern, strict=True) if flag == "0"), *kept]
            # a suppressed cell may stand for any value, so it is no part of the key
            kinds = some.select(by).unique().with_row_index(KEY, offset=n_keys)
            n_keys += kinds.height
            theirs = there.filter(pl.col(PATIENT).is_in(some[PATIENT].unique().implode())).select(*by, *ids)
            yield (
                some.select(*by, *released).join(kinds, on=by, nulls_equal=True).select(KEY, *released),
                theirs.join(kinds, on=by, nulls_equal=True).select(KEY, *ids),
            )


def _together(frame: pl.DataFrame, names: Sequence[str], name: str) -> pl.DataFrame:
    if len(names) == 1:
        return frame.select(KEY, pl.col(names[0]).alias(name))
    return frame.select(KEY, pl.struct(names).struct.json_encode().alias(name))
