"""Adversaries: their targets, their knowledge about each target, and the results of their searches.

Knowledge about a patient grows: the items of each patient (quasi-identifiers, codes, pairs) have a random order, and an
adversary who knows n items knows the first n. Results are figures on all targets together, never on a single one.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cloister.results import RiskChange, RiskStep

Integers = NDArray[np.int64]

UNKNOWN, ELSEWHERE, THERE = -1, 0, 1  # Whether the target's own record is among the matches
GONE, NOT_KNOWN = -1, -2  # In place of a released record: the patient has none; it is not known
ALL = None  # In place of a number of items: all that there are


@dataclass(frozen=True)
class Match:
    """The result of a search for one target."""

    matches: int  # records that fit
    least: int  # records of the smallest group that the matches come in; all of them, where nothing distinguishes them
    own: int  # whether the target's own record is among them: `THERE`, `ELSEWHERE` or `UNKNOWN`


@dataclass(frozen=True, eq=False, repr=False)
class Matches:
    """The results of searches for many targets, as arrays of shape (n_targets,)."""

    matches: Integers
    least: Integers
    own: Integers

    @classmethod
    def of(cls, found: Sequence[Match]) -> "Matches":
        """Combine single results."""
        rows = np.array([(each.matches, each.least, each.own) for each in found], dtype=np.int64).reshape(-1, 3)
        return cls(rows[:, 0], rows[:, 1], rows[:, 2])


class RecordSet(Protocol):
    """Records in which an adversary looks for targets."""

    def match(self, target: int, known: Sequence[int]) -> Match:
        """Search with these known items of a target, and return the result."""


class RecordGroups(ABC):
    """Records in groups that no knowledge can distinguish."""

    sizes: Integers  # (n_groups,) records of each
    own: Integers  # (n_patients,) group of the patient's own record, `GONE` or `NOT_KNOWN`

    @abstractmethod
    def groups(self, target: int, known: Sequence[int]) -> Integers:
        """Return the groups that match the known items of a target."""

    def match(self, target: int, known: Sequence[int]) -> Match:
        """Search with these known items of a target, and return the result."""
        return match_of(self.groups(target, known), self.sizes, int(self.own[target]))


def match_of(groups: Integers, sizes: Integers, own: int) -> Match:
    """Return the result if these groups match and the target's own record is in the group ``own``."""
    is_there = own >= 0 and bool(np.any(groups == own))
    where = UNKNOWN if own == NOT_KNOWN else THERE if is_there else ELSEWHERE
    matches = int(sizes[groups].sum())
    return Match(matches, matches, where)


Coverage = Callable[[int, Sequence[int]], bool]
"""Whether a guarantee is about someone who knows these items of a target."""


@dataclass(frozen=True)
class KnowledgeStep:
    """One level of knowledge."""

    words: str
    items: int | None  # how many items; `ALL` for as many as there are
    limit: float | None = None  # where the guarantee is about the average patient, its bound


@dataclass(frozen=True, eq=False, repr=False)
class Adversary:
    """An adversary of increasing knowledge, and the records that the adversary searches."""

    steps: tuple[KnowledgeStep, ...]
    # (n_patients,) items of each patient of the original; below 0 where the patient is not looked for
    n_items: Integers
    released: RecordSet
    original: RecordSet
    covers: Coverage  # whether the guarantee is about someone who knows these items

    def known(self, target: int, step: KnowledgeStep, seed: int) -> list[int] | None:
        """Return the known items of a target; None if the target has fewer."""
        there = int(self.n_items[target])
        if there < 0 or (step.items is not ALL and step.items > there):
            return None
        return order_of(there, seed, target)[: step.items]


@lru_cache(maxsize=10_000)  # each step of knowledge asks for all targets once more
def order_of(n_items: int, *seed: int) -> list[int]:
    """Return the order in which the items of a target become known; seed and target determine it."""
    order: list[int] = np.random.default_rng(seed).permutation(n_items).tolist()
    return order


def sample_targets(n_patients: int, budget: int, seed: int) -> Integers:
    """Return the targets, ascending: all patients, or a random sample of this size.

    Examples
    --------
    >>> sample_targets(3, 10, seed=0).tolist(), len(set(sample_targets(100, 10, seed=0).tolist()))
    ([0, 1, 2], 10)
    """
    if n_patients <= budget:
        return np.arange(n_patients)
    chosen = np.random.default_rng([seed]).choice(n_patients, budget, replace=False)
    return np.sort(chosen).astype(np.int64)


STANDARD_ERRORS = 4.0  # By which a share may be above its bound by chance, where the bound is on an average


@dataclass(frozen=True)
class Found:
    """The results of an adversary for all targets."""

    targets: int  # patients looked for
    # none, fewer, enough: targets that match no record, at least one but fewer than k, and k or more
    none: int
    fewer: int
    enough: int
    alone: int  # targets that match exactly one
    least: int  # fewest records that a target matches, of those that match any; 0 if none does
    # mean probability of picking the right record at random among the matches; 0 without a match
    rate: float
    confidence: float  # mean of 1 / matches over the targets that match: how sure the adversary is
    # share of the targets that match although none of the matches is theirs; None where that is not known
    false_matches: float | None


