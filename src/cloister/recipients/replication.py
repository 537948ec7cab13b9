"""What researchers' analyses find in a release, compared with the original: for the custodian.

Each analysis is fitted to the original; to the labels, with the middle of each range and without records that have a
group in one of its columns; and to imputed tables, pooled by Rubin's rules. Results of the original are personal data
of nobody but follow from unprotected records, so they stay with the custodian unless released on purpose.

Source: Karr, Kohnen, Oganian, Reiter, Sanil (2006), The American Statistician 60(3), for the overlap of intervals;
*The Costs of Anonymization* (JMIR 2024, e49445) measures cohort studies with it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import polars as pl

from cloister.errors import InputError
from cloister.hierarchy import Hierarchy
from cloister.io import as_text, from_native
from cloister.io.columns import nearest_column
from cloister.release.folder import read_manifest
from cloister.release.manifest import AnyManifest, parse_manifest
from cloister.release.typed_tables import read_tables
from cloister.results import Figures
from cloister.settings.analyses import REGRESSIONS, Analysis
from cloister.settings.constraints import Interval as Range
from cloister.settings.constraints import check_value
from cloister.settings.run_options import SEED
from cloister.shapes.table.format.manifest import TableManifest

from .answers import Answers, answers_from
from .imputation import imputation_of
from .models import Design, Fit, design_of
from .pooling import PooledEstimate, interval_of, pool

USUAL_TABLES = 10
TABLES_POOLED = Range(int, 2, 1000)
DATA = ORIGINAL, LABELS, IMPUTED = "original", "labels", "imputed"
Cell: TypeAlias = str | float | bool | None
Row: TypeAlias = dict[str, Cell]
Interval = tuple[float, float]

TERMS: Mapping[str, type[pl.DataType]] = {
    "analysis": pl.String, "model": pl.String, "term": pl.String, "data": pl.String,
    "estimate": pl.Float64, "lower": pl.Float64, "upper": pl.Float64,
    "overlap": pl.Float64, "is_inside": pl.Boolean, "is_replicated": pl.Boolean,
}  # fmt: skip


@dataclass(frozen=True, repr=False)
class Replication:
    """Analyses of a release and of its original.

    Attributes
    ----------
    terms : one row for each term of each analysis, and each of ``original``, ``labels`` and ``imputed`` (``data``):
        estimate and 95 % interval. Of the last two ``overlap`` of its interval with the original's, from 0 to 1 (the
        mean of the shares of both intervals); ``is_inside``, whether the estimate is in the original's interval; and
        ``is_replicated``, whether it has the original's sign and is significant exactly if the original is (null for
        survival and shares). A term that could not be estimated has null estimates, overlap 0, and is not replicated
    analyses : one row for each analysis, and each of ``labels`` and ``imputed``: complete records, terms (without the
        constant), mean overlap, how many terms are inside and replicated, the lowest overlap and its term (``worst``),
        and why nothing could be estimated, if so
    """

    terms: pl.DataFrame
    analyses: pl.DataFrame = field(repr=False)

    def __repr__(self) -> str:
        """Return one line for each analysis and kind of data."""
        return "\n".join(self.sentences())

    def sentences(self) -> Iterator[str]:
        """Yield a sentence on each analysis of each kind of data."""
        for row in self.analyses.iter_rows(named=True):
            if row["failed"]:
                yield f"{row['analysis']}, {row['data']}: {row['failed']}"
                continue
            kept = "" if row["replicated"] is None else f", {row['replicated']} replicated"
            yield (
                f"{row['analysis']}, {row['data']}: mean overlap {row['overlap']:.2f}; of {row['terms']} terms "
                f"{row['inside']} are inside the original's interval{kept}; lowest overlap {row['lowest']:.2f} "
                f"({row['worst']})"
            )

    def summary(self) -> Figures:
        """Return both tables as a JSON object."""
        return {"analyses": self.analyses.to_dicts(), "terms": self.terms.to_dicts()}


def replicate_table(
    answers: Answers,
    manifest: AnyManifest,
    released: pl.DataFrame,
    original: object,
    analyses: Sequence[Analysis],
    n: int,
    seed: int,
) -> Replication:
    """Compare analyses of a released table and of its original."""
    check_value("n", n, TABLES_POOLED)
    check_value("seed", seed, SEED)
    if not isinstance(manifest, TableManifest):
        raise InputError("Analyses are compared for tables. This release is of another shape.")
    if not analyses:
        raise InputError('No analysis is named. Give one, as "logistic: died ~ age + sex".')
    imputation = imputation_of(answers, manifest, released)
    middle = imputation.middle()
    before = _as_released(from_native(original).frame, middle)
    designs = [design_of(analysis, before) for analysis in analyses]
    tables = [middle, *(imputation.complete(seed, number) for number in range(n))]
    rows: list[Row] = []
    heads: list[Row] = []
    for design in designs:
        truth = design.fit(before)
        if not truth.terms:
            raise InputError(
                f"The analysis {design.analysis.name!r} could not be fitted to the original"
                f"{f' ({truth.failed})' if truth.failed else ''}. Check its columns."
            )
        fits = [design.fit(table) for table in tables]
        found = {ORIGINAL: _intervals(truth), LABELS: _intervals(fits[0]), IMPUTED: _pooled(fits[1:])}
        own = [_row(design, data, term, found) for data in found for term in truth.terms]
        rows += own
        for data, fit in ((LABELS, fits[0]), (IMPUTED, fits[1])):
            heads.append(_head(design, data, [row for row in own if row["data"] == data], fit))
    return Replication(pl.DataFrame(rows, TERMS), pl.DataFrame(heads, infer_schema_length=None))


def replicate_folder(
    folder: Path,
    original: object,
    hierarchies: Mapping[str, Hierarchy] | None,
    analyses: Sequence[Analysis],
    seed: int,
    n: int = USUAL_TABLES,
) -> Replication:
    """Compare analyses of a release that was just written and of its original."""
    manifest = parse_manifest(read_manifest(folder))
    codebook, tables = read_tables(folder, manifest)
    answers = answers_from(folder, manifest, codebook, hierarchies or {})
    return replicate_table(answers, manifest, tables["data"], original, analyses, n, seed)


def _as_released(original: pl.DataFrame, like: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of the original that are released, in the types of the released table."""
    common = [name for name in like.columns if name in original.columns]
    if not common:
        raise InputError(
            f"The original has no column of the release.{nearest_column(like.columns[0], original.columns)}"
        )
    texts = [as_text(original[name]).alias(name) for name in common]
    return pl.DataFrame([_typed(text, like[text.name]) for text in texts])


