"""Attack claims: the adversary knows the patient's row in the file of patients, and some values of each column of the
file of claims.

The values of a column are drawn from those of the patient's claims before any was omitted, as the adversary of the
plan knows them. A released patient fits who is alike in the columns of patients and has each value as often as it is
known.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.io import as_text
from cloister.shapes.claims.format.data import PATIENT, Claims
from cloister.shapes.claims.format.manifest import ClaimsManifest, ClaimsPromise
from cloister.shapes.claims.format.released_columns import (
    CLAIMS,
    KEPT,
    PATIENTS,
    QUASI,
    TABLES,
    ClaimsForm,
    WrittenClaims,
)
from cloister.shapes.claims.verify.original import recode_file, select_quasi_identifiers
from cloister.shapes.claims.verify.recheck import ClaimsChecker, prepared_again, read_original
from cloister.shapes.claims.verify.risk import powers
from cloister.shapes.claims.verify.simulation import Candidates, ColumnHolders, History, number_rows, number_texts
from cloister.verification.driver import Request

from .adversary import NOT_KNOWN, Adversary, Integers, KnowledgeStep, RecordGroups, order_of
from .simulation import OpenedRelease, Traces, as_lists, patient_ids, released_of

ALONE, ONE, AS_PLANNED, EVERYTHING = range(1, 5)
"""Steps of knowledge: columns of patients, then one value of each column of claims, as many as the plan says, all."""

KNOWN_OF_CLAIMS = ("1 value of each {}", "as many values of each {} as the plan assumes", "all values of each {}")
"""What is known of claims, from the second step on."""
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class Drawn:
    """The original claims, in the order in which their values become known."""

    # order, starts: the claims by their patients, and where those of each begin
    order: Integers
    starts: Integers
    is_there: Sequence[Flags]  # by column, (n_claims,) whether a value was recorded
    power: Integers  # (n_patients, n_columns) values that the adversary of the plan knows
    seed: int

    def claims(self, target: int, column: int, step: int) -> Integers:
        """Return the claims of a target whose value of a column is known."""
        own = self.order[self.starts[target] : self.starts[target + 1]]
        own = own[self.is_there[column][own]]
        number = {ALONE: 0, ONE: 1, AS_PLANNED: int(self.power[target, column]), EVERYTHING: own.size}[step]
        return own[order_of(own.size, self.seed, target, column)[:number]] if number < own.size else own


@dataclass(frozen=True, eq=False, repr=False)
class Histories(RecordGroups):
    """Patients with claims, among whom the adversary looks for one."""

    candidates: Candidates
    spans: Integers  # (n_patients, 2): by patient of the original, the candidates alike in the columns of patients
    # by column, (n_claims,) number of what each claim of the original has there; below 0: nothing is known of it
    values: Sequence[NDArray[np.integer]]
    drawn: Drawn  # which claims are known
    sizes: Integers  # of the groups of patients here: ones
    own: Integers  # (n_patients,) the patient's own place here, `GONE` or `NOT_KNOWN`

    @classmethod
    def of(
        cls, known: tuple[pl.DataFrame, History], here: tuple[pl.DataFrame, History], drawn: Drawn, own: Integers
    ) -> "Histories":
        """Number the patients and claims of the original and of those who are looked through: columns, and claims."""
        (patients, claims), (others, theirs) = known, here
        cells, cells_here = number_rows(patients, others)
        candidates, values = Candidates(cells_here), []
        owners, spans = candidates.number[theirs.owners], np.stack(candidates.spans(cells), axis=1)
        for pair in zip(claims.columns, theirs.columns, strict=True):
            known_values, shown = number_texts(pair)
            values.append(known_values)
            candidates.holders.append(ColumnHolders(owners, shown, others.height))
        return cls(candidates, spans, values, drawn, np.ones(others.height, dtype=np.int64), own)

    def groups(self, target: int, known: Sequence[int]) -> Integers:
        """Return the patients who match a target at this level of knowledge."""
        begin, end = self.spans[target].tolist()
        if begin == end:
            return self.candidates.order[:0]
        held = [own[self.drawn.claims(target, column, len(known))] for column, own in enumerate(self.values)]
        drawn = [[*Counter(own[own >= 0].tolist()).items()] for own in held]
        return self.candidates.order[self.candidates.find(drawn, (begin, end)).patients()]


def open_claims(folder: Path, manifest: ClaimsManifest, known: Request, seed: int) -> OpenedRelease:
    """Open a release of claims; ``seed``: of the order in which values become known."""
    original, promise = read_original(known), ClaimsPromise.of(manifest)
    assert original is not None  # no attack without
    source = original.claims
    prepared = prepared_again(source, manifest).claims
    (name,) = source.plan.patients.columns("id")
    files = ClaimsChecker().read_files(folder, manifest)
    patients = files.patients
    all_ids = patient_ids(source.patients[name], source.n_patients)
    ids = all_ids.gather(prepared.patients[PATIENT])
    released_ids = patients[promise.form.names(PATIENTS)[0]]
    rows = released_of(original.crosswalk, ids, released_ids, prepared.n_patients)
    adversary = _adversary(promise, prepared, files, rows, seed)
    return OpenedRelease(
        shape="claims",
        method=manifest.method,
        k=promise.plan.risk.k,
        n_patients=prepared.n_patients,
        n_released=patients.height,
        is_known_who=not np.any(rows == NOT_KNOWN),
        adversaries=(adversary,),
        ids=ids,
        traces=Traces(None, adversary, np.arange(patients.height), _recorded_values(promise.form, files), rows),
    )


def _recorded_values(form: ClaimsForm, files: WrittenClaims) -> dict[str, pl.Series]:
    """What is released as recorded of each patient: columns of patients, and of all of the patient's claims."""
    found = as_lists(files.patients.select(form.names(PATIENTS, KEPT)))
    rows = pl.DataFrame({"owner": np.arange(files.patients.height)})
    for name in form.names(CLAIMS, KEPT):
        texts = pl.DataFrame([pl.Series("owner", files.owners), files.claims[name].alias("texts")])
        lists = texts.group_by("owner", maintain_order=True).all()
        found[name] = rows.join(lists, on="owner", how="left", maintain_order="left")["texts"]
    return found


