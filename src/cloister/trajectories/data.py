"""The forms of this shape: trajectories, the request, what is released and written, and the secret beside it."""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Literal

import polars as pl

from cloister.errors import InputError
from cloister.hierarchy.bound import ROOT, Hierarchy

from .sequences import Integers as Integers
from .sequences import Number as Number
from .sequences import Numbers as Numbers
from .sequences import Trajectories as Trajectories
from .sequences import age_text as age_text
from .tree import ValueTree

WEIGHT = re.compile(
    r"[0-9]{1,18}/(?!0+$)[0-9]{1,18}|[0-9]{1,18}\.?|[0-9]{0,18}\.[0-9]{1,18}|[0-9](?:\.[0-9]{1,18})?e-[0-9]{2}"
)
"""A weight as it may be typed, or as Python writes a small number."""

LARGEST = 2**31 - 1  # The largest number that a request may state
WORKLOAD = re.compile(r"frequent:([0-9]{1,3}(?:\.[0-9]{1,9})?)")  # How a workload is written


class Method(StrEnum):
    """How two trajectories are aligned."""

    A_GS = "a-gs"
    BASELINE = "baseline"


class Cost(StrEnum):
    """What a pair that stands for several patients loses: once (as the paper counts), or for each of them."""

    PAPER = "paper"
    EXACT = "exact"


class Unknown(StrEnum):
    """What becomes of codes that the hierarchy does not have."""

    ERROR = "error"
    ROOT = "root"
    DROP = "drop"


@dataclass(frozen=True)
class Constraint:
    """A set of codes that must not be generalized with others."""

    name: str
    codes: frozenset[str]  # the codes; those that do not occur change nothing


@dataclass(frozen=True)
class Diversity:
    """What is asked against learning something sensitive of the patients of a cluster."""

    # at least 2; no sensitive value may be that of more than one in l patients of a cluster; of sensitive codes: no
    # more than one in l patients of a cluster may have a sensitive code behind a released one
    l: int  # noqa: E741  (as the model is called)
    codes: frozenset[str] = frozenset()  # the sensitive codes; or
    column: str | None = None  # the sensitive column of the attributes table; missing values never count as sensitive

    def __post_init__(self) -> None:
        if isinstance(self.l, bool) or not isinstance(self.l, int) or not 2 <= self.l <= LARGEST:
            raise InputError(f"The diversity is {self.l!r}, but must be a whole number from 2 to {LARGEST}.")
        if bool(self.codes) == (self.column is not None):
            raise InputError(
                "A diversity is asked over sensitive codes or over one auxiliary column. Give one of them."
            )


@dataclass(frozen=True)
class TrajectoriesRequest:
    """What is asked of an anonymization of trajectories."""

    k: int  # patients that share every released trajectory, at least 1
    # code_hierarchy, age_hierarchy: what codes and ages are generalized to
    code_hierarchy: Hierarchy
    age_hierarchy: Hierarchy
    method: Method = Method.A_GS  # how two trajectories are aligned
    # of codes and of ages in the loss, each from 0 on, together 1
    weights: tuple[Fraction, Fraction] = (Fraction(1, 2), Fraction(1, 2))
    cost: Cost = Cost.PAPER  # whether a merged pair loses once or for each patient that it stands for
    # most distinct trajectories that are compared with each other; "off": all; "auto": all where that is feasible
    block: int | Literal["auto", "off"] = "auto"
    drop_empty_pairs: bool = False  # leave out pairs whose code and age are both suppressed (`*`, `*`)
    diversity: Diversity | None = None  # what is asked of sensitive codes or a sensitive auxiliary column
    constraints: tuple[Constraint, ...] = ()  # disjoint sets of codes that must not be generalized with others
    policy: str | None = None  # where these sets came from
    on_unknown_code: Unknown = Unknown.ERROR
    # pairs, and sets of pairs, whose counts are measured for the custodian: ``frequent:1``, of percent of the patients
    workload: str | None = None
    accept_empty: bool = False  # release although nearly everything is lost

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or not 1 <= self.k <= LARGEST:
            raise InputError(f"k is {self.k!r}, but must be a whole number from 1 to {LARGEST}.")
        object.__setattr__(self, "weights", weights_of(*self.weights))
        if self.workload is not None:
            percent_of(self.workload)
        if isinstance(self.block, str):
            if self.block not in ("auto", "off"):
                raise InputError(f"block is {self.block!r}, but must be auto, off or a whole number of patients.")
        elif isinstance(self.block, bool) or not 3 * self.k <= self.block <= LARGEST:
            raise InputError(f"Blocks need 3 k = {3 * self.k} patients or more, up to {LARGEST}, not {self.block!r}.")
        named = [code for constraint in self.constraints for code in constraint.codes]
        if len(named) != len(set(named)):
            raise InputError("A code stands in two sets of the utility policy. Leave it in one.")


def percent_of(workload: str) -> float:
    """Return the percentage that a workload names."""
    found = WORKLOAD.fullmatch(workload)
    percent = float(found[1]) if found else 0.0
    if not 0 < percent <= 100:
        raise InputError(
            "A workload is written as frequent:1: pairs of code and age, and sets of them, that at least 1 percent of "
            "the patients have."
        )
    return percent