@dataclass(frozen=True)
class Level:
    """One level of knowledge, and its results in the release and in the original."""

    known: str  # what is known, in words
    # released, original: what is found among the released records, and in the data as they were
    released: Found
    original: Found
    covered: int  # targets that the guarantee covers at this knowledge
    broken: int  # of these, targets that match at least one record but fewer than k
    # where the guarantee is about the average patient, the highest rate and share of targets with fewer than k matches
    # that it allows; else None
    limit: float | None = None

    @property
    def is_covered(self) -> bool:
        """Whether the guarantee covers all these targets."""
        return self.covered == self.released.targets


@dataclass(frozen=True)
class Inference:
    """Results of inference by an adversary who knows everything else that adversaries may know."""

    column: str  # the name of a sensitive column, or what else is guessed
    targets: int  # patients with a value who match a record
    accuracy: float  # share of them for whom the most frequent value among the matches is right
    baseline: float  # share for whom the most frequent value of the release is
    certain: float  # share for whom all matches have one value, and it is right

    @property
    def gain(self) -> float:
        """Correct guesses beyond those without a search, as a share of the targets; negative if the search misleads."""
        return self.accuracy - self.baseline


@dataclass(frozen=True)
class PredicateSinglingOut:
    """How many predicates, read off the released records, match exactly one record of the original."""

    predicates: int  # distinct ones in the release
    tested: int  # all, or a random sample
    isolating: int  # tested predicates that match exactly one record

    @property
    def share(self) -> float:
        """The share of the tested predicates that match exactly one record."""
        return self.isolating / self.tested if self.tested else 0.0


@dataclass(frozen=True)
class Refinement:
    """What follows from labels and method together.

    Attributes
    ----------
    labels : pairs of a class and a column whose label covers several finer ones
    determined : of these, how many have finer counts that follow exactly
    records : records of classes with such a label
    bits : mean information that the rules give on the finer labels of a class, over these pairs
    """

    labels: int
    determined: int
    records: int
    bits: float


@dataclass(frozen=True)
class ImpliedCodes:
    """Which codes of a release whoever knows one code of a patient is certain of.

    Attributes
    ----------
    codes : of the release
    implying : of these, how many imply another
    pairs : codes with a code that they imply
    patients : of the original, with a code that implies another
    """

    codes: int
    implying: int
    pairs: int
    patients: int


@dataclass(frozen=True)
class ThreeCriteria:
    """A figure for each criterion of the Article 29 Working Party, and one for predicate singling out.

    References
    ----------
    Article 29 Data Protection Working Party (2014), Opinion 05/2014 on Anonymisation Techniques, section 2.2.2.
    Cohen, Nissim (2020), "Towards formalizing the GDPR's notion of singling out", PNAS 117:8344.
    """

    singling_out: float  # highest share of targets that some adversary finds alone
    # share of the predicates over all released columns that match one record of the original; None except for tables
    predicate_singling_out: float | None
    linkability: float  # highest rate at which some adversary links a target with the right record
    inference: float | None  # highest gain in guessing; None where nothing sensitive is released that could be guessed


