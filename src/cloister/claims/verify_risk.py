"""The risk of a release of claims, simulated anew, beside what is stated of it, and whether it can be what is stated.

How far two simulations may differ follows from the draws that are stated and from the deviation that is found here,
never from a stated interval: whoever writes a wide one would be believed anything.
"""

import hashlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.results import Checks

from .data_file import CLAIMS, FLAG, PATIENTS, QUASI, TRUNCATED, ClaimsForm, WrittenClaims
from .manifest import NEAR, ClaimsPromise, SimulatedFigures
from .verify_holders import UNKNOWN
from .verify_original import Truth
from .verify_simulation import SURE, WIDE, Attacks, History, Simulated, Simulation, powers, share_error

FEWEST = 1_000
"""Draws below which no figure is stated."""

MOST = 200_000
"""Draws that are never exceeded; from a threshold of 0.01 on they are enough."""

Numbers = NDArray[np.int64]

DRAWS, RELEASED_DRAWS = 4_000, 10_000
"""Draws at first, as many again and again where that is not enough; and those from the released claims."""

BY_COUNT = {"one value of each column": 1, "five values of each column": 5, "all values": None}
"""Adversaries who know so many values of each column of claims of every patient; all where None."""

KNOWN, HALF_A_DECIMAL = "the values known in the mean are as stated", 0.05 + 1e-9
LIKELIEST = "picks the likeliest"
LIKELIEST_STATED = "the risk by who picks the likeliest is as stated"

FEWEST_DRAWS, LOOKED_AT = 1_000, 40_000_000
"""Fewest draws of who picks the likeliest, and patients that all draws together are compared with otherwise."""

UP_TO = "power up to "
"""Begins the names of adversaries like that of the plan, with another highest power."""


def can_be(figures: SimulatedFigures, k: int) -> bool:
    """Whether figures fit each other: intervals fit the draws, and the mean risk fits the share of small classes."""
    mean, rate, missed, draws = figures.mean, figures.flag_rate, figures.missed, figures.draws
    if draws < FEWEST or not 0 <= missed <= 1 - rate + NEAR:
        return False
    low, high = wilson(round(rate * draws) / draws, draws)
    fits = math.isclose(figures.flag_interval[0], low, abs_tol=NEAR)
    fits &= math.isclose(figures.flag_interval[1], high, abs_tol=NEAR)
    fits &= rate / k - NEAR <= mean <= rate + (1 - rate - missed) / k + NEAR
    return bool(fits) and _is_interval_of_mean(figures.interval, mean, draws)


def _is_interval_of_mean(interval: Any, mean: float, draws: int) -> bool:
    """It is around the mean, and no wider than the deviation of risks with this mean allows."""
    low, high = interval
    half = max(high - mean, mean - low)  # cut at 0 and at 1
    if not math.isclose(low, max(0.0, mean - half), abs_tol=NEAR):
        return False
    if not math.isclose(high, min(1.0, mean + half), abs_tol=NEAR):
        return False
    least = half_width(0.0, draws)
    most = half_width(math.sqrt(mean * (1 - mean)), draws)
    return bool(least - NEAR <= half <= most + NEAR or high >= 1)


def half_width(deviation: float, draws: int) -> float:
    """Half a 95 % interval of a mean risk, a little more where few draws bear all the risk."""
    return WIDE * deviation / math.sqrt(draws) + WIDE**2 / (2 * draws)


def wilson(share: float, draws: int) -> tuple[float, float]:
    """A 95 % interval of a share, by Wilson's score (1927, JASA 22:209-212)."""
    middle = share + WIDE**2 / (2 * draws)
    half = WIDE * math.sqrt(share * (1 - share) / draws + WIDE**2 / (4 * draws**2))
    scale = 1 + WIDE**2 / draws
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


def agree(found: Simulated, figures: SimulatedFigures) -> bool:
    """Whether two simulations of the same differ by no more than chance, in all that is stated of one of them."""
    draws = figures.draws
    near = abs(found.mean - figures.mean) <= SURE * math.hypot(found.error, found.error_of(draws))
    for own, name in ((found.flag_rate, "flag_rate"), (found.missed, "missed")):
        error = math.hypot(share_error(own, found.draws), share_error(own, draws))
        near &= abs(own - getattr(figures, name)) <= SURE * error
    return bool(near) and _is_as_wide(found, figures)


