"""Fits of researchers' analyses: regressions by statsmodels and lifelines, survival and shares by group.

The columns of a design (levels of categories, knots, centres) are those of the original, whatever the release has.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from math import inf
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.io.frames import to_pandas
from cloister.settings.analyses import BY_GROUP, OF_TIME, Analysis

from .imputation import EXTRA
from .pooling import Terms

if TYPE_CHECKING:
    import pandas
    from formulaic import ModelSpec

MOST_GROUPS = 50
DEPENDENT = 1e-7  # of a column's length, what is left of it after all columns before it
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Fit:
    """The terms of a fitted analysis; why there are none, if so."""

    terms: Terms
    n: int  # complete records
    freedom: float = inf
    failed: str = ""


def design_of(analysis: Analysis, original: pl.DataFrame) -> "Design":
    """Return how an analysis is fitted; levels, knots and times are those of the original."""
    for needed in ("formulaic", "statsmodels", "lifelines"):
        if find_spec(needed) is None:
            raise InputError(f"Analyses need {needed}, which is not installed here. Install it: {EXTRA}.")
    analysis.check(original.columns)
    complete = original.select(analysis.columns).drop_nulls()
    if complete.is_empty():
        raise InputError(f"No record of the original has all columns of the analysis {analysis.name!r}.")
    return (Groups if analysis.model in BY_GROUP else Regression).of(analysis, complete)


class Design(ABC):
    """An analysis, ready to be fitted to the original and to what was released of it."""

    analysis: Analysis
    levels: Mapping[str, Sequence[str]]  # of each column of text
    counts_as_one: object  # of the two values of an outcome, the one that counts as 1; None if it is a number

    def fit(self, frame: pl.DataFrame) -> Fit:
        """Fit the analysis to the records without a missing value."""
        columns = []
        for name in self.analysis.columns:
            column = pl.col(name)
            if name in self.levels:
                column = column.cast(pl.String)
                column = pl.when(column.is_in(self.levels[name])).then(column).alias(name)
            columns.append(column)
        complete = frame.select(columns).drop_nulls()
        if complete.height < 2:
            return Fit({}, complete.height, failed="no complete records")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return self._fit(complete)
        except Exception as error:
            return Fit({}, complete.height, failed=type(error).__name__)

    @abstractmethod
    def _fit(self, complete: pl.DataFrame) -> Fit:
        """Fit the analysis to records that have all columns."""

    def _event(self, complete: pl.DataFrame) -> Numbers:
        """Return the outcome, or the event of survival, as numbers."""
        outcome = complete[self.analysis.outcome[-1]]
        return (outcome if self.counts_as_one is None else outcome == self.counts_as_one).cast(pl.Float64).to_numpy()


def value_that_counts(analysis: Analysis, original: pl.DataFrame) -> object:
    """Return the greater of the two values of an outcome that occurs or not; None of other outcomes.

    The time of survival, and the outcome of a regression on numbers, must be numbers.
    """
    name = analysis.outcome[-1]
    numbers = analysis.outcome[:1] if analysis.model in ("linear", "poisson", *OF_TIME) else ()
    for number in numbers:
        if not original[number].dtype.is_numeric():
            raise InputError(
                f"The analysis {analysis.name!r} needs numbers in {number!r}, which the release has as text.",
                column=number,
            )
    if analysis.model not in ("logistic", *OF_TIME):
        return None
    values = original[name].unique().sort().to_list()
    if len(values) != 2:
        raise InputError(
            f"The outcome {name!r} of the analysis {analysis.name!r} has {len(values)} values. Name a column of two; "
            "the greater one, or the later in the alphabet, counts.",
            column=name,
        )
    return values[1]


@dataclass(frozen=True)
class Regression(Design):
    """A regression."""

    analysis: Analysis
    levels: Mapping[str, Sequence[str]]
    counts_as_one: object
    spec: "ModelSpec" = field(repr=False)

    @classmethod
    def of(cls, analysis: Analysis, original: pl.DataFrame) -> "Regression":
        """Prepare a regression from the complete records of the original."""
        from formulaic import model_matrix

        levels = levels_of(original)
        counted = value_that_counts(analysis, original)
        try:
            matrix = model_matrix(analysis.right, with_levels(original, levels))
        except Exception:  # a library's own, whose message may quote data
            matrix = None
        if matrix is None:
            raise InputError(f"The formula of {analysis.name!r} cannot be evaluated. Check its functions and columns.")
        return cls(analysis, levels, counted, matrix.model_spec)

    def _fit(self, complete: pl.DataFrame) -> Fit:
        matrix = self.spec.get_model_matrix(with_levels(complete, self.levels))
        values = np.asarray(matrix, dtype=np.float64)
        is_cox = self.analysis.model == "cox"
        chosen = [place for place in independent(values) if not (is_cox and matrix.columns[place] == "Intercept")]
        values, names = values[:, chosen], [str(matrix.columns[place]) for place in chosen]
        if is_cox:
            return self._fit_cox(complete, values, names)
        import statsmodels.api as sm

        outcome = self._event(complete)
        if self.analysis.model == "linear":
            found = sm.OLS(outcome, values).fit()
        else:
            family = sm.families.Binomial() if self.analysis.model == "logistic" else sm.families.Poisson()
            found = sm.GLM(outcome, values, family=family).fit()
        freedom = float(found.df_resid) if self.analysis.model == "linear" else inf
        return Fit(_finite(names, found.params, found.bse**2), complete.height, freedom)

    def _fit_cox(self, complete: pl.DataFrame, values: Numbers, names: list[str]) -> Fit:
        import pandas
        from lifelines import CoxPHFitter
        from lifelines.exceptions import ConvergenceError

        numbered = pandas.DataFrame(values, columns=list(range(values.shape[1])))
        numbered["time"] = complete[self.analysis.outcome[0]].cast(pl.Float64).to_numpy()
        numbered["event"] = self._event(complete)
        try:
            found = CoxPHFitter().fit(numbered, "time", "event")
        except ConvergenceError:
            return Fit({}, complete.height, failed="did not converge")
        variances = np.diag(found.variance_matrix_)
        return Fit(_finite(names, found.params_.to_numpy(), variances), complete.height)


@dataclass(frozen=True)
class Groups(Design):
    """Survival or shares in each group."""

    analysis: Analysis
    levels: Mapping[str, Sequence[str]]
    counts_as_one: object
    at: tuple[float, ...] = ()  # times of which survival is stated
    values: tuple[object, ...] = ()  # of the outcome, whose shares are stated

    @classmethod
    def of(cls, analysis: Analysis, original: pl.DataFrame) -> "Groups":
        """Prepare the groups from the complete records of the original."""
        by = analysis.columns[len(analysis.outcome) :]
        if original.select(by).unique().height > MOST_GROUPS:
            raise InputError(
                f"The columns of the analysis {analysis.name!r} make more than {MOST_GROUPS} groups. Name columns of "
                "few values."
            )
        first, counted = original[analysis.outcome[0]], value_that_counts(analysis, original)
        if analysis.model == "table":
            values = first.unique().sort().to_list()
            if len(values) > MOST_GROUPS:
                raise InputError(f"The outcome of {analysis.name!r} has more than {MOST_GROUPS} values.")
            return cls(analysis, levels_of(original), None, values=tuple(values[1:]) or tuple(values))
        times = first.cast(pl.Float64)
        quartiles = tuple(float(times.quantile(q) or 0.0) for q in (0.25, 0.5, 0.75))
        return cls(analysis, levels_of(original), counted, quartiles)

    def _fit(self, complete: pl.DataFrame) -> Fit:
        by = self.analysis.columns[len(self.analysis.outcome) :]
        terms: Terms = {}
        for key, rows in sorted(complete.partition_by(by, as_dict=True).items(), key=str):
            group = ", ".join(f"{name}={_shown(value)}" for name, value in zip(by, key, strict=True))
            terms |= dict(self._shares(rows, group) if self.values else self._survival(rows, group))
        return Fit(terms, complete.height)

    def _shares(self, rows: pl.DataFrame, group: str) -> Iterator[tuple[str, tuple[float, float]]]:
        """The share of each value, with the variance of Agresti and Coull, which is not 0 where the share is."""
        outcome = self.analysis.outcome[0]
        for value in self.values:
            having = int((rows[outcome] == value).sum())
            near = (having + 2) / (rows.height + 4)
            yield f"{outcome}={_shown(value)} if {group}", (having / rows.height, near * (1 - near) / (rows.height + 4))

    def _survival(self, rows: pl.DataFrame, group: str) -> Iterator[tuple[str, tuple[float, float]]]:
        """The share alive at each time, with Greenwood's variance, which is 0 where nobody is."""
        from statsmodels.duration.survfunc import SurvfuncRight

        times = rows[self.analysis.outcome[0]].cast(pl.Float64).to_numpy()
        found = SurvfuncRight(times, self._event(rows))
        last = np.searchsorted(found.surv_times, self.at, side="right")
        shares = np.append(1.0, found.surv_prob)[last]
        errors = np.nan_to_num(np.append(0.0, found.surv_prob_se))[last]
        for at, share, error in zip(self.at, shares.tolist(), errors.tolist(), strict=True):
            yield f"alive at {at:g} if {group}", (share, error**2)


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def levels_of(original: pl.DataFrame) -> dict[str, list[str]]:
    """Return the values of each column of text, in their order."""
    return {
        column.name: column.cast(pl.String).unique().sort().to_list()
        for column in original
        if column.dtype in (pl.String, pl.Enum, pl.Categorical)
    }


def with_levels(complete: pl.DataFrame, levels: Mapping[str, Sequence[str]]) -> "pandas.DataFrame":
    """Return a frame of pandas in which columns of text are categories."""
    import pandas  # noqa: F401  (`to_pandas` takes what is imported)

    return to_pandas(complete.with_columns(pl.col(name).cast(pl.Enum(list(of))) for name, of in levels.items()))


def independent(values: Numbers) -> list[int]:
    """Return the columns that are no linear combination of those before them."""
    kept: list[int] = []
    basis = np.empty((values.shape[0], 0))
    for place, column in enumerate(values.T):
        rest = column - basis @ (basis.T @ column)
        rest -= basis @ (basis.T @ rest)  # once more, for what rounding left
        length = float(np.linalg.norm(rest))
        if length > DEPENDENT * float(np.linalg.norm(column)):
            kept.append(place)
            basis = np.column_stack([basis, rest / length])
    return kept


def _finite(names: Iterable[str], estimates: Numbers, variances: Numbers) -> Terms:
    """Return the terms whose estimate and variance are numbers."""
    return {
        name: (float(one), float(own))
        for name, one, own in zip(names, estimates, variances, strict=True)
        if np.isfinite(one) and np.isfinite(own) and own > 0
    }
