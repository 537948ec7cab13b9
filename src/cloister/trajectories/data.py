"""The forms of this shape: trajectories, what is asked, what is released, and the secret beside it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.hierarchy.ladder import ROOT, Hierarchy
from cloister.io import EventColumns, read_code_events

from .encode import EncodedTrajectories, encode
from .tree import Tree

Integers = NDArray[np.int64]
Numbers = NDArray[np.int32]
Word = TypeVar("Word", bound=StrEnum)
Number = str | int | float | Decimal | Fraction

LARGEST = 2**31 - 1
"""The largest number that a request may state."""


@dataclass(frozen=True, eq=False, repr=False)
class Trajectories:
    """One sequence of (code, age) pairs a patient: a multiset, in the order of age, then of code.

    Attributes
    ----------
    vocabulary : the codes of the domain, without repetition, in the order of their UTF-8 bytes
    age_values : the ages of the domain as they are written, without repetition, ascending as numbers
    offsets : (n_patients + 1,) int64, where each patient's pairs begin
    codes : (n_pairs,) int32, positions in the vocabulary
    ages : (n_pairs,) int32, positions in ``age_values``
    ids : (n_patients,) the patients' ids, if there are any; never released

    Examples
    --------
    >>> jane = Trajectories.from_records([[("401.1", 40), ("401.1", 38)]])
    >>> jane.age_values, jane.codes.tolist(), jane.ages.tolist()
    (('38', '40'), [0, 0], [0, 1])
    """

    vocabulary: tuple[str, ...]
    age_values: tuple[str, ...]
    offsets: Integers
    codes: Numbers
    ages: Numbers
    ids: pl.Series | None = None

    def __repr__(self) -> str:
        return f"Trajectories({self.n_patients} patients, {self.n_pairs} pairs)"

    @classmethod
    def from_records(
        cls,
        records: Sequence[Iterable[tuple[str, Number]]],
        ids: pl.Series | None = None,
        *,
        vocabulary: Iterable[str] = (),
        age_values: Iterable[Number] = (),
    ) -> "Trajectories":
        """Make trajectories of lists of pairs; pairs are put in order.

        Parameters
        ----------
        records : the (code, age) pairs of each patient, in any order; a repeated pair is kept
        ids : as many as there are records
        vocabulary, age_values : codes and ages that are in the domain whether they occur or not

        Raises
        ------
        InputError
            A patient has no pairs, an age is no number from 0 on, or there are more or fewer ids than records.
        """
        rows = [[(code, age_text(age, row)) for code, age in record] for row, record in enumerate(records, start=1)]
        for row, pairs in enumerate(rows, start=1):
            if not pairs:
                raise InputError(f"Patient {row} has no pairs. Leave such patients out.", row=row)
        if ids is not None and len(ids) != len(rows):
            raise InputError(f"There are {len(ids)} ids for {len(rows)} patients. Give one a patient.")
        codes = sorted({*vocabulary, *(code for pairs in rows for code, _ in pairs)})
        ages = sorted({*map(age_text, age_values), *(age for pairs in rows for _, age in pairs)}, key=Decimal)
        code_at = {code: number for number, code in enumerate(codes)}
        age_at = {age: number for number, age in enumerate(ages)}
        numbered = [sorted((age_at[age], code_at[code]) for code, age in pairs) for pairs in rows]
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(pairs) for pairs in numbered], out=offsets[1:])
        flat = np.array([pair for pairs in numbered for pair in pairs], dtype=np.int32).reshape(-1, 2)
        return cls(tuple(codes), tuple(ages), offsets, flat[:, 1].copy(), flat[:, 0].copy(), ids)

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        id: str | None = None,  # noqa: A002  (as the option is called)
        code: str | None = None,
        age: str | None = None,
        date: str | None = None,
        anchor: str | None = None,
        age_unit: Literal["years", "days"] = "years",
        encoding: str | None = None,
        delimiter: str | None = None,
        missing: Sequence[str] = (),
    ) -> "Trajectories":
        """Read trajectories from CSV (also gzip'd) or Parquet, one pair a line; codes are text always.

        Parameters
        ----------
        path : columns ``id,code,age``, in any order; others are passed over
        id, code, age : names of the columns; without, the first of the usual names is taken
        date, anchor, age_unit : in place of ``age``: a column of dates, the column of the date to count from
            (``"first"``: each patient's first date), and what to count, completed ``"years"`` or ``"days"``
        encoding, delimiter, missing : overrule what is detected; texts that stand for a missing value

        Raises
        ------
        InputError
            The file cannot be read or lacks a column, a line lacks something, or an age is no number from 0 on.
        """
        columns = EventColumns(id, code, age, date, anchor, age_unit)
        source = read_code_events(path, columns=columns, encoding=encoding, delimiter=delimiter, missing=missing)
        return cls.of(encode(source))

    @classmethod
    def of(cls, encoded: EncodedTrajectories) -> "Trajectories":
        """Return the trajectories that were read."""
        return cls(encoded.vocabulary, encoded.age_values, encoded.offsets, encoded.codes, encoded.ages, encoded.ids)

    @property
    def n_patients(self) -> int:
        """How many patients there are."""
        return self.offsets.size - 1

    @property
    def n_pairs(self) -> int:
        """How many pairs all patients have together."""
        return self.codes.size


def age_text(age: Number, row: int | None = None) -> str:
    """Return an age as it is written: `33` for 33 and 33.0, `33.5`.

    Raises
    ------
    InputError
        It is no number from 0 on.

    Examples
    --------
    >>> age_text("033.50"), age_text(40.0), age_text("0.0")
    ('33.5', '40', '0')
    """
    try:
        number = Decimal(str(age).strip())
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or number < 0:
        raise InputError("An age is not a number from 0 on. Correct it, or leave the pair out.", row=row)
    text = format(number, "f")
    return (text.rstrip("0").rstrip(".") if "." in text else text).lstrip("0").replace("-", "") or "0"


class Method(StrEnum):
    """How two trajectories are aligned."""

    A_GS = "a-gs"
    BASELINE = "baseline"


class Cost(StrEnum):
    """What a pair that stands for several patients loses: once (as the paper counts), or for each of them."""

    PAPER = "paper"
    EXACT = "exact"


@dataclass(frozen=True)
class Constraint:
    """A set of codes that must not be generalized with others.

    Attributes
    ----------
    name : of the set
    codes : the codes, at least one of which occurs
    """

    name: str
    codes: frozenset[str]


@dataclass(frozen=True)
class Diversity:
    """What is asked against learning something sensitive of the patients of a cluster.

    Attributes
    ----------
    l : at least 2; no sensitive value may be that of more than one in l patients of a cluster
    codes : the sensitive codes; or
    column : the sensitive column of the side table; missing values never count as sensitive
    """

    l: int  # noqa: E741  (as the model is called)
    codes: frozenset[str] = frozenset()
    column: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.l, bool) or not isinstance(self.l, int) or not 2 <= self.l <= LARGEST:
            raise InputError(f"The diversity is {self.l!r}, but must be a whole number from 2 to {LARGEST}.")
        if bool(self.codes) == (self.column is not None):
            raise InputError("A diversity is asked over sensitive codes or over one side column. Give one of them.")


@dataclass(frozen=True)
class TrajectoriesRequest:
    """What is asked of an anonymization of trajectories.

    Attributes
    ----------
    k : patients that share every released trajectory, at least 1
    code_hierarchy, age_hierarchy : what codes and ages are generalized to
    method : how two trajectories are aligned
    weights : of codes and of ages in the loss, each from 0 on, together 1
    cost : whether a merged pair loses once or for each patient that it stands for
    block : most patients that are compared with each other; "off": all; "auto": all where that is feasible
    drop_empty : leave out pairs of which neither code nor age is told (`*`, `*`)
    diversity : what is asked of sensitive codes or a sensitive side column
    constraints : disjoint sets of codes that must not be generalized with others
    """

    k: int
    code_hierarchy: Hierarchy
    age_hierarchy: Hierarchy
    method: Method = Method.A_GS
    weights: tuple[Fraction, Fraction] = (Fraction(1, 2), Fraction(1, 2))
    cost: Cost = Cost.PAPER
    block: int | Literal["auto", "off"] = "auto"
    drop_empty: bool = False
    diversity: Diversity | None = None
    constraints: tuple[Constraint, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or not 1 <= self.k <= LARGEST:
            raise InputError(f"k is {self.k!r}, but must be a whole number from 1 to {LARGEST}.")
        object.__setattr__(self, "weights", weights_of(*self.weights))
        object.__setattr__(self, "method", _word(Method, self.method, "method"))
        object.__setattr__(self, "cost", _word(Cost, self.cost, "cost"))
        self._check_block()
        self._check_constraints()

    def _check_block(self) -> None:
        if isinstance(self.block, str):
            if self.block not in ("auto", "off"):
                raise InputError(f"block is {self.block!r}, but must be auto, off or a whole number of patients.")
        elif isinstance(self.block, bool) or not 3 * self.k <= self.block <= LARGEST:
            raise InputError(f"Blocks need 3 k = {3 * self.k} patients or more, up to {LARGEST}, not {self.block!r}.")

    def _check_constraints(self) -> None:
        named = [code for constraint in self.constraints for code in constraint.codes]
        if len(named) != len(set(named)):
            raise InputError("A code stands in two sets of the utility policy. Leave it in one.")


def _word(words: type[Word], word: str, what: str) -> Word:
    """One of the words of a setting."""
    if word not in tuple(words):
        raise InputError(f"The {what} is {word!r}, but must be one of: {', '.join(words)}.")
    return words(word)


def weights_of(code: Number, age: Number) -> tuple[Fraction, Fraction]:
    """Return the weights of codes and ages as exact ratios.

    Raises
    ------
    InputError
        They are not two numbers from 0 on that add up to 1.

    Examples
    --------
    >>> weights_of("0.3", 0.7)
    (Fraction(3, 10), Fraction(7, 10))
    """
    try:
        found = Fraction(str(code)), Fraction(str(age))
    except (ValueError, ZeroDivisionError):
        found = Fraction(-1), Fraction(-1)
    if min(found) < 0 or sum(found) != 1:
        raise InputError(
            "Weights are two numbers from 0 on that add up to 1, of codes and of ages, as in 0.5,0.5 or 1/3,2/3."
        )
    return found


@dataclass(frozen=True, eq=False, repr=False)
class Side:
    """What rides along with the patients, as far as the methods see it.

    Attributes
    ----------
    rank : (n_patients,) int64, rank of each patient's whole side row by content, equal for equal rows; tells patients
        with equal trajectories apart, so that the order of the input never does
    sensitive : (n_patients,) int32, number of the sensitive value, -1 where it is missing; None: no sensitive column
    """

    rank: Integers
    sensitive: Numbers | None = None

    def __repr__(self) -> str:
        return f"Side({self.rank.size} patients)"


@dataclass(frozen=True, eq=False, repr=False)
class AnonymizedTrajectories:
    """What is released: clusters of patients, each with one sequence of generalized pairs that all its patients get.

    Nodes are numbers of the two trees, and those that labels stand for (``Tree.released``). Clusters are in the order
    of their released rows (labels by UTF-8 bytes, code before age, row by row), larger ones first where rows are equal.

    Attributes
    ----------
    k : what is promised
    code_tree, age_tree : the hierarchies as bound to the domain
    sizes : (n_clusters,) int64, patients of each cluster, at least k
    offsets : (n_clusters + 1,) int64, where each cluster's sequence begins; a cluster whose pairs are all suppressed
        has an empty one, and is written as the one row (`*`, `*`) a patient
    codes, ages : int32, nodes of the sequences, in their order
    """

    k: int
    code_tree: Tree
    age_tree: Tree
    sizes: Integers
    offsets: Integers
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
    """Which patient and which pair went where: the secret of the custodian.

    Attributes
    ----------
    cluster_of : (n_patients,) int32, the cluster that each patient of the original is in
    position : (n_pairs,) int32, where in its cluster's sequence each pair of the original is released; -1: suppressed.
        Positions ascend within a patient
    """

    cluster_of: Numbers
    position: Numbers

    def __repr__(self) -> str:
        return f"Alignment({self.cluster_of.size} patients)"


@dataclass(frozen=True)
class ConstraintOutcome:
    """What became of one set of the utility policy.

    Attributes
    ----------
    name : of the set
    pairs : pairs of the original with one of its codes
    suppressed : those of them that are suppressed
    kept : whether no released code covers one of its codes and one beyond it
    """

    name: str
    pairs: int
    suppressed: int
    kept: bool


@dataclass(frozen=True)
class Losses:
    """What was lost of codes and of ages; for the custodian, since the exact figures tell of single patients.

    Attributes
    ----------
    ilm, alm : as Algorithm 3 accumulates and returns them (step 20), in [0, 1] or above
    ilm_exact, alm_exact : mean over the original pairs of what each lost, in [0, 1]; 1 for a suppressed pair
    ilm_macro, alm_macro : the same, as a mean over patients of the means over their pairs
    suppressed : pairs that are suppressed
    """

    ilm: float
    alm: float
    ilm_exact: float
    alm_exact: float
    ilm_macro: float
    alm_macro: float
    suppressed: int


@dataclass(frozen=True, eq=False, repr=False)
class ProtectedTrajectories:
    """Anonymized trajectories, and what only the custodian may know.

    Attributes
    ----------
    released : what is released
    alignment : who went where; secret
    losses : what was lost; secret until rounded
    blocks : in how many blocks the patients were clustered; 1: all were compared with each other
    outcomes : sets of the utility policy, in its order
    """

    released: AnonymizedTrajectories
    alignment: Alignment = field(repr=False)
    losses: Losses = field(repr=False)
    blocks: int = 1
    outcomes: tuple[ConstraintOutcome, ...] = field(default=(), repr=False)

    def __repr__(self) -> str:
        return f"ProtectedTrajectories({self.released!r})"
