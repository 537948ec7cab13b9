"""Complete tables drawn inside the labels of a release: multiple imputation by chained trees.

Each cell of a quasi-identifier with several admitted values (`cloister.recipients.admitted`) is drawn among them. A
first draw ignores the other columns. Then, for `ROUNDS` rounds, the cells of each column are drawn again, given all
other columns:

* Names, and ``*`` of numbers: a tree predicts the column, and a cell takes the value of a random record in its leaf,
  among the values that its label admits.
* Numbers and days in a range: of values of random records that the range admits, one that the other columns make
  likely. A tree alone would leave the values inside a range unrelated to the other columns.

What the method states of a class is restored after each draw: a label that joins intervals has a record in its first
and its last one, and a label that lists values has each of them. Without, coefficients are biased: wide ranges would be
drawn as if nobody of the class had needed them.

Both learn from a bootstrap sample of the records whose label is not ``*``, a new one for each draw, so that the
tables differ as much as the data leave the model open. Recorded columns are predictors and never change.

Source: van Buuren, Groothuis-Oudshoorn (2011), Journal of Statistical Software 45(3), for chained equations; Burgette,
Reiter (2010), American Journal of Epidemiology 172(9), for trees. New here: a draw is limited to the label of its cell,
imputed values are drawn, too, a leaf without an admitted value takes the nearest leaf that has one, and trees see the
prediction by least squares as one more column.

Everything is computed from released files and a seed, so the guarantee of the release stays: whoever has the release
can compute the tables, and they reveal nothing that it does not.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.hierarchy import Hierarchy
from cloister.kernels.ragged import owners
from cloister.release.manifest import codes_of
from cloister.shapes.table.format.facts import DATA
from cloister.shapes.table.format.manifest import TableManifest
from cloister.shapes.table.format.options import JOINED
from cloister.shapes.table_with_codes.format.data import PRESENT
from cloister.shapes.table_with_codes.method.protect import with_reconstruction

from .admitted import AdmittedColumn, Lists, admit, uniform
from .answers import Answers, answers_from
from .codes_in_table import ClassChunkAnswers, table_in
from .labels import Places

ROUNDS = 5
MOST_LEARNT = 4_000  # records from which one tree learns its questions
SMALLEST_LEAF = 10
MOST_CLASSES = 20  # names of more values are predicted by their place in the hierarchy
CANDIDATES = 8  # values of which a range takes one
EXTRA = 'pip install "cloister[analysis]"'
Features = NDArray[np.float64]
Predictor = tuple[Places, bool]
"""A number for each value, and whether its order means nothing."""
Draw: TypeAlias = Callable[[int, int], pl.DataFrame]
"""From a seed and a number to a complete table."""
Draws: TypeAlias = Mapping[str, Draw]
"""What draws each table of a release that can be imputed, by its name."""


def of_table(
    folder: Path,
    manifest: TableManifest,
    codebook: pl.DataFrame,
    hierarchies: Mapping[str, Hierarchy],
    tables: Mapping[str, pl.DataFrame],
) -> Draws:
    """Prepare a table; codes in chunks are reconstructed, and terms stay as released."""
    answers, frame = answers_from(folder, manifest, codebook, hierarchies), tables[DATA]
    imputation, codes, ids = imputation_of(answers, manifest, frame), codes_of(manifest), _ids_of(manifest)
    if not isinstance(answers, ClassChunkAnswers) or codes is None:
        return {DATA: imputation.complete}
    column, released = codes.column, answers.counts.released
    texts = answers.table.frame.with_columns(pl.when(pl.col(column).is_not_null()).then(pl.lit(PRESENT)).alias(column))

    def with_codes(seed: int, number: int) -> pl.DataFrame:
        drawn = with_reconstruction(texts, column, [*ids, None][0], released, seed + number)
        return imputation.complete(seed, number).with_columns(drawn[column])

    return {DATA: with_codes}


def imputation_of(answers: Answers, manifest: TableManifest, frame: pl.DataFrame) -> "Imputation":
    """Prepare the table of a release; ``frame`` is that table with columns in their types."""
    table = table_in(answers)
    assert table is not None
    codes = codes_of(manifest)
    own = [] if codes is None else [codes.column]
    labelled = {name: column for name, column in manifest.quasi_identifiers.items() if name not in own}
    quasi = [name for name, column in labelled.items() if column.average is None]
    if not quasi:
        raise InputError("All quasi-identifiers have averages, which are complete: there is nothing to impute.")
    no_predictors = {*quasi, *_ids_of(manifest), *own}
    recorded = [name for name in frame.columns if name not in no_predictors]
    levels = {name: max(1, manifest.settings.level_bounds.get(name, (1, None))[0]) for name in quasi}
    joined = levels if manifest.settings.labels == JOINED else {}
    return Imputation.of(frame, [admit(table.column(name), joined.get(name)) for name in quasi], recorded)


def _ids_of(manifest: TableManifest) -> list[str]:
    return [name for name, column in manifest.columns.items() if column.role == "identifier"]


@dataclass(frozen=True, eq=False, repr=False)
class Imputation:
    """A released table that can be completed any number of times.

    Attributes
    ----------
    frame : the table as recipients read it
    order : (n_rows,) rows by their values, so that the order of the file changes nothing but which of equal rows is
        which; the attributes below have this order
    drawn : the columns whose cells have labels
    recorded : the columns that predict only
    stream : of random numbers; tables of one release have different ones
    rounds : how often each column is drawn again, given the others
    """

    frame: pl.DataFrame
    order: Places
    drawn: tuple[AdmittedColumn, ...]
    recorded: tuple[Predictor, ...]
    stream: int = 0
    rounds: int = ROUNDS

    @classmethod
    def of(cls, frame: pl.DataFrame, drawn: Sequence[AdmittedColumn], recorded: Sequence[str]) -> "Imputation":
        """Prepare a table: its columns with labels, and the names of recorded columns that predict them."""
        if find_spec("sklearn") is None:
            raise InputError(f"Imputation needs scikit-learn, which is not installed here. Install it: {EXTRA}.")
        # ranks of values, missing first
        ranks = [
            (frame[name].rank("dense").fill_null(0).to_numpy().astype(np.int64), frame[name].dtype == pl.String)
            for name in recorded
        ]
        ends = [end for column in drawn for end in (column.first, column.last)]
        order = np.lexsort([np.arange(frame.height), *(rank for rank, _ in ranks), *ends])
        names = [name for name in recorded if frame[name].dtype == pl.String]
        return cls(
            frame.with_columns(frame[name].cast(pl.Enum(frame[name].drop_nulls().unique().sort())) for name in names),
            order,
            tuple(column.take(order) for column in drawn),
            tuple((rank[order], is_nominal) for rank, is_nominal in ranks),
        )

    @cached_property
    def classes(self) -> Places:
        """The class of each row, by its labels: (n_rows,)."""
        labels = [part for one in self.drawn for part in (one.first, one.last, one.list_of) if part.size]
        found: Places = np.unique(np.stack(labels), axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)
        return found

    def complete(self, seed: int, number: int = 0) -> pl.DataFrame:
        """Return the complete table of a number; equal seeds and numbers give equal tables."""
        rng = np.random.default_rng([seed, number, self.stream])
        at = [column.start(rng) for column in self.drawn]
        n_open = [int(column.is_open.sum()) for column in self.drawn]
        chained = [place for place in np.argsort(n_open, kind="stable").tolist() if n_open[place]]
        for _ in range(self.rounds):
            for place in chained:
                at[place] = self._redraw(place, at, rng)
        back = np.argsort(self.order)
        return self.frame.with_columns(
            column.values(positions[back]) for column, positions in zip(self.drawn, at, strict=True)
        )

    def middle(self) -> pl.DataFrame:
        """Return the table with the middle of each range, and null where a label is a group or limits nothing."""
        columns = []
        for column in self.drawn:
            at = (column.first + column.last) // 2
            is_known = ~column.is_open if column.is_nominal else ~column.is_any
            columns.append(column.values(at).to_frame().select(pl.when(pl.Series(is_known)).then(pl.all())).to_series())
        back = np.argsort(self.order)
        return self.frame.with_columns(column.gather(back) for column in columns)

    def _redraw(self, place: int, at: Sequence[Places], rng: np.random.Generator) -> Places:
        """Return new positions of a column, drawn from all others and the labels."""
        column, own = self.drawn[place], at[place].copy()
        others = [(one, column.is_nominal) for one, column in zip(at, self.drawn, strict=True)]
        predictors = [*others[:place], *others[place + 1 :], *self.recorded]
        known = np.flatnonzero(~column.is_any)
        known = known if known.size >= 2 * SMALLEST_LEAF else np.arange(own.size)
        learnt = known[rng.integers(0, known.size, own.size)]
        features = np.column_stack([np.ones(own.size), *(_feature(one, own, learnt) for one in predictors)])
        slopes = np.linalg.lstsq(features[learnt], own[learnt].astype(np.float64))[0].astype(np.float64)
        features = np.column_stack([features, features @ slopes])
        is_by_tree = column.is_open & (column.is_any | (column.named is not None))
        cells, ranges = np.flatnonzero(is_by_tree), np.flatnonzero(column.is_open & ~is_by_tree)
        if cells.size:
            own[cells] = draw_by_tree(column, at[place], features, cells, learnt, rng)
        if column.named is None:
            line = Line.of(at[place][learnt], features[:, -1], learnt)
            own[ranges] = line.draw(column.first[ranges], column.last[ranges], ranges, rng)
            own = complete_ends(column, own, self.classes, line, rng)
        return column.complete_lists(own, self.classes, rng)


def draw_by_tree(
    column: AdmittedColumn, own: Places, features: Features, cells: Places, learnt: Places, rng: np.random.Generator
) -> Places:
    """Draw cells from the leaves of a tree that predicts the column: (n_cells,)."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor  # slow to import

    seen = features.astype(np.float32)
    is_class = column.is_nominal and 2 < np.unique(own).size <= MOST_CLASSES
    grow = DecisionTreeClassifier if is_class else DecisionTreeRegressor
    tree = grow(min_samples_leaf=SMALLEST_LEAF, random_state=int(rng.integers(2**31)))
    leaf = tree.fit(seen[learnt[:MOST_LEARNT]], own[learnt[:MOST_LEARNT]]).apply(seen).astype(np.int64)
    drawn, is_listed = own.copy(), column.is_listed[cells]
    listed, others = cells[is_listed], cells[~is_listed]
    lists = column.lists.take(column.list_of[listed])
    drawn[listed] = draw_listed(lists, leaf[listed], own[learnt], leaf[learnt], rng)
    drawn[others] = draw_inside(column.first[others], column.last[others], leaf[others], own[learnt], leaf[learnt], rng)
    found: Places = drawn[cells]
    return found