def _steps(form: ClaimsForm, threshold: float) -> tuple[KnowledgeStep, ...]:
    """What is known in each step; ``threshold``: of the adversary of the plan."""
    alone = "quasi-identifiers of patients" if form.names(PATIENTS, QUASI) else ""
    of_claims = [words.format("quasi-identifier of claims") for words in KNOWN_OF_CLAIMS]
    every = enumerate((alone, *(f"{alone} and {one}" if alone else one for one in of_claims)), start=ALONE)
    limits = {AS_PLANNED: threshold}
    return tuple(KnowledgeStep(words, number, limits.get(number)) for number, words in every if words)


def _adversary(promise: ClaimsPromise, prepared: Claims, files: WrittenClaims, rows: Integers, seed: int) -> Adversary:
    """The adversary of the plan, knowing less, as much and more."""
    form, n_patients, owners = promise.form, prepared.n_patients, prepared.owners
    names, adversary = form.names(CLAIMS, QUASI), promise.plan.adversary
    patients, claims = (recode_file(prepared, form, table) for table in TABLES)
    if patients is None or claims is None:
        raise InputError("The levels of the release are not those of the hierarchies of the plan.")
    base = History(owners, [as_text(prepared.claims[name]) for name in names])
    recoded, shown = History(owners, [claims[name] for name in names]), [files.claims[name] for name in names]
    known = recoded if adversary.basis == "node" else base
    (power,) = powers(known, n_patients, [adversary.power], adversary.rounding)
    drawn = Drawn(
        np.argsort(owners, kind="stable"),
        np.searchsorted(np.sort(owners), np.arange(n_patients + 1)),
        [column.is_not_null().to_numpy() for column in base.columns],
        power.astype(np.int64),
        seed,
    )
    theirs, raw = select_quasi_identifiers(patients, form), (select_quasi_identifiers(prepared.patients, form), base)
    here = select_quasi_identifiers(files.patients, form), History(files.owners, shown)
    released = Histories.of((theirs, recoded), here, drawn, rows)
    everybody = Histories.of(raw, raw, drawn, np.arange(n_patients))
    steps = _steps(form, promise.plan.risk.threshold)
    # The guarantee is about anyone who knows as much as the plan says, or less; and about the average patient.
    return Adversary(
        steps, np.full(n_patients, EVERYTHING), released, everybody, lambda _, known: len(known) == AS_PLANNED
    )
