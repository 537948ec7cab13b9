"""The release under attack by adversaries of growing knowledge (step 12)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .adversaries import Attack, Power, all_values, by_power, constant_power, in_population, jointly, whole_claims
from .encoded import EncodedClaims
from .knowledge import Knowledge
from .lattice_search import Node
from .marketer import MarketerRisk, marketer_risk, unbounded_class_sizes
from .matching import group_patients
from .ordered import exact_order
from .release_risk import release_risk
from .released import Released
from .risk_settings import RiskSettings

ALL = "all values"


@dataclass(frozen=True)
class Sensitivity:
    """What adversaries find, by what they know.

    Attributes
    ----------
    attacks : simulated, each with its figures
    unique : share of the released patients who are alone in all that is released of them
    unbounded : mean of 1 over the patients alike in all that is released
    marketer : expected share of right matches where these patients are a random sample of a population and are matched
        to it by the quasi-identifiers of patients; None without a population
    """

    attacks: tuple[Attack, ...]
    unique: float
    unbounded: float
    marketer: MarketerRisk | None


def sensitivity(
    released: Released,
    levels: Node,
    power: Power,
    settings: RiskSettings,
    *,
    powers: Mapping[str, Power] | None = None,
    when: NDArray[np.int32] | None = None,
    population: EncodedClaims | None = None,
    repeats: int = 1,
) -> Sensitivity:
    """Attack a release in all the ways there are.

    Parameters
    ----------
    power : (n_patients, n_columns) of the adversary that the release was made against
    powers : others to try besides one value of each column, five, and all
    when : (n_claims,) rank of each claim in time; without, nobody knows the order
    population : of which the patients are a part, with the numbers and levels of the release
    repeats : of 10,000 draws for each attack
    """
    encoded = released.encoded
    tried = {
        **(powers or {}),
        "one value of each column": constant_power(encoded, 1),
        "five values of each column": constant_power(encoded, 5),
        ALL: all_values(encoded),
    }
    believing = release_risk(
        released, levels, Knowledge(encoded, power, settings.seed_of(1), released.patients), settings
    )
    attacks = [
        *jointly(released, levels, power, settings, repeats),
        *by_power(released, levels, tried, settings, repeats),
        whole_claims(released, levels, power, settings, repeats),
        Attack("flags believed (tolerant)", believing.tolerant),
        Attack("flags believed where nobody fits", believing.fallback),
    ]
    if when is not None:
        attacks.append(exact_order(released, levels, power, settings, when, repeats))
    if population is not None:
        attacks.append(in_population(released, levels, power, settings, population, repeats))
    sizes = unbounded_class_sizes(released, levels)
    return Sensitivity(
        tuple(attacks),
        float(np.mean(sizes == 1)),
        float(np.mean(1.0 / sizes)),
        None if population is None else _marketer(released, levels, population),
    )


def _marketer(released: Released, levels: Node, population: EncodedClaims) -> MarketerRisk:
    """Marketer risk against a list of the population, such as voters, by the quasi-identifiers of patients."""
    groups = group_patients(population.patients, levels[: len(population.patients)], population.n_patients)
    return marketer_risk(np.bincount(groups), int(released.patients.sum()))