@dataclass(frozen=True, eq=False, repr=False)
class Line:
    """What the other columns say of numbers or days: a prediction by least squares, and its spread.

    Attributes
    ----------
    donors : (n_donors,) positions of other records, ascending
    expected : (n_rows,) the prediction of each
    middle, spread : mean and variance of the donors
    rest : their variance around the prediction
    """

    donors: Places
    expected: Features
    middle: float
    spread: float
    rest: float

    @classmethod
    def of(cls, donors: Places, expected: Features, learnt: Places) -> "Line":
        """Learn from the donors, which are the rows ``learnt`` (n_donors,)."""
        middle = float(donors.mean())
        spread, rest = (max(float(np.mean((donors - one) ** 2)), 1e-9) for one in (middle, expected[learnt]))
        return cls(np.sort(donors), expected, middle, spread, rest)

    def weigh(self, first: Places, last: Places, cells: Places, rng: np.random.Generator) -> tuple[Places, Features]:
        """Return for each of these cells `CANDIDATES` values from first to last, and their logarithmic weights.

        A weight is the likelihood of the other columns: the density of the normal distribution around the prediction,
        divided by that around the mean of the column: (n_cells, CANDIDATES) each.
        """
        first, last = np.repeat(first, CANDIDATES), np.repeat(last, CANDIDATES)
        begin, end = np.searchsorted(self.donors, first), np.searchsorted(self.donors, last, "right")
        drawn = _draw_donors(first, last, self.donors, begin, end, rng).reshape(-1, CANDIDATES)
        away, off = drawn - self.middle, drawn - self.expected[cells][:, None]
        return drawn, (away**2 / self.spread - off**2 / self.rest) / 2

    def draw(self, first: Places, last: Places, cells: Places, rng: np.random.Generator) -> Places:
        """Draw these cells from first to last, one of the candidates by its weight: (n_cells,)."""
        return _pick(*self.weigh(first, last, cells, rng), rng)


