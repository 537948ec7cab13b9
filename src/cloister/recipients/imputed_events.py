"""Complete trajectories and claims, drawn inside their labels by the chained trees of tables.

*Trajectories* (`of_trajectories`). Each released pair becomes one code and one age, and one detail if pairs have them:

* Of a label of codes the finest released labels below it are drawn, given age and detail, as frequently as the release
  shows them. Where it has none, the categories of the classification are equally likely. With a hierarchy file, all its
  values below the label are drawn, those that the release shows more often.
* The pairs of a patient are in the order of age. So a label of ages is first narrowed to what the labels before and
  after it admit, and the ages drawn for a patient are sorted. Sorting leaves no narrowed label: of n ages at least
  n - i + 1 are as high as the i-th lower end, and i as low as the i-th upper end.
* Rows of ``*`` alone are no pairs and become missing: suppressed pairs are not invented.

*Claims* (`of_claims`). All cells of a column have labels of one level, so that names stay as released. Labels of
numbers are drawn among the numbers to which the hierarchy of the plan gives this label: of patients given their other
columns, of claims evenly. No claim has a narrower label than others to learn from, and trees drew the days of the
example hospital too close to their mean (standard deviation 129, evenly 149, original 182). Suppressed cells stay
empty.

Everything is computed from released files and a seed, so the guarantee of the release stays (`imputation`).
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from cloister.errors import InputError, setting
from cloister.hierarchy import ROOT, Hierarchy, IcdHierarchy
from cloister.io.columns import as_text
from cloister.io.other_files import typed_texts
from cloister.shapes.claims.format.hierarchies import OF_NUMBERS, TOP_CODED
from cloister.shapes.claims.format.manifest import ClaimsManifest
from cloister.shapes.claims.format.released_columns import (
    FLAG,
    KEPT,
    PATIENTS,
    QUASI,
    TABLES,
    ClaimsForm,
    ReleasedColumn,
)
from cloister.shapes.table.format.facts import DATA
from cloister.shapes.trajectories.format.data import AGE, ID
from cloister.shapes.trajectories.format.manifest import TrajectoriesManifest

from .admitted import AdmittedColumn, admit
from .answers import TrajectoryAnswers, answers_from
from .imputation import ROUNDS, Draw, Draws, Imputation
from .labels import Label, LabelledColumn

FIRST, LAST = "first", "last"
MOST_WITHOUT_LIMIT = 1_000
"""To which number a hierarchy without a highest one is read; a label that includes it is open."""


def of_trajectories(
    folder: Path,
    manifest: TrajectoriesManifest,
    codebook: pl.DataFrame,
    hierarchies: Mapping[str, Hierarchy],
    tables: Mapping[str, pl.DataFrame],
) -> Draws:
    """Prepare trajectories: a frame with the rows and columns of ``data``."""
    answers = answers_from(folder, manifest, codebook, hierarchies)
    assert isinstance(answers, TrajectoryAnswers)
    texts = answers.frame
    is_pair = ~pl.all_horizontal(pl.all().exclude(ID) == ROOT)
    pairs, whose = texts.filter(is_pair), tables[DATA].filter(texts.select(is_pair).to_series())[ID]
    drawn = []
    for name in manifest.columns.quasi_identifiers:
        hierarchy = answers.hierarchies.get(name)
        column = LabelledColumn.of(pairs[name], codebook.filter(pl.col("column") == name), hierarchy)
        if hierarchy is None and not column.is_measured:
            raise InputError(
                f"The hierarchy of {name!r} is a file, which is not in the release. Give it with ",
                setting("hierarchies", {name: "FILE"}),
                column=name,
            )
        admitted = admit(column if name == AGE else with_domain(column))
        drawn.append(in_order_of_age(by_number(admitted), whose) if name == AGE else admitted)
    imputation = Imputation.of(pairs.with_columns(whose), drawn, [])
    place = texts.select(pl.when(is_pair).then(is_pair.cum_sum() - 1)).to_series()

    def draw(seed: int, number: int) -> pl.DataFrame:
        complete = imputation.complete(seed, number)
        ages = pl.col(AGE).sort().over(ID, mapping_strategy="group_to_rows")
        return complete.with_columns(ages).select(pl.all().gather(place)).with_columns(tables[DATA][ID])

    return {DATA: draw}


def with_domain(column: LabelledColumn) -> LabelledColumn:
    """Return a column of codes whose labels without finer released ones admit the categories of the classification."""
    if not isinstance(column.hierarchy, IcdHierarchy):
        return column
    above = {label for label in column.labels if label is not None for label in column.paths.above(label)}
    open_labels = {*column.labels} - above - {ROOT}
    below = [one for one in column.hierarchy.categories if not open_labels.isdisjoint(column.paths.above(one))]
    return replace(column, recorded=tuple(below))


def by_number(column: AdmittedColumn) -> AdmittedColumn:
    """Return ages from a hierarchy file as numbers in their order; refuse labels of ages that are not adjacent."""
    if column.named is None or not column.missing:
        return column
    texts = column.named[: column.missing].cast(pl.String)
    numbers = texts.cast(pl.Float64, strict=False)
    rank = numbers.rank("ordinal").fill_null(0).to_numpy().astype(np.int64) - 1
    first, last = (np.zeros_like(ends) for ends in (column.first, column.last))
    for low, high in np.unique(np.column_stack([column.first, column.last]), axis=0):
        inside = rank[low : high + 1]
        cells = (column.first == low) & (column.last == high)
        first[cells], last[cells] = inside.min(), inside.max()
        if inside.min() < 0 or inside.max() - inside.min() != high - low:
            raise InputError(
                "The hierarchy of ages has a label that is not a range of ages, so that ages cannot be drawn in order. "
                "Give the hierarchy file that the release was made with.",
                column=AGE,
            )
    return replace(column, first=first, last=last, named=typed_texts(texts.gather(np.argsort(rank))))


def in_order_of_age(column: AdmittedColumn, whose: pl.Series) -> AdmittedColumn:
    """Narrow the ages of each patient, whose rows are in the order of age, to those that leave room for the others.

    Labels of a genuine release never contradict each other, since each covers the age behind it.
    """
    ends = pl.DataFrame({ID: whose, FIRST: column.first, LAST: column.last})
    narrow = ends.select(pl.col(FIRST).cum_max().over(ID), pl.col(LAST).cum_min(reverse=True).over(ID))
    if (narrow[FIRST] > narrow[LAST]).any():
        raise InputError("Labels of ages contradict the order of the pairs. This release was changed.", column=AGE)
    return replace(column, first=narrow[FIRST].to_numpy(), last=narrow[LAST].to_numpy())


def of_claims(
    folder: Path,
    manifest: ClaimsManifest,
    codebook: pl.DataFrame,
    hierarchies: Mapping[str, Hierarchy],
    tables: Mapping[str, pl.DataFrame],
) -> Draws:
    """Prepare the files of patients and of claims, joined by the id of the patient."""
    del folder
    return {table: draw_of_claims(table, manifest.columns, codebook, hierarchies, tables) for table in TABLES}


def draw_of_claims(
    table: str,
    form: ClaimsForm,
    codebook: pl.DataFrame,
    hierarchies: Mapping[str, Hierarchy],
    tables: Mapping[str, pl.DataFrame],
) -> Draw:
    """Prepare one of the files of claims."""
    frame = tables[table]
    labelled = [name for name in form.names(table, QUASI) if frame[name].dtype in (pl.String, pl.Enum)]
    recorded = [name for name in form.names(table, QUASI, KEPT, FLAG) if name not in labelled]
    drawn = []
    for name in labelled:
        rows = codebook.filter(pl.col("column") == f"{table}.{name}")
        column = LabelledColumn.of(as_text(frame[name]), rows, hierarchies.get(name))
        drawn.append(admit(with_numbers(column, form.of(table)[name])))
    imputation = Imputation.of(frame, drawn, recorded)
    return replace(imputation, stream=TABLES.index(table), rounds=ROUNDS if table == PATIENTS else 0).complete


def with_numbers(column: LabelledColumn, form: ReleasedColumn) -> LabelledColumn:
    """Return a column of claims whose labels are ranges of numbers, if its hierarchy in the plan is one of numbers."""
    hierarchy = next((one for one in OF_NUMBERS if one.kind == form.hierarchy), None)
    if hierarchy is None or hierarchy.numbers is None:
        return column
    most = hierarchy.numbers.most or MOST_WITHOUT_LIMIT
    bound = hierarchy.bind(column.name, [str(number) for number in range(most + 1)])
    ends: dict[Label, list[int]] = {}
    for value, label in zip(bound.values, bound.labels[form.level or 0], strict=True):
        low, high = ends.setdefault(label, [most, 0])
        ends[label] = [min(low, int(value or 0)), max(high, int(value or 0))]
    known: dict[Label, tuple[Label, Label]] = {ROOT: (None, None), None: (None, None)}
    known |= {one: (one[:-1], None) for one in column.labels if one and TOP_CODED.fullmatch(one)}
    known |= {label: (str(low), None if high == most else str(high)) for label, (low, high) in ends.items()}
    if not known.keys() >= {*column.labels}:
        return column
    return replace(column, kind="number", ends=tuple(known[label] for label in column.labels))
