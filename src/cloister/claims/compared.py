"""Step 4 as it is published: the excluded patients beside those released, at the levels of the release."""

from collections.abc import Mapping, Sequence

import polars as pl

from cloister.errors import InputError
from cloister.hierarchy import BoundHierarchy, Hierarchy
from cloister.io import as_text
from cloister.masking import WITHHELD

from .codes import EXCLUDING
from .data import PATIENT, Claims
from .data_file import KEPT, PATIENTS, QUASI, ClaimsForm, ReleasedColumn, WrittenClaims
from .ladders import hierarchy_named
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
    is_told = _excluded_are_told(prepared, k)
    found: dict[VariableName, ComparedVariable] = {}
    for variable in variables_of(prepared.claims.plan):
        column = form.of(variable.table).get(variable.column)
        if column is not None and column.role in (QUASI, KEPT):
            shares = _shares(prepared, files, variable, column, k if is_told else None)
            if shares is not None:
                found[variable.name] = ComparedVariable(shares=shares, statistic=statistic(variable.name, shares))
    return ComparedPatients(
        variables=found,
        median_claims_excluded=median_claims(prepared.excluded.claims[PATIENT]) if is_told else None,
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


def _excluded_are_told(prepared: PreparedClaims, k: int) -> bool:
    """Whether there are k or more, and their number is told: shares of few people tell how many people there are."""
    (line,) = [line for line in prepared.lines if line.step == EXCLUDING]
    return prepared.excluded.n_patients >= k and line.masked(k).total != WITHHELD


def _shares(
    prepared: PreparedClaims, files: WrittenClaims, variable: Variable, column: ReleasedColumn, k: int | None
) -> dict[str, tuple[Share, Share]] | None:
    """Shares by band; None where the release has but one label."""
    here = files.of(variable.table)[variable.column]
    data, out = prepared.claims, prepared.excluded
    own = [
        as_text((one.patients if variable.table == PATIENTS else one.claims)[variable.column]) for one in (data, out)
    ]
    bands = _bands(here, own[0], column, _hierarchy(data, variable))
    if len(set(bands.values())) < 2:
        return None
    names = [*dict.fromkeys(bands.values()), MISSING]
    counts = here.replace_strict(bands, default=None, return_dtype=pl.String).fill_null(MISSING)
    released = [round(int((counts == name).sum()) / max(here.len(), 1), 4) for name in names]
    owners = (out.patients if variable.table == PATIENTS else out.claims)[PATIENT]
    labels = _labels_of_excluded(own[1], column, _hierarchy(data, variable), bands)
    excluded = [None] * len(names) if k is None else _excluded_shares(owners, labels, names, k)
    return dict(zip(names, zip(excluded, released, strict=True), strict=True))


def _hierarchy(data: Claims, variable: Variable) -> Hierarchy | None:
    section = data.plan.patients if variable.table == PATIENTS else data.plan.claims
    words = section.qi.get(variable.column)
    return None if words is None else hierarchy_named(words, data.plan.grouping.tables).hierarchy


def _bands(here: pl.Series, values: pl.Series, column: ReleasedColumn, hierarchy: Hierarchy | None) -> dict[str, str]:
    """From each label released to its band, in the order of values; no label has two bands, since levels are nested."""
    labels = set(here.drop_nulls())
    if hierarchy is None:
        return {label: label for label in sorted(labels)} if len(labels) <= MOST_BANDS else {}
    ladder = hierarchy.bind(values.name, values.drop_nulls().unique().sort().to_list())
    order = sorted(range(len(ladder.values)), key=lambda place: _in_order(ladder, place))
    for level in range(column.level or 0, ladder.n_levels):
        bands = {
            str(ladder.labels[column.level or 0][place]): str(ladder.labels[level][place])
            for place in order
            if ladder.labels[column.level or 0][place] in labels
        }
        if len(set(bands.values())) <= MOST_BANDS:
            return bands
    return {}


def _in_order(ladder: BoundHierarchy, place: int) -> tuple[float, str]:
    text = str(ladder.values[place])
    return (float(text) if text.isdecimal() else float("inf"), text)


def _labels_of_excluded(
    values: pl.Series, column: ReleasedColumn, hierarchy: Hierarchy | None, bands: Mapping[str, str]
) -> pl.Series:
    """The band of each value of the excluded: `MISSING`, or null where the release has no such label."""
    distinct = values.drop_nulls().unique().sort().to_list()
    labels: dict[str, str | None] = {value: bands.get(value) for value in distinct}
    if hierarchy is not None:
        try:
            ladder = hierarchy.bind(values.name, distinct)
        except InputError:  # a value that the hierarchy does not cover
            return pl.Series(values.name, [None] * values.len(), dtype=pl.String)
        own = ladder.labels[column.level or 0]
        labels = {value: bands.get(str(label)) for value, label in zip(distinct, own, strict=True)}
    named = values.replace_strict(labels, return_dtype=pl.String) if labels else values
    return named.set(values.is_null(), MISSING)


def _excluded_shares(owners: pl.Series, labels: pl.Series, names: Sequence[str], k: int) -> list[Share]:
    """Share of each band, of patients or claims; those of fewer than k patients are withheld, and with them others."""
    frame = pl.DataFrame({PATIENT: owners, LABEL: labels})
    patients = dict(frame.group_by(LABEL).agg(pl.col(PATIENT).n_unique()).iter_rows())
    hidden = {None, *(name for name, count in patients.items() if count < k)}
    shown = sorted(patients.keys() - hidden, key=lambda name: (patients[name], name))
    while shown and 0 < _n_patients(frame, hidden) < k:
        hidden.add(shown.pop(0))
    counts = dict(frame.group_by(LABEL).len().iter_rows())
    return [None if name in hidden else round(counts.get(name, 0) / frame.height, 2) for name in names]


def _n_patients(frame: pl.DataFrame, names: set[str | None]) -> int:
    is_hidden = frame[LABEL].is_null() | frame[LABEL].is_in([name for name in names if name is not None])
    return int(frame.filter(is_hidden)[PATIENT].n_unique())
