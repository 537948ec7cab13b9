"""How the risk of a release changes with what the adversary knows (step 12).

All of these attack patients and claims together, unless they say otherwise: the quasi-identifiers of patients and
values of claims at once.

References
----------
HHP appendix, section 4: the assumptions of inexact knowledge and inexact order, whose sensitivity the paper tests.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

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
    name : of the adversary, in a few words
    assumes : what it knows, in a sentence
    figures : of its attack
    """

    name: str
    assumes: str
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


@dataclass(frozen=True, eq=False, repr=False)
class Attacked:
    """A release made ready to be attacked by many adversaries, on the same draws of patients.

    Attributes
    ----------
    released, levels, settings : the release
    power : (n_patients, n_columns) of the adversary that the release was made against
    repeats : of 10,000 draws for each attack
    """

    released: Released
    levels: Node
    settings: RiskSettings
    power: Power
    repeats: int = 1

    @property
    def of_patients(self) -> Node:
        """Levels of the columns of patients."""
        return self.levels[: len(self.released.encoded.patients)]

    @property
    def of_claims(self) -> Node:
        """Levels of the columns of claims."""
        return self.levels[len(self.released.encoded.patients) :]

    def knowledge(self, power: Power) -> Knowledge:
        """Draws from the released patients by a power."""
        return self._knowledge.with_power(power)

    def risk(self, power: Power) -> NodeRisk:
        """The risk of the release for the paper's adversary with a power."""
        return NodeRisk(self.matching, self.knowledge(power), self.settings.k)

    def figures(self, power: Power) -> RiskFigures:
        """Figures of the paper's adversary with a power."""
        return self.risk(power).figures(self.levels, self.repeats)

    def of(self, released: Released, levels: Node, power: Power) -> "Attacked":
        """Another view of the release, attacked on draws of the same seed."""
        return Attacked(released, levels, self.settings, power, self.repeats)

    @cached_property
    def _knowledge(self) -> Knowledge:
        return Knowledge(self.released.encoded, self.power, self.settings.seed_of(1), self.released.patients)

    @cached_property
    def matching(self) -> Matching:
        """Lists of patients for any power."""
        most = max(int(self.power.max(initial=0)), int(all_values(self.released.encoded).max(initial=0)))
        return Matching(self.released, most, self.settings.threads, self.levels)


def by_power(attacked: Attacked, powers: Mapping[str, tuple[str, Power]]) -> tuple[Attack, ...]:
    """The paper's adversary with other powers, by name, each with what it knows."""
    return tuple(Attack(name, assumes, attacked.figures(power)) for name, (assumes, power) in powers.items())


def jointly(attacked: Attacked) -> tuple[Attack, ...]:
    """The joint check: what is known of patients alone, of claims alone, and of both of the same patient at once."""
    released, power = attacked.released, attacked.power
    anybody = replace(released.encoded, patients=())
    claims_alone = Released(anybody, released.patients, released.claims, released.cells)
    return (
        Attack(
            "patients alone",
            "Knows the quasi-identifiers of a patient, and nothing of the claims.",
            attacked.figures(np.zeros_like(power)),
        ),
        Attack(
            "claims alone",
            "Knows as many values of claims as the plan says, and nothing else of the patient.",
            attacked.of(claims_alone, attacked.of_claims, power).figures(power),
        ),
        Attack(
            "patients and claims together",
            "Knows both of the same patient at once: the adversary of the plan, whose risk is limited.",
            attacked.figures(power),
        ),
    )


def whole_claims(attacked: Attacked) -> Attack:
    """An adversary who knows which values stood in one claim: as many whole claims as of any one column values.

    A claim fits one that is alike in all columns, a missing value being a value; one with a suppressed cell fits none.
    """
    joined = join_columns(attacked)
    power = attacked.power.max(axis=1, keepdims=True)
    return Attack(
        "whole claims (exact knowledge)",
        "Knows which values stood in one claim, of as many claims as the adversary of the plan knows values.",
        attacked.of(joined, (*attacked.of_patients, 0), power).figures(power),
    )


def join_columns(attacked: Attacked, columns: Sequence[int] | None = None) -> Released:
    """The same release with one column of claims: at its only level below the root, a number for each kind of claim.

    Parameters
    ----------
    columns : of claims that tell kinds apart; all if not given
    """
    released, encoded = attacked.released, attacked.released.encoded
    taken = range(len(encoded.claims)) if columns is None else columns
    own = [attacked.of_claims[h] for h in taken]
    kinds = group_patients([encoded.claims[h] for h in taken], own, encoded.n_claims)
    size = int(kinds.max(initial=-1)) + 1
    table = np.stack([np.arange(size), np.zeros(size, dtype=np.int64)]).astype(np.int32)
    losses = np.stack([np.zeros(size), np.ones(size)])
    column = EncodedColumn("claim", kinds.astype(np.int32), table, ((), ()), losses)
    cells = np.asarray(released.cells[list(taken)].all(axis=0, keepdims=True))
    return Released(replace(encoded, claims=(column,)), released.patients, released.claims, cells)


def figures_of(sizes: NDArray[np.int64] | NDArray[np.float64], k: int) -> RiskFigures:
    """Figures from the class of each draw, 0 where it is missed."""
    return RiskFigures.of(risk_of(sizes), (sizes > 0) & (sizes < k), sizes == 0)