def _is_as_wide(found: Simulated, figures: SimulatedFigures) -> bool:
    """Whether the interval of the mean has the width that the deviation found here gives it."""
    draws, (low, high) = figures.draws, figures.interval
    stated = (max(high - figures.mean, figures.mean - low) - WIDE**2 / (2 * draws)) * math.sqrt(draws) / WIDE
    chance = found.spread * math.sqrt(1 / found.draws + 1 / draws) + SURE / min(found.draws, draws)
    return bool(abs(stated**2 - found.deviation**2) <= SURE * chance + NEAR)


def upper(found: Simulated, draws: int) -> float:
    """The upper end of the 95 % interval that so many draws give."""
    return found.mean + half_width(found.deviation, draws)


def is_not_above(found: Simulated, threshold: float) -> bool:
    """Whether the mean risk can be at most the threshold."""
    return found.mean - SURE * found.error <= threshold


def is_below(found: Simulated, threshold: float) -> bool:
    """Whether the mean risk is surely at most the threshold, or surely above it: no more draws are needed."""
    return abs(threshold - found.mean) > SURE * found.error


def is_flag_settled(found: Simulated, threshold: float) -> bool:
    """The same of the flag rate."""
    return abs(threshold - found.flag_rate) > SURE * found.flag_error


def enough_draws(threshold: float) -> int:
    """Draws by which a share a fifth above a threshold is seen, and hardly ever one that is at it.

    Both are ``SURE`` standard errors away from half way.
    """
    share = min(1.2 * threshold, 1.0)
    return min(MOST, math.ceil(4 * SURE**2 * share * (1 - share) / (0.2 * threshold) ** 2))


def of_released(promise: ClaimsPromise) -> tuple[str, ...]:
    """What is looked at in the files alone, in words."""
    return (
        f"mean risk and flag rate as stated are at most {promise.threshold:g}, their intervals too",
        "the stated figures fit each other and the draws that they are of",
        f"the risk of values drawn from the released claims is as stated ({RELEASED_DRAWS:,} other draws)",
    )


def of_original(promise: ClaimsPromise) -> tuple[str, ...]:
    """What takes the original."""
    draws = enough_draws(promise.threshold)
    told = (
        f"the risk of values drawn from the original claims is as stated (up to {draws:,} other draws)",
        f"that risk and its flag rate are not above {promise.threshold:g}",
        "the risk for an adversary who believes flags is as stated",
        f"the risks for those who believe flags, always or where nobody fits, are not above {promise.threshold:g}",
    )
    likeliest = (LIKELIEST_STATED, likeliest_low(promise)) if is_likeliest_bounded(promise) else (LIKELIEST_STATED,)
    return (KNOWN, *(told if _is_bounded(promise) else told[:3]), *likeliest)


def is_likeliest_bounded(promise: ClaimsPromise) -> bool:
    """Whether the risk by who picks the likeliest is limited as well."""
    return promise.plan.adversary.likeliest == "bounded"


def _is_bounded(promise: ClaimsPromise) -> bool:
    return promise.plan.adversary.tolerant == "bounded"


def likeliest_low(promise: ClaimsPromise) -> str:
    """What is looked at where it is, in words."""
    return f"the risk by who picks the likeliest is not above {promise.threshold:g}"


