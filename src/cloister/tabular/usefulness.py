"""What analysts can still do with a released table: rates by age and sex, a model of the target; for the custodian."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.hierarchy import ROOT
from cloister.io import as_text, is_tally

from .data import EncodedTable, ProtectedTable, TableRequest
from .settings import PEOPLE

DECADE = 10.0  # years that a label of an age may cover, to be of use for a rate
GROUPS = 20  # of a number as recorded, of as many records each, for a model


def usefulness(table: EncodedTable, protected: ProtectedTable, request: TableRequest) -> dict[str, float]:
    """Return shares of what can be done, of those that can be said.

    ``by_age_and_sex`` is the share of the released records whose labels say age to ten years, and sex. ``auc`` is the
    area under the curve of naive Bayes that learns the target from the labels of one half of the released records and
    is tested on the other, and the same the other way round; ``auc_as_recorded`` that of all records from their values,
    numbers in twentieths. The target is its most frequent value against all others. Nothing of a tally.
    """
    if is_tally(table.frame):
        return {}
    is_released = protected.originals.is_not_null()
    released, places = protected.frame.filter(is_released), protected.originals.drop_nulls()
    labels = {name: as_text(released[name]) for name in request.quasi_identifiers}
    found: dict[str, float] = {}
    people = [_says(label, table.frame[name][places]) for name, label in labels.items() if PEOPLE.search(name)]
    if people:
        said = pl.DataFrame([one.alias(str(place)) for place, one in enumerate(people)])
        found |= {"by_age_and_sex": said.select(pl.all_horizontal(pl.all()).mean()).item()}
    if request.target is not None:
        target = as_text(table.frame[request.target]).fill_null("")
        outcome = (target == target.mode().sort()[0]).to_numpy()
        half = np.random.default_rng(0).permutation(outcome.size) % 2 == 0
        at = places.to_numpy()
        recorded = [_grouped(table.frame[name]) for name in labels]
        found |= {
            "auc": _auc([*labels.values()], outcome[at], half[at]),
            "auc_as_recorded": _auc(recorded, outcome, half),
        }
    return {name: round(share, 4) for name, share in found.items()}


def _says(label: pl.Series, recorded: pl.Series) -> pl.Series:
    """Whether a label says a value: of numbers to ten years, of anything else that it is not any value."""
    number = as_text(recorded).cast(pl.Float64, strict=False)
    is_said = label.is_null() | (label != ROOT)
    if number.null_count() > recorded.null_count():
        return is_said
    covered = pl.DataFrame({"label": label, "number": number})
    years = (pl.col("number").max() - pl.col("number").min()).over("label")
    return (
        is_said & covered.select((years < DECADE).fill_null(value=True)).to_series()
    )  # missing is a value, and is said


def _grouped(recorded: pl.Series) -> pl.Series:
    """A column as recorded; numbers of many values in groups of as many records."""
    number = as_text(recorded).cast(pl.Float64, strict=False)
    if number.null_count() > recorded.null_count() or number.n_unique() <= GROUPS:
        return as_text(recorded)
    return number.rank("min") * GROUPS // len(number)


def _auc(columns: list[pl.Series], outcome: NDArray[np.bool_], half: NDArray[np.bool_]) -> float:
    """The area under the curve, from the ranks of the scores of naive Bayes in two halves; 0 if all are alike."""
    share, total = outcome.mean(), 0.0
    codes = [column.rank("dense").fill_null(0).to_numpy().astype(np.int64) for column in columns]
    for learnt, tested in ((half, ~half), (~half, half)):
        score = np.zeros(int(tested.sum()))
        for code in codes:
            positive = np.bincount(code[learnt & outcome], minlength=code.max() + 1) + share
            negative = np.bincount(code[learnt & ~outcome], minlength=code.max() + 1) + 1 - share
            score += np.log(positive / negative)[code[tested]]
        ranks, truth = pl.Series(score).rank().to_numpy(), outcome[tested]
        n_true, n_false = int(truth.sum()), int((~truth).sum())
        total += (ranks[truth].sum() - n_true * (n_true + 1) / 2) / max(n_true * n_false, 1)
    return float(total / 2)