def _pick(values: Places, weights: Features, rng: np.random.Generator) -> Places:
    """Draw a value of each row by logarithmic weights: (n_rows,)."""
    best = np.argmax(weights + rng.gumbel(size=weights.shape), axis=1)
    one_each: Places = values[np.arange(best.size), best]
    return one_each


def complete_ends(column: AdmittedColumn, at: Places, classes: Places, line: Line, rng: np.random.Generator) -> Places:
    """Return positions in which each class has a cell in the first and the last interval that its label joins.

    The release states so. Where there is none, a cell of the class is drawn into it, by how likely the other columns
    make it there, against its whole range: (n_rows,).
    """
    if column.until is None or column.since is None:
        return at
    found, cells = at.copy(), np.flatnonzero(column.until < column.since)
    own, ends = classes[cells], ((column.first, column.until), (column.since, column.last))
    for (first, last), (low, high) in (ends, ends[::-1]):
        is_there, is_opposite = (
            (begin[cells] <= found[cells]) & (found[cells] <= end[cells]) for begin, end in ((first, last), (low, high))
        )
        n_there, n_opposite = (np.bincount(own[one], minlength=classes.max() + 1) for one in (is_there, is_opposite))
        free = np.flatnonzero((n_there[own] == 0) & ~(is_opposite & (n_opposite[own] == 1)))
        rest = cells[free]
        values, weights = line.weigh(first[rest], last[rest], rest, rng)
        usual = line.weigh(column.first[rest], column.last[rest], rest, rng)[1]
        odds = np.logaddexp.reduce(weights, axis=1) - np.logaddexp.reduce(usual, axis=1)
        order = np.lexsort([-odds - rng.gumbel(size=odds.size), own[free]])
        chosen = order[np.unique(own[free][order], return_index=True)[1]]
        found[rest[chosen]] = _pick(values[chosen], weights[chosen], rng)
    return found


