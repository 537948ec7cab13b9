"""The risk of a release of claims, simulated again and compared with the manifest.

How far two simulations may differ follows from the draws that the manifest gives and from the deviation that is found
here, never from a published interval: anyone who writes a wide one would be believed anything.
"""

import hashlib
import math
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.io.columns import as_numbers
from cloister.results import Checks
from cloister.shapes.claims.format.manifest import KNOWLEDGE, NEAR, Adversary, ClaimsPromise, SimulatedFigures
from cloister.shapes.claims.format.released_columns import (
    CLAIMS,
    FLAG,
    PATIENTS,
    QUASI,
    TRUNCATED,
    ClaimsForm,
    WrittenClaims,
)

from .original import Truth, select_quasi_identifiers
from .simulation import (
    SURE,
    UNKNOWN,
    Attacks,
    ColumnHolders,
    History,
    Integers,
    Numbers,
    Simulated,
    Simulation,
    drawn_patients,
    number_rows,
    number_texts,
    share_error,
)

Seed = list[int]
AT_ONCE = 1 << 17  # Rows that are written as text at a time
WIDE = 1.959963984540054
"""Half the width of a 95 % interval in standard errors."""

FEWEST, MOST = 1_000, 200_000
"""Draws below which no figure is published, and draws that are never exceeded: enough from a threshold of 0.01 on."""

DRAWS, RELEASED_DRAWS = 4_000, 10_000
"""Draws at first, as many again and again where that is not enough; and those from the released claims."""

BELIEVING = "flags believed", "flags believed where nobody fits", "flags believed, fewest missing"
HALF_A_DECIMAL = 0.05 + 1e-9
LIKELIEST = "picks the likeliest"
FEWEST_DRAWS, LOOKED_AT = 1_000, 40_000_000
"""Fewest draws of who picks the likeliest, and patients that all draws together are compared with otherwise."""


def powers(history: History, n_patients: int, most: Sequence[int], rounding: str) -> list[Integers]:
    """Return how many values of each column are known of each patient, (n_patients, n_columns), by the paper's formula.

    One for each highest power. El Emam et al. (2012), JMIR 14(1):e33, appendix, section 4, equation (1).
    """
    claims = np.bincount(history.owners, minlength=n_patients).astype(np.float64)
    having = claims[claims > 0]
    eta = np.minimum(claims, having.mean() + 2 * having.std()) if having.size else claims
    shape = n_patients, len(history.columns)
    found = [np.zeros(shape, dtype=np.min_scalar_type(-2 * min(one, 2**30))) for one in most]
    shift = {"ceil": 1 - 1e-9, "floor": 1e-9, "round": 0.5 + 1e-9}[rounding]
    for h, column in enumerate(history.columns):
        holders = ColumnHolders(history.owners, number_texts([column])[0], n_patients)
        n = holders.sizes.astype(np.float64)
        # ordered pairs of equal values
        equal = np.bincount(holders.patients, holders.counts * (holders.counts - 1.0), n_patients)
        # r = eta / pi; where all values are equal the diversity pi is 0, and the power is the highest
        pairs = n * (n - 1)
        ratio = np.divide(eta * pairs, pairs - equal, out=np.zeros(n_patients), where=pairs > equal)
        varied = ratio > 0
        for own, highest in zip(found, most, strict=True):
            power = np.full(n_patients, float(highest))
            power[varied] = (highest - 1) * ratio[varied] / ratio.max(initial=1e-300) + 1
            own[:, h] = np.minimum(np.floor(power + shift), n)
    return found


def is_plausible(figures: SimulatedFigures, k: int) -> bool:
    """Return whether figures are consistent: intervals fit the draws, and mean risk the share of small classes."""
    mean, rate, missed, draws = figures.mean, figures.flag_rate, figures.missed, figures.draws
    if draws < FEWEST or missed > 1 - rate + NEAR:
        return False
    low, high = figures.interval
    half = max(high - mean, mean - low)  # cut at 0 and at 1
    expected = (*wilson(round(rate * draws) / draws, draws), max(0.0, mean - half), min(1.0, mean + half))
    found = (*figures.flag_interval, low, high)
    fits = all(math.isclose(one, two, abs_tol=NEAR) for one, two in zip(found, expected, strict=True))
    fits &= rate / k - NEAR <= mean <= rate + (1 - rate - missed) / k + NEAR
    # no wider than the deviation of risks with this mean allows
    least, most = _half_width(0.0, draws), _half_width(math.sqrt(mean * (1 - mean)), draws)
    return fits and (least - NEAR <= half <= most + NEAR or high >= 1)


