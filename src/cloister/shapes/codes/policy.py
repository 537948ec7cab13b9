"""Utility policies: disjoint sets of codes that a release should keep countable together.

Source: Loukides, Liagouris, Gkoulalas-Divanis, Terrovitis (2014), Journal of Biomedical Informatics 50, sections 3.1
and 6.1. Deviations: similarity-based constraints are consecutive blocks in the order of the classification, across
parents, because no parent of ICD-9-CM has 25 or 100 children; frequent itemsets overlap, so the maximal ones are used
in the order of their support, without the codes that an earlier one uses.

The 18 diseases that genome-wide association studies look into are from Loukides, Gkoulalas-Divanis, Malin (2010), IEEE
ITAB, Tables I and II; ``diseases/README.md`` lists the sources of their ICD-9-CM codes.
"""

import csv
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from cloister.errors import InputError, name_few
from cloister.hierarchy.icd import CodePath, load_classification
from cloister.utility import frequent_itemsets, maximal

from .data import CodeSets, plain_code

LEVELS = {1: "category", 2: "section", 3: "chapter"}
BY_SUPPORT, GWAS, GIVEN = "sup", "gwas", "given"
BUILDERS = ("level", "sim", BY_SUPPORT)
CLASSIFICATIONS = ("icd9", "icd10")
FINENESS = 10_000  # Parts of a percent in which the smallest percentage is named
UTILITY_FORM = 'an object from name to list of codes, as in {"hypertension": ["401.0", "404.00"]}'
PRIVACY_FORM = 'a list of lists of codes, as in [["401.0", "480.1"], ["296.00"]]'

POLICY_FILES: dict[str, tuple[type, str, str]] = {
    "utility": (dict, UTILITY_FORM, "level:1, sim:5, sup:0.625 or gwas"),
    "privacy": (list, PRIVACY_FORM, "all:2, visits:FILE or records"),
}
"""By kind of policy: what its JSON file holds, that in words, and the words that stand for no file."""