def weights_of(*weights: Number) -> tuple[Fraction, Fraction]:
    """Return the weights of codes and ages as exact ratios.

    Examples
    --------
    >>> weights_of("0.3", 0.7)
    (Fraction(3, 10), Fraction(7, 10))
    """
    texts = [str(weight).strip() for weight in weights] if len(weights) == 2 else []
    found = [Fraction(text) for text in texts if WEIGHT.fullmatch(text)]
    if len(found) != 2 or sum(found) != 1:
        raise InputError(
            "Weights are two numbers from 0 on that add up to 1, of codes and of ages, as in 0.5,0.5 or 1/3,2/3."
        )
    return found[0], found[1]


@dataclass(frozen=True, eq=False, repr=False)
class Attributes:
    """The auxiliary attributes of the patients, as far as the methods see it."""

    # (n_patients,) int64, rank of each patient's row of attributes by content, equal for equal rows; tells patients
    # with equal trajectories apart, so that the order of the input never does
    rank: Integers
    # (n_patients,) int32, number of the sensitive value, -1 where it is missing; None: no sensitive column
    sensitive: Numbers | None = None


@dataclass(frozen=True, eq=False, repr=False)
class AnonymizedTrajectories:
    """What is released: clusters of patients, each with one sequence of generalized pairs that all its patients get.

    Nodes are numbers of the two trees, and those that labels stand for (``ValueTree.released``). Clusters are in the
    order of their released rows (labels by UTF-8 bytes, code before age, row by row), larger ones first where rows are
    equal.
    """

    k: int
    code_tree: ValueTree
    age_tree: ValueTree
    sizes: Integers  # (n_clusters,) int64, patients of each cluster, at least k
    # (n_clusters + 1,) int64, where each cluster's sequence begins; a cluster whose pairs are all suppressed has an
    # empty one, and is written as the one row (`*`, `*`) a patient
    offsets: Integers
    # codes, ages: int32, nodes of the sequences, in their order
    codes: Numbers
    ages: Numbers

    def __repr__(self) -> str:
        return f"AnonymizedTrajectories({self.n_patients} patients, {self.n_clusters} clusters)"

    @property
    def n_clusters(self) -> int:
        """How many clusters there are."""
        return self.sizes.size

    @property
    def n_patients(self) -> int:
        """How many patients are released."""
        return int(self.sizes.sum())

    def rows_of(self, cluster: int) -> list[tuple[str, str]]:
        """Return the sequence of a cluster as it is written: (code, age) labels, one (`*`, `*`) where it is empty."""
        here = slice(int(self.offsets[cluster]), int(self.offsets[cluster + 1]))
        pairs = zip(self.codes[here].tolist(), self.ages[here].tolist(), strict=True)
        rows = [(self.code_tree.labels[code], self.age_tree.labels[age]) for code, age in pairs]
        return rows or [(ROOT, ROOT)]


@dataclass(frozen=True, eq=False, repr=False)
class Alignment:
    """Which patient and which pair went where: the secret of the custodian."""

    cluster_of: Numbers  # (n_patients,) int32, the cluster that each patient of the original is in
    # (n_pairs,) int32, where in its cluster's sequence each pair of the original is released; -1: suppressed. Positions
    # ascend within a patient
    position: Numbers


@dataclass(frozen=True)
class ConstraintOutcome:
    """What became of one set of the utility policy."""

    name: str
    pairs: int  # pairs of the original with one of its codes
    suppressed: int  # those of them that are suppressed
    kept: bool  # whether no released code covers one of its codes and one beyond it
    kept_common: bool  # the same for codes that k patients or more have, which tells of no other code


@dataclass(frozen=True)
class Losses:
    """What was lost of codes and of ages; for the custodian, since the exact figures tell of single patients."""

    # ilm, alm: as Algorithm 3 accumulates and returns them (step 20), in [0, 1] or above
    ilm: float
    alm: float
    # ilm_exact, alm_exact: mean over the original pairs of what each lost, in [0, 1]; 1 for a suppressed pair
    ilm_exact: float
    alm_exact: float
    # ilm_macro, alm_macro: the same, as a mean over patients of the means over their pairs
    ilm_macro: float
    alm_macro: float
    suppressed: int  # pairs that are suppressed
    # ilm_common, alm_common: as the exact ones, over the values that k patients or more have; these are told
    ilm_common: float
    alm_common: float
    all_common: bool  # whether k patients or more have every code and every age of the domain


@dataclass(frozen=True, eq=False, repr=False)
class ProtectedTrajectories:
    """Anonymized trajectories, and what only the custodian may know."""

    released: AnonymizedTrajectories
    alignment: Alignment = field(repr=False)
    losses: Losses = field(repr=False)
    blocks: int = 1
    outcomes: tuple[ConstraintOutcome, ...] = field(default=(), repr=False)


ID, CODE, AGE = "id", "code", "age"
COLUMNS = (ID, CODE, AGE)


@dataclass(frozen=True, eq=False, repr=False)
class WrittenTrajectories:
    """What stands in the data file and the attributes file."""

    # ``id`` (number of the patient from 1), ``code``, ``age`` (text); pairs of a patient one after another
    frame: pl.DataFrame
    attributes: pl.DataFrame | None = None  # ``id`` and the auxiliary columns (text); None where there are none
