"""What the two files of a release of claims say, counted from their text.

For the manifest, the codebook and the report, and to verify them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.codebook import Row, Type, codebook_of, type_of
from cloister.hierarchy.bound import ROOT
from cloister.report_figures import Counted, ReportCounts, label_counts

from .data_file import (
    CLAIMS,
    FLAG,
    HASHED,
    IDENTIFIER,
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
from .declared import smallest_class
from .group_tables import OTHER
from .manifest import DIGITS, ClaimsManifest, Unbounded, VoterList
from .plan import ClaimsPlan
from .population import people_of, voter_list
from .prepare import group_sizes
from .representativeness import median_claims
from .steps import Masked, StepLine

OWNER, KIND = "\0owner", "\0kind"
SUPPRESSION, HIDDEN = "11 suppression", "cells suppressed"
IDS = {
    NUMBER: "number of the patient in this release; the same in both files",
    HASHED: "keyed hash of the patient's id; the same in both files, and in other releases made with the key",
}
ANY, RECORDED, GROUP = "any value", "as recorded", "a group of values of the hierarchy"
CUT = "1 where claims of the patient were left out, else 0"
EMPTIED = "1 where the cell was suppressed, which is then empty, else 0"


@dataclass(frozen=True)
class ClaimsFacts:
    """The parts of a manifest that follow from the released files, their columns and the plan; counts by step."""

    n_patients: int
    n_claims: int
    labels: Mapping[str, int]
    counts: Mapping[str, Mapping[str, Masked]]
    median_claims: float | None
    unbounded: Unbounded
    voters: VoterList

    def differing(self, manifest: ClaimsManifest) -> list[str]:
        """Return the parts of a manifest that say something else."""
        records, found, own = manifest.records, manifest.sensitivity.voter_list, self.voters
        are_voters = found == own
        if manifest.settings.plan.population.patients is not None:
            # of the population, which is not among the files, the patients are a sample
            are_voters = found.list == "population" and found.sample == own.sample
            are_voters = are_voters and bool(found.columns) and {*found.columns} <= {*own.columns}
        steps = {step.step: step.counts for step in manifest.steps}
        # suppression counts what the files do not show, too
        hidden = self.counts[SUPPRESSION].items() <= steps[SUPPRESSION].items()
        others = all(steps[name] == counts for name, counts in self.counts.items() if name != SUPPRESSION)
        same = {
            "records": (records.released, records.claims) == (self.n_patients, self.n_claims),
            "utility.labels": manifest.utility.labels == self.labels,
            "steps": hidden and others,
            "representativeness": manifest.representativeness.median_claims_released == self.median_claims,
            "sensitivity.unbounded": manifest.sensitivity.unbounded == self.unbounded,
            "sensitivity.voter_list": are_voters,
        }
        return [part for part, holds in same.items() if not holds]


def facts_of(files: WrittenClaims, form: ClaimsForm, plan: ClaimsPlan) -> ClaimsFacts:
    """Return what files say that have these columns and were released under this plan."""
    sizes, k = alike(files, form), smallest_class(plan.risk.threshold)
    alone = people_of(files.patients, files.patients.select(form.names(PATIENTS, QUASI)))
    return ClaimsFacts(
        n_patients=files.patients.height,
        n_claims=files.claims.height,
        labels={name: files.claims[name].n_unique() for name in form.names(CLAIMS, QUASI)},
        counts={
            step: StepLine(step, counts=own).masked(k).counts for step, own in counts_of(plan, files, form).items()
        },
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
    without: dict[str, int] = {}
    if plan.patients.without_claims == "keep":  # released patients who never had claims
        n_rows = np.bincount(files.owners, minlength=files.patients.height)
        without["without claims"] = int(((n_rows == 0) & (files.patients[TRUNCATED].to_numpy() == "0")).sum())
    missing: dict[str, int] = {}
    for table, names in ((CLAIMS, plan.claims.derived), (PATIENTS, plan.patients.derived)):
        frame = files.of(table)
        for name in (name for name in names if name in frame.columns):
            flag = f"{SUPPRESSED}{name}"
            hidden = frame[flag] == "1" if flag in frame.columns else pl.Series([False])
            missing[f"{name} missing"] = int((frame[name].is_null() & ~hidden).sum())
    # cells in the group of all other codes, and with the label of large numbers, of columns that are not generalized
    finest = {
        table: [name for name in form.names(table) if not form.of(table)[name].level] for table in (PATIENTS, CLAIMS)
    }
    grouped = [plan.claim_column(role) for role in plan.grouping.columns]
    return {
        "1 pseudonyms": group_sizes(files.claims, plan),
        "3 patients without claims": without,
        "5 derived columns": missing,
        "6 grouping": {
            f"{column!r} in group {OTHER}": int((files.claims[column] == OTHER).sum())
            for column in grouped
            if column is not None and column in finest[CLAIMS]
        },
        "6 top-coding": {
            f"{coding.column!r} top-coded": int(files.of(table)[coding.column].str.ends_with("+").sum())
            for coding in plan.top_coding
            for table in (PATIENTS, CLAIMS)
            if coding.column in finest[table]
        },
        SUPPRESSION: {HIDDEN: sum(int((files.claims[flag] == "1").sum()) for flag in form.names(CLAIMS, FLAG))},
    }


def codebook(files: WrittenClaims, form: ClaimsForm) -> pl.DataFrame:
    """Return one row for each label of each quasi-identifier, and one for each other column."""
    rows: list[Row] = []
    types: dict[str, Type] = {}
    for table in (PATIENTS, CLAIMS):
        for name, column in form.of(table).items():
            whole, level = f"{table}.{name}", column.level
            if column.role == QUASI:
                for label in files.of(table)[name].drop_nulls().unique().sort():
                    meaning = ANY if label == ROOT and level == column.top else GROUP if level else RECORDED
                    rows.append((whole, QUASI, column.hierarchy, str(level), label, meaning))
            else:
                meanings = {
                    FLAG: CUT if name == TRUNCATED else EMPTIED,
                    IDENTIFIER: IDS[form.ids],
                    KEPT: RECORDED,
                    PSEUDONYM: "a number in place of an id, by its first appearance",
                }
                types[whole] = type_of(files.of(table)[name])
                rows.append((whole, column.role, None, None, None, meanings[column.role]))
    return codebook_of(rows, types)


def report_counts(files: WrittenClaims, form: ClaimsForm, k: int) -> ReportCounts:
    """Return what the report counts in the files beyond the manifest.

    Classes are those of patients with the same quasi-identifiers of their own; claims make patients stand out further.
    """
    known = form.names(PATIENTS, QUASI)
    return ReportCounts(
        k=k,
        sizes=files.patients.group_by(known).len()["len"] if known else pl.Series([files.patients.height]),
        of="patients",
        by="the size of their class, by quasi-identifiers of patients alone",
        columns=tuple(
            Counted(table, column, table, label_counts(files.of(table)[column]))
            for table in (PATIENTS, CLAIMS)
            for column in form.names(table, QUASI)
        ),
        files={table: files.of(table).drop(form.names(table, IDENTIFIER)) for table in (PATIENTS, CLAIMS)},
    )
