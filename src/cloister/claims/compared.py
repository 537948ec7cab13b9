"""Step 4 as it is published: the excluded patients beside those released, at the levels of the release."""

import math
from collections.abc import Mapping, Sequence

import polars as pl

from cloister.errors import InputError
from cloister.hierarchy import Hierarchy
from cloister.io import as_text
from cloister.masking import WITHHELD

from .codes import EXCLUDING
from .data import PATIENT
from .data_file import KEPT, PATIENTS, QUASI, ClaimsForm, ReleasedColumn, WrittenClaims
from .hierarchies import hierarchy_named
from .manifest import ComparedPatients, ComparedVariable, VariableName
from .prepare import PreparedClaims
from .representativeness import SEX, Variable, median_claims, variables_of

MOST_BANDS = 16
"""A table has no more; where a level has, the next one with fewer is taken."""

MISSING = "missing"
LABEL = "\0label"
Share = float | None


def compared(prepared: PreparedClaims, files: WrittenClaims, form: ClaimsForm, k: int) -> ComparedPatients:
    """Compare in every variable that the release has, in bands of the level released or of a coarser one.

    Shares of the excluded are rounded to two decimals, and withheld where fewer than k patients are in a band, or in
    all those withheld. Labels that the release does not have are no bands: their names would be values of the excluded.
    """
    # shares of few people would reveal how many people there are
    (line,) = [line for line in prepared.lines if line.step == EXCLUDING]
    is_published = prepared.excluded.n_patients >= k and line.masked(k).total != WITHHELD
    found: dict[VariableName, ComparedVariable] = {}
    for variable in variables_of(prepared.claims.plan):
        name, table, label = variable
        column = form.of(table).get(label)
        if column is not None and column.role in (QUASI, KEPT):
            shares = _shares(prepared, files, variable, column, k if is_published else None)
            if shares is not None:
                found[name] = ComparedVariable(shares=shares, statistic=statistic(name, shares))
    return ComparedPatients(
        variables=found,
        median_claims_excluded=median_claims(prepared.excluded.claims[PATIENT]) if is_published else None,
        median_claims_released=median_claims(files.claims.to_series(0)),
    )


def statistic(variable: str, shares: Mapping[str, tuple[Share, Share]]) -> Share:
    """Of values in an order, the greatest difference between the sums of shares from the first on."""
    both = [share for band, share in shares.items() if band != MISSING and variable != SEX]
    sums, greatest = [0.0, 0.0], 0.0
    for excluded, released in both:
        if excluded is None or released is None:
            return None
        sums = [sums[0] + excluded, sums[1] + released]
        greatest = max(greatest, abs(sums[0] - sums[1]))
    return round(greatest, 2) if both else None


def _shares(
    prepared: PreparedClaims, files: WrittenClaims, variable: Variable, column: ReleasedColumn, k: int | None
) -> dict[str, tuple[Share, Share]] | None:
    """Shares by band; None where the release has but one label."""
    _, table, label = variable
    plan, here = prepared.claims.plan, files.of(table)[label]
    qi = plan.patients.qi if table == PATIENTS else plan.claims.qi
    hierarchy = hierarchy_named(qi[label], plan.grouping.tables).hierarchy if label in qi else None
    remaining, excluded = (
        data.patients if table == PATIENTS else data.claims for data in (prepared.claims, prepared.excluded)
    )
    bands = _bands(here, as_text(remaining[label]), column, hierarchy)
    if len(set(bands.values())) < 2:
        return None
    names = [*dict.fromkeys(bands.values()), MISSING]
    counts = here.replace_strict(bands, default=None, return_dtype=pl.String).fill_null(MISSING)
    released = [round(int((counts == name).sum()) / max(here.len(), 1), 4) for name in names]
    own: list[Share] = [None] * len(names)
    if k is not None:
        labels = _labels_of_excluded(as_text(excluded[label]), column, hierarchy, bands)
        own = _excluded_shares(excluded[PATIENT], labels, names, k)
    return dict(zip(names, zip(own, released, strict=True), strict=True))


def _bands(here: pl.Series, values: pl.Series, column: ReleasedColumn, hierarchy: Hierarchy | None) -> dict[str, str]:
    """From each label released to its band, in the order of values; no label has two bands, since levels are nested."""
    labels = set(here.drop_nulls())
    if hierarchy is None:
        return {label: label for label in sorted(labels)} if len(labels) <= MOST_BANDS else {}
    bound = hierarchy.bind(values.name, values.drop_nulls().unique().sort().to_list())
    texts = [str(value) for value in bound.values]
    keys = [(float(text) if text.isdecimal() else math.inf, text) for text in texts]
    order = sorted(range(len(texts)), key=keys.__getitem__)
    finest = bound.labels[column.level or 0]
    for level in range(column.level or 0, bound.n_levels):
        coarser = bound.labels[level]
        bands = {str(finest[place]): str(coarser[place]) for place in order if finest[place] in labels}
        if len(set(bands.values())) <= MOST_BANDS:
            return bands
    return {}


def _labels_of_excluded(
    values: pl.Series, column: ReleasedColumn, hierarchy: Hierarchy | None, bands: Mapping[str, str]
) -> pl.Series:
    """The band of each value of the excluded: `MISSING`, or null where the release has no such label."""
    distinct = values.drop_nulls().unique().sort().to_list()
    labels: dict[str, str | None] = {value: bands.get(value) for value in distinct}
    if hierarchy is not None:
        try:
            bound = hierarchy.bind(values.name, distinct)
        except InputError:  # a value that the hierarchy does not cover
            return pl.Series(values.name, [None] * values.len(), dtype=pl.String)
        own = bound.labels[column.level or 0]
        labels = {value: bands.get(str(label)) for value, label in zip(distinct, own, strict=True)}
    named = values.replace_strict(labels, return_dtype=pl.String) if labels else values
    return named.set(values.is_null(), MISSING)


def _excluded_shares(owners: pl.Series, labels: pl.Series, names: Sequence[str], k: int) -> list[Share]:
    """Share of each band, of patients or claims; those of fewer than k patients are withheld, and with them others."""
    frame = pl.DataFrame({PATIENT: owners, LABEL: labels})
    patients = dict(frame.group_by(LABEL).agg(pl.col(PATIENT).n_unique()).iter_rows())
    hidden = {None, *(name for name, count in patients.items() if count < k)}
    others = sorted(patients.keys() - hidden, key=lambda name: (patients[name], name))
    # so few patients in all bands withheld together would be the difference to 1
    while others:
        is_hidden = frame[LABEL].is_null() | frame[LABEL].is_in([name for name in hidden if name is not None])
        if not 0 < frame.filter(is_hidden)[PATIENT].n_unique() < k:
            break
        hidden.add(others.pop(0))
    counts = dict(frame.group_by(LABEL).len().iter_rows())
    return [None if name in hidden else round(counts.get(name, 0) / frame.height, 2) for name in names]