def _half_width(deviation: float, draws: int) -> float:
    """Half a 95 % interval of a mean risk, a little more where few draws bear all the risk."""
    return WIDE * deviation / math.sqrt(draws) + WIDE**2 / (2 * draws)


def wilson(share: float, draws: int) -> tuple[float, float]:
    """Return a 95 % interval of a share, by Wilson's score (1927, JASA 22:209-212)."""
    middle = share + WIDE**2 / (2 * draws)
    half = WIDE * math.sqrt(share * (1 - share) / draws + WIDE**2 / (4 * draws**2))
    scale = 1 + WIDE**2 / draws
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


def overlap(found: Simulated, figures: SimulatedFigures) -> bool:
    """Return whether two simulations differ only by chance, in all published figures of one of them."""
    draws, (low, high) = figures.draws, figures.interval
    near = abs(found.mean - figures.mean) <= SURE * math.hypot(found.error, found.error_of(draws))
    for own, other in ((found.flag_rate, figures.flag_rate), (found.missed, figures.missed)):
        near &= abs(own - other) <= SURE * math.hypot(share_error(own, found.draws), share_error(own, draws))
    # the published interval has the width that the deviation found here gives it
    half = max(high - figures.mean, figures.mean - low)
    deviation = (half - WIDE**2 / (2 * draws)) * math.sqrt(draws) / WIDE
    chance = found.spread * math.sqrt(1 / found.draws + 1 / draws) + SURE / min(found.draws, draws)
    return near and abs(deviation**2 - found.deviation**2) <= SURE * chance + NEAR


def enough_draws(threshold: float) -> int:
    """Draws by which a share a fifth above a threshold is seen, and hardly ever one that is at it.

    Both are ``SURE`` standard errors away from half way.
    """
    share = min(1.2 * threshold, 1.0)
    return min(MOST, math.ceil(4 * SURE**2 * share * (1 - share) / (0.2 * threshold) ** 2))


def risk_holds(checks: Checks, files: WrittenClaims, promise: ClaimsPromise, seed: Seed) -> None:
    """Check that published figures are within the limits; recompute those of values drawn from released claims."""
    figures, limits, form = promise.risk, promise.plan.adversary, promise.form
    tops = [figures.interval[1], figures.flag_interval[1]]
    tops += [figures.flag_aware.highest, figures.flag_aware.interval[1]] if limits.flag_aware == "bounded" else []
    tops += [figures.likeliest.interval[1]] if limits.likeliest == "bounded" else []
    checks.require(
        max(tops) <= promise.plan.risk.threshold,
        f"mean risk and flag rate as stated are at most {promise.plan.risk.threshold:g}, their intervals too",
    )
    # the manifest has this adversary twice, under the risk and among the attacks
    is_same = all(
        getattr(row, name) == getattr(figures.likeliest, name)
        for row in promise.attacks
        if row.adversary == LIKELIEST
        for name in SimulatedFigures.model_fields
    )
    every = [figures, figures.flag_aware, figures.as_released, figures.likeliest, *promise.attacks]
    is_highest = figures.flag_aware.highest >= figures.flag_aware.interval[1]
    checks.require(
        is_same and is_highest and all(is_plausible(own, promise.plan.risk.k) for own in every),
        "the stated figures fit each other and the draws that they are of",
    )
    released = _released_values(files, form)
    (power,) = powers(released, files.patients.height, [limits.power], limits.rounding)
    found = Simulation(_cells(files, form), released, released, promise.plan.risk.k)
    checks.require(
        overlap(found.run(power, RELEASED_DRAWS, (*seed, 1)).exact, figures.as_released),
        f"the risk of values drawn from the released claims is as stated ({RELEASED_DRAWS:,} other draws)",
    )