def risk_holds(checks: Checks, files: WrittenClaims, promise: ClaimsPromise) -> None:
    """The stated figures are within the limits, and those of values drawn from the released claims come out again."""
    figures, (limited, fitting, released) = promise.risk, of_released(promise)
    tops = [figures.interval[1], figures.flag_interval[1]]
    tops += [figures.tolerant.highest, figures.tolerant.interval[1]] if _is_bounded(promise) else []
    tops += [figures.likeliest.interval[1]] if is_likeliest_bounded(promise) else []
    checks.require(max(tops) <= promise.threshold, limited)
    others = [row for row in promise.attacks if row.adversary == LIKELIEST]
    is_same = all(
        getattr(row, name) == getattr(figures.likeliest, name)
        for row in others
        for name in SimulatedFigures.model_fields
    )
    all_of_them = [figures, figures.tolerant, figures.as_released, figures.likeliest, *promise.attacks]
    is_highest = figures.tolerant.highest >= figures.tolerant.interval[1]
    checks.require(is_same and is_highest and all(can_be(own, promise.k) for own in all_of_them), fitting)
    shown = _shown(files, promise.form)
    power = powers(shown, files.patients.height, promise.plan.adversary.power, promise.plan.adversary.rounding)
    found = Simulation(_cells(files, promise.form), shown, shown, promise.k)
    checks.require(agree(found.run(power, RELEASED_DRAWS, (*seed_of(files), 1)).exact, figures.as_released), released)


def original_holds(checks: Checks, files: WrittenClaims, promise: ClaimsPromise, truth: Truth) -> None:
    """The risk of values drawn from the original claims, before truncation, comes out again; also where flags count."""
    figures, threshold, told = promise.risk, promise.threshold, of_original(promise)[1:]
    attacked = _Attacked(files, promise, truth)
    known = float(attacked.power.mean()) if attacked.power.size else 0.0
    checks.require(abs(known - figures.known) <= HALF_A_DECIMAL, KNOWN)
    exact, believing = _measured(attacked.simulation, attacked.power, promise, attacked.seed)
    checks.require(agree(exact, figures), told[0])
    is_low = is_not_above(exact, threshold) and exact.flag_rate - SURE * exact.flag_error <= threshold
    checks.require(is_low, told[1])
    checks.require(agree(believing.tolerant, figures.tolerant), told[2])
    if _is_bounded(promise):
        highest, draws = figures.tolerant.highest, figures.tolerant.draws
        is_stated = all(upper(one, draws) - SURE * one.error <= highest for one in believing.believing)
        is_held = all(is_not_above(one, threshold) for one in believing.believing)
        checks.require(is_stated and is_held, told[3])
    _likeliest_holds(checks, attacked)
    _attacks_hold(checks, attacked, believing)


def _measured(
    attacked: Simulation, power: Numbers, promise: ClaimsPromise, seed: Sequence[int]
) -> tuple[Simulated, Attacks]:
    """Draw until it is clear on which side of the threshold each limited figure is, or enough was drawn."""
    most, sizes = enough_draws(promise.threshold), np.zeros((4, 0), dtype=np.int64)
    exact = np.zeros((4, 0), dtype=np.int64)
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
    return all(is_below(one, threshold) for one in found.believing)


