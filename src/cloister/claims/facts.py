"""What the two files of a release of claims say, counted from their text: for the manifest, and to verify it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .data_file import CLAIMS, FLAG, PATIENTS, QUASI, SUPPRESSED, TRUNCATED, ClaimsForm, WrittenClaims
from .declared import smallest_class
from .group_tables import OTHER
from .manifest import DIGITS, ClaimsManifest, Unbounded, VoterList
from .plan import ClaimsPlan
from .population import people_of, voter_list
from .prepare import group_sizes
from .representativeness import median_claims
from .steps import Masked, Step, StepLine

OWNER, KIND = "\0owner", "\0kind"
SUPPRESSION, HIDDEN = "11 suppression", "cells suppressed"


@dataclass(frozen=True)
class ClaimsFacts:
    """The parts of a manifest that follow from the released files, their columns and the plan.

    Attributes
    ----------
    counts : masked, of steps that count what is released, by step
    """

    n_patients: int
    n_claims: int
    labels: Mapping[str, int]
    counts: Mapping[str, Mapping[str, Masked]]
    median_claims: float | None
    unbounded: Unbounded
    voters: VoterList

    def differing(self, manifest: ClaimsManifest) -> list[str]:
        """Return the parts of a manifest that say something else."""
        records, voters = manifest.records, manifest.sensitivity.voter_list
        has_register = manifest.settings.plan.population.patients is not None
        same = {
            "records": (records.released, records.claims) == (self.n_patients, self.n_claims),
            "utility.labels": manifest.utility.labels == self.labels,
            "steps": all(_counts_are(step, self.counts) for step in manifest.steps),
            "representativeness": manifest.representativeness.median_claims_released == self.median_claims,
            "sensitivity.unbounded": manifest.sensitivity.unbounded == self.unbounded,
            "sensitivity.voter_list": _is_population(voters, self.voters) if has_register else voters == self.voters,
        }
        return [part for part, holds in same.items() if not holds]


def _counts_are(step: Step, counts: Mapping[str, Mapping[str, Masked]]) -> bool:
    """Whether a step counts what the files say, and, but for suppression, nothing else."""
    expected = counts.get(step.step, {})
    if step.step == SUPPRESSION:
        return expected.items() <= step.counts.items()
    return step.step not in counts or step.counts == expected


def _is_population(found: VoterList, alone: VoterList) -> bool:
    """Whether a list can be of a population, which is not among the files, of which the patients are a sample."""
    columns = {*found.columns}
    return found.list == "population" and found.sample == alone.sample and bool(columns) and columns <= {*alone.columns}


def facts_of(files: WrittenClaims, form: ClaimsForm, plan: ClaimsPlan) -> ClaimsFacts:
    """Return what files say that have these columns and were released under this plan."""
    sizes, k = alike(files, form), smallest_class(plan.risk.threshold)
    counts = counts_of(plan, files, form)
    alone = people_of(files.patients, files.patients.select(form.names(PATIENTS, QUASI)))
    return ClaimsFacts(
        n_patients=files.patients.height,
        n_claims=files.claims.height,
        labels={name: files.claims[name].n_unique() for name in form.names(CLAIMS, QUASI)},
        counts={step: StepLine(step, counts=own).masked(k).counts for step, own in counts.items()},
        median_claims=median_claims(files.claims.to_series(0)),
        unbounded=Unbounded(
            mean=round(float(np.mean(1.0 / sizes)), DIGITS),
            flag_rate=round(float(np.mean(sizes < k)), DIGITS),
            unique=round(float(np.mean(sizes == 1)), DIGITS),
        ),
        voters=voter_list(alone, k, is_population=False),
    )


def alike(files: WrittenClaims, form: ClaimsForm) -> NDArray[np.int64]:
    """How many patients are like each one in all quasi-identifiers of both files, (n_patients,), each included."""
    names, own = form.names(CLAIMS, QUASI), form.names(PATIENTS, QUASI)
    events = files.claims.select(pl.col(form.names(CLAIMS)[0]).alias(OWNER), *names)
    kinds = events.select(names).unique().with_row_index(KIND)
    placed = events.join(kinds, on=names, how="left", nulls_equal=True)
    histories = placed.group_by(OWNER).agg(pl.col(KIND).sort().cast(pl.String).str.join(" "))
    people = files.patients.select(pl.col(form.names(PATIENTS)[0]).alias(OWNER), *own)
    joined = people.join(histories, on=OWNER, how="left", maintain_order="left")
    sizes = joined.select(pl.len().over([*own, KIND]).cast(pl.Int64))
    return sizes.to_series().to_numpy()


def counts_of(plan: ClaimsPlan, files: WrittenClaims, form: ClaimsForm) -> dict[str, dict[str, int]]:
    """Return what the files say of what steps did to those released, by step."""
    return {
        "1 pseudonyms": group_sizes(files.claims, plan),
        "3 patients without claims": _without_claims(plan, files),
        "5 derived columns": _missing(plan, files),
        "6 grouping": _others(plan, files, form),
        "6 top-coding": _top_coded(plan, files, form),
        SUPPRESSION: {HIDDEN: sum(int((files.claims[flag] == "1").sum()) for flag in form.names(CLAIMS, FLAG))},
    }


def _without_claims(plan: ClaimsPlan, files: WrittenClaims) -> dict[str, int]:
    """Patients released who never had claims, where such patients are kept."""
    if plan.patients.without_claims != "keep":
        return {}
    n_rows = np.bincount(files.owners, minlength=files.patients.height)
    is_whole = files.patients[TRUNCATED].to_numpy() == "0"
    return {"without claims": int(((n_rows == 0) & is_whole).sum())}


def _missing(plan: ClaimsPlan, files: WrittenClaims) -> dict[str, int]:
    """Released cells of derived columns that are missing, and were not suppressed."""
    counts = {}
    for table, names in ((CLAIMS, plan.claims.derived), (PATIENTS, plan.patients.derived)):
        frame = files.of(table)
        for name in names:
            if name in frame.columns:
                flag = f"{SUPPRESSED}{name}"
                hidden = frame[flag] == "1" if flag in frame.columns else pl.Series([False])
                counts[f"{name} missing"] = int((frame[name].is_null() & ~hidden).sum())
    return counts


def _others(plan: ClaimsPlan, files: WrittenClaims, form: ClaimsForm) -> dict[str, int]:
    """Released cells in the group of all other codes, of columns that are released as they were grouped."""
    columns = [plan.claim_column(role) for role in plan.grouping.columns]
    return {
        f"{column!r} in group {OTHER}": int((files.claims[column] == OTHER).sum())
        for column in columns
        if column is not None and _is_finest(form, CLAIMS, column)
    }


def _top_coded(plan: ClaimsPlan, files: WrittenClaims, form: ClaimsForm) -> dict[str, int]:
    """Released cells with the label of large numbers, of columns that are released as they were top-coded."""
    return {
        f"{coding.column!r} top-coded": int(files.of(table)[coding.column].str.ends_with("+").sum())
        for coding in plan.top_coding
        for table in (PATIENTS, CLAIMS)
        if _is_finest(form, table, coding.column)
    }


def _is_finest(form: ClaimsForm, table: str, name: str) -> bool:
    """Whether a column is released, with nothing generalized."""
    column = form.of(table).get(name)
    return column is not None and not column.level
