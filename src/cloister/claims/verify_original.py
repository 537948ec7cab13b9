"""A release of claims compared with its original: every label recoded again, every claim looked for."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.checks import Checks
from cloister.hierarchy import Hierarchy
from cloister.io import as_text

from .data_file import CLAIMS, KEPT, NUMBER, PATIENTS, QUASI, SUPPRESSED, TRUNCATED, ClaimsForm, WrittenClaims
from .verify_simulation import History

Numbers = NDArray[np.int64]
TRUTH = "\0truth"


@dataclass(frozen=True, eq=False, repr=False)
class Original:
    """What only the custodian has: patients and claims after steps 1 to 6, which are frames still.

    Attributes
    ----------
    patients : one row a patient
    claims : one row a claim
    owners : (n_claims,) row of the patient of each
    hierarchies : by file and column
    origin : (n_released,) row of each released patient; None where the crosswalk is not given
    ids : keyed hashes of the ids of patients; None where ids are numbers
    """

    patients: pl.DataFrame
    claims: pl.DataFrame
    owners: Numbers
    hierarchies: dict[str, dict[str, Hierarchy]]
    origin: Numbers | None
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


def compare(checks: Checks, files: WrittenClaims, form: ClaimsForm, original: Original) -> Truth | None:
    """Recode the original, and look for every released row in it; None where it cannot be said who is who."""
    patients = _recoded(original.patients, form, PATIENTS, original.hierarchies[PATIENTS])
    claims = _recoded(original.claims, form, CLAIMS, original.hierarchies[CLAIMS])
    names = form.names(PATIENTS, QUASI, KEPT)
    released = files.patients.select(names)
    if form.ids != NUMBER:
        checks.require(
            original.ids is not None and files.patients.to_series(0).is_in(original.ids.implode()).all(),
            "ids are the keyed hashes of ids of the original",
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
    is_known = original.origin.size == released.height and np.unique(original.origin).size == original.origin.size
    if not checks.require(is_known, "every released patient is another one of the original"):
        return None
    same = released.equals(patients.select(names)[original.origin])
    checks.require(same, "patients are those of the original, as recoded again")
    if original.ids is not None:
        mine = original.ids.gather(pl.Series(original.origin)).to_list()
        checks.require(files.patients.to_series(0).to_list() == mine, "every patient has the hash of the own id")
    _claims_hold(checks, files, form, claims, original)
    columns = form.names(CLAIMS, QUASI)
    base = [as_text(original.claims[name]) for name in columns]
    return Truth(
        original.patients.height,
        original.origin,
        History(original.owners, base),
        History(original.owners, [claims[name] for name in columns]),
    )


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
    return pl.DataFrame(columns)


def _claims_hold(
    checks: Checks, files: WrittenClaims, form: ClaimsForm, claims: pl.DataFrame, original: Original
) -> None:
    """Every released claim is one of the patient's, suppressed cells aside, and none is missing but where flags say."""
    assert original.origin is not None
    place = np.full(original.patients.height, -1, dtype=np.int64)
    place[original.origin] = np.arange(1, original.origin.size + 1)
    there = claims.with_columns(pl.Series(TRUTH, place[original.owners])).filter(pl.col(TRUTH) > 0)
    quasi, kept = form.names(CLAIMS, QUASI), form.names(CLAIMS, KEPT)
    flags = [f"{SUPPRESSED}{name}" for name in quasi]
    here = files.claims.drop(form.names(CLAIMS)[0]).with_columns(pl.Series(TRUTH, files.owners + 1))
    fits = True
    for pattern in here.select(flags).unique().rows():
        some = here.filter(pl.all_horizontal(pl.col(flag) == value for flag, value in zip(flags, pattern, strict=True)))
        shown = [TRUTH, *(name for name, value in zip(quasi, pattern, strict=True) if value == "0"), *kept]
        counts = (
            some.group_by(shown).len().join(there.group_by(shown).len("there"), on=shown, how="left", nulls_equal=True)
        )
        fits &= bool((counts["len"] <= counts["there"].fill_null(0)).all())
    checks.require(fits, "every released claim is one of the patient's, as recoded again, suppressed cells aside")
    sizes = [np.bincount(frame[TRUTH].to_numpy(), minlength=place.max(initial=0) + 1)[1:] for frame in (here, there)]
    flagged = files.patients[TRUNCATED].to_numpy() == "1"
    is_told = bool(np.all((sizes[0] < sizes[1]) == flagged) and np.all(sizes[0] <= sizes[1]))
    checks.require(is_told, f"claims are missing of all patients with {TRUNCATED}, and of no others")
