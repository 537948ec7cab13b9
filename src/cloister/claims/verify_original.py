"""A release of claims compared with its original: every label recoded again, every claim looked for."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.hierarchy import Hierarchy
from cloister.io import as_text
from cloister.results import Checks

from .data_file import (
    CLAIMS,
    KEPT,
    NUMBER,
    PATIENTS,
    PSEUDONYM,
    QUASI,
    TRUNCATED,
    ClaimsForm,
    WrittenClaims,
)
from .verify_rows import ID, KEY, SHOWN, ClaimRows, Pair, keep_company
from .verify_simulation import History

Numbers = NDArray[np.int64]
ROW = "\0row"
"""The same in all rows, so that files without other columns keep their rows."""

LEVELS = "levels are those of the hierarchies of the plan"
ALLOWED = "no released patient is one that the plan leaves out"
OTHERS = "every released patient is another one of the original"
RECODED = "patients are those of the original, as recoded again"
OWN = "every released claim is one of the patient's, as recoded again, suppressed cells aside"
CUT = f"claims are missing of all patients with {TRUNCATED}, and of no others"
HASHES, OWN_HASH = "ids are the keyed hashes of ids of the original", "every patient has the hash of the own id"
COMPANY = "pseudonyms stand for one original id each, and no two for the same"


@dataclass(frozen=True, eq=False, repr=False)
class PreparedOriginal:
    """What only the custodian has: patients and claims after steps 1 to 6, which are frames still.

    Attributes
    ----------
    owners : (n_claims,) row of the patient of each
    hierarchies : by file and column
    origin : (n_released,) row of each released patient, -1 of one whom the plan leaves out; None where the crosswalk
        is not given
    years : (n_claims,) year of each; None where claims have no date
    ids : keyed hashes of the ids of patients; None where ids are numbers
    """

    patients: pl.DataFrame
    claims: pl.DataFrame
    owners: Numbers
    hierarchies: dict[str, dict[str, Hierarchy]]
    origin: Numbers | None
    years: Numbers | None = None
    ids: pl.Series | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Truth:
    """The original at the levels of the release.

    Attributes
    ----------
    n_patients : of the original
    patients : (n_released,) row of each released patient
    base, recoded : claims of all patients of the original, as they were and at the levels of the release
    """

    n_patients: int
    patients: Numbers
    base: History
    recoded: History


def of_comparison(form: ClaimsForm) -> tuple[str, ...]:
    """What is looked at where the original and the crosswalk are given, in words."""
    has_pseudonyms = any(form.names(table, PSEUDONYM) for table in (PATIENTS, CLAIMS))
    hashed, owned = ((HASHES,), (OWN_HASH,)) if form.ids != NUMBER else ((), ())
    company = (COMPANY,) if has_pseudonyms else ()
    return (LEVELS, *hashed, ALLOWED, OTHERS, RECODED, *owned, OWN, CUT, *company)


def compare(checks: Checks, files: WrittenClaims, form: ClaimsForm, original: PreparedOriginal) -> Truth | None:
    """Recode the original, and look for every released row in it; None where it cannot be said who is who."""
    if not checks.require(_has_levels(form, original), LEVELS):
        return None
    patients = _recoded(original.patients, form, PATIENTS, original.hierarchies[PATIENTS])
    claims = _recoded(original.claims, form, CLAIMS, original.hierarchies[CLAIMS])
    names = [*form.names(PATIENTS, QUASI, KEPT), ROW]
    released = files.patients.with_columns(pl.lit("").alias(ROW)).select(names)
    if form.ids != NUMBER:
        checks.require(
            original.ids is not None and files.patients.to_series(0).is_in(original.ids.implode()).all(),
            HASHES,
        )
    if original.origin is None:
        counts = (
            released.group_by(names)
            .len()
            .join(patients.select(names).group_by(names).len("there"), on=names, how="left", nulls_equal=True)
        )
        fits = (counts["len"] <= counts["there"].fill_null(0)).all()
        checks.require(fits, "every released patient is one of the original, as recoded again (without crosswalk)")
        return None
    if not checks.require((original.origin >= 0).all(), ALLOWED):
        return None
    is_known = original.origin.size == released.height and np.unique(original.origin).size == original.origin.size
    if not checks.require(is_known, OTHERS):
        return None
    checks.require(released.equals(patients.select(names)[original.origin]), RECODED)
    if original.ids is not None:
        mine = original.ids.gather(pl.Series(original.origin)).to_list()
        checks.require(files.patients.to_series(0).to_list() == mine, OWN_HASH)
    ids = [as_text(original.claims[name]).alias(f"{ID}{name}") for name in form.names(CLAIMS, PSEUDONYM)]
    rows = ClaimRows.of(files, form, claims.hstack(ids), original.owners, original.origin)
    checks.require(rows.are_own(), OWN)
    checks.require(rows.miss_as_flagged(files.patients[TRUNCATED].to_numpy() == "1"), CUT)
    if COMPANY in of_comparison(form):
        checks.require(_company_holds(files, form, original, rows), COMPANY)
    columns = form.names(CLAIMS, QUASI)
    base = [as_text(original.claims[name]) for name in columns]
    return Truth(
        original.patients.height,
        original.origin,
        History(original.owners, base),
        History(original.owners, [claims[name] for name in columns]),
    )


def _has_levels(form: ClaimsForm, original: PreparedOriginal) -> bool:
    """Whether every column is there, and its highest level is that of its hierarchy."""
    for table, frame in ((PATIENTS, original.patients), (CLAIMS, original.claims)):
        if not {*form.names(table, QUASI, KEPT, PSEUDONYM)} <= {*frame.columns}:
            return False
        for name, column in form.of(table).items():
            if column.role == QUASI:
                values = as_text(frame[name]).drop_nulls().unique().sort().to_list()
                hierarchy = original.hierarchies[table].get(name)
                if hierarchy is None or column.top != hierarchy.bind(name, values).n_levels - 1:
                    return False
    return True


def _recoded(frame: pl.DataFrame, form: ClaimsForm, table: str, hierarchies: dict[str, Hierarchy]) -> pl.DataFrame:
    columns = []
    for name, column in form.of(table).items():
        if column.role not in (QUASI, KEPT):
            continue
        text = as_text(frame[name])
        if column.role == QUASI and column.level is not None:
            values = text.drop_nulls().unique().sort().to_list()
            ladder = hierarchies[name].bind(name, values)
            labels = {value: label or None for value, label in zip(values, ladder.labels[column.level], strict=True)}
            text = text.replace_strict(labels, return_dtype=pl.String) if labels else text
        columns.append(text.alias(name))
    return pl.DataFrame([*columns, pl.Series(ROW, [""]).new_from_index(0, frame.height)])


def _company_holds(files: WrittenClaims, form: ClaimsForm, original: PreparedOriginal, rows: ClaimRows) -> bool:
    """Whether the pseudonyms of each group of columns keep the company of the original ids."""
    assert original.origin is not None
    groups: dict[str, list[Iterable[Pair]]] = {}
    for name, column in form.of(PATIENTS).items():
        if column.role == PSEUDONYM:
            keys = pl.Series(KEY, range(files.patients.height), dtype=pl.UInt32)
            own = as_text(original.patients[name]).gather(pl.Series(original.origin))
            pair = pl.DataFrame([keys, files.patients[name].alias(SHOWN)]), pl.DataFrame([keys, own.alias(ID)])
            groups.setdefault(str(column.numbered_with), []).append([pair])
    names = form.names(CLAIMS, PSEUDONYM)
    for name, column in form.of(CLAIMS).items():
        if column.role == PSEUDONYM:
            groups.setdefault(str(column.numbered_with), []).append(rows.pseudonyms([name]))
    if len(names) > 1:  # several numbers of a claim stand for ids of one claim
        groups["\0together"] = [rows.pseudonyms(names)]
    return all(keep_company(chain.from_iterable(pairs)) for pairs in groups.values())