def _typed(text: pl.Series, like: pl.Series) -> pl.Series:
    if like.dtype.is_numeric():
        return text.cast(pl.Float64, strict=False)
    if like.dtype == pl.Boolean:
        return text.str.to_lowercase() == "true"
    return text.str.to_date(strict=False) if like.dtype == pl.Date else text


def _intervals(fit: Fit) -> dict[str, tuple[float, Interval]]:
    """Return the estimate and the 95 % interval of each term."""
    return {
        term: (estimate, interval_of(estimate, variance or 0.0, fit.freedom))
        for term, (estimate, variance) in fit.terms.items()
    }


def _pooled(fits: Sequence[Fit]) -> dict[str, tuple[float, Interval]]:
    """Return the pooled estimate and interval of each term that all tables have."""
    found = {}
    for term in fits[0].terms:
        each = [fit.terms[term] for fit in fits if term in fit.terms]
        if len(each) == len(fits):
            estimates, variances = zip(*each, strict=True)
            one = pool(estimates, [variance or 0.0 for variance in variances], complete=fits[0].freedom)
            assert isinstance(one, PooledEstimate)
            found[term] = (one.estimate, one.interval)
    return found


def _row(design: Design, data: str, term: str, found: Mapping[str, Mapping[str, tuple[float, Interval]]]) -> Row:
    """Return the row of a term in one kind of data."""
    analysis, (estimate, truth) = design.analysis, found[ORIGINAL][term]
    row: Row = {"analysis": analysis.name, "model": analysis.model, "term": term, "data": data}
    if data == ORIGINAL:
        return row | {"estimate": estimate, "lower": truth[0], "upper": truth[1]}
    own, interval = found[data].get(term, (None, None))
    has_sign = analysis.model in REGRESSIONS
    if own is None or interval is None:
        return row | {"overlap": 0.0, "is_inside": False, "is_replicated": False if has_sign else None}
    is_significant, was = (not low <= 0 <= high for low, high in (interval, truth))
    is_replicated = (own > 0) == (estimate > 0) and is_significant == was
    return row | {
        "estimate": own,
        "lower": interval[0],
        "upper": interval[1],
        "overlap": overlap(truth, interval),
        "is_inside": truth[0] <= own <= truth[1],
        "is_replicated": is_replicated if has_sign else None,
    }


def overlap(one: Interval, other: Interval) -> float:
    """Return the mean share of two intervals that they have in common.

    Examples
    --------
    >>> overlap((0.0, 2.0), (1.0, 2.0))
    0.75
    """
    common = min(one[1], other[1]) - max(one[0], other[0])
    lengths = [end - begin for begin, end in (one, other)]
    if common < 0:
        return 0.0
    return sum(common / length if length > 0 else 1.0 for length in lengths) / 2


def _head(design: Design, data: str, rows: Iterable[Row], fit: Fit) -> Row:
    """Return the row of an analysis in one kind of data."""
    terms = pl.DataFrame(list(rows), TERMS)
    # the constant of a model is where the columns have their lowest levels, which nobody reports
    counted = terms.filter(pl.col("term") != "Intercept") if terms.height > 1 else terms
    worst = counted.sort("overlap").row(0, named=True)
    return {
        "analysis": design.analysis.name,
        "data": data,
        "records": fit.n,
        "terms": counted.height,
        "overlap": float(counted["overlap"].sum()) / counted.height,
        "inside": int(counted["is_inside"].sum()),
        "replicated": int(counted["is_replicated"].sum()) if design.analysis.model in REGRESSIONS else None,
        "lowest": worst["overlap"],
        "worst": worst["term"],
        "failed": fit.failed or ("" if fit.terms else "no term has a finite estimate"),
    }