def _draw_donors(
    first: Places, last: Places, donors: Places, begin: Places, end: Places, rng: np.random.Generator
) -> Places:
    """Draw for each cell one of the donors between two places; where there is none, any position from first to last."""
    drawn, found = uniform(first, last, rng), end - begin
    chosen = begin + (rng.random(first.size) * found).astype(np.int64)
    drawn[found > 0] = donors[chosen[found > 0]]
    return drawn


def _feature(predictor: Predictor, target: Places, learnt: Places) -> Features:
    """Return a predictor as a number; of names, the mean of the target, or that of all if the name is rare."""
    values, is_nominal = predictor
    if not is_nominal:
        return values.astype(np.float64)
    n = np.bincount(values[learnt], minlength=int(values.max()) + 1)
    total = np.bincount(values[learnt], target[learnt].astype(np.float64), n.size)
    means = np.where(n >= SMALLEST_LEAF, total / np.maximum(n, 1), target[learnt].mean())
    found: Features = means[values]
    return found


def draw_inside(
    first: Places, last: Places, leaf: Places, donors: Places, leaf_of_donor: Places, rng: np.random.Generator
) -> Places:
    """Draw for each cell the value of a donor that its label admits, from its leaf or else from the nearest one.

    Where no donor has an admitted value, all of them are equally likely.

    Parameters
    ----------
    first, last, leaf : (n_cells,) what each cell admits, and its leaf
    donors, leaf_of_donor : (n_donors,) values, and leaves

    Returns
    -------
    (n_cells,) positions, each from ``first`` to ``last``
    """
    values, rank = np.unique(donors, return_inverse=True)
    key = leaf_of_donor * (values.size + 1) + rank
    order = np.argsort(key, kind="stable")
    key, by_leaf = key[order], donors[order]
    begin = np.searchsorted(key, leaf * (values.size + 1) + np.searchsorted(values, first))
    end = np.searchsorted(key, leaf * (values.size + 1) + np.searchsorted(values, last, "right"))
    drawn = _draw_donors(first, last, by_leaf, begin, end, rng)
    alone = np.flatnonzero(begin == end)
    for low, high in np.unique(np.column_stack([first[alone], last[alone]]), axis=0):
        cells = alone[(first[alone] == low) & (last[alone] == high)]
        admitted = np.flatnonzero((low <= by_leaf) & (by_leaf <= high))
        if admitted.size:
            drawn[cells] = by_leaf[admitted[_in_nearest(leaf[cells], leaf_of_donor[order][admitted], rng)]]
    return drawn


