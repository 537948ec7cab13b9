"""Attacks where persons are counted in a register of the population, such as a voter list (step 12)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .adversaries import Attack, Attacked, figures_of
from .marketer import MarketerRisk, marketer_risk
from .matching import group_patients
from .population import PeopleCounted

OF_PATIENTS = (
    "Knows of everybody on a voter list {} and no claims, and guesses for each person one patient who is alike"
)


@dataclass(frozen=True)
class VoterList:
    """What matching a whole list of persons with the released patients finds, by what is told of patients alone.

    Attributes
    ----------
    assumes : what the adversary knows, in a sentence
    columns : that the list has
    risk : expected over random samples of the population, of the size of the release
    observed : expected share of right matches for the patients who are released, (1/n) sum of f/F
    flag_rate : share of the released patients with fewer than k people of their class on the list
    is_population : whether the list is that of a population; else of the released patients alone
    """

    assumes: str
    columns: tuple[str, ...]
    risk: MarketerRisk
    observed: float
    flag_rate: float
    is_population: bool

    @property
    def told_list(self) -> str:
        """Whose list it is."""
        return "population" if self.is_population else "released patients"


def voter_list(attacked: Attacked, people: PeopleCounted | None) -> VoterList:
    """Match a list of persons with the release; of the population, or, the worst there is, of the released patients.

    References
    ----------
    HHP appendix, section 6; Dankar, El Emam (2010), "A method for evaluating marketer re-identification risk", PAIS.
    """
    is_population = people is not None
    found = people or _patients_alone(attacked)
    n = found.people.size
    return VoterList(
        f"{OF_PATIENTS.format(', '.join(map(repr, found.columns)) or 'nothing')}. The list holds "
        + ("the population." if is_population else "nobody but the released patients, which is the worst case."),
        found.columns,
        marketer_risk(found.classes, n),
        float(np.mean(1.0 / found.people)),
        float(np.mean(found.people < attacked.settings.k)),
        is_population,
    )


def _patients_alone(attacked: Attacked) -> PeopleCounted:
    """The released patients as if they were the population."""
    encoded, mine = attacked.released.encoded, attacked.released.patients
    groups = group_patients(encoded.patients, attacked.of_patients, encoded.n_patients)[mine]
    sizes = np.bincount(groups).astype(np.int64)
    own = sizes[groups]
    return PeopleCounted(tuple(column.name for column in encoded.patients), np.sort(sizes[sizes > 0]), own, own)


def in_population(attacked: Attacked, people: PeopleCounted) -> Attack:
    """The paper's adversary, who does not know who of the population is released.

    Who of the population fits what is known of claims is estimated: of the f - 1 other released patients of the class
    in the register, s - 1 fit; the F - 1 other people of it fit as often. So (s - 1) (F - 1) / (f - 1) others are
    expected, which is unbiased where the patients of a class are a random sample of its people. Where the patient is
    the only one released of the class nothing is known of the others, and nobody else is counted. The risk comes out
    too high rather than too low, since the mean of 1/x is above 1 over the mean of x.

    The paper counts classes among the patients alone; this is ours.
    """
    ratio = np.ones(attacked.released.patients.size)
    others = np.maximum(people.fellows - 1, 1)
    ratio[attacked.released.patients] = (people.people - 1) / others
    risk = attacked.risk(attacked.power)
    found: list[NDArray[np.float64]] = []
    for number in range(attacked.repeats):
        draws = risk.knowledge.repeat(number)
        sizes = risk.class_sizes(attacked.levels, draws)
        found.append(np.where(sizes > 0, 1 + (sizes - 1) * ratio[draws.patients], 0.0))
    names = ", ".join(map(repr, people.columns))
    return Attack(
        "counted in the population",
        f"Knows the same, but not who of the population is released: candidates are scaled up to the people of the "
        f"same {names}.",
        figures_of(np.concatenate(found), attacked.settings.k),
    )