@lru_cache(maxsize=1)
def gwas_diseases() -> dict[str, tuple[str, ...]]:
    """Return the prefixes of the ICD-9-CM codes of each disease, without dot."""
    from importlib.resources import files  # slow to import, and only this policy needs it

    text = files("cloister.shapes.codes").joinpath("diseases", "gwas_diseases.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return {row["disease"]: tuple(row["prefixes"].replace(".", "").split()) for row in rows}


@dataclass(frozen=True)
class SupportQuery:
    """The number of patients that have each set of a policy of frequent sets: at least ``percent`` of them."""

    percent: float
    n_records: int

    def check(self, k: int) -> None:
        """Reject sets that k patients or fewer may have: keeping them together would reveal them."""
        least = least_support(self.percent, self.n_records)
        if least <= k:
            smallest = math.ceil(round((k + 1) * 100 * FINENESS / max(1, self.n_records), 6)) / FINENESS
            advice = "No percentage will do." if smallest > 100 else f"Ask for sup:{smallest:.10g} or more."
            raise InputError(
                f"The policy sup:{self.percent:g} asks for sets that {least} of {self.n_records} patients "
                f"{'has' if least == 1 else 'have'}, but sets that {k} or fewer have tell too much of them. {advice}"
            )


@dataclass(frozen=True)
class UtilityPolicy:
    """Disjoint sets of codes.

    Attributes
    ----------
    constraints : the sets; where diagnoses repeat, a code represents all its occurrences
    names : what the constraints are called
    spec : where the policy came from: ``level:1``, the name of a file
    support : the support of the sets if they were chosen because they are frequent, else None

    Examples
    --------
    >>> UtilityPolicy.of({"hypertension": ["401.0", "404.00"], "pneumonia": ["480.1"]}).names
    ('hypertension', 'pneumonia')
    """

    constraints: tuple[frozenset[str], ...]
    names: tuple[str, ...]
    spec: str = "given"
    support: SupportQuery | None = None

    def __post_init__(self) -> None:
        if len(self.constraints) != len(self.names):
            raise InputError("A utility policy needs one name for each of its sets of codes.")
        counts = Counter(code for constraint in self.constraints for code in constraint)
        if shared := sorted(code for code, count in counts.items() if count > 1):
            raise InputError(
                f"The sets of a utility policy must be disjoint, but {name_few(map(repr, shared))} "
                f"{'stands' if len(shared) == 1 else 'stand'} in more than one. Leave each code in one set."
            )

    def __repr__(self) -> str:
        return f"UtilityPolicy({self.spec!r}, {len(self.constraints)} sets of codes)"

    @classmethod
    def of(cls, constraints: Mapping[str, Iterable[str]], spec: str = "given") -> "UtilityPolicy":
        """Make a policy from named sets of codes; reject a set without codes."""
        sets = {str(name): frozenset(codes) for name, codes in constraints.items()}
        if empty := [name for name, codes in sets.items() if not codes]:
            have = "has" if len(empty) == 1 else "have"
            raise InputError(f"A set of a utility policy needs codes, but {name_few(map(repr, empty))} {have} none.")
        return cls(tuple(sets.values()), tuple(sets), spec)

    @classmethod
    def from_json(cls, path: str | Path) -> "UtilityPolicy":
        """Read a policy from JSON: an object from names to lists of codes."""
        path = Path(path)
        return cls.of(read_policy_file(path, "utility"), path.name or str(path))

    @classmethod
    def by_level(cls, codes: CodeSets, level: int, classification: str | None = None) -> "UtilityPolicy":
        """Group codes that share a category (1), section (2) or chapter (3), by ICD-9-CM or ICD-10-CM."""
        if level not in LEVELS:
            raise InputError(f"A utility policy by level has level 1, 2 or 3, not {level!r}.")
        groups: dict[str, list[str]] = {}
        for code, path in _paths(codes, classification).items():
            groups.setdefault(str(getattr(path, LEVELS[level])), []).append(code)
        return cls.of(groups, f"level:{level}" + ("" if classification is None else f"/{classification}"))

    @classmethod
    def similar(cls, codes: CodeSets, size: int, classification: str | None = None) -> "UtilityPolicy":
        """Group ``size`` codes at a time that are adjacent in the classification."""
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise InputError(f"A utility policy by similarity needs a number of codes from 1 on, not {size!r}.")
        found = _paths(codes, classification)
        leaves = sorted(found, key=lambda code: (found[code].category, code.upper().replace(".", ""), code))
        spec = f"sim:{size}" + ("" if classification is None else f"/{classification}")
        blocks = [leaves[start : start + size] for start in range(0, len(leaves), size)]
        return cls.of({f"{block[0]} to {block[-1]}": block for block in blocks}, spec)

    @classmethod
    def frequent(cls, codes: CodeSets, percent: float) -> "UtilityPolicy":
        """Group codes that at least this percentage of the patients have together: 0.625 means 0.625 %."""
        itemsets = frequent_itemsets(codes.offsets, codes.items, least_support(percent, codes.n_records))
        used: set[str] = set()
        chosen: dict[str, list[str]] = {}
        for itemset in maximal(itemsets):
            names = dict.fromkeys(plain_code(codes.vocabulary[item], repeats=codes.repeats) for item in itemset.items)
            left = [name for name in names if name not in used]
            if len(left) > 1:
                used.update(left)
                chosen[" ".join(left)] = left
        sets = cls.of(chosen, f"sup:{percent:.12g}")
        return replace(sets, support=SupportQuery(percent, codes.n_records))

    @classmethod
    def gwas(cls, codes: CodeSets) -> "UtilityPolicy":
        """Group the codes of each of 18 diseases that genome-wide association studies examine.

        Codes are ICD-9-CM, with or without dot; diseases that nobody has are omitted.

        Examples
        --------
        >>> UtilityPolicy.gwas(CodeSets.from_records([["296.00", "401.9"], ["493"]])).names
        ('Asthma', 'Bipolar I disorder')
        """
        held = codes.supports() > 0
        names = [name for name, items in codes.items_by_code().items() if held[items].any()]
        found = {
            disease: [name for name in names if name.upper().replace(".", "").startswith(beginnings)]
            for disease, beginnings in gwas_diseases().items()
        }
        present = {disease: own for disease, own in found.items() if own}
        if not present:
            raise InputError(
                "No code of the data belongs to one of the 18 diseases of the policy gwas, which are ICD-9-CM codes. "
                "Choose another policy."
            )
        return cls.of(present, GWAS)

    def for_k(self, k: int) -> "UtilityPolicy":
        """Return the policy, or raise an error if it has frequent sets that k patients or fewer may have."""
        if self.support is not None:
            self.support.check(k)
        return self

    def on(self, codes: CodeSets) -> "UtilityPolicy":
        """Return the policy, or raise an error if the data do not contain all its codes."""
        known_codes((code for each in self.constraints for code in each), codes, "utility policy")
        return self

    def within(self, codes: CodeSets) -> "UtilityPolicy":
        """Return the policy for data with fewer codes: without the other codes, and without empty sets."""
        known = codes.items_by_code()
        left = [(each & known.keys(), name) for each, name in zip(self.constraints, self.names, strict=True)]
        sets = [(frozenset(each), name) for each, name in left if each]
        return replace(self, constraints=tuple(each for each, _ in sets), names=tuple(name for _, name in sets))

    def item_numbers(self, codes: CodeSets) -> list[tuple[int, ...]]:
        """Return the constraints as ascending positions in the vocabulary, with every occurrence of a repeated code."""
        items = codes.items_by_code()
        return [tuple(sorted(item for code in each for item in items[code])) for each in self.on(codes).constraints]

    def n_uncovered(self, codes: CodeSets) -> int:
        """Return the number of codes of the data that are in no set."""
        return len(codes.items_by_code()) - sum(map(len, self.constraints))


class PolicyWords(NamedTuple):
    """What words say of how a policy is made of codes; ``number``: of the level, of codes or percent, 0 of ``gwas``."""

    kind: str
    number: float  # NaN where it is none
    classification: str | None

    def fits(self, other: "PolicyWords | None") -> bool:
        """Return whether these words may mean the same as others: an unstated classification may be any."""
        return other is not None and self[:2] == other[:2] and self.classification in (None, other.classification)


def _parts(spec: str) -> PolicyWords | None:
    """The words for a builder, which looks at the codes, whether or not these make sense; None of a file."""
    kind, colon, rest = spec.partition(":")
    if spec != GWAS and not (colon and kind in BUILDERS):
        return None
    text, slash, classification = rest.partition("/")
    try:
        number = 0.0 if spec == GWAS else float(text)
    except ValueError:
        number = math.nan
    return PolicyWords(kind, number, classification if slash else None)


def is_built(spec: str) -> bool:
    """Return whether the words of a policy name a builder, which uses the codes, and not a file."""
    return _parts(spec) is not None


def is_support(spec: str) -> bool:
    """Return whether the words denote a policy of frequent sets."""
    return spec.startswith(f"{BY_SUPPORT}:")


def is_made_of_codes(spec: str) -> bool:
    """Return whether the words make a policy from codes only, so that a release suffices to make it again."""
    return is_built(spec) and not is_support(spec)


def policy_words(spec: str) -> PolicyWords | None:
    """Parse the words of a policy; None if they make no policy of any codes.

    Examples
    --------
    >>> policy_words("level:1/icd9") == policy_words("level:1.0/icd9"), policy_words("level:9"), policy_words("my.json")
    (True, None, None)
    """
    words = _parts(spec)
    if words is None or words.kind == GWAS:
        return words
    kind, number, classification = words
    known = {"level": number in LEVELS, "sim": number >= 1 and number.is_integer(), BY_SUPPORT: 0 < number <= 100}
    classified = classification is None or (kind != BY_SUPPORT and classification in CLASSIFICATIONS)
    return words if known[kind] and classified else None


def parse_policy(spec: str, codes: CodeSets, k: int = 0) -> UtilityPolicy:
    """Parse a policy: ``level:1``, ``sim:5``, ``sup:0.625``, ``gwas`` or a JSON file.

    Frequent sets that ``k`` patients or fewer may have are refused before they are looked for.
    """
    words = _parts(spec)
    if words is None:
        return UtilityPolicy.from_json(spec)
    kind, number, classification = words
    if kind == GWAS:
        return UtilityPolicy.gwas(codes)
    if not math.isfinite(number) or (kind != BY_SUPPORT and not number.is_integer()):
        raise InputError(f"The policy {spec!r} needs a number after the colon, as in level:1, sim:5 or sup:0.625.")
    if kind != BY_SUPPORT:
        build = UtilityPolicy.by_level if kind == "level" else UtilityPolicy.similar
        return build(codes, int(number), classification or None)
    if classification:
        raise InputError(f"The policy {spec!r} names a classification, but frequent sets have none. Leave it out.")
    SupportQuery(number, codes.n_records).check(k)
    return UtilityPolicy.frequent(codes, number)


def made_of(spec: str, codes: CodeSets) -> UtilityPolicy | None:
    """Return the policy that the words make from codes; None if they make none."""
    try:
        return parse_policy(spec, codes)
    except InputError:
        return None


def as_published(policy: UtilityPolicy, codes: CodeSets) -> UtilityPolicy:
    """Return the policy; where its words would make another one of these codes, with words that say nothing.

    A recipient makes the policy anew from its words, so that they must be true.
    """
    if policy.support is not None:
        own = is_support(policy.spec)
        return policy if own else replace(policy, spec=f"{BY_SUPPORT}:{policy.support.percent:.12g}")
    made = made_of(policy.spec, codes) if is_made_of_codes(policy.spec) else None
    is_true = not is_built(policy.spec) or (made is not None and {*made.constraints} == {*policy.constraints})
    return policy if is_true else replace(policy, spec=GIVEN)


def name_classification(spec: str, codes: CodeSets) -> str:
    """Return the words of a policy with the classification that they mean for these codes: ``level:1/icd9``.

    Where codes are suppressed the other classification may know more of those that are left.
    """
    if spec == GWAS or not is_made_of_codes(spec) or "/" in spec:
        return spec
    return f"{spec}/{max(CLASSIFICATIONS, key=lambda kind: len(_known_paths(codes, kind)))}"


def known_codes(names: Iterable[str], codes: CodeSets, what: str) -> tuple[str, ...]:
    """Return these codes, each once, or raise an error if the data do not contain them."""
    once = tuple(dict.fromkeys(names))
    if unknown := sorted({*once} - codes.items_by_code().keys()):
        raise InputError(
            f"{name_few(map(repr, unknown))} of the {what} {'does' if len(unknown) == 1 else 'do'} not occur in the "
            "data. Write codes as the data do, or leave them out."
        )
    return once


def least_support(percent: float, n_records: int) -> int:
    """Return the smallest number of records that is at least this percentage of all."""
    if not 0 < percent <= 100:
        raise InputError(f"A support is a percentage of the patients above 0 and up to 100, not {percent:g}.")
    return max(1, math.ceil(round(percent * n_records / 100, 9)))


def _paths(codes: CodeSets, classification: str | None) -> dict[str, CodePath]:
    """The place of each code of the vocabulary that a classification knows."""
    if classification is not None and classification not in CLASSIFICATIONS:
        raise InputError(f"Codes are classified by {' or '.join(CLASSIFICATIONS)}, not by {classification!r}.")
    kinds = CLASSIFICATIONS if classification is None else (classification,)
    best = max((_known_paths(codes, kind) for kind in kinds), key=len)
    if not best:
        known = " or ".join(kinds)
        raise InputError(f"No code of the data belongs to {known}. Write the utility policy as {UTILITY_FORM}.")
    return best


def _known_paths(codes: CodeSets, kind: str) -> dict[str, CodePath]:
    path_of = load_classification(kind).path
    return {code: path for code in codes.items_by_code() if (path := path_of(code)) is not None}


def read_policy_file(path: Path, what: str) -> Any:
    """Return the sets of codes in a JSON file, unchanged; each name must be unique."""
    kind, form, words = POLICY_FILES[what]
    name = path.name or str(path)
    try:
        content = json.loads(path.read_bytes(), object_pairs_hook=_once)
    except FileNotFoundError:
        problem = f"is not there; a policy is a JSON file, {words}"
    except IsADirectoryError:
        problem = f"is a folder; a policy is a JSON file, {words}"
    except OSError:
        problem = "cannot be read"
    except (ValueError, RecursionError):
        problem = "is not JSON, or names a set twice"
    else:
        sets = content.values() if isinstance(content, dict) else content
        if not isinstance(content, kind) or not all(isinstance(codes, list) for codes in sets):
            problem = f"is not {form}"
        elif not all(isinstance(code, str) for codes in sets for code in codes):
            problem = f"has codes that are not text; write them in quotes: {form}"
        else:
            return content
    raise InputError(f"The {what} policy {name} {problem}.", file=name)


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a repeated name")
    return dict(pairs)
