"""Released claims looked for among those of the original, and pseudonyms beside the ids that they stand for."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from .data_file import CLAIMS, FLAG, KEPT, QUASI, ClaimsForm, WrittenClaims

Numbers = NDArray[np.int64]

SHOWN, ID, ROWS, KEY = "\0number", "\0id", "\0rows", "\0key"

Pair = tuple[pl.DataFrame, pl.DataFrame]
"""Released rows with their keys and numbers, and rows of the original with theirs and ids."""

AT_ONCE = 4_000_000
"""Pairs of a number and an id that are compared together: where many rows look alike, each number could have many."""

PATIENT = "\0patient"
"""Number of the released patient, from 0."""

_ROW, _NTH = "\0place", "\0nth"
_NTH_IS_LEFT = pl.col(_NTH) >= pl.col("taken")


def n_matched(ones: Numbers, others: Numbers) -> int:
    """Return how many things at most can be paired with another each, no other twice.

    Parameters
    ----------
    ones, others : (n_pairs,) numbers of things, from 0 on, that can be paired
    """
    if not ones.size:
        return 0
    graph = csr_array((np.ones(ones.size, dtype=np.int8), (ones, others)))
    return int((maximum_bipartite_matching(graph, perm_type="column") >= 0).sum())


def keep_company(pairs: Iterable[Pair]) -> bool:
    """Whether released numbers can stand for original ids, one for one.

    A released row can be any row of the original with the same key: the patient and what is shown of the row. Each
    number must have one id that all of its rows can have, each so often as the number; two numbers never have the same.

    Parameters
    ----------
    pairs : released rows with the columns key and number, and the original's rows with key and id; one pair for each
        way of showing rows
    """
    frames: list[pl.DataFrame] = []
    counts: dict[str, int] = defaultdict(int)
    for own, other in pairs:
        if own[SHOWN].null_count() and not _missing_fit(own, other):
            return False
        groups = own.drop_nulls(SHOWN).group_by(KEY, SHOWN).len("often")
        ids = other.drop_nulls(ID).group_by(KEY, ID).len("there")
        n_parts = 1 + _n_pairs(groups, ids) // AT_ONCE
        for part in range(n_parts):
            some = [frame.filter(pl.col(KEY).hash(0) % n_parts == part) for frame in (groups, ids)]
            frames = [_added_up([*frames, _fitting(*some)])]
        for number, n_groups in groups.group_by(SHOWN).len().rows():
            counts[number] += n_groups
    if not counts:
        return True
    found = _added_up(frames)
    able: dict[str, set[str]] = {number: set() for number in counts}
    for number, original, rows in found.rows():
        if rows == counts[number]:
            able[number].add(original)
    return _are_apart(able)


def _n_pairs(groups: pl.DataFrame, ids: pl.DataFrame) -> int:
    """How many numbers stand beside an id with the same key."""
    sizes = groups.group_by(KEY).len().join(ids.group_by(KEY).len("there"), on=KEY)
    return int(sizes.select((pl.col("len").cast(pl.Int64) * pl.col("there")).sum()).item())


def _fitting(groups: pl.DataFrame, ids: pl.DataFrame) -> pl.DataFrame:
    """In how many groups of rows each number can have each id."""
    fits = groups.join(ids, on=KEY, how="inner").filter(pl.col("often") <= pl.col("there"))
    return fits.group_by(SHOWN, ID).len(ROWS)


def _added_up(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(frames).group_by(SHOWN, ID).agg(pl.col(ROWS).sum())


def _missing_fit(own: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Rows without a number are rows without an id."""
    here = own.filter(pl.col(SHOWN).is_null()).group_by(KEY).len("often")
    there = other.filter(pl.col(ID).is_null()).group_by(KEY).len("there")
    fits = here.join(there, on=KEY, how="left").select((pl.col("often") <= pl.col("there")).fill_null(False).all())
    return bool(fits.item())


def _are_apart(able: Mapping[str, set[str]]) -> bool:
    """Whether each number can have an id of its own."""
    places = {original: place for place, original in enumerate(sorted(set().union(*able.values())))}
    edges = [(row, places[original]) for row, ids in enumerate(able.values()) for original in ids]
    numbers, ids_of = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    return n_matched(numbers, ids_of) == len(able)


