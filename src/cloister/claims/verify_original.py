"""A release of claims compared with its original: every label recoded again, every claim looked for."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.checks import Checks
from cloister.hierarchy import Hierarchy
from cloister.io import as_text

from .data_file import (
    CLAIMS,
    KEPT,
    NUMBER,
    PATIENTS,
    PSEUDONYM,
    QUASI,
    SUPPRESSED,
    TRUNCATED,
    ClaimsForm,
    WrittenClaims,
)
from .verify_pseudonyms import ID, KEY, SHOWN, keep_company
from .verify_simulation import History

Numbers = NDArray[np.int64]
TRUTH = "\0truth"
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
class Original:
    """What only the custodian has: patients and claims after steps 1 to 6, which are frames still.

    Attributes
    ----------
    patients : one row a patient
    claims : one row a claim
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


def compare(checks: Checks, files: WrittenClaims, form: ClaimsForm, original: Original) -> Truth | None:
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
    _claims_hold(checks, files, form, claims, original)
    columns = form.names(CLAIMS, QUASI)
    base = [as_text(original.claims[name]) for name in columns]
    return Truth(
        original.patients.height,
        original.origin,
        History(original.owners, base),
        History(original.owners, [claims[name] for name in columns]),
    )


def _has_levels(form: ClaimsForm, original: Original) -> bool:
    """Whether every column is there, and its highest level is that of its hierarchy."""
    for table, frame in ((PATIENTS, original.patients), (CLAIMS, original.claims)):
        if not {*form.names(table, QUASI, KEPT, PSEUDONYM)} <= {*frame.columns}:
            return False
        for column in form.of(table):
            if column.role == QUASI:
                values = as_text(frame[column.name]).drop_nulls().unique().sort().to_list()
                hierarchy = original.hierarchies[table].get(column.name)
                if hierarchy is None or column.top != hierarchy.bind(column.name, values).n_levels - 1:
                    return False
    return True


def _recoded(frame: pl.DataFrame, form: ClaimsForm, table: str, hierarchies: dict[str, Hierarchy]) -> pl.DataFrame:
    columns = []
    for column in form.of(table):
        if column.role not in (QUASI, KEPT):
            continue
        text = as_text(frame[column.name])
        if column.role == QUASI and column.level is not None:
            values = text.drop_nulls().unique().sort().to_list()
            ladder = hierarchies[column.name].bind(column.name, values)
            labels = {value: label or None for value, label in zip(values, ladder.labels[column.level], strict=True)}
            text = text.replace_strict(labels, return_dtype=pl.String) if labels else text
        columns.append(text.alias(column.name))
    return pl.DataFrame([*columns, pl.Series(ROW, [""]).new_from_index(0, frame.height)])


def _claims_hold(
    checks: Checks, files: WrittenClaims, form: ClaimsForm, claims: pl.DataFrame, original: Original
) -> None:
    """Every released claim is one of the patient's, suppressed cells aside, and none is missing but where flags say."""
    assert original.origin is not None
    place = np.full(original.patients.height, -1, dtype=np.int64)
    place[original.origin] = np.arange(1, original.origin.size + 1)
    ids = [original.claims[name].alias(f"{ID}{name}") for name in form.names(CLAIMS, PSEUDONYM)]
    there = claims.with_columns(pl.Series(TRUTH, place[original.owners]), *ids).filter(pl.col(TRUTH) > 0)
    here = files.claims.drop(form.names(CLAIMS)[0]).with_columns(pl.Series(TRUTH, files.owners + 1))
    parts = [
        (some.join(kinds, on=shown, how="left", nulls_equal=True), there.join(kinds, on=shown, nulls_equal=True))
        for some, shown in _as_shown(here, form)
        for kinds in [there.select(shown).unique().with_row_index(KEY)]
    ]
    fits = all(
        (own.group_by(KEY).len().join(other.group_by(KEY).len("there"), on=KEY, how="left"))
        .select((pl.col("len") <= pl.col("there").fill_null(0)).all())
        .item()
        for own, other in parts
    )
    checks.require(fits, OWN)
    sizes = [np.bincount(frame[TRUTH].to_numpy(), minlength=place.max(initial=0) + 1)[1:] for frame in (here, there)]
    flagged = files.patients[TRUNCATED].to_numpy() == "1"
    checks.require(bool(np.all((sizes[0] < sizes[1]) == flagged) and np.all(sizes[0] <= sizes[1])), CUT)
    if COMPANY in of_comparison(form):
        checks.require(_company_holds(files, form, original, parts), COMPANY)


def _as_shown(here: pl.DataFrame, form: ClaimsForm) -> list[tuple[pl.DataFrame, list[str]]]:
    """Released claims by which of their cells are shown, and the columns by which they can be looked for."""
    quasi, kept = form.names(CLAIMS, QUASI), form.names(CLAIMS, KEPT)
    flags = [f"{SUPPRESSED}{name}" for name in quasi]
    return [
        (
            here.filter(pl.all_horizontal(pl.col(flag) == value for flag, value in zip(flags, pattern, strict=True))),
            [TRUTH, *(name for name, value in zip(quasi, pattern, strict=True) if value == "0"), *kept],
        )
        for pattern in here.select(flags).unique(maintain_order=True).rows()
    ]


def _company_holds(
    files: WrittenClaims,
    form: ClaimsForm,
    original: Original,
    parts: list[tuple[pl.DataFrame, pl.DataFrame]],
) -> bool:
    """Whether the pseudonyms of each group of columns keep the company of the original ids."""
    groups: dict[str, list[tuple[pl.DataFrame, pl.DataFrame]]] = {}
    for column in form.of(PATIENTS):
        if column.role == PSEUDONYM:
            assert original.origin is not None
            keys = pl.Series(KEY, range(files.patients.height), dtype=pl.UInt32)
            own = as_text(original.patients[column.name]).gather(pl.Series(original.origin))
            pair = pl.DataFrame([keys, files.patients[column.name].alias(SHOWN)]), pl.DataFrame([keys, own.alias(ID)])
            groups.setdefault(str(column.numbered_with), []).append(pair)
    for column in form.of(CLAIMS):
        if column.role == PSEUDONYM:
            groups.setdefault(str(column.numbered_with), []).extend(
                (
                    own.select(KEY, pl.col(column.name).alias(SHOWN)),
                    other.select(KEY, pl.col(f"{ID}{column.name}").cast(pl.String).alias(ID)),
                )
                for own, other in parts
            )
    return all(keep_company(pairs) for pairs in groups.values())
