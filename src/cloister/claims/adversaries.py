"""How the risk of a release changes with what the adversary knows (step 12).

All of these attack patients and claims together: the quasi-identifiers of patients and values of claims at once.

References
----------
HHP appendix, section 4: the assumptions of inexact knowledge and inexact order, whose sensitivity the paper tests.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .encoded import MISSING, EncodedClaims, EncodedColumn
from .knowledge import Knowledge
from .lattice_search import Node
from .matching import Matching, group_patients
from .node_risk import NodeRisk, RiskFigures, risk_of
from .released import Released
from .risk_settings import RiskSettings

Power = NDArray[np.int32]


@dataclass(frozen=True)
class Attack:
    """One adversary and what it finds.

    Attributes
    ----------
    name : what it knows, in words
    figures : of its attack
    """

    name: str
    figures: RiskFigures


def all_values(encoded: EncodedClaims) -> Power:
    """The power of an adversary who knows all values of each column, (n_patients, n_columns)."""
    counts = [
        np.bincount(encoded.owners[column.values != MISSING], minlength=encoded.n_patients) for column in encoded.claims
    ]
    return np.stack(counts, axis=1).astype(np.int32)


def constant_power(encoded: EncodedClaims, p: int) -> Power:
    """The same power for all patients and columns, at most the values there are."""
    return np.minimum(all_values(encoded), p).astype(np.int32)


def by_power(
    released: Released, levels: Node, powers: Mapping[str, Power], settings: RiskSettings, repeats: int = 1
) -> tuple[Attack, ...]:
    """The paper's adversary with other powers."""
    return tuple(Attack(name, _figures(released, levels, power, settings, repeats)) for name, power in powers.items())


def whole_claims(released: Released, levels: Node, power: Power, settings: RiskSettings, repeats: int = 1) -> Attack:
    """An adversary who knows which values stood in one claim: as many whole claims as of any one column values.

    A claim fits one that is alike in all columns, a missing value being a value; one with a suppressed cell fits none.
    """
    joined = join_columns(released, levels)
    together = power.max(axis=1, keepdims=True)
    figures = _figures(joined, (*levels[: len(released.encoded.patients)], 0), together, settings, repeats)
    return Attack("whole claims (exact knowledge)", figures)


def join_columns(released: Released, levels: Node) -> Released:
    """The same release with one column of claims: at its only level below the root, a number for each kind of claim."""
    encoded = released.encoded
    own = levels[len(encoded.patients) :]
    kinds = group_patients(encoded.claims, own, encoded.n_claims)
    size = int(kinds.max(initial=-1)) + 1
    table = np.stack([np.arange(size), np.zeros(size, dtype=np.int64)]).astype(np.int32)
    losses = np.stack([np.zeros(size), np.ones(size)])
    column = EncodedColumn("claim", kinds.astype(np.int32), table, ((), ()), losses)
    joined = replace(encoded, claims=(column,))
    return Released(joined, released.patients, released.claims, np.asarray(released.cells.all(axis=0, keepdims=True)))


def in_population(
    released: Released,
    levels: Node,
    power: Power,
    settings: RiskSettings,
    population: EncodedClaims,
    repeats: int = 1,
) -> Attack:
    """The paper's adversary where the class is counted among a population that the patients were taken from.

    Parameters
    ----------
    population : its patients and untruncated claims, with the numbers and levels of the release
    """
    knowledge = _knowledge(released, power, settings)
    here = Matching(released, knowledge.cap, settings.threads, levels)
    there = Matching(Released.everything(population), knowledge.cap, settings.threads, levels)
    n_own = released.encoded.n_patients
    both = [
        replace(own, values=np.concatenate([own.values, other.values]))
        for own, other in zip(released.encoded.patients, population.patients, strict=True)
    ]
    groups = group_patients(both, levels[: len(both)], n_own + population.n_patients)
    there.group_as(levels, groups[n_own:], int(groups.max(initial=0)) + 1)
    sizes = []
    for number in range(repeats):
        draws = knowledge.repeat(number)
        held = here.contained(levels, draws)
        sizes.append(np.where(held, there.sizes(levels, draws, where=groups[draws.patients]), 0))
    return Attack("counted in the population", figures_of(np.concatenate(sizes), settings.k))


def jointly(
    released: Released, levels: Node, power: Power, settings: RiskSettings, repeats: int = 1
) -> tuple[Attack, ...]:
    """The joint check: what is known of patients alone, of claims alone, and of both of the same patient at once."""
    encoded = released.encoded
    nothing = np.zeros_like(power)
    anybody = replace(encoded, patients=())
    claims_alone = Released(anybody, released.patients, released.claims, released.cells)
    return (
        Attack("patients alone", _figures(released, levels, nothing, settings, repeats)),
        Attack("claims alone", _figures(claims_alone, levels[len(encoded.patients) :], power, settings, repeats)),
        Attack("patients and claims together", _figures(released, levels, power, settings, repeats)),
    )


def figures_of(sizes: NDArray[np.int64], k: int) -> RiskFigures:
    """Figures from the class of each draw, 0 where it is missed."""
    return RiskFigures.of(risk_of(sizes), (sizes > 0) & (sizes < k), sizes == 0)


def _knowledge(released: Released, power: Power, settings: RiskSettings) -> Knowledge:
    return Knowledge(released.encoded, power, settings.seed_of(1), released.patients)


def _figures(released: Released, levels: Node, power: Power, settings: RiskSettings, repeats: int) -> RiskFigures:
    knowledge = _knowledge(released, power, settings)
    matching = Matching(released, knowledge.cap, settings.threads, levels)
    return NodeRisk(matching, knowledge, settings.k).figures(levels, repeats)
