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

from cloister.io import as_text
from cloister.shapes.claims.format.data import PATIENT, Claims
from cloister.shapes.claims.format.hierarchies import hierarchy_named, relabel
from cloister.shapes.claims.format.manifest import ClaimsManifest, ClaimsPromise
from cloister.shapes.claims.format.released_columns import CLAIMS, KEPT, PATIENTS, QUASI, ClaimsForm, WrittenClaims
from cloister.shapes.claims.verify.recheck import ClaimsChecker, prepared_again, read_original
from cloister.shapes.claims.verify.risk import powers
from cloister.shapes.claims.verify.simulation import ColumnHolders, History
from cloister.verification.driver import Request

from .adversary import NOT_KNOWN, Adversary, Integers, KnowledgeStep, RecordGroups, order_of
from .label_matching import number_texts
from .simulation import OpenedRelease, Traces, as_lists, patient_ids, released_of

ALONE, ONE, AS_PLANNED, EVERYTHING = range(1, 5)
"""Steps of knowledge: columns of patients, then one value of each column of claims, as many as the plan says, all."""

STEPS = (
    "columns of patients",
    "columns of patients and 1 value of each column of claims",
    "columns of patients and values as the plan expects",
    "columns of patients and all values of claims",
)
ABSENT, EMPTY = -1, -2

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

    # (n_patients,) combination of the columns of patients that each patient of the original has, -1: nobody
    cell_of: Integers
    cells: Sequence[Integers]  # for each combination, the patients here who have it, ascending
    columns: Sequence[ColumnHolders]  # who has which value, by column of claims
    # by column, (n_claims,) what each claim of the original has there; `ABSENT`: nobody here has it, `EMPTY`: nothing
    # is told of it
    values: Sequence[Integers]
    drawn: Drawn  # which claims are known
    sizes: Integers  # of the groups of patients here: ones
    own: Integers  # (n_patients,) the patient's own place here, `GONE` or `NOT_KNOWN`

    def groups(self, target: int, known: Sequence[int]) -> Integers:
        """Return the patients who match a target at this level of knowledge."""
        cell = int(self.cell_of[target])
        alive = self.cells[cell] if cell >= 0 else np.empty(0, dtype=np.int64)
        for column, held in enumerate(self.columns):
            values = self.values[column][self.drawn.claims(target, column, len(known))]
            for value, times in Counter(values[values != EMPTY].tolist()).items():
                having, often = held.of(value) if value != ABSENT else (alive[:0], alive[:0])
                enough = having[often >= times]
                place = np.searchsorted(enough, alive)
                alive = alive[place < enough.size]
                alive = alive[enough[place[place < enough.size]] == alive]
        return alive


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
        k=promise.k,
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


def _adversary(promise: ClaimsPromise, prepared: Claims, files: WrittenClaims, rows: Integers, seed: int) -> Adversary:
    """The adversary of the plan, knowing less, as much and more."""
    form, n_patients, owners = promise.form, prepared.n_patients, prepared.owners
    quasi = form.names(CLAIMS, QUASI)
    base = [as_text(prepared.claims[column]) for column in quasi]
    labels = [_labels(prepared, form, CLAIMS, column) for column in quasi]
    known = History(owners, labels if promise.plan.adversary.basis == "node" else base)
    adversary = promise.plan.adversary
    (power,) = powers(known, n_patients, [adversary.power], adversary.rounding)
    drawn = Drawn(
        np.argsort(owners, kind="stable"),
        np.searchsorted(np.sort(owners), np.arange(n_patients + 1)),
        [column.is_not_null().to_numpy() for column in base],
        power.astype(np.int64),
        seed,
    )
    names = form.names(PATIENTS, QUASI)
    cells = [_labels(prepared, form, PATIENTS, name) for name in names]
    shown = labels, [files.claims[column] for column in quasi], files.owners
    released = _histories(_texts(cells, names), files.patients.select(names), shown, drawn, rows)
    raw = _texts([as_text(prepared.patients[name]) for name in names], names)
    everybody = _histories(raw, raw, (base, base, owners), drawn, np.arange(n_patients))
    steps = tuple(
        KnowledgeStep(words, number, promise.threshold if number == AS_PLANNED else None)
        for number, words in enumerate(STEPS, start=1)
    )
    # The guarantee is about anyone who knows as much as the plan says, or less; and about the average patient.
    return Adversary(
        steps, np.full(n_patients, len(STEPS)), released, everybody, lambda _, known: len(known) == AS_PLANNED
    )


def _texts(columns: Sequence[pl.Series], names: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame([column.alias(name) for column, name in zip(columns, names, strict=True)])


def _labels(data: Claims, form: ClaimsForm, table: str, column: str) -> pl.Series:
    hierarchy = hierarchy_named(data.plan.of(table).qi[column], data.plan.grouping.tables)
    return relabel(as_text(data.of(table)[column]), hierarchy, form.of(table)[column].level or 0)


def _histories(
    theirs: pl.DataFrame,
    here: pl.DataFrame,
    columns: tuple[Sequence[pl.Series], Sequence[pl.Series], Integers],
    drawn: Drawn,
    own: Integers,
) -> Histories:
    """Number combinations of columns and values of both, and say who has which.

    ``theirs, here``: the columns of patients, of the original and of the patients looked through
    ``columns``: of claims, of the original and here, and whose each claim here is
    """
    known, shown, owners = columns
    cell_of, cells = _cells(theirs, here)
    held, values = [], []
    for mine, other in zip(known, shown, strict=True):
        texts, numbers = number_texts(other)
        place = {text: number for number, text in enumerate(texts) if text is not None}
        held.append(ColumnHolders(owners, np.where(numbers > 0, numbers, ABSENT), here.height))
        lookup = mine.replace_strict(place, default=ABSENT, return_dtype=pl.Int64) if place else None
        there = np.full(len(mine), ABSENT) if lookup is None else lookup.fill_null(ABSENT).to_numpy()
        values.append(np.where(mine.is_null().to_numpy(), EMPTY, there))
    return Histories(cell_of, cells, held, values, drawn, np.ones(here.height, dtype=np.int64), own)


def _cells(theirs: pl.DataFrame, here: pl.DataFrame) -> tuple[Integers, list[Integers]]:
    place: dict[tuple[object, ...], list[int]] = {}
    for number, row in enumerate(here.rows() if here.width else [()] * here.height):
        place.setdefault(row, []).append(number)
    number_of = {row: number for number, row in enumerate(place)}
    rows = theirs.rows() if theirs.width else [()] * theirs.height
    cell_of = np.array([number_of.get(row, ABSENT) for row in rows], dtype=np.int64)
    return cell_of, [np.array(patients, dtype=np.int64) for patients in place.values()]
