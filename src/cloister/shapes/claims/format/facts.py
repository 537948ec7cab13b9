"""Facts of the two files of a release of claims, counted from their text: for manifest, codebook and report."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.hierarchy.bound import ROOT
from cloister.io import Tally, as_text
from cloister.release.codebook import Row, Type, codebook_of, type_of
from cloister.release.derived import Derived, Part, Place
from cloister.release.figures import Counted, ReportCounts, label_counts

from .data import Masked, Step, StepLine, numbers_by_content, sort_numbers
from .group_tables import OTHER
from .manifest import DIGITS, Levels, Unbounded, VoterList, rule_of
from .plan import ClaimsPlan
from .population import PEOPLE, people_of, voter_list
from .released_columns import (
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
    TABLES,
    TRUNCATED,
    ClaimsForm,
    WrittenClaims,
    kept_columns,
)
from .representativeness import median_claims

KIND = "\0kind"
SUPPRESSION, HIDDEN = "11 suppression", "cells suppressed"
IDS = {
    NUMBER: "number of the patient in this release; the same in both files",
    HASHED: "keyed hash of the patient's id; the same in both files, and in other releases made with the key",
}
ANY, RECORDED, GROUP = "any value", "as recorded", "a group of values of the hierarchy"
CUT = "1 where claims of the patient were left out, else 0"
EMPTIED = "1 where the cell was suppressed, which is then empty, else 0"


EXAMPLES, CLAIMS_OF_EXAMPLE, GOLDEN = 5, 3, 0.6180339887498949


@dataclass(frozen=True)
class ClaimsFacts:
    """The parts of a manifest that follow from the released files, their columns and the plan; counts by step."""

    n_patients: int
    n_claims: int
    labels: Mapping[str, int]
    labels_of_patients: Mapping[str, int]
    counts: Mapping[str, Mapping[str, Masked]]
    median_claims: float | None
    unbounded: Unbounded
    voters: VoterList

    def count_in_step(self, step: Step) -> Step:
        """Return a step with counts from the files; suppression also counts the rows that the files omit."""
        counts = self.counts.get(step.step)
        return step.counting({**step.counts, **(counts or {})} if step.step == SUPPRESSION else counts)


@dataclass(frozen=True, repr=False)
class DerivedClaims(Derived):
    """The parts that follow from the files of claims, their columns, the plan and the stated steps."""

    files: WrittenClaims
    form: ClaimsForm
    plan: ClaimsPlan
    steps: tuple[Step, ...]
    facts: ClaimsFacts

    def parts(self) -> dict[Place, Part]:
        """Return rules, limits of risk, numbers of rows, labels, levels, counts of steps, and lists of persons."""
        facts, form, rule = self.facts, self.form, rule_of(self.plan)
        # of a population, which is not among the files, the patients are a sample
        voters: dict[Place, Part] = {("sensitivity", "voter_list"): facts.voters}
        if self.plan.population.patients is not None:
            sample: Place = ("sensitivity", "voter_list", "sample")
            voters = {("sensitivity", "voter_list", "list"): "population", sample: facts.voters.sample}
        return {
            ("records", "released"): facts.n_patients,
            ("records", "claims"): facts.n_claims,
            ("seed",): self.plan.risk.seed,
            ("guarantee", "rules"): [rule],
            ("risk", "threshold"): rule.threshold,
            ("risk", "k"): rule.k,
            ("risk", "flag_aware", "limit"): rule.flag_aware,
            ("risk", "likeliest", "limit"): rule.likeliest,
            ("utility", "labels"): facts.labels,
            ("utility", "labels_of_patients"): facts.labels_of_patients,
            ("choice", "levels"): Levels(patients=form.levels(PATIENTS), claims=form.levels(CLAIMS)),
            ("steps",): [facts.count_in_step(step) for step in self.steps],
            ("representativeness", "median_claims_released"): facts.median_claims,
            ("sensitivity", "unbounded"): facts.unbounded,
            **voters,
        }

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return both files."""
        return {table: self.files.of(table) for table in TABLES}

    def codebook(self) -> pl.DataFrame:
        """Return one row for each label of each quasi-identifier, and one for each other column."""
        return codebook(self.files, self.form)

    def report_counts(self) -> ReportCounts:
        """Return the patients of each class, and the rows with each label."""
        return report_counts(self.files, self.form, self.plan.risk.k)


