"""Losses of generalized terms (ILM, its exponential form UL, NCP), and their bounds from the released records.

Source: Loukides, Gkoulalas-Divanis, Malin (2010), IEEE ITAB, Definition 3.3 (ILM) and section V.B (NCP, after Xu et
al. 2006, KDD, and Terrovitis, Mamoulis, Kalnis 2008, PVLDB 1(1), section 2.3); Loukides et al. (2010), PNAS 107 (UL).
Ours, where the papers leave it open: the penalty S of a suppressed code, the share of the records that hold it, and the
weight w of a generalized term where the user gives none, height(lowest common node) / height(root) in a hierarchy of
codes: for ICD codes of one 3-digit category 1/4, of one section 2/4, of one chapter 3/4, others 1; 0 for a single code.

A release does not reveal which codes were suppressed, and how often these occur. So it contains neither a loss that
counts their occurrences, nor the error of a workload, which a recipient could compare with that of a guess. Only the
custodian has these figures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import exp, gcd, inf, isfinite, log, log1p

import numpy as np
import polars as pl

from cloister.errors import InputError, setting
from cloister.hierarchy.bound import Hierarchy
from cloister.hierarchy.icd import IcdHierarchy, load_classification
from cloister.shapes.codes.data import CodeSets, GivenCodes, plain_code
from cloister.shapes.codes.policy import CLASSIFICATIONS, GIVEN, is_built
from cloister.shapes.codes.request import index_codes
from cloister.shapes.generalization.format.data import Generalization, GeneralizationRequest, Integers, Numbers, Status
from cloister.shapes.generalization.format.manifest import GeneralizationUtility, TermFigures
from cloister.shapes.generalization.format.released import texts_in_file
from cloister.utility import CountedSets, Reading, TermSets, query_errors


@dataclass(frozen=True, eq=False, repr=False)
class CodeTree:
    """The nodes above each code."""

    # (n_codes, top) int32, number of the node above each code at heights 1 to ``top``; at the top one for all
    paths: Numbers
    spec: str  # where it came from: ``icd9``, ``icd10``, the name of a file

    @property
    def top(self) -> int:
        """Height of the root above the codes."""
        return int(self.paths.shape[1])

    def joint_level(self, codes: Numbers | Integers) -> int:
        """Return the height of the lowest node above all of these codes, 0 for one code."""
        if len(codes) < 2:
            return 0
        together = np.all(self.paths[codes] == self.paths[codes[0]], axis=0)
        return int(np.argmax(together)) + 1


def icd_tree(codes: CodeSets, classification: str | None = None) -> CodeTree:
    """Return categories, sections, chapters and the root; a code of no category is under the root alone.

    If no classification is named, use the one of ``icd9`` and ``icd10`` that contains more of the codes.
    """
    names = _names(codes)
    kinds = CLASSIFICATIONS if classification is None else (classification,)
    found = {kind: {name: load_classification(kind).path(name) for name in names} for kind in kinds}
    best = max(kinds, key=lambda kind: sum(path is not None for path in found[kind].values()))
    paths = [(name, found[best][name]) for name in names]
    levels = [
        [(name, "") if path is None else ("", str(getattr(path, level))) for name, path in paths]
        for level in ("category", "section", "chapter")
    ]
    return CodeTree(_number_labels([*levels, [("", "")] * len(names)]), best)


def tree_of(codes: CodeSets, hierarchy: Hierarchy) -> CodeTree:
    """Return the nodes of a hierarchy that the user gives; of a classification, those of `icd_tree`."""
    if isinstance(hierarchy, IcdHierarchy):
        return icd_tree(codes, hierarchy.spec)
    names = _names(codes)
    distinct = sorted(set(names))
    if outside := hierarchy.outside(distinct):
        raise InputError(
            f"{len(outside)} of {len(distinct)} distinct codes are not in the hierarchy {hierarchy.spec} that ",
            setting("code_hierarchy"),
            " names. Add them to it, or leave the setting out: codes are then taken by ICD-9-CM or ICD-10-CM, "
            "and others are like no other.",
        )
    bound = hierarchy.bind("code", distinct)
    place = {value: number for number, value in enumerate(bound.values)}
    rows = [place[name] for name in names]
    spec = GIVEN if hierarchy.spec in CLASSIFICATIONS else hierarchy.spec  # a file called like a classification is none
    return CodeTree(_number_labels([[labels[row] for row in rows] for labels in bound.labels[1:]]), spec)


def weight_tree(tree: CodeTree, weights: tuple[int, ...] | None) -> CodeTree:
    """Return a tree in which codes meet as high as their weight says, of so many heights as that takes.

    All that asks for height / height of the root then finds the weight. Below the first weight every code is alone.
    """
    if weights is None:
        return tree
    if len(weights) != tree.top:
        raise InputError(
            f"{len(weights)} weights of codes were given, but the hierarchy {tree.spec} has {tree.top} levels "
            "above the codes. Give ",
            setting("code_weights"),
            " a weight for each.",
        )
    step = gcd(*weights)
    heights = np.searchsorted(weights, np.arange(step, weights[-1] + 1, step), side="right")
    alone = np.arange(len(tree.paths), dtype=np.int32)[:, None]
    return replace(tree, paths=np.ascontiguousarray(np.hstack([alone, tree.paths])[:, heights]))


def _names(codes: CodeSets) -> list[str]:
    """The codes as they were recorded, occurrences not distinguished."""
    return [plain_code(code, repeats=codes.repeats) for code in codes.vocabulary]


def _number_labels(levels: Sequence[Sequence[object]]) -> Numbers:
    """Equal labels of a level -> equal numbers."""
    paths = np.empty((len(levels[0]), len(levels)), dtype=np.int32)
    for height, labels in enumerate(levels):
        number: dict[object, int] = {}
        paths[:, height] = [number.setdefault(label, len(number)) for label in labels]
    return paths


def queried_sets(released: Generalization) -> TermSets:
    """Index released records for questions about codes of their vocabulary."""
    terms, records = released.terms, released.records
    return TermSets(CountedSets.of(records.offsets, records.items, len(terms)), released.term_of(), terms.sizes)


@dataclass(frozen=True, eq=False, repr=False)
class TermCounts:
    """What losses are made of: of each term, of the hierarchy and of the original."""

    sizes: Integers  # (n_terms,) codes
    levels: Integers  # (n_terms,) height of the node above them
    supports: Integers  # (n_terms,) records
    top: int  # height of the root
    n_codes: int
    n_records: int
    term_occurrences: Integers  # (n_terms,) occurrences in the original of the codes of each term
    suppressed: Integers  # occurrences of each suppressed code


def count_terms(released: Generalization, occurrences: Integers, tree: CodeTree, *, shown: bool = False) -> TermCounts:
    """Gather what losses need, from the original records of each code: (n_codes,).

    If ``shown``, count what the released records show: as if suppressed codes had no occurrences, and a repeated code
    counted once.
    """
    terms = released.terms
    codes = {plain_code(code, repeats=released.repeats and shown) for code in released.vocabulary}
    sizes = [len({plain_code(code, repeats=released.repeats) for code in term}) for term in released.named_terms()]
    return TermCounts(
        sizes=np.array(sizes, dtype=np.int64) if shown else terms.sizes,
        levels=np.array([tree.joint_level(terms.members(number)) for number in range(len(terms))], dtype=np.int64),
        supports=released.supports(),
        top=tree.top,
        n_codes=len(codes),
        n_records=released.n_records,
        term_occurrences=np.add.reduceat(occurrences[terms.items], terms.offsets[:-1]),
        suppressed=occurrences[released.suppressed] * (not shown),
    )


def information_loss(counts: TermCounts) -> float:
    """Return ILM: over terms |term| / |codes| * w * support / N, and over suppressed codes support / N."""
    terms = (counts.sizes * counts.levels * counts.supports).sum()
    return float(terms / (counts.n_codes * counts.top * counts.n_records) + counts.suppressed.sum() / counts.n_records)


def log_exponential_loss(counts: TermCounts) -> float:
    """Return the logarithm of UL, which takes (2^|term| - 1) / (2^|codes| - 1) in place of |term| / |codes|.

    A suppressed code counts the share of records that hold it, as in ILM.
    """
    whole = _log_subsets(counts.n_codes)
    terms = zip(counts.sizes.tolist(), counts.levels.tolist(), counts.supports.tolist(), strict=True)
    parts = [
        _log_subsets(size) - whole + log(level / counts.top) + log(support / counts.n_records)
        for size, level, support in terms
        if level and support
    ]
    parts += [log(support / counts.n_records) for support in counts.suppressed.tolist()]
    largest = max(parts, default=-inf)
    return largest if largest == -inf else largest + log(sum(exp(part - largest) for part in parts))


def certainty_penalty(counts: TermCounts) -> float:
    """Return NCP: the mean over all occurrences of |term| / |codes|, 0 for single codes, 1 for suppressed ones."""
    covered = np.where(counts.sizes > 1, counts.sizes, 0)
    lost = int((covered * counts.term_occurrences).sum()) / counts.n_codes + int(counts.suppressed.sum())
    return float(lost / (int(counts.term_occurrences.sum()) + int(counts.suppressed.sum())))


def _log_subsets(size: int) -> float:
    """The logarithm of the number of non-empty subsets."""
    return size * log(2) + log1p(-(0.5**size))


@dataclass(frozen=True)
class PolicySetOutcome:
    """The outcome of one set of the utility policy: how many of its codes occur, and how many are suppressed.

    It is satisfied if no term that holds one of its codes reaches beyond it (Definition 3.2), and fully preserved if
    nothing of it is suppressed either: the patients with any of its codes are as many.
    """

    name: str
    codes: int
    suppressed: int
    satisfied: bool

    @property
    def fully_preserved(self) -> bool:
        """Whether the set is satisfied and nothing of it suppressed."""
        return self.satisfied and not self.suppressed


@dataclass(frozen=True)
class GeneralizationFigures:
    """The losses; for the custodian, since they count occurrences of codes that few patients have."""

    ilm: float  # information loss metric over all terms and suppressed codes
    log_ul: float  # natural logarithm of the exponential loss; -inf where nothing is lost
    ncp: float  # normalized certainty penalty, in [0, 1]
    # suppressed_codes, suppressed_occurrences: distinct codes, and codes of records
    suppressed_codes: int
    suppressed_occurrences: int
    # empty_records, left_out: records that keep no term, and those of them that are suppressed
    empty_records: int
    left_out: int
    ilm_terms: float  # information loss of the terms alone, over the released records
    closeness: str  # the hierarchy from which the weights come
    statuses: Mapping[Status, int]
    outcomes: tuple[PolicySetOutcome, ...]
    bound: float | None = None  # no terms under this policy have a smaller ilm; None where the method does not say

    @property
    def gap(self) -> float | None:
        """How much of the loss the bound leaves open, in [0, 1]; 0 where it is the least possible."""
        return None if self.bound is None else 1 - self.bound / self.ilm if self.ilm else 0.0


@dataclass(frozen=True, eq=False, repr=False)
class GeneralizedCodes:
    """Generalized code sets, with information for the custodian only."""

    released: Generalization
    origin: Integers  # (n_released,) int64, record of the original behind each released one; secret
    original: CodeSets  # the original, without codes that occur nowhere
    figures: GeneralizationFigures


def utility_of(
    counts: TermFigures, request: GeneralizationRequest, protected: GeneralizedCodes
) -> GeneralizationUtility:
    """Return the information loss that the data file itself does not show, as far as the released records reveal it."""
    figures, policy, released = protected.figures, request.policy, protected.released
    outcomes = figures.outcomes
    found: tuple[int | None, ...] = (None, None, None)
    if policy is not None and policy.support is None:
        if is_built(policy.spec):
            # A builder makes sets of the data's own codes: count those of which a code is released. The number
            # of others would reveal which suppressed codes belong together, and everybody knows the diseases of gwas.
            outcomes = tuple(outcome for outcome in outcomes if outcome.suppressed < outcome.codes)
        found = len(outcomes), sum(one.satisfied for one in outcomes), sum(one.fully_preserved for one in outcomes)
    # A repeated code counts once: its suppressed occurrences would reveal how often some patient has it.
    plain = [plain_code(code, repeats=released.repeats) for code in released.vocabulary]
    suppressed = len({plain[code] for code in released.suppressed.tolist()})
    return GeneralizationUtility(
        **counts.model_dump(),
        constraints=found[0],
        constraints_satisfied=found[1],
        constraints_preserved=found[2],
        codes=len(set(plain)),
        suppressed_codes=suppressed,
        ilm=None if suppressed else figures.ilm_terms,
        ilm_terms=figures.ilm_terms,
        average_relative_error=None,
    )


def exact_figures(given: GivenCodes, request: GeneralizationRequest, protected: GeneralizedCodes) -> dict[str, object]:
    """Return figures for the custodian only."""
    released, figures = protected.released, protected.figures
    exact: dict[str, object] = {"records": given.codes.n_records + given.n_empty, "without_codes": given.n_empty}
    exact |= asdict(figures) | {"gap": figures.gap}
    exact["log_ul"] = figures.log_ul if isfinite(figures.log_ul) else None
    exact["statuses"] = {str(status): count for status, count in figures.statuses.items()}
    exact["suppressed"] = [released.vocabulary[code] for code in released.suppressed.tolist()]
    if request.workload is not None:
        # The original has the vocabulary of what is released.
        queries, sets = request.workload.queries, queried_sets(released)
        true = index_codes(protected.original).counts(queries)
        exact["accuracy"] = {
            str(reading): asdict(query_errors(true, [sets.answers(queries, reading)], queries)) for reading in Reading
        }
    return exact


def crosswalk(given: GivenCodes, protected: GeneralizedCodes, attributes: pl.DataFrame | None) -> pl.DataFrame:
    """Return the secret map: the number of each released record, and the patient's id, or the record in the file.

    ``attributes``: auxiliary attributes, which decide the order of records whose terms are equal
    """
    origin = protected.origin[texts_in_file(protected.released, attributes)[1]]
    return pl.DataFrame(
        [pl.Series("released", np.arange(1, len(origin) + 1)), given.original_ids().gather(origin).alias("original")]
    )
