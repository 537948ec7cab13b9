"""The risk of a release of claims, simulated anew, beside what is stated of it."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.checks import Checks

from .data_file import CLAIMS, FLAG, PATIENTS, QUASI, TRUNCATED, ClaimsForm, WrittenClaims
from .promise import Promise
from .verify_figures import agree, can_be, enough_draws, is_below, is_flag_settled, is_not_above, upper
from .verify_holders import UNKNOWN
from .verify_original import Truth
from .verify_simulation import SURE, Attacks, History, Simulated, Simulation, powers

Numbers = NDArray[np.int64]

DRAWS, RELEASED_DRAWS = 4_000, 10_000
"""Draws at first, as many again and again where that is not enough; and those from the released claims."""

BY_COUNT = {"one value of each column": 1, "five values of each column": 5, "all values": None}
"""Adversaries who know so many values of each column of claims of every patient; all where None."""

UP_TO = "power up to "
"""Begins the names of adversaries like that of the plan, with another highest power."""


def of_released(promise: Promise) -> tuple[str, ...]:
    """What is looked at in the files alone, in words."""
    return (
        f"mean risk and flag rate as stated are at most {promise.threshold:g}, their intervals too",
        "the stated figures fit each other and the draws that they are of",
        f"the risk of values drawn from the released claims is as stated ({RELEASED_DRAWS:,} other draws)",
    )


def of_original(promise: Promise) -> tuple[str, ...]:
    """What takes the original."""
    draws = enough_draws(promise.threshold)
    limited = "are" if promise.is_bounded else "are as stated, which may be"
    told = (
        f"the risk of values drawn from the original claims is as stated (up to {draws:,} other draws)",
        f"that risk and its flag rate are not above {promise.threshold:g}",
        "the risk for an adversary who believes flags is as stated",
        f"the risks for those who believe flags, always or where nobody fits, {limited} not above "
        f"{promise.threshold:g}",
    )
    return told if promise.is_bounded else told[:3]


def risk_holds(checks: Checks, files: WrittenClaims, promise: Promise) -> None:
    """The stated figures are within the limits, and those of values drawn from the released claims come out again."""
    figures, (limited, fitting, released) = promise.figures, of_released(promise)
    tops = [figures["interval"][1], figures["flag_interval"][1]]
    tops += [figures["tolerant"]["highest"], figures["tolerant"]["interval"][1]] if promise.is_bounded else []
    checks.require(max(tops) <= promise.threshold, limited)
    all_of_them = [figures, figures["tolerant"], figures["as_released"], *promise.attacks]
    is_highest = figures["tolerant"]["highest"] >= figures["tolerant"]["interval"][1]
    checks.require(is_highest and all(can_be(own, promise.k) for own in all_of_them), fitting)
    shown = _shown(files, promise.form)
    power = powers(shown, files.patients.height, promise.power, promise.rounding)
    found = Simulation(_cells(files, promise.form), shown, shown, promise.k)
    checks.require(
        agree(found.run(power, RELEASED_DRAWS, (*seed_of(files), 1)).exact, figures["as_released"]), released
    )


def original_holds(checks: Checks, files: WrittenClaims, promise: Promise, truth: Truth) -> None:
    """The risk of values drawn from the original claims, before truncation, comes out again; also where flags count."""
    figures, threshold, told = promise.figures, promise.threshold, of_original(promise)
    base = truth.recoded if promise.basis == "node" else truth.base
    power = powers(base, truth.n_patients, promise.power, promise.rounding)[truth.patients]
    cells, shown = _cells(files, promise.form), _shown(files, promise.form)
    known = _known(truth)
    attacked = Simulation(cells, known, shown, promise.k, _room(files, promise.form))
    exact, believing = _measured(attacked, power, promise, seed_of(files))
    checks.require(agree(exact, figures), told[0])
    checks.require(
        is_not_above(exact, threshold) and exact.flag_rate - SURE * exact.flag_error <= threshold,
        told[1],
    )
    checks.require(agree(believing.tolerant, figures["tolerant"]), told[2])
    if promise.is_bounded:
        both = (believing.tolerant, believing.fallback)
        highest, draws = figures["tolerant"]["highest"], figures["tolerant"]["draws"]
        is_stated = all(upper(one, draws) - SURE * one.error <= highest for one in both)
        checks.require(is_stated and all(is_not_above(one, threshold) for one in both), told[3])
    _attacks_hold(checks, promise, truth, (attacked, known, believing), seed_of(files))


def _measured(attacked: Simulation, power: Numbers, promise: Promise, seed: Sequence[int]) -> tuple[Simulated, Attacks]:
    """Draw until it is clear on which side of the threshold each limited figure is, or enough was drawn."""
    most, sizes = enough_draws(promise.threshold), np.zeros((3, 0), dtype=np.int64)
    exact = np.zeros((3, 0), dtype=np.int64)
    for number in range(-(-most // DRAWS)):
        if number and _are_settled(Attacks.of(exact, promise.k), Attacks.of(sizes, promise.k), promise.threshold):
            break
        with_flags = not number or not _is_tolerant_settled(Attacks.of(sizes, promise.k), promise.threshold)
        found = attacked.sizes(power, DRAWS, (*seed, 2, number), with_flags=with_flags)
        exact = np.concatenate([exact, found], axis=1)
        sizes = np.concatenate([sizes, found], axis=1) if with_flags else sizes
    return Simulated.of(exact[0], promise.k), Attacks.of(sizes, promise.k)


def _are_settled(exact: Attacks, believing: Attacks, threshold: float) -> bool:
    settled = is_below(exact.exact, threshold) and is_flag_settled(exact.exact, threshold)
    return settled and _is_tolerant_settled(believing, threshold)


def _is_tolerant_settled(found: Attacks, threshold: float) -> bool:
    return is_below(found.tolerant, threshold) and is_below(found.fallback, threshold)


def _attacks_hold(
    checks: Checks,
    promise: Promise,
    truth: Truth,
    measured: tuple[Simulation, History, Attacks],
    seed: Sequence[int],
) -> None:
    """What other adversaries find comes out again, of those who differ from that of the plan by what they know."""
    attacked, known, believing = measured
    held = {"flags believed (tolerant)": believing.tolerant, "flags believed where nobody fits": believing.fallback}
    counts = _values_known(known, truth.patients.size)
    for number, row in enumerate(promise.attacks):
        name = row["adversary"]
        power = _power(name, counts, promise, truth)
        if power is not None:
            sizes = attacked.sizes(power, DRAWS, (*seed, 3, number), with_flags=False)
            held[name] = Simulated.of(sizes[0], promise.k)
    rows = [row for row in promise.attacks if row["adversary"] in held]
    if rows:
        right = all(agree(held[row["adversary"]], row) for row in rows)
        checks.require(right, f"what {len(rows)} other adversaries find is as stated ({DRAWS:,} other draws each)")


def _power(name: str, counts: Numbers, promise: Promise, truth: Truth) -> Numbers | None:
    """How many values an adversary of this name knows; None of one who differs by more than that."""
    if name in BY_COUNT:
        most = BY_COUNT[name]
        return counts if most is None else np.minimum(counts, most)
    text = name.removeprefix(UP_TO)
    if text == name or not text.isdecimal():
        return None
    base = truth.recoded if promise.basis == "node" else truth.base
    return powers(base, truth.n_patients, int(text), promise.rounding)[truth.patients]


def _values_known(known: History, n: int) -> Numbers:
    """How many values there are of each patient in each column, (n_patients, n_columns)."""
    counts = [np.bincount(known.owners[column.is_not_null().to_numpy()], minlength=n) for column in known.columns]
    return np.stack(counts, axis=1).astype(np.int64)


def seed_of(files: WrittenClaims) -> list[int]:
    """What random numbers begin with: the released cells, so that nobody can try numbers until they are lucky."""
    digest = hashlib.sha256()
    for table in (PATIENTS, CLAIMS):
        digest.update(files.of(table).write_csv().encode())
    return [int(word) for word in np.frombuffer(digest.digest(), dtype=">u4")]


def _cells(files: WrittenClaims, form: ClaimsForm) -> Numbers:
    """Number of the combination of quasi-identifiers of each patient."""
    names = form.names(PATIENTS, QUASI)
    if not names:
        return np.zeros(files.patients.height, dtype=np.int64)
    rows: dict[tuple[Any, ...], int] = {}
    return np.array([rows.setdefault(row, len(rows)) for row in files.patients.select(names).rows()], dtype=np.int64)


def _owners(files: WrittenClaims, form: ClaimsForm) -> Numbers:
    return (files.claims[form.names(CLAIMS)[0]].cast(pl.Int64).to_numpy() - 1).astype(np.int64)


def _shown(files: WrittenClaims, form: ClaimsForm) -> History:
    return History(_owners(files, form), [files.claims[name] for name in form.names(CLAIMS, QUASI)])


def _known(truth: Truth) -> History:
    """The claims of the released patients in the original, whose order is that of the release."""
    whole = np.isin(truth.recoded.owners, truth.patients)
    place = np.full(truth.n_patients, -1, dtype=np.int64)
    place[truth.patients] = np.arange(truth.patients.size)
    columns = [column.filter(pl.Series(whole)) for column in truth.recoded.columns]
    return History(place[truth.recoded.owners[whole]], columns)


def _room(files: WrittenClaims, form: ClaimsForm) -> Numbers:
    """How many values of each column may be missing of each patient, as the flags say."""
    owners = _owners(files, form)
    hidden = [owners[files.claims[name].to_numpy() == "1"] for name in form.names(CLAIMS, FLAG)]
    room = np.stack([np.bincount(own, minlength=files.patients.height) for own in hidden], axis=1)
    room[files.patients[TRUNCATED].to_numpy() == "1"] = UNKNOWN
    return room.astype(np.int64)