def facts_of(files: WrittenClaims, form: ClaimsForm, plan: ClaimsPlan) -> ClaimsFacts:
    """Return the facts of files with these columns that were released under this plan."""
    sizes, k = class_size_of_patient(files, form), plan.risk.k
    alone = people_of(files.patients, files.patients.select(form.names(PATIENTS, QUASI)))
    return ClaimsFacts(
        n_patients=files.patients.height,
        n_claims=files.claims.height,
        labels={name: files.claims[name].n_unique() for name in form.names(CLAIMS, QUASI)},
        labels_of_patients={name: files.patients[name].n_unique() for name in form.names(PATIENTS, QUASI)},
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


def class_size_of_patient(files: WrittenClaims, form: ClaimsForm) -> NDArray[np.int64]:
    """Return how many patients share each one's quasi-identifiers in both files, (n_patients,), itself included."""
    kinds = numbers_by_content(files.claims.select(form.names(CLAIMS, QUASI)))
    histories = sort_numbers(files.owners, kinds, files.patients.height).rename(KIND)
    people = files.patients.select(*form.names(PATIENTS, QUASI), histories)
    return people.select(pl.len().over(people.columns).cast(pl.Int64)).to_series().to_numpy()


def counts_of(plan: ClaimsPlan, files: WrittenClaims, form: ClaimsForm) -> dict[str, dict[str, int]]:
    """Return the counts of steps that the files show for released patients, by step."""
    without: dict[str, int] = {}
    if plan.patients.without_claims == "keep":  # released patients who never had claims
        n_rows = np.bincount(files.owners, minlength=files.patients.height)
        without["without claims"] = int(((n_rows == 0) & (files.patients[TRUNCATED].to_numpy() == "0")).sum())
    missing: dict[str, int] = {}
    for table in (CLAIMS, PATIENTS):
        frame = files.of(table)
        for name in (name for name in plan.of(table).derived if name in frame.columns):
            flag = f"{SUPPRESSED}{name}"
            hidden = frame[flag] == "1" if flag in frame.columns else pl.Series([False])
            missing[f"{name} missing"] = int((frame[name].is_null() & ~hidden).sum())
    # cells in the group of all other codes, and with the label of large numbers, of columns that are not generalized
    finest = {table: [name for name, one in form.of(table).items() if not one.level] for table in TABLES}
    grouped = [plan.claims.column(role) for role in plan.grouping.columns]
    return {
        "1 pseudonyms": group_sizes(files.claims, plan),
        "3 patients without claims": without,
        "5 derived columns": missing,
        "6 grouping": {
            f"{column!r} in group {OTHER}": int((files.claims[column] == OTHER).sum())
            for column in grouped
            if column in finest[CLAIMS]
        },
        "6 top-coding": {
            f"{coding.column!r} top-coded": int(as_text(files.of(table)[coding.column]).str.ends_with("+").sum())
            for coding in plan.top_coding
            for table in TABLES
            if coding.column in finest[table]
        },
        SUPPRESSION: {HIDDEN: sum(int((files.claims[flag] == "1").sum()) for flag in form.names(CLAIMS, FLAG))},
    }


def codebook(files: WrittenClaims, form: ClaimsForm) -> pl.DataFrame:
    """Return one row for each label of each quasi-identifier, and one for each other column."""
    rows: list[Row] = []
    types: dict[str, Type] = {}
    for table in TABLES:
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
    """Return the report's counts beyond the manifest.

    Classes are those of patients with the same quasi-identifiers of their own; claims make patients stand out further.
    """
    known = form.names(PATIENTS, QUASI)
    return ReportCounts(
        k=k,
        sizes=files.patients.group_by(known).len(PEOPLE)[PEOPLE] if known else pl.Series([files.patients.height]),
        of="patients",
        by="the size of their class, by quasi-identifiers of patients alone",
        columns=tuple(
            Counted(table, column, table, label_counts(files.of(table)[column]))
            for table in TABLES
            for column in form.names(table, QUASI)
        ),
        files={table: Tally(files.of(table).drop(form.names(table, IDENTIFIER))) for table in TABLES},
        examples=tuple(_made_up(files, form, number) for number in range(EXAMPLES)),
    )


def _made_up(files: WrittenClaims, form: ClaimsForm, number: int) -> dict[str, str]:
    """Return a patient that is none: of each column a label, by itself, so that all together have the frequent ones.

    Labels stand at equal steps through all cells of the column in order, which begin at another place in each column.
    """
    found = {}
    for table, size in ((PATIENTS, 1), (CLAIMS, CLAIMS_OF_EXAMPLE)):
        for j, name in enumerate(form.names(table, QUASI)):
            cells = files.of(table)[name].sort(nulls_last=True)
            shares = ((number * size + one + 0.5) / (EXAMPLES * size) + GOLDEN * (j + 1) for one in range(size))
            texts = [cells[int(share % 1.0 * cells.len())] or "missing" for share in shares] if cells.len() else []
            found[name if table == PATIENTS else f"{name} of claims"] = "; ".join(texts)
    return found


GROUP_SIZES = ((1, 1), (2, 4), (5, 10), (11, 19), (20, 99), (100, None))
"""Bands of claims per pseudonym, as they are reported."""


def group_sizes(claims: pl.DataFrame, plan: ClaimsPlan) -> dict[str, int]:
    """How many pseudonyms of each column have how many of these claims."""
    counts: dict[str, int] = {}
    for column in (name for name, one in kept_columns(plan, CLAIMS).items() if one.role == PSEUDONYM):
        role, sizes = plan.claims.roles[column], claims[column].drop_nulls().value_counts()["count"]
        for low, high in GROUP_SIZES:
            band = f"{low}+" if high is None else f"{low}" if low == high else f"{low}-{high}"
            counts[f"{role} {column!r} with {band} claims"] = int(((sizes >= low) & (sizes <= (high or 2**31))).sum())
    return counts