def original_holds(checks: Checks, files: WrittenClaims, promise: ClaimsPromise, seed: Seed, truth: Truth) -> None:
    """The risk of values drawn from the original claims, before truncation, comes out again; also where flags count."""
    figures, threshold, limits = promise.risk, promise.plan.risk.threshold, promise.plan.adversary
    attacked = _Attacked(files, promise, seed, truth)
    known = float(attacked.power.mean()) if attacked.power.size else 0.0
    is_known = abs(known - figures.known) <= HALF_A_DECIMAL
    checks.require(is_known, "the values known in the mean are as stated")
    exact, believing = attacked.until_clear()
    n_draws = f"(up to {enough_draws(threshold):,} other draws)"
    checks.require(overlap(exact, figures), f"the risk of values drawn from the original claims is as stated {n_draws}")
    is_low = _is_not_above(exact, threshold) and exact.flag_rate - SURE * exact.flag_error <= threshold
    checks.require(is_low, f"that risk and its flag rate are not above {threshold:g}")
    is_flag_aware = overlap(believing.flag_aware, figures.flag_aware)
    checks.require(is_flag_aware, "the risk for an adversary who believes flags is as stated")
    if limits.flag_aware == "bounded":
        highest, draws = figures.flag_aware.highest, figures.flag_aware.draws
        ends = [one.mean + _half_width(one.deviation, draws) - SURE * one.error for one in believing[1:]]
        checks.require(
            max(ends) <= highest and all(_is_not_above(one, threshold) for one in believing[1:]),
            f"the risks for those who believe flags, always or where nobody fits, are not above {threshold:g}",
        )
    few = min(DRAWS, max(FEWEST_DRAWS, LOOKED_AT // max(attacked.cells.size, 1)))
    sizes = attacked.simulation.likeliest(attacked.power, few, (*attacked.seed, 4))
    likeliest = Simulated.of(sizes, promise.plan.risk.k)
    checks.require(overlap(likeliest, figures.likeliest), "the risk by who picks the likeliest is as stated")
    if limits.likeliest == "bounded":
        is_low = figures.likeliest.interval[1] <= threshold and _is_not_above(likeliest, threshold)
        checks.require(is_low, f"the risk by who picks the likeliest is not above {threshold:g}")
    _attacks_hold(checks, attacked, believing)


def _is_not_above(found: Simulated, threshold: float) -> bool:
    """Whether the mean risk can be at most the threshold."""
    return found.mean - SURE * found.error <= threshold


def _attacks_hold(checks: Checks, attacked: "_Attacked", believing: Attacks) -> None:
    """What other adversaries find comes out again, of those who can be simulated here."""
    promise = attacked.promise
    held = dict(zip(BELIEVING, believing[1:], strict=True))
    for number, row in enumerate(promise.attacks):
        seed = *attacked.seed, 3, number
        found = attacked.by(row.adversary, seed)
        if found is not None:
            simulation, power = found
            sizes = simulation.sizes(power, DRAWS, seed, with_flags=False)
            held[row.adversary] = Simulated.of(sizes[0], promise.plan.risk.k)
    rows = [row for row in promise.attacks if row.adversary in held]
    if rows:
        right = all(overlap(held[row.adversary], row) for row in rows)
        checks.require(right, f"what {len(rows)} other adversaries find is as stated ({DRAWS:,} other draws each)")


class _Attacked:
    """A release and its original, prepared for attacks by adversaries with more or other knowledge."""

    def __init__(self, files: WrittenClaims, promise: ClaimsPromise, seed: Seed, truth: Truth) -> None:
        self.files, self.promise, self.seed, self.truth = files, promise, seed, truth
        self.cells, self.released = _cells(files, promise.form), _released_values(files, promise.form)
        # the claims of the released patients in the original, numbered as they are released
        place = np.full(truth.n_patients, -1, dtype=np.int64)
        place[truth.patients] = np.arange(truth.patients.size)
        owners = place[truth.recoded.owners]
        columns = [column.filter(pl.Series(owners >= 0)) for column in truth.recoded.columns]
        self.known = History(owners[owners >= 0].astype(np.int32), columns)
        known = [KNOWLEDGE[row.adversary] for row in promise.attacks if row.adversary in KNOWLEDGE]
        highest = [one.highest for one in known if one.highest is not None]
        self.power, *others = self._powers(highest)
        self.up_to = dict(zip(highest, others, strict=True))
        # values of each column that may be missing of each patient, as the flags say
        hidden = [files.owners[files.claims[name].to_numpy() == "1"] for name in promise.form.names(CLAIMS, FLAG)]
        room = np.stack([np.bincount(own, minlength=self.cells.size) for own in hidden], axis=1).astype(np.int64)
        room[files.patients[TRUNCATED].to_numpy() == "1"] = UNKNOWN
        self.simulation = Simulation(self.cells, self.known, self.released, promise.plan.risk.k, room)

    def _powers(self, others: Sequence[int]) -> list[Integers]:
        """The power of the plan's adversary, and of those of other highest powers; by labels at least."""
        adversary, (n, mine) = self.promise.plan.adversary, (self.truth.n_patients, self.truth.patients)
        most = [adversary.power, *others]
        found = [one[mine] for one in powers(self.truth.recoded, n, most, adversary.rounding)]
        if adversary.basis != "node":
            of_base = powers(self.truth.base, n, most, adversary.rounding)
            found = [np.maximum(one, other[mine]) for one, other in zip(found, of_base, strict=True)]
        return found

    def until_clear(self) -> tuple[Simulated, Attacks]:
        """Draw until it is clear on which side of the threshold each limited figure is, or enough was drawn."""
        threshold, k = self.promise.plan.risk.threshold, self.promise.plan.risk.k
        sizes = exact = np.zeros((4, 0), dtype=np.int64)
        is_clear = is_flag_aware_clear = False
        for number in range(-(-enough_draws(threshold) // DRAWS)):
            if is_clear and is_flag_aware_clear:
                break
            with_flags = not is_flag_aware_clear
            found = self.simulation.sizes(self.power, DRAWS, (*self.seed, 2, number), with_flags=with_flags)
            exact = np.concatenate([exact[:1], found[:1]], axis=1)
            sizes = np.concatenate([sizes, found], axis=1) if with_flags else sizes
            one, believing = Simulated.of(exact[0], k), Attacks.of(sizes, k)[1:]
            # so far from the threshold that more draws would hardly find it on the other side
            is_clear = abs(threshold - one.mean) > SURE * one.error
            is_clear &= abs(threshold - one.flag_rate) > SURE * one.flag_error
            is_flag_aware_clear = all(abs(threshold - other.mean) > SURE * other.error for other in believing)
        return Simulated.of(exact[0], k), Attacks.of(sizes, k)

    def by(self, name: Adversary, seed: Sequence[int]) -> tuple[Simulation, Integers] | None:
        """The simulation of an adversary of this name and how many values it knows; None where there is none here."""
        knows = KNOWLEDGE.get(name)
        if knows is None:
            return None
        if knows.is_whole:
            # no other claims play a part than those of who will be drawn, and released ones that are like them
            drawn = drawn_patients(np.random.default_rng([*seed]), self.cells.size, DRAWS)
            is_drawn = np.isin(self.known.owners, drawn)
            columns = [column.filter(pl.Series(is_drawn)) for column in self.known.columns]
            flags = [(self.files.claims[flag] == "0").to_numpy() for flag in self.promise.form.names(CLAIMS, FLAG)]
            theirs, is_whole = History(self.known.owners[is_drawn], columns), np.logical_and.reduce(flags)
            whole = Simulation(self.cells, *whole_claims(theirs, self.released, is_whole), self.promise.plan.risk.k)
            return whole, self.power.max(axis=1, keepdims=True)
        power = self.power if knows.highest is None else self.up_to[knows.highest]
        if knows.values is not None:
            there = np.stack([np.diff(own.starts) for own in self.simulation.values], axis=1)
            power = np.minimum(there[self.simulation.number], knows.values)
        return self.simulation if knows.has_patients else self.simulation.anywhere(), power


def whole_claims(known: History, released: History, is_whole: NDArray[np.bool_]) -> tuple[History, History]:
    """Return claims as one column of 64-bit hashes; for released claims, of those equal to a known claim.

    A missing value is a value. A claim with a suppressed cell, which is not whole, is like none.
    """
    numbers = map(as_numbers, zip(known.columns, released.columns, strict=True))
    theirs, here = (
        pl.DataFrame([own.alias(f"{h}") for h, own in enumerate(side)]).hash_rows()
        for side in zip(*numbers, strict=True)
    )
    kinds, kind = np.unique(theirs.to_numpy(), return_inverse=True)
    is_like = is_whole & here.is_in(pl.Series(kinds).implode()).to_numpy()
    place = np.searchsorted(kinds, here.filter(pl.Series(is_like)).to_numpy())
    names = pl.Series(range(kinds.size)).cast(pl.String)
    one, other = (names.cast(pl.Enum(names)).gather(pl.Series(own)) for own in (kind, place))
    return History(known.owners, [one]), History(released.owners[is_like].astype(np.int32), [other])


def seed_of(files: WrittenClaims) -> Seed:
    """Return the random seed, from the released cells, so that nobody can try seeds until one is favourable."""
    digest = hashlib.sha256()
    for table in (PATIENTS, CLAIMS):
        for number, rows in enumerate(files.of(table).iter_slices(AT_ONCE)):
            digest.update(rows.write_csv(include_header=number == 0).encode())
    return [int(word) for word in np.frombuffer(digest.digest(), dtype=">u4")]


def _cells(files: WrittenClaims, form: ClaimsForm) -> Numbers:
    """Number of the combination of quasi-identifiers of each patient."""
    (cells,) = number_rows(select_quasi_identifiers(files.patients, form))
    return cells


def _released_values(files: WrittenClaims, form: ClaimsForm) -> History:
    return History(files.owners, [files.claims[name] for name in form.names(CLAIMS, QUASI)])