@dataclass(frozen=True, eq=False, repr=False)
class ClaimRows:
    """Claims of the released patients, as released and as recoded again.

    Attributes
    ----------
    form : what the columns are
    n_patients : released
    here : released claims, one row each, with the flags of suppressed cells
    there : the original's claims of these patients at the levels of the release, with the ids that pseudonyms stand for

    Notes
    -----
    Texts are numbers here, the same in both frames: tens of millions of cells are compared once for each way of
    suppressing cells.
    """

    form: ClaimsForm
    n_patients: int
    here: pl.DataFrame
    there: pl.DataFrame

    @staticmethod
    def of(
        files: WrittenClaims, form: ClaimsForm, claims: pl.DataFrame, owners: Numbers, origin: Numbers
    ) -> "ClaimRows":
        """Take the claims of released patients.

        Parameters
        ----------
        claims : of the original, at the levels of the release
        owners : (n_claims,) row of the patient of each
        origin : (n_released,) row of each released patient in the original
        """
        number = np.full(max(owners.max(initial=-1), origin.max(initial=-1)) + 1, -1, dtype=np.int64)
        number[origin] = np.arange(origin.size)
        is_of_released = number[owners] >= 0
        here = files.claims.drop(form.names(CLAIMS)[0]).with_columns(pl.Series(PATIENT, files.owners, pl.UInt32))
        there = claims.filter(is_of_released).with_columns(
            pl.Series(PATIENT, number[owners[is_of_released]], pl.UInt32)
        )
        for name in form.names(CLAIMS, QUASI, KEPT):
            one, other = _numbered(here[name], there[name])
            here, there = here.with_columns(one), there.with_columns(other)
        return ClaimRows(form, origin.size, here, there)

    def are_own(self) -> bool:
        """Whether every released claim can stand for a claim of the patient, and no two of them for the same one."""
        flags, by = self.form.names(CLAIMS, FLAG), [PATIENT, *self.form.names(CLAIMS, QUASI, KEPT)]
        is_whole = pl.all_horizontal(pl.lit(True), *(pl.col(flag) == "0" for flag in flags))
        whole = self.here.filter(is_whole).group_by(by).len("taken")
        left = self.there.with_columns(pl.int_range(pl.len()).over(by).alias(_NTH))
        left = left.join(whole, on=by, how="left", nulls_equal=True).with_columns(pl.col("taken").fill_null(0))
        if left.filter(pl.col(_NTH) < pl.col("taken")).height != whole["taken"].sum():
            return False
        # whole claims that look alike stand for each other, so that those with suppressed cells may have any left over
        return _can_be(list(self._alike([_ROW], [_ROW], self.here.filter(~is_whole), left.filter(_NTH_IS_LEFT))))

    def miss_as_flagged(self, is_flagged: NDArray[np.bool_]) -> bool:
        """Whether flagged patients have fewer claims than in the original, and all others as many."""
        here, there = (
            np.bincount(frame[PATIENT].to_numpy(), minlength=self.n_patients) for frame in (self.here, self.there)
        )
        return bool(np.all((here < there) == is_flagged) and np.all(here <= there))

    def pseudonyms(self, names: Sequence[str]) -> Iterator[Pair]:
        """Rows that can be each other, with the numbers and the ids of some columns, together if they are several."""
        ids = [f"{ID}{name}" for name in names]
        for own, other in self._alike(names, ids, self.here, self.there):
            yield _together(own, names, SHOWN), _together(other, ids, ID)

    def _alike(
        self, shown: Sequence[str], ids: Sequence[str], here: pl.DataFrame, there: pl.DataFrame
    ) -> Iterator[Pair]:
        """Released claims by which of their cells are suppressed, and claims that look alike; with these columns."""
        quasi, kept = self.form.names(CLAIMS, QUASI), self.form.names(CLAIMS, KEPT)
        here, there = here.with_row_index(_ROW), there.with_row_index(_ROW)
        for pattern, some in here.partition_by(
            self.form.names(CLAIMS, FLAG), as_dict=True, maintain_order=True
        ).items():
            by = [PATIENT, *(name for name, flag in zip(quasi, pattern, strict=True) if flag == "0"), *kept]
            kinds = some.select(by).unique().with_row_index(KEY)
            yield (
                some.select(*by, *shown).join(kinds, on=by, nulls_equal=True).select(KEY, *shown),
                there.select(*by, *ids).join(kinds, on=by, nulls_equal=True).select(KEY, *ids),
            )


def _can_be(pairs: Sequence[Pair]) -> bool:
    """Whether each released row can have a row of the original of its own, among those that it looks like."""
    edges = [own.join(other, on=KEY, suffix="_there").select(_ROW, f"{_ROW}_there") for own, other in pairs]
    wanted = sum(own.height for own, _ in pairs)
    if not wanted:
        return True
    both = pl.concat(edges)
    rows, others = (column.rank("dense").to_numpy().astype(np.int64) - 1 for column in both.get_columns())
    return n_matched(rows, others) == wanted


def _together(frame: pl.DataFrame, names: Sequence[str], name: str) -> pl.DataFrame:
    if len(names) == 1:
        return frame.rename({names[0]: name})
    return frame.select(KEY, pl.struct(names).struct.json_encode().alias(name))


def _numbered(one: pl.Series, other: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Texts of two columns as numbers, the same for the same; missing stays missing."""
    texts = pl.Enum(pl.concat([one, other]).drop_nulls().unique())
    return one.cast(texts).to_physical(), other.cast(texts).to_physical()