@dataclass(frozen=True)
class Attack:
    """The results of an attack on a release; confidential, because counts are exact.

    Attributes
    ----------
    shape, method : of the release
    k : matches that the guarantee leaves to anyone whom it covers
    seed : of the sample of targets and of what is known of them
    targets : patients looked for
    budget : most that were asked for; a random sample where there are more
    records : released records, or patients behind chunks
    is_known_who : whether a crosswalk links records to patients; else rates assume that targets who match were
        released
    levels : adversaries, in the order of what they know
    inferences : one for each sensitive column; of code sets one for a further code
    predicates : of tables, singling out by everything released
    refinement : of tables and trajectories whose classes have labels of their own, what the method reveals beyond them
    implied : of disassociated code sets, what one code reveals of others
    """

    shape: str
    method: str
    k: int
    seed: int
    targets: int
    budget: int
    records: int
    is_known_who: bool
    levels: tuple[Level, ...]
    inferences: tuple[Inference, ...] = ()
    predicates: PredicateSinglingOut | None = None
    refinement: Refinement | None = None
    implied: ImpliedCodes | None = None

    @property
    def guess(self) -> float:
        """The probability of selecting the correct record without any knowledge."""
        return 1 / self.records if self.records else 0.0

    @property
    def broken(self) -> int:
        """The number of covered targets that fewer than k records match, at the level of knowledge with the most."""
        return max((level.broken for level in self.levels), default=0)

    @property
    def holds(self) -> bool:
        """Whether every covered target matches no record, or at least k."""
        return self.broken == 0

    @property
    def criteria(self) -> ThreeCriteria:
        """Singling out, linkability and inference, each as a figure."""
        found = [level.released for level in self.levels if level.released.targets]
        gains = [inference.gain for inference in self.inferences]
        return ThreeCriteria(
            max((each.alone / each.targets for each in found), default=0.0),
            None if self.predicates is None else self.predicates.share,
            max((each.rate for each in found), default=0.0),
            max(gains) if gains else None,
        )

    def before_and_after(self) -> RiskChange | None:
        """Return the risk in the original and in the release, of the adversary who knows most of what is covered.

        None where the guarantee covers nobody. Confidential, because counts are exact.
        """
        covered = [one for one in self.levels if one.covered or one.limit is not None]
        if not covered:
            return None
        # of levels that are covered alike, the last: adversaries are in the order of what they know
        level = max(reversed(covered), key=lambda one: one.limit is not None or one.covered / one.released.targets)
        before, after = level.original, level.released
        some = "" if level.is_covered or level.limit is not None else f" (the guarantee covers {level.covered:,})"
        sentence = (
            f"Risk before and after, for an attacker who knows {level.known}: a guess among the matching records is "
            f"right for {before.rate:.1%} of {before.targets:,} patients{some} in the original, and for "
            f"{after.rate:.1%} in the release; {before.alone:,} and {after.alone:,} of them match one record alone"
        )
        steps = [
            RiskStep(one.known, one.original.rate, one.released.rate, one.is_covered or one.limit is not None)
            for one in self.levels
            if one.released.targets
        ]
        return RiskChange(before.rate, after.rate, sentence, tuple(steps))

    def summary(self) -> dict[str, object]:
        """Return all figures as plain values; confidential, because counts are exact."""
        head = {name: value for name, value in asdict(self).items() if name not in ("levels", "inferences")}
        inferences = [asdict(each) | {"gain": each.gain} for each in self.inferences]
        return head | {
            "guess": self.guess,
            "holds": self.holds,
            "broken": self.broken,
            "levels": [asdict(level) for level in self.levels],
            "inferences": inferences,
            "criteria": asdict(self.criteria),
        }

    def as_manifest(self) -> dict[str, object]:
        """Return the part that a release may contain: the attack took place, and the guarantee held.

        Every other figure, even which steps of knowledge some patient reaches, is a function of the original that the
        released files do not determine, and can leave fewer than k candidates (docs/decisions/0012-equal-outputs.md).
        """
        return {"targets": self.budget, "holds": self.holds}


def found_among(found: Matches, k: int) -> Found:
    """Sum the results of one adversary over all targets.

    Examples
    --------
    >>> import numpy as np
    >>> seen = Matches(np.array([4, 0, 1]), np.array([4, 0, 1]), np.array([1, 0, 0]))
    >>> found_among(seen, 3)
    Found(targets=3, none=1, fewer=1, enough=1, alone=1, least=1, rate=0.08333333333333333, confidence=0.625, \
false_matches=0.3333333333333333)
    """
    matches, least = found.matches, found.least
    has_any = matches > 0
    chances = np.divide(1.0, matches, out=np.zeros(matches.size), where=has_any)
    is_wrong = has_any & (found.own == ELSEWHERE)
    is_known = not np.any(found.own == UNKNOWN)
    n = matches.size
    return Found(
        targets=n,
        none=int(np.sum(~has_any)),
        fewer=int(np.sum(has_any & (least < k))),
        enough=int(np.sum(has_any & (least >= k))),
        alone=int(np.sum(matches == 1)),
        least=int(least[has_any].min()) if has_any.any() else 0,
        rate=math.fsum(chances[~is_wrong]) / n if n else 0.0,
        confidence=math.fsum(chances) / int(has_any.sum()) if has_any.any() else 0.0,
        false_matches=int(is_wrong.sum()) / n if n and is_known else (0.0 if is_known else None),
    )


def level_of(
    known: str, released: Matches, original: Matches, covered: Sequence[bool], k: int, limit: float | None
) -> Level:
    """Return the results of an adversary, and whether the guarantee held.

    ``covered``: for each target, whether the guarantee is about someone who knows this
    """
    found = found_among(released, k)
    is_covered = np.array(covered, dtype=np.bool_)
    broken = int(np.sum(is_covered & (released.least > 0) & (released.least < k)))
    if limit is not None:
        within = not is_above(found.fewer / max(1, found.targets), found.targets, limit)
        broken = 0 if within and not is_above(found.rate, found.targets, limit) else found.fewer
    return Level(known, found, found_among(original, k), int(is_covered.sum()), broken, limit)


def is_above(share: float, n: int, limit: float) -> bool:
    """Whether a share of this many targets exceeds a bound by more than chance."""
    error = math.sqrt(share * (1 - share) / max(1, n)) + 1 / max(1, n)
    return share - STANDARD_ERRORS * error > limit