def draw_listed(lists: Lists, leaf: Places, donors: Places, leaf_of_donor: Places, rng: np.random.Generator) -> Places:
    """Draw for each cell the value of a donor that its list has, from its leaf or else from the nearest one.

    Where no donor has a listed value, all of them are equally likely.

    Parameters
    ----------
    lists, leaf : (n_cells,) what each cell admits, and its leaf
    donors, leaf_of_donor : (n_donors,) values, and leaves

    Returns
    -------
    (n_cells,) positions, each of its list
    """
    if not leaf.size:
        return lists.positions[:0]
    begin, cell = lists.starts[:-1], owners(lists.starts)
    # Each listed position of a cell with each leaf is one number, in the order of positions.
    base = int(max(leaf.max(), leaf_of_donor.max())) + 1
    pairs, frequency = np.unique(donors * base + leaf_of_donor, return_counts=True)
    wanted = lists.positions * base + leaf[cell]
    after = np.searchsorted(pairs, wanted).clip(max=pairs.size - 1)
    before = np.searchsorted(pairs, wanted, "right").clip(min=1) - 1
    away = [
        np.where(pairs[near] // base == lists.positions, np.abs(pairs[near] - wanted), base) for near in (before, after)
    ]
    nearest = np.minimum(*(np.minimum.reduceat(one, begin) for one in away))
    # Of two leaves at one distance the later one, of its donors each.
    later = np.minimum.reduceat(away[1], begin) == nearest
    near, distance = np.where(later[cell], after, before), np.where(later[cell], away[1], away[0])
    weight = np.where((distance == nearest[cell]) & (distance < base), frequency[near], 0)
    weight[(nearest == base)[cell]] = 1
    ends = np.cumsum(weight)
    total = np.add.reduceat(weight, begin)
    target = ends[begin] - weight[begin] + (rng.random(leaf.size) * total).astype(np.int64)
    return lists.positions[np.searchsorted(ends, target, "right")]


def _in_nearest(leaf: Places, leaf_of_donor: Places, rng: np.random.Generator) -> Places:
    """Return for each cell the place of a random donor in the nearest leaf that has one; donors are sorted by leaf."""
    after = np.searchsorted(leaf_of_donor, leaf).clip(max=leaf_of_donor.size - 1)
    before = (after - 1).clip(min=0)
    is_before = np.abs(leaf_of_donor[before] - leaf) < np.abs(leaf_of_donor[after] - leaf)
    nearest = leaf_of_donor[np.where(is_before, before, after)]
    begin = np.searchsorted(leaf_of_donor, nearest)
    found: Places = uniform(begin, np.searchsorted(leaf_of_donor, nearest, "right") - 1, rng)
    return found