def _likeliest_holds(checks: Checks, attacked: "_Attacked") -> None:
    """What is found by who picks the likeliest comes out again, and is low enough where it is limited."""
    promise = attacked.promise
    figures = promise.risk.likeliest
    draws = min(DRAWS, max(FEWEST_DRAWS, LOOKED_AT // max(attacked.cells.size, 1)))
    sizes = attacked.simulation.likeliest(attacked.power, draws, (*attacked.seed, 4))
    found = Simulated.of(sizes, promise.k)
    checks.require(agree(found, figures), LIKELIEST_STATED)
    if is_likeliest_bounded(promise):
        is_low = figures.interval[1] <= promise.threshold and is_not_above(found, promise.threshold)
        checks.require(is_low, likeliest_low(promise))


def _attacks_hold(checks: Checks, attacked: "_Attacked", believing: Attacks) -> None:
    """What other adversaries find comes out again, of those who can be simulated here."""
    promise = attacked.promise
    held = {
        "flags believed (tolerant)": believing.tolerant,
        "flags believed where nobody fits": believing.fallback,
        "flags believed, fewest missing": believing.nearest,
    }
    for number, row in enumerate(promise.attacks):
        found = attacked.by(row.adversary)
        if found is not None:
            simulation, power = found
            sizes = simulation.sizes(power, DRAWS, (*attacked.seed, 3, number), with_flags=False)
            held[row.adversary] = Simulated.of(sizes[0], promise.k)
    rows = [row for row in promise.attacks if row.adversary in held]
    if rows:
        right = all(agree(held[row.adversary], row) for row in rows)
        checks.require(right, f"what {len(rows)} other adversaries find is as stated ({DRAWS:,} other draws each)")


class _Attacked:
    """A release beside its original, ready to be attacked by those who know more or other things."""

    def __init__(self, files: WrittenClaims, promise: ClaimsPromise, truth: Truth) -> None:
        self.files, self.promise, self.truth = files, promise, truth
        self.cells, self.shown, self.known = _cells(files, promise.form), _shown(files, promise.form), _known(truth)
        self.seed = seed_of(files)
        self.power = self.power_up_to(promise.plan.adversary.power)
        self.simulation = Simulation(self.cells, self.known, self.shown, promise.k, _room(files, promise.form))

    def power_up_to(self, most: int) -> Numbers:
        """The power of the plan's adversary with a highest value, (n_patients, n_columns); by labels at least."""
        asked, (n, mine) = self.promise.plan.adversary, (self.truth.n_patients, self.truth.patients)
        by_labels = powers(self.truth.recoded, n, most, asked.rounding)[mine]
        if asked.basis == "node":
            return by_labels
        return np.maximum(by_labels, powers(self.truth.base, n, most, asked.rounding)[mine])

    def by(self, name: str) -> tuple[Simulation, Numbers] | None:
        """The simulation of an adversary of this name and how many values it knows; None where there is none here."""
        up_to = name.removeprefix(UP_TO)
        if name in BY_COUNT:
            counts, most = _values_known(self.known, self.cells.size), BY_COUNT[name]
            return self.simulation, counts if most is None else np.minimum(counts, most)
        if up_to != name and up_to.isdecimal():
            return self.simulation, self.power_up_to(int(up_to))
        if name in ("patients alone", "patients and claims together"):
            return self.simulation, self.power * (name != "patients alone")
        if name == "claims alone":
            return Simulation(np.zeros_like(self.cells), self.known, self.shown, self.promise.k), self.power
        return self._by_whole_claims() if name == "whole claims (exact knowledge)" else None

    def _by_whole_claims(self) -> tuple[Simulation, Numbers]:
        """Of whole claims, one column: a missing value is a value, and a claim with a suppressed cell fits none."""
        flags = [self.files.claims[name] == "1" for name in self.promise.form.names(CLAIMS, FLAG)]
        is_hidden = pl.select(pl.any_horizontal(flags)).to_series()
        known, shown = _joined(self.known), _joined(self.shown, is_hidden)
        return Simulation(self.cells, known, shown, self.promise.k), self.power.max(axis=1, keepdims=True)


def _joined(history: History, is_hidden: pl.Series | None = None) -> History:
    """The same claims with one column, whose texts hold those of all columns."""
    frame = pl.DataFrame([column.alias(f"{place}") for place, column in enumerate(history.columns)])
    texts = frame.select(pl.struct(pl.all()).struct.json_encode()).to_series()
    return History(history.owners, [texts if is_hidden is None else texts.set(is_hidden, None)])


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


def _shown(files: WrittenClaims, form: ClaimsForm) -> History:
    return History(files.owners, [files.claims[name] for name in form.names(CLAIMS, QUASI)])


def _known(truth: Truth) -> History:
    """The claims of the released patients in the original, whose order is that of the release."""
    whole = np.isin(truth.recoded.owners, truth.patients)
    place = np.full(truth.n_patients, -1, dtype=np.int64)
    place[truth.patients] = np.arange(truth.patients.size)
    columns = [column.filter(pl.Series(whole)) for column in truth.recoded.columns]
    return History(place[truth.recoded.owners[whole]], columns)


def _room(files: WrittenClaims, form: ClaimsForm) -> Numbers:
    """How many values of each column may be missing of each patient, as the flags say."""
    owners = files.owners
    hidden = [owners[files.claims[name].to_numpy() == "1"] for name in form.names(CLAIMS, FLAG)]
    room = np.stack([np.bincount(own, minlength=files.patients.height) for own in hidden], axis=1)
    room[files.patients[TRUNCATED].to_numpy() == "1"] = UNKNOWN
    return room.astype(np.int64)
