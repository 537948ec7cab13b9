"""Share of patients that are matched rightly when a whole list is matched at random within classes (marketer risk)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError

from .encoded import MISSING
from .lattice_search import Node
from .matching import group_patients
from .released import Released


@dataclass(frozen=True)
class MarketerRisk:
    """Expected share of a random sample of a population that is matched rightly to the population's list.

    Attributes
    ----------
    exact : number of classes over size of the population
    paper_eq2 : the paper's equation (2)
    classes : number of classes of the population
    population : its size N
    sample : size n of the sample
    """

    exact: float
    paper_eq2: float
    classes: int
    population: int
    sample: int


def marketer_risk(class_sizes: NDArray[np.int64], sample: int) -> MarketerRisk:
    """Marketer risk of a sample of a population, from the sizes F of the population's classes.

    Of a sample of n, a class holds f of F on average n F / N, and each is matched rightly with chance 1/F; so the
    expected share is exactly (1/n) sum n/N = |J|/N. The paper puts f = alpha F for every class that is hit, which
    a small class cannot be: its equation (2), the expected number of classes hit over N, is lower, and n/N where
    everybody is unique.

    Parameters
    ----------
    class_sizes : (n_classes,) each at least 1
    sample : n, from 1 to N

    Raises
    ------
    InputError
        There is no such sample.

    References
    ----------
    HHP appendix, section 6, equation (2); Dankar, El Emam (2010), "A method for evaluating marketer re-identification
    risk", PAIS.
    """
    from scipy.special import gammaln

    population = int(class_sizes.sum())
    if not 1 <= sample <= population:
        raise InputError(f"A sample of {sample} was asked for of a population of {population}.")
    rest = population - sample
    some = class_sizes <= rest
    sizes = class_sizes[some].astype(np.float64)
    missed = gammaln(population - sizes + 1) - gammaln(rest - sizes + 1) + gammaln(rest + 1) - gammaln(population + 1)
    n_hit = class_sizes.size - float(np.exp(missed).sum())
    n_classes = int(class_sizes.size)
    return MarketerRisk(n_classes / population, n_hit / population, n_classes, population, sample)


def unbounded_class_sizes(released: Released, levels: Node) -> NDArray[np.int64]:
    """Class of each released patient, (n_released,), for an adversary who knows all that is released of the patient.

    Patients are in one class whose released labels are alike and whose released claims are alike, each as often. How
    many claims there are is known as well, which no other adversary here uses.
    """
    encoded = released.encoded
    kinds = np.zeros(encoded.n_claims, dtype=np.int64)
    for h, column in enumerate(encoded.claims):
        numbers = column.at(levels[len(encoded.patients) + h]).astype(np.int64) + 1
        numbers[released.values(h) == MISSING] = 0
        _, kinds = np.unique(kinds * (int(numbers.max(initial=0)) + 1) + numbers, return_inverse=True)
    kinds[~released.claims] = -1
    order = np.lexsort((kinds, encoded.owners))
    texts = np.ascontiguousarray(kinds[order]).astype(np.int64)
    groups = group_patients(encoded.patients, levels[: len(encoded.patients)], encoded.n_patients)
    found: dict[tuple[int, bytes], int] = {}
    of = np.empty(encoded.n_patients, dtype=np.int64)
    for i, group in enumerate(groups.tolist()):
        own = texts[encoded.offsets[i] : encoded.offsets[i + 1]]
        of[i] = found.setdefault((group, own[own >= 0].tobytes()), len(found))
    mine = of[released.patients]
    sizes: NDArray[np.int64] = np.bincount(mine, minlength=len(found))[mine].astype(np.int64)
    return sizes
