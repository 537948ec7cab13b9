"""Whether a release of claims keeps its promise, recomputed from what is written.

Shares no code with what protects: form and order are looked at with Polars, and the adversary is simulated anew with
NumPy (`verify_simulation`). What can be known from the files alone is their form, and the risk where values are drawn
from the released claims. The risk against the original claims, from which values were drawn before truncation and
suppression, can be made anew only with the original (`verify_original`).
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.checks import Checks
from cloister.results import Verdict

from .data_file import (
    CLAIMS,
    FLAG,
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
from .verify_label_counts import labels_hold
from .verify_original import Original, Truth, compare
from .verify_simulation import SURE, History, Simulated, powers, simulate

HOW = "form recounted with Polars, risk simulated anew with other random numbers, independently of the search"
OTHER_SEED = 20_120
"""Put behind the seed of the release: no simulation of the protector has it."""

DRAWS = 4_000
UNKNOWN = 10**9
"""Room of a patient of whom claims were left out: nobody knows how many."""

OWNER, PLACE = "\0owner", "\0place"


@dataclass(frozen=True)
class Promise:
    """What is promised of a release.

    Attributes
    ----------
    form : the columns of the files
    threshold, k : highest risk, and the smallest class that is not flagged
    seed : of the release
    power, rounding, basis : what the adversary knows
    figures : ``mean``, ``interval``, ``flag_rate``, ``flag_interval``; the same under ``tolerant`` and ``as_released``
    """

    form: ClaimsForm
    threshold: float
    k: int
    seed: int
    power: int
    rounding: str
    basis: str
    figures: Mapping[str, Any]


def verify(
    files: WrittenClaims, promise: Promise, original: Original | None = None, *, with_risk: bool = True
) -> Verdict:
    """Return the verdict on what stands in the files, also against the original where it is given.

    Parameters
    ----------
    with_risk : whether adversaries are simulated; without, form and recoding alone are looked at
    """
    checks = Checks()
    if _form_holds(checks, files, promise.form):
        _order_holds(checks, files, promise.form)
        labels_hold(checks, files, promise.form, promise.k)
        truth = None if original is None else compare(checks, files, promise.form, original)
        if with_risk:
            _risk_holds(checks, files, promise)
            if truth is not None:
                _original_holds(checks, files, promise, truth)
    return Verdict(not checks.failures, HOW, tuple(checks.done), tuple(checks.failures))


def _form_holds(checks: Checks, files: WrittenClaims, form: ClaimsForm) -> bool:
    for table in (PATIENTS, CLAIMS):
        frame = files.of(table)
        if not checks.require(frame.columns == form.names(table), f"the columns of {table} are those declared"):
            return False
        flags = [frame[name].is_in(["0", "1"]).fill_null(False).all() for name in form.names(table, FLAG)]
        checks.require(all(flags), f"flags of {table} are 0 or 1")
        tops = [column for column in form.of(table) if column.role == QUASI and column.level == column.top]
        whole = [frame[column.name].drop_nulls().n_unique() <= 1 for column in tops if column.hierarchy != "file"]
        checks.require(all(whole), f"a column of {table} at its highest level has one label")
    hidden = [
        files.claims[name].is_null() | (files.claims[f"{SUPPRESSED}{name}"] == "0")
        for name in form.names(CLAIMS, QUASI)
    ]
    checks.require(all(column.all() for column in hidden), "cells whose flags say that they were suppressed are empty")
    if not checks.require(files.patients.height > 0, "there are patients"):
        return False
    ids, owners = files.patients[form.names(PATIENTS)[0]], files.claims[form.names(CLAIMS)[0]]
    is_right = _ids_hold(checks, ids, form.ids)
    belongs = owners.is_in(ids.implode()).fill_null(False).all()
    return checks.require(belongs, "every claim is that of a patient of the release") and is_right


def _ids_hold(checks: Checks, ids: pl.Series, kind: str) -> bool:
    if kind == NUMBER:
        numbers = pl.Series(range(1, ids.len() + 1)).cast(pl.String)
        return checks.require((ids == numbers).fill_null(False).all(), "ids are numbers in released order")
    is_hash = ids.str.contains(r"^[0-9a-f]{64}$").fill_null(False).all() and ids.n_unique() == ids.len()
    return checks.require(is_hash, "ids are keyed hashes of 64 hexadecimal digits, another one for each patient")


def _order_holds(checks: Checks, files: WrittenClaims, form: ClaimsForm) -> None:
    """Rows are sorted by what they hold, pseudonyms left out, which are numbered by their first appearance."""
    owner = pl.Series(OWNER, files.owners + 1)
    events = files.claims.select(owner, *form.names(CLAIMS, QUASI, KEPT, FLAG))
    checks.require(_is_sorted(events), "claims are sorted by patient and then by their released values")
    sequences = _sequences(events)
    own = files.patients.select(form.names(PATIENTS, QUASI, KEPT, FLAG)).rows()
    # hashes tell patients apart who are alike in all else; numbers say nothing
    last = [""] * len(own) if form.ids == NUMBER else files.patients.to_series(0).to_list()
    keys = [
        (tuple((text is not None, (text or "").encode()) for text in row), sequences.get(number, []), name)
        for number, (row, name) in enumerate(zip(own, last, strict=True), start=1)
    ]
    told = "" if form.ids == NUMBER else ", and by their ids where these are alike"
    checks.require(
        all(one <= two for one, two in itertools.pairwise(keys)),
        f"patients are sorted by their released values and then by their claims{told}",
    )
    groups: dict[str, list[pl.Series]] = {}
    for table in (PATIENTS, CLAIMS):
        for column in form.of(table):
            if column.role == PSEUDONYM:
                groups.setdefault(str(column.numbered_with), []).append(files.of(table)[column.name].alias("id"))
    for group, series in groups.items():
        met = pl.concat(series).drop_nulls().unique(maintain_order=True)
        right = met.to_list() == [str(number) for number in range(1, met.len() + 1)]
        checks.require(right, f"pseudonyms ({group}) are numbered by their first appearance")


def _sequences(events: pl.DataFrame) -> dict[int, list[int]]:
    """Of each patient, the places of the claims among all kinds of claims, in the order of the file."""
    kinds = events.drop(OWNER).unique()
    kinds = kinds.sort(kinds.columns, nulls_last=False).with_row_index(PLACE)
    placed = events.join(kinds, on=kinds.columns[1:], how="left", nulls_equal=True, maintain_order="left")
    return dict(placed.group_by(OWNER).agg(PLACE).rows())


def _is_sorted(frame: pl.DataFrame) -> bool:
    return frame.equals(frame.sort(frame.columns, nulls_last=False))


def _cells(files: WrittenClaims, form: ClaimsForm) -> NDArray[np.int64]:
    """Number of the combination of quasi-identifiers of each patient."""
    names = form.names(PATIENTS, QUASI)
    if not names:
        return np.zeros(files.patients.height, dtype=np.int64)
    rows: dict[tuple[Any, ...], int] = {}
    return np.array([rows.setdefault(row, len(rows)) for row in files.patients.select(names).rows()], dtype=np.int64)


def _shown(files: WrittenClaims, form: ClaimsForm) -> History:
    return History(files.owners, [files.claims[name] for name in form.names(CLAIMS, QUASI)])


def _risk_holds(checks: Checks, files: WrittenClaims, promise: Promise) -> None:
    """The stated figures are within the limits, and those of values drawn from the released claims come out again."""
    figures = promise.figures
    checks.require(
        figures["interval"][1] <= promise.threshold and figures["flag_interval"][1] <= promise.threshold,
        f"mean risk and flag rate as stated are at most {promise.threshold:g}, their intervals too",
    )
    shown = _shown(files, promise.form)
    power = powers(shown, files.patients.height, promise.power, promise.rounding)
    cells = _cells(files, promise.form)
    found = simulate(cells, shown, shown, power, promise.k, DRAWS, (promise.seed, OTHER_SEED, 1))
    checks.require(
        _agree(found, figures["as_released"]),
        f"the risk of values drawn from the released claims is as stated ({DRAWS:,} other draws)",
    )


def _agree(found: Simulated, stated: Mapping[str, Any]) -> bool:
    """Whether two simulations of the same differ by no more than chance."""
    error = SURE * float(np.hypot(found.error, _width(stated["interval"])))
    flag_error = SURE * float(np.hypot(found.flag_error, _width(stated["flag_interval"])))
    is_near = abs(found.mean - stated["mean"]) <= error and abs(found.flag_rate - stated["flag_rate"]) <= flag_error
    return bool(is_near)


def _width(interval: Any) -> float:
    """Standard error behind a 95 % interval."""
    return float(interval[1] - interval[0]) / 3.92


def _original_holds(checks: Checks, files: WrittenClaims, promise: Promise, truth: Truth) -> None:
    """The risk of values drawn from the original claims, before truncation, comes out again; also where flags count."""
    power = _power(truth, promise)[truth.patients]
    known, shown = _known(truth), _shown(files, promise.form)
    cells, room = _cells(files, promise.form), _room(files, promise.form)
    seed = (promise.seed, OTHER_SEED)
    found = simulate(cells, known, shown, power, promise.k, DRAWS, (*seed, 2))
    checks.require(
        _agree(found, promise.figures),
        f"the risk of values drawn from the original claims is as stated ({DRAWS:,} other draws)",
    )
    below = found.mean - SURE * found.error <= promise.threshold
    below &= found.flag_rate - SURE * found.flag_error <= promise.threshold
    checks.require(below, f"that risk and its flag rate are not above {promise.threshold:g}")
    if room.any():
        found = simulate(cells, known, shown, power, promise.k, DRAWS, (*seed, 3), room)
    checks.require(
        _agree(found, promise.figures["tolerant"]), "the risk for an adversary who believes flags is as stated"
    )


def _power(truth: Truth, promise: Promise) -> NDArray[np.int64]:
    """Values known of each patient of the original: by released labels, at least as many as by recorded values."""
    by_labels = powers(truth.recoded, truth.n_patients, promise.power, promise.rounding)
    if promise.basis == "node":
        return by_labels
    return np.maximum(by_labels, powers(truth.base, truth.n_patients, promise.power, promise.rounding))


def _known(truth: Truth) -> History:
    """The claims of the released patients in the original, whose order is that of the release."""
    whole = np.isin(truth.recoded.owners, truth.patients)
    place = np.full(truth.n_patients, -1, dtype=np.int64)
    place[truth.patients] = np.arange(truth.patients.size)
    columns = [column.filter(pl.Series(whole)) for column in truth.recoded.columns]
    return History(place[truth.recoded.owners[whole]], columns)


def _room(files: WrittenClaims, form: ClaimsForm) -> NDArray[np.int64]:
    """How many values of each column may be missing of each patient, as the flags say."""
    owners = files.owners
    hidden = [owners[files.claims[name].to_numpy() == "1"] for name in form.names(CLAIMS, FLAG)]
    room = np.stack([np.bincount(own, minlength=files.patients.height) for own in hidden], axis=1)
    room[files.patients[TRUNCATED].to_numpy() == "1"] = UNKNOWN
    return room.astype(np.int64)
