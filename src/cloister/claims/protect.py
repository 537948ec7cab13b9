"""Steps 7 to 11 on numbers: truncation, adversary power, node risk, search, suppression."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .adversary import AdversaryPower, adversary_power
from .choice import Choice, choose_node
from .encode import Encoding
from .encoded import EncodedClaims
from .losses import weights_of
from .plan import ClaimsPlan
from .risk_settings import RiskSettings, Treatment
from .suppression import Suppression, suppress
from .truncation import truncation


@dataclass(frozen=True, eq=False, repr=False)
class ProtectedClaims:
    """Claims with what is released of them decided.

    Attributes
    ----------
    encoding : what was protected
    adversary : what the adversary knows, from base values
    choice : truncation level and node
    suppression : what is left out of it, and the risk that is left
    settings : as they were used
    power : (n_patients, n_columns) of the adversary that the release was made against
    """

    encoding: Encoding
    adversary: AdversaryPower
    choice: Choice
    suppression: Suppression
    settings: RiskSettings
    power: NDArray[np.int32]


def settings_of(plan: ClaimsPlan, seed: int | None = None, threads: int = 1) -> RiskSettings:
    """Return the settings of the risk that a plan asks for.

    Parameters
    ----------
    seed : in place of the plan's

    Raises
    ------
    InputError
        A number is out of range.
    """
    return RiskSettings(
        threshold=plan.risk.threshold,
        max_sup=plan.risk.max_suppression,
        seed=plan.risk.seed if seed is None else seed,
        repeats=plan.risk.repeats,
        draws=plan.risk.draws,
        search_nodes=plan.search.nodes,
        search_seconds=plan.search.time_limit_s,
        truncation=plan.truncation.levels,
        treatment=Treatment(plan.suppression.treatment),
        most_treated=plan.suppression.most_treated,
        most_removed=plan.suppression.most_removed,
        is_tolerant_waived=plan.adversary.tolerant == "waived",
        threads=threads,
    )


def deidentify(encoding: Encoding, plan: ClaimsPlan, settings: RiskSettings) -> ProtectedClaims:
    """Choose truncation and levels, and suppress until the risk is under the threshold.

    *Guarantee*: an adversary who knows of a patient all quasi-identifiers of patients and, of each quasi-identifier of
    claims by itself, a few values, drawn at random before truncation, is right at most with the chance ``threshold`` in
    the mean over patients; and at most so large a share of such attacks finds fewer than ``k`` candidates. Both hold at
    the upper end of a 95 % interval, on draws by which nothing was chosen; the same for an adversary who believes the
    flags, unless the plan waives it. Not promised: a limit for each single patient; anything against somebody who knows
    more values, which values stood in one claim, or their order (the sensitivity table says what they find), or kept
    columns and the company of pseudonyms. Cost: see `choose_node` and `suppress`.

    Raises
    ------
    NoSafeRelease
        There is no such node, or suppression does not suffice.

    References
    ----------
    El Emam et al. (2012), "De-identification methods for open health data: the case of the Heritage Health Prize claims
    dataset", JMIR 14(1):e33, appendix.
    """
    claims = encoding.claims
    adversary = adversary_power(claims, plan.adversary.power, plan.adversary.rounding)
    base = adversary.of_patients
    at = _Power(claims, plan) if plan.adversary.basis == "node" else None
    weights = weights_of(claims, plan.weights)
    choice = choose_node(
        claims, truncation(claims), base, settings, bounds=encoding.bounds, weights=weights, power_at=at
    )
    power = base if at is None else at(choice.levels)
    suppression = suppress(choice.released, choice.levels, power, settings, weights)
    return ProtectedClaims(encoding, adversary, choice, suppression, settings, power)


class _Power:
    """The power from the values of a node; few choices of claims' levels occur, each worked out once."""

    def __init__(self, claims: EncodedClaims, plan: ClaimsPlan) -> None:
        self.claims, self.plan = claims, plan
        self._known: dict[tuple[int, ...], NDArray[np.int32]] = {}

    def __call__(self, levels: tuple[int, ...]) -> NDArray[np.int32]:
        own = levels[len(self.claims.patients) :]
        if own not in self._known:
            found = adversary_power(self.claims, self.plan.adversary.power, self.plan.adversary.rounding, own)
            self._known[own] = found.of_patients
        return self._known[own]
