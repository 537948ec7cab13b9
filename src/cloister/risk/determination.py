"""Sets of columns released as recorded that determine a quasi-identifier more finely than its released label.

One measure for every method and every k, for an adversary who knows the quasi-identifiers of a patient exactly:

* A set *reveals* a quasi-identifier if the value behind the label can be predicted from it: a copy, a recoding,
  dummies, day numbers, parts of a date, sums and differences. The adversary compares the prediction with what they
  know.
* A column *follows from* a quasi-identifier if it can be predicted from its exact value: a decade of an age, a flag
  of an age, a state of a town; or which cells are missing can, as of a test of patients from 65 on. The adversary
  computes the column and compares.

Each record is predicted from others only: from those that agree in the columns, from its neighbours by a number, or by
a linear combination fitted to the other half of the records. The *doubt removed* is the share of the error that the
label alone leaves which the prediction takes away. From nine tenths on there is a determination; an ordinary
association removes far less. It undoes the protection of every record whose class, reduced to the records that agree
with the prediction, has fewer than k.

Sets grow from the best column, one column at a time, as long as doubt goes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .association import order_values
from .row_numbers import Numbers, number_values, refine

Floats = NDArray[np.float64]

DETERMINED = 0.9  # share of the doubt that a set removes which determines a quasi-identifier
STEP = 0.02  # share of the doubt that one more column must remove
LARGEST_SET = 24
MOST_TRIED = 24  # columns that a set may grow by: those that remove most by themselves
MOST_COMBINED = 100  # columns of a linear combination: those that explain most by themselves
LEAST_RECORDS = 30  # from fewer nothing follows
SAMPLE = 20_000  # records in the search for sets; their effect is counted over all records
PREVIEWED = 5_000  # records that are examined before anything is generalized
FEW_KINDS = 40  # a column of no more values is also read as so many dummies
OUTSIDE = 0.95  # share of the predictions whose error is within the reach of a prediction


@dataclass(frozen=True)
class Hidden:
    """A generalized quasi-identifier: the label and the original value of each released record."""

    labels: pl.Series
    values: pl.Series  # numbers where they are numbers or days, else text; null where missing


@dataclass(frozen=True)
class Determination:
    """A set of columns that determines a quasi-identifier, and the number of records that lose k-anonymity by it."""

    about: str
    columns: tuple[str, ...]
    removed: float  # share of the doubt, from `DETERMINED` to 1
    n_below: int  # records whose class, reduced to the predicted value, has fewer than k


def find_determinations(
    hidden: Mapping[str, Hidden], recorded: Mapping[str, pl.Series], classes: Numbers, k: int
) -> list[Determination]:
    """Return the set of columns that determines each quasi-identifier, if any.

    Parameters
    ----------
    recorded : columns as recorded, of the same records; numbers and days as numbers, all else as text
    classes : (n_records,) number of the equivalence class of each released record
    """
    found = []
    for name, one in hidden.items():
        target = _Target.of(one)
        if target is not None and (best := _find_best(target, recorded)) is not None:
            n_below = _count_below(target, best.predict(target), classes, k)
            found.append(Determination(name, best.columns, best.removed, n_below))
        found += _follow(name, one, recorded, classes, k)
    most: dict[tuple[str, tuple[str, ...]], Determination] = {}
    for each in sorted(found, key=lambda one: one.n_below):  # of one set, both ways to predict say the same
        most[each.about, each.columns] = each
    return [each for each in found if most[each.about, each.columns] is each]


def preview_revealing(frame: pl.DataFrame, about: str) -> list[tuple[str, ...]]:
    """Return the sets of columns that reveal one column before anything is generalized; no two share a column.

    ``frame``: text, at best of at most `PREVIEWED` records. A run examines its release in full.
    """
    values = {name: order_values(frame[name]).alias(name) for name in frame.columns}
    target = _Target.of(Hidden(pl.repeat("", frame.height, eager=True), values.pop(about)))
    found: list[tuple[str, ...]] = []
    while target is not None and (best := _find_best(target, values)) is not None:
        found.append(best.columns)
        values = {name: one for name, one in values.items() if name not in best.columns}
    return found


def _follow(
    about: str, hidden: Hidden, recorded: Mapping[str, pl.Series], classes: Numbers, k: int
) -> list[Determination]:
    """The columns that follow from a quasi-identifier, if there are any, and what they undo together."""
    exact, removed = hidden.values.alias(f"\0{about}"), 1.0
    columns: list[str] = []
    alike = pl.DataFrame([pl.Series("class", classes)])
    is_known = np.ones(classes.size, dtype=np.bool_)
    for name, column in _with_missing(recorded):
        target = _Target.of(Hidden(hidden.labels, column))
        if target is None:
            continue
        predicted = _from_groups(target, _join_columns(target, [exact]))
        share = target.measure_removed(predicted)
        if share >= DETERMINED:
            columns, removed = [*columns, name], min(removed, share)
            alike = alike.with_columns(column.alias(str(len(columns))))
            errors = target.errors(predicted)
            is_known[target.places] &= errors <= np.quantile(errors, OUTSIDE)
    if not columns:
        return []
    n_alike = alike.select(pl.len().over(alike.columns)).to_series().to_numpy()
    return [Determination(about, tuple(dict.fromkeys(columns)), removed, int((is_known & (n_alike < k)).sum()))]


def _with_missing(recorded: Mapping[str, pl.Series]) -> Iterator[tuple[str, pl.Series]]:
    """Each column, and whether its cells are missing: these may follow from a quasi-identifier where values do not."""
    for name, column in recorded.items():
        yield name, column
        if column.null_count():
            yield name, column.is_null().cast(pl.String)


def count_predicted(values: pl.Series, known: pl.Series, k: int) -> int:
    """Count the records where one column predicts another and fewer than k records agree; 0 if it does not follow.

    Both are of the same records, numbers and days as numbers. A column follows that loses nine tenths of its doubt.
    """
    step = 1 + len(values) // SAMPLE
    for by_number in (False, True) if known.dtype.is_numeric() else (False,):
        sample = _predict_alone(values.gather_every(step), known.gather_every(step), by_number)
        if sample is None or sample[0].measure_removed(sample[1]) < DETERMINED:
            continue
        whole = sample if step == 1 else _predict_alone(values, known, by_number)
        return 0 if whole is None else _count_below(*whole, np.zeros(len(values), dtype=np.int64), k)
    return 0


def _predict_alone(values: pl.Series, known: pl.Series, by_number: bool) -> "tuple[_Target, Floats] | None":
    """Predict a column from another alone; None where too few records have others to be predicted from."""
    known = known.alias("known")
    predicted = values if by_number else values.set(known.is_unique(), None)
    target = _Target.of(Hidden(pl.repeat("", len(values), eager=True), predicted))
    if target is None:
        return None
    return target, _from_neighbours(target, known) if by_number else _from_groups(
        target, _join_columns(target, [known])
    )


@dataclass(frozen=True)
class _Target:
    """What is to be predicted: labels and values as numbers, of the records whose label leaves a doubt."""

    label: Numbers
    value: Floats  # a number, or the number of a category
    is_number: bool
    places: Numbers  # of these records among all released ones
    codes: dict[str, Numbers] = field(default_factory=dict, repr=False)  # of columns that were numbered already

    @classmethod
    def of(cls, hidden: Hidden) -> "_Target | None":
        """Number labels and values; None where too few records are in doubt."""
        is_number = hidden.values.dtype.is_numeric()
        value = hidden.values.cast(pl.Float64) if is_number else hidden.values.rank("dense").cast(pl.Float64)
        label = hidden.labels.fill_null("").rank("dense").cast(pl.Int64)
        pairs = pl.DataFrame({"label": label, "value": value}).with_row_index("place").drop_nulls()
        doubtful = pairs.filter(pl.col("value").n_unique().over("label") > 1)
        if doubtful.height < LEAST_RECORDS:
            return None
        arrays = doubtful["label"].to_numpy(), doubtful["value"].to_numpy(), doubtful["place"].to_numpy()
        return cls(arrays[0].astype(np.int64), arrays[1], is_number, arrays[2].astype(np.int64))

    def codes_of(self, column: pl.Series) -> Numbers:
        """Number the values of a column in these records, once for each column; missing is a value."""
        if column.name not in self.codes:
            self.codes[column.name] = number_values(column.gather(pl.Series(self.places)))
        return self.codes[column.name]

    def sample(self) -> "_Target":
        """Return evenly spaced records, so many that sets can be found by them."""
        step = 1 + self.label.size // SAMPLE
        return _Target(self.label[::step], self.value[::step], self.is_number, self.places[::step])

    def errors(self, predicted: Floats) -> Floats:
        """Return how far off each prediction is: by the difference of numbers, of categories 0 or 1."""
        off = np.abs(self.value - predicted)
        return off if self.is_number else (off > 0).astype(np.float64)

    def measure_removed(self, predicted: Floats) -> float:
        """Return the share of the doubt that a prediction removes, against that from the label alone."""
        before = self.errors(_from_groups(self, self.label)).sum()
        return float(1 - self.errors(predicted).sum() / before) if before else 0.0


@dataclass(frozen=True)
class _Set:
    """Columns, how they predict, and what doubt they remove."""

    columns: tuple[str, ...]
    removed: float
    how: str  # `groups`, `neighbours` or `linear`
    recorded: Mapping[str, pl.Series]

    def predict(self, target: _Target) -> Floats:
        """Predict the value of each record of a target from the others."""
        columns = [self.recorded[name] for name in self.columns]
        if self.how == "groups":
            return _from_groups(target, _join_columns(target, columns))
        if self.how == "neighbours":
            return _from_neighbours(target, columns[0])
        return _linear(target, _features(columns, target))


def _sets(target: _Target, recorded: Mapping[str, pl.Series]) -> Iterator[_Set]:
    """The best sets of each kind."""
    sample = target.sample()
    singles = []
    for name, column in recorded.items():
        removed = sample.measure_removed(_from_groups(sample, _join_columns(sample, [column])))
        singles.append(_Set((name,), removed, "groups", recorded))
        if column.dtype.is_numeric():
            yield _Set((name,), sample.measure_removed(_from_neighbours(sample, column)), "neighbours", recorded)
    singles = sorted(singles, key=lambda one: -one.removed)[:MOST_TRIED]
    yield from singles[:1]
    for start in (singles[:1], _best_pair(sample, singles)):
        for one in start:
            yield from _grow(sample, one, [each.columns[0] for each in singles])
    yield from _combine(sample, recorded)


def _find_best(target: _Target, recorded: Mapping[str, pl.Series]) -> _Set | None:
    """Return the set that predicts a target best; None if none determines it."""
    best = max(_sets(target, recorded), key=lambda each: each.removed, default=None)
    return None if best is None or best.removed < DETERMINED else best


def _best_pair(sample: _Target, singles: Sequence[_Set]) -> list[_Set]:
    """The best pair of columns, of which neither need remove a doubt by itself: a cipher and its key."""
    pairs = [
        _with_column(sample, one, other.columns[0]) for place, one in enumerate(singles) for other in singles[:place]
    ]
    return sorted(pairs, key=lambda one: -one.removed)[:1]


def _with_column(sample: _Target, one: _Set, name: str) -> _Set:
    columns = (*one.columns, name)
    groups = _join_columns(sample, [one.recorded[each] for each in columns])
    return _Set(columns, sample.measure_removed(_from_groups(sample, groups)), "groups", one.recorded)


def _grow(sample: _Target, best: _Set, names: Sequence[str]) -> Iterator[_Set]:
    """The sets that grow from one, by the column that removes most of what is left."""
    rest = [name for name in names if name not in best.columns]
    yield best
    while rest and len(best.columns) < LARGEST_SET and best.removed < 1 - STEP:
        larger = max((_with_column(sample, best, name) for name in rest), key=lambda one: one.removed)
        if larger.removed < best.removed + STEP:
            return
        best = larger
        rest.remove(best.columns[-1])
        yield best


def _combine(sample: _Target, recorded: Mapping[str, pl.Series]) -> Iterator[_Set]:
    """A set whose linear combination predicts the value, if that of all columns does.

    The column that explains most of what is left comes next, until the set determines the value.
    """
    features = {name: _features([column], sample) for name, column in recorded.items()}
    features = {name: each for name, each in features.items() if each.shape[1]}
    goal = _goal(sample)
    left = goal - goal.mean(axis=0)
    ranked = sorted(features, key=lambda name: -_explained_share(features[name], left))[:MOST_COMBINED]
    if (
        not ranked
        or sample.measure_removed(_linear(sample, np.hstack([features[name] for name in ranked]))) < DETERMINED
    ):
        return
    chosen: list[str] = []
    while len(chosen) < len(ranked):
        chosen.append(
            max((name for name in ranked if name not in chosen), key=lambda one: _explained_share(features[one], left))
        )
        trial = np.hstack([features[one] for one in chosen])
        removed = sample.measure_removed(_linear(sample, trial))
        if removed >= DETERMINED:
            yield _prune(sample, _Set(tuple(chosen), removed, "linear", recorded), features)
            return
        left = goal - _fit_and_predict(_with_label(sample, trial), goal, slice(None), slice(None))


def _prune(sample: _Target, one: _Set, features: Mapping[str, Floats]) -> _Set:
    """The set without the columns that it does not need, the earliest first."""
    for name in one.columns:
        rest = tuple(each for each in one.columns if each != name)
        removed = sample.measure_removed(_linear(sample, np.hstack([features[each] for each in rest]))) if rest else 0.0
        if removed >= max(DETERMINED, one.removed - STEP):
            one = _Set(rest, removed, "linear", one.recorded)
    return one


def _join_columns(target: _Target, columns: Sequence[pl.Series]) -> Numbers:
    """Number the records by label and columns; missing is a value."""
    groups = target.label
    for column in columns:
        groups = refine(groups, target.codes_of(column))
    return groups


def _from_groups(target: _Target, groups: Numbers) -> Floats:
    """Predict each record from the others of its group: by their mean, or the most frequent category of them.

    Who is alone in a group is predicted from the others of the label.
    """
    n = np.bincount(groups)[groups]
    if target.is_number:
        total = np.bincount(groups, target.value)[groups]
        predicted = (total - target.value) / np.maximum(n - 1, 1)
    else:
        predicted = _most_frequent_other(groups, target.value)
    if (n == 1).any() and groups is not target.label:
        predicted = np.where(n == 1, _from_groups(target, target.label), predicted)
    return predicted


def _most_frequent_other(groups: Numbers, value: Floats) -> Floats:
    """The most frequent category of the others in the group of each record; another one than its own in a tie."""
    kinds, category = np.unique(value, return_inverse=True)
    pairs, n = np.unique(groups * kinds.size + category, return_counts=True)
    order = np.lexsort((-n, pairs // kinds.size))
    ordered, n_ordered = pairs[order], n[order]
    group = ordered // kinds.size
    first = np.flatnonzero(np.diff(group, prepend=-1))
    has_second = np.zeros(first.size, dtype=np.bool_)
    has_second[np.append(np.diff(first), group.size - first[-1]) > 1] = True
    after = np.minimum(first + 1, group.size - 1)
    n_second = np.where(has_second, n_ordered[after], 0)
    place = np.searchsorted(group[first], groups)
    top, second = ordered[first][place] % kinds.size, ordered[after][place] % kinds.size
    keeps = (category != top) | (n_ordered[first][place] - 1 > n_second[place])
    predicted: Floats = np.where(keeps, kinds[top], np.where(has_second[place], kinds[second], kinds[0] - 1))
    return predicted


def _from_neighbours(target: _Target, column: pl.Series) -> Floats:
    """Predict each record from those of its label with the next numbers, or with the same number if there are any.

    Among equal numbers none is next: their order in the file would predict, which is not of the column.
    """
    number = column.gather(pl.Series(target.places)).cast(pl.Float64).fill_nan(None)
    frame = pl.DataFrame({"label": target.label, "number": number, "value": target.value})
    usual = pl.col("value").mean() if target.is_number else pl.col("value").mode().min()
    kinds = frame.drop_nulls().group_by("label", "number").agg(usual, pl.len().alias("n")).sort("label", "number")
    before, after = pl.col("value").shift(1).over("label"), pl.col("value").shift(-1).over("label")
    if target.is_number:
        both = pl.mean_horizontal(before, after)
    else:
        is_nearer = (pl.col("number") - pl.col("number").shift(1)).over("label") <= (
            pl.col("number").shift(-1) - pl.col("number")
        ).over("label")
        both = pl.when(is_nearer.fill_null(value=False)).then(before).otherwise(pl.coalesce(after, before))
    alone = kinds.select("label", "number", pl.when(pl.col("n") == 1).then(both).alias("predicted"))
    joined = frame.join(alone, on=["label", "number"], how="left", maintain_order="left")
    found = joined["predicted"].to_numpy().astype(np.float64)
    return np.where(np.isnan(found), _from_groups(target, _join_columns(target, [column])), found)


def _features(columns: Sequence[pl.Series], target: _Target) -> Floats:
    """Columns as numbers: numbers as they are, few categories as a dummy each; (n_records, n_features)."""
    made: list[Floats] = []
    for column in columns:
        here = column.gather(pl.Series(target.places))
        if here.dtype.is_numeric():
            number = here.cast(pl.Float64).fill_nan(None)
            made.append(number.fill_null(number.mean() or 0.0).to_numpy().astype(np.float64)[:, None])
        elif here.n_unique() <= FEW_KINDS:
            code = here.rank("dense").fill_null(0).to_numpy().astype(np.int64)
            made.append(np.eye(int(code.max(initial=0)) + 1)[code])
    found = np.hstack(made) if made else np.zeros((target.label.size, 0))
    spread = found.std(axis=0)
    scaled: Floats = (found - found.mean(axis=0))[:, spread > 0] / spread[spread > 0]
    return scaled


def _goal(target: _Target) -> Floats:
    """What a linear combination predicts: the number, or a dummy for each category."""
    if target.is_number:
        return target.value.reshape(-1, 1)
    dummies: Floats = (target.value[:, None] == np.unique(target.value)[None, :]).astype(np.float64)
    return dummies


def _explained_share(features: Floats, left: Floats) -> float:
    """Return how much of what is left features explain, as a share of its variance."""
    whole = float((left**2).sum())
    along = features.T @ left / np.sqrt(features.shape[0])
    return float((along**2).sum()) / whole if whole else 0.0


def _with_label(target: _Target, features: Floats) -> Floats:
    """Features with a constant and what the label says of a number: the mean of its records."""
    columns = [np.ones(target.label.size)]
    if target.is_number:
        n = np.bincount(target.label)
        columns.append((np.bincount(target.label, target.value) / np.maximum(n, 1))[target.label])
    return np.hstack([np.column_stack(columns), features])


def _fit_and_predict(features: Floats, goal: Floats, learnt: slice, tested: slice) -> Floats:
    """Predict by least squares from some records what others are."""
    weights = np.linalg.lstsq(features[learnt], goal[learnt], rcond=None)[0]
    predicted: Floats = features[tested] @ weights
    return predicted


def _linear(target: _Target, features: Floats) -> Floats:
    """Predict each half of the records by the linear combination that fits the other half."""
    goal, every = _goal(target), _with_label(target, features)
    predicted = np.empty_like(goal)
    for learnt, tested in ((slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2))):
        predicted[tested] = _fit_and_predict(every, goal, learnt, tested)
    return predicted[:, 0] if target.is_number else np.unique(target.value)[predicted.argmax(axis=1)]


def _count_below(target: _Target, predicted: Floats, classes: Numbers, k: int) -> int:
    """Count records that are predicted correctly and have fewer than k records of their class near the prediction."""
    errors = target.errors(predicted)
    reach = float(np.quantile(errors, OUTSIDE)) if target.is_number else 0.0
    reach = reach if target.is_number and reach < np.ptp(target.value) else 0.0
    frame = pl.DataFrame({"class": classes[target.places], "value": target.value, "predicted": predicted})
    if not target.is_number or reach == 0:
        alike = frame.select(pl.len().over("class", "value")).to_series().to_numpy()
    else:
        alike = _within(frame, reach)
    return int(((errors <= reach) & (alike < k)).sum())


def _within(frame: pl.DataFrame, reach: float) -> Numbers:
    """How many records of the class have a value within reach of each prediction."""
    order = np.lexsort((frame["value"].to_numpy(), frame["class"].to_numpy()))
    kinds, values = frame["class"].to_numpy()[order], frame["value"].to_numpy()[order]
    found = np.zeros(order.size, dtype=np.int64)
    predicted = frame["predicted"].to_numpy()[order]
    starts = np.flatnonzero(np.diff(kinds, prepend=kinds[0] - 1))
    for start, end in zip(starts, [*starts[1:], order.size], strict=True):
        low = np.searchsorted(values[start:end], predicted[start:end] - reach, "left")
        high = np.searchsorted(values[start:end], predicted[start:end] + reach, "right")
        found[order[start:end]] = high - low
    return found
