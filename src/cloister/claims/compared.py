"""Step 4 as it is told: the excluded patients against those who are released, at the levels of the release.

What is told of the released ones is what their files say, so that nobody who was left out after step 2 is in it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from cloister.errors import InputError
from cloister.hierarchy import Hierarchy, Ladder
from cloister.io import as_text

from .data import PATIENT, Claims
from .data_file import KEPT, PATIENTS, QUASI, Filed, ReleasedColumn
from .exclusions import STEP as EXCLUDING
from .ladders import hierarchy_named
from .prepare import Prepared
from .representativeness import SEX, Variable, median_claims, variables_of
from .steps import WITHHELD

MOST_BANDS = 16
"""A table has no more; where a level has, the next one with fewer is told."""

MISSING = "missing"
COUNT, LABEL = "\0count", "\0label"
Share = float | None


@dataclass(frozen=True)
class Compared:
    """One variable, as it is told.

    Attributes
    ----------
    variable : its name
    shares : of each band among the excluded and the released, patients or claims; None where it is withheld
    """

    variable: str
    shares: Mapping[str, tuple[Share, Share]]

    def told(self) -> dict[str, object]:
        """Return shares and, of values in an order, the greatest difference between their sums from the first on."""
        both = [share for band, share in self.shares.items() if band != MISSING and self.variable != SEX]
        sums, greatest = [0.0, 0.0], 0.0
        for excluded, released in both:
            if excluded is None or released is None:
                return {"shares": dict(self.shares), "statistic": None}
            sums = [sums[0] + excluded, sums[1] + released]
            greatest = max(greatest, abs(sums[0] - sums[1]))
        return {"shares": dict(self.shares), "statistic": round(greatest, 2) if both else None}


def compared(prepared: Prepared, laid: Filed, k: int) -> tuple[Compared, ...]:
    """Return every variable that the release has, in bands of the level released or of a coarser one.

    Shares of the excluded are rounded to two decimals, and withheld where fewer than k patients are in a band, or in
    all those withheld. Labels that the release does not have are no bands: their names would be values of the excluded.
    """
    is_told = _excluded_are_told(prepared, k)
    made = []
    for variable in variables_of(prepared.claims.plan):
        column = _released_column(laid, variable)
        table = None if column is None else _table(prepared, laid, variable, column, k if is_told else None)
        if table is not None:
            made.append(Compared(variable.name, table))
    return tuple(made)


def compared_told(prepared: Prepared, laid: Filed, found: Sequence[Compared], k: int) -> dict[str, object]:
    """Return the part of the manifest."""
    is_told = _excluded_are_told(prepared, k)
    return {
        "variables": {one.variable: one.told() for one in found},
        "median_claims_excluded": median_claims(prepared.excluded.claims[PATIENT]) if is_told else None,
        "median_claims_released": median_claims(laid.files.claims.to_series(0)),
    }


def _excluded_are_told(prepared: Prepared, k: int) -> bool:
    """Whether there are k or more, and their number is told: shares of few people tell how many people there are."""
    (line,) = [line for line in prepared.lines if line.step == EXCLUDING]
    return prepared.excluded.n_patients >= k and line.told(k)["total"] != WITHHELD


def _released_column(laid: Filed, variable: Variable) -> ReleasedColumn | None:
    named = [one for one in laid.form.of(variable.table) if one.name == variable.column and one.role in (QUASI, KEPT)]
    return named[0] if named else None


def _table(
    prepared: Prepared, laid: Filed, variable: Variable, column: ReleasedColumn, k: int | None
) -> dict[str, tuple[Share, Share]] | None:
    """Shares by band; None where the release has but one label."""
    here = laid.files.of(variable.table)[column.name]
    data, out = prepared.claims, prepared.excluded
    own = [as_text((one.patients if variable.table == PATIENTS else one.claims)[column.name]) for one in (data, out)]
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
    ladder = hierarchy.bind(column.name, values.drop_nulls().unique().sort().to_list())
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


def _in_order(ladder: Ladder, place: int) -> tuple[float, str]:
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
            ladder = hierarchy.bind(column.name, distinct)
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
