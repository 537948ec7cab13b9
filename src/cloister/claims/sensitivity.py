"""The release under attack by adversaries of growing knowledge (step 12)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .adversaries import Attack, Attacked, Power, all_values, by_power, constant_power, jointly, whole_claims
from .discharge import Stays, discharge_database
from .marketer import unbounded_class_sizes
from .node_risk import RiskFigures
from .ordered import exact_order
from .population import PeopleCounted
from .register import VoterList, in_population, voter_list
from .release_risk import ReleaseRisk

LIKELIEST = "picks the likeliest"
ONE, FIVE, ALL = "one value of each column", "five values of each column", "all values"


@dataclass(frozen=True)
class Unbounded:
    """What somebody finds who knows all quasi-identifiers that are released of a patient: worked out, not simulated.

    Attributes
    ----------
    assumes : the same in a sentence
    mean : mean of 1 over the released patients who are alike in all of them
    flag_rate : share of the released patients with fewer than k such patients
    unique : share who are alone
    """

    assumes: str
    mean: float
    flag_rate: float
    unique: float


@dataclass(frozen=True)
class Sensitivity:
    """What adversaries find, by what they know.

    Attributes
    ----------
    attacks : simulated, each with its figures
    unbounded : who knows everything
    voters : whole lists of persons matched with the release
    """

    attacks: tuple[Attack, ...]
    unbounded: Unbounded
    voters: VoterList


def sensitivity(
    attacked: Attacked,
    believing: ReleaseRisk,
    likeliest: RiskFigures,
    *,
    powers: Mapping[int, Power] | None = None,
    when: NDArray[np.int32] | None = None,
    people: PeopleCounted | None = None,
    stays: Stays | None = None,
) -> Sensitivity:
    """Attack a release in all the ways there are.

    Parameters
    ----------
    believing : as measured, of who believes flags
    likeliest : as measured, of who picks the likeliest of those who fit
    powers : other powers of the paper's adversary to try, by their highest value
    when : (n_claims,) rank of each claim in time; without, nobody knows the order
    people : of the population, where there is a register of it
    stays : hospital stays among the claims, where they can be told
    """
    attacks = [
        *jointly(attacked),
        *by_power(attacked, _tried(attacked, powers or {})),
        whole_claims(attacked),
        *([] if when is None else [exact_order(attacked, when)]),
        *_believing_flags(believing),
        Attack(
            LIKELIEST,
            "Knows the same, and picks of those who fit the one of whom it is likeliest, not one at random.",
            likeliest,
        ),
        *([] if people is None else [in_population(attacked, people)]),
    ]
    discharged = None if stays is None else discharge_database(attacked, stays)
    if discharged is not None:
        attacks.append(discharged)
    return Sensitivity(tuple(attacks), _unbounded(attacked), voter_list(attacked, people))


def _tried(attacked: Attacked, powers: Mapping[int, Power]) -> dict[str, tuple[str, Power]]:
    encoded = attacked.released.encoded
    by_formula = {
        f"power up to {most}": (
            f"Knows up to {most} values of each column of claims, by the formula of the plan's adversary.",
            power,
        )
        for most, power in powers.items()
    }
    return {
        **by_formula,
        ONE: ("Knows one value of each column of claims, of every patient alike.", constant_power(encoded, 1)),
        FIVE: ("Knows five values of each column of claims, of every patient alike.", constant_power(encoded, 5)),
        ALL: (
            "Knows all values of each column of claims, those left out of the release as well, but not which stood in "
            "one claim.",
            all_values(encoded),
        ),
    }


def _believing_flags(risk: ReleaseRisk) -> tuple[Attack, ...]:
    return (
        Attack(
            "flags believed (tolerant)",
            "Knows the same as the adversary of the plan, and lets values be missing where flags say that some were "
            "left out.",
            risk.tolerant,
        ),
        Attack(
            "flags believed where nobody fits",
            "Lets values be missing only where nobody fits without.",
            risk.fallback,
        ),
        Attack(
            "flags believed, fewest missing",
            "The same, and takes only who lacks fewest of the values.",
            risk.nearest,
        ),
    )


def _unbounded(attacked: Attacked) -> Unbounded:
    sizes = unbounded_class_sizes(attacked.released, attacked.levels)
    return Unbounded(
        "Knows every quasi-identifier that is released of a patient and of each claim, and how many claims there are.",
        float(np.mean(1.0 / sizes)),
        float(np.mean(sizes < attacked.settings.k)),
        float(np.mean(sizes == 1)),
    )
