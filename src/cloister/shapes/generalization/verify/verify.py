"""The guarantee of generalized code sets, recomputed from the release only, and further checks with the original.

The promises are SQL (`statements`). What a privacy policy names is counted with NumPy, as the policy is not in the
release. Nothing here imports the kernels or what protects.

Where codes repeat, somebody may know how often a code was given. Whoever knows the third occurrence of a code knows of
the first and the second, and may look for the terms of all three. If every record that has the term of an occurrence
has those of the earlier ones, that leads to the same records as the term of the last alone, and sets of terms can be
counted as where codes do not repeat.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.ragged import are_runs, owners, strictly_increasing
from cloister.results import Checks, Verdict
from cloister.shapes.codes.data import CodeSets, occurrence, plain_code
from cloister.shapes.codes.policy import UtilityPolicy
from cloister.shapes.generalization.format.data import (
    Generalization,
    GeneralizationMethod,
    GeneralizationRequest,
    PrivacySets,
    Sets,
    Uncovered,
)
from cloister.shapes.generalization.format.released import data_frame
from cloister.verification.script import Finding, note

from .statements import find_broken

Integers = NDArray[np.int64]
Table = NDArray[np.int32]
SETS_AT_ONCE = 1024  # Sets whose records are looked at together
BYTE = 8
NO_SETS = UtilityPolicy((), ())
HOW = "sets of terms were counted again by SQL in the released records"
HOW_COMPARED = f"{HOW}, and every record was compared with the original"


def has_rare_part(offsets: Integers, items: Table, n_terms: int, wanted: Table, k: int) -> bool:
    """Whether some set, or what a record has of it, is held by 1 to k - 1 records.

    ``wanted``: (n_sets, width) terms of each set, below 0 where there is none
    """
    # Each set of terms once, a term once in each; the number of terms means no term.
    sets = np.sort(np.where(wanted < 0, n_terms, wanted).astype(np.int32), axis=1)
    repeated = np.zeros(sets.shape, dtype=np.bool_)
    repeated[:, 1:] = sets[:, 1:] == sets[:, :-1]
    sets = np.unique(np.sort(np.where(repeated, n_terms, sets), axis=1), axis=0).astype(np.int32)
    bits = _bits(offsets, items, n_terms)
    starts = np.cumsum(np.bincount(items, minlength=n_terms))
    records = np.split(owners(offsets)[np.argsort(items, kind="stable")], starts[:-1])  # of each term, ascending
    for some in _at_a_time(sets):
        held = _count_holders(bits, some)
        if np.any((held > 0) & (held < k)):
            return True
        # A set that no record holds may still have a part that few hold.
        for terms in some[held == 0].tolist():
            parts = _parts({term: records[term] for term in terms if term < n_terms}, n_terms)
            if any(np.any(_count_holders(bits, block) < k) for block in _at_a_time(parts)):
                return True
    return False


def _at_a_time(sets: Table) -> Iterator[Table]:
    return (sets[start : start + SETS_AT_ONCE] for start in range(0, len(sets), SETS_AT_ONCE))


def _parts(records: Mapping[int, Integers], n_terms: int) -> Table:
    """What records have of some terms, ascending, each once: rows of terms, ``n_terms`` beyond the end."""
    term = np.repeat(list(records), [len(found) for found in records.values()])
    record = np.concatenate(list(records.values()))
    order = np.argsort(record, kind="stable")
    row = np.cumsum(np.diff(record[order], prepend=-1) > 0) - 1
    sizes = np.bincount(row)
    table = np.full((len(sizes), int(sizes.max(initial=0))), n_terms, dtype=np.int32)
    table[np.arange(table.shape[1]) < sizes[:, None]] = term[order]
    return np.unique(table, axis=0) if table.size else table


def _bits(offsets: Integers, items: Table, n_terms: int) -> NDArray[np.uint8]:
    """Records of each term, one bit a record; one more row for what every record holds."""
    n_records = len(offsets) - 1
    record = owners(offsets)
    bits = np.zeros((n_terms + 1, -(-n_records // BYTE)), dtype=np.uint8)
    np.bitwise_or.at(bits, (items, record // BYTE), np.uint8(128) >> (record % BYTE).astype(np.uint8))
    # No term is a row of ones, which changes no intersection.
    bits[n_terms] = np.packbits(np.ones(n_records, dtype=np.bool_))
    return bits


def _count_holders(bits: NDArray[np.uint8], sets: Table) -> Integers:
    common = bits[sets[:, 0]]
    for column in sets.T[1:]:
        common &= bits[column]
    held: Integers = np.bitwise_count(common).sum(axis=1, dtype=np.int64)
    return held


def terms_by_code(released: Generalization) -> dict[str, list[int]] | None:
    """Return the terms of the occurrences of each code, the first first; None if they are not numbered without gaps."""
    found: dict[str, dict[int, int]] = {}
    for term, codes in enumerate(released.named_terms()):
        for code in codes:
            named = occurrence(code)
            if named is None:
                return None
            found.setdefault(named[0], {})[named[1]] = term
    # Numbers from 1 without gaps: the highest is how many there are.
    if any(max(terms) != len(terms) for terms in found.values()):
        return None
    return {code: [terms[number + 1] for number in range(len(terms))] for code, terms in found.items()}


PRIVACY = "privacy"  # the name of a privacy policy that could not be checked


@dataclass(frozen=True, eq=False, repr=False)
class GeneralizationGuarantee:
    """The guarantee that a release must meet."""

    # sets of codes of which every part has no record or k; may be None where sets of up to m codes are meant
    privacy: PrivacySets | None = None
    # disjoint sets of codes that terms do not reach beyond; None where terms follow a hierarchy
    utility: UtilityPolicy | None = None
    uncovered_together: bool = True  # whether codes of no such set may share a term
    unknown: str = ""  # why the privacy policy cannot be checked, if it is not at hand


def guarantee_of(request: GeneralizationRequest) -> GeneralizationGuarantee:
    """Return what a release that was asked for is to keep; AA follows the hierarchy, whatever the utility policy."""
    privacy = None if request.privacy.m is not None else request.privacy
    if request.method is GeneralizationMethod.APRIORI:
        return GeneralizationGuarantee(privacy)
    return GeneralizationGuarantee(privacy, request.policy or NO_SETS, request.uncovered is Uncovered.GENERALIZE)


@dataclass(frozen=True, eq=False, repr=False)
class GeneralizationSecret:
    """The original, and the record of it behind each released one: (n_records,) int64; None where that is not known."""

    codes: CodeSets
    origin: NDArray[np.int64] | None = None


def verify(
    released: Generalization,
    guarantee: GeneralizationGuarantee,
    secret: GeneralizationSecret | None = None,
    findings: Iterable[Finding] | None = None,
) -> Verdict:
    """Check generalized code sets: by SQL what the release shows, then policies, and with the original every record.

    With the secret each record must be what the original's record becomes by the terms. Source: Loukides,
    Gkoulalas-Divanis, Malin (2010), IEEE ITAB, section III.D and Definitions 3.1 and 3.2.

    ``findings``: what the script found in the files of the release; without them, it is run on the code sets
    """
    checks = Checks()
    is_sound = all(checks.require(holds, promise) for promise, holds in _form(released))
    if is_sound:
        if findings is None:
            frame = data_frame(released, numbered=False)
            findings = find_broken(frame, released.k, released.m, repeats=released.repeats)
        note(checks, findings)
        if guarantee.unknown:
            checks.leave(PRIVACY, guarantee.unknown)
        else:
            checks.require(guarantee.privacy is not None or released.m is not None, "a privacy policy is known")
        if guarantee.privacy is not None:
            _check_policy(checks, released, guarantee.privacy)
        if guarantee.utility is not None:
            # Definition 3.2; codes of no set are a set of their own, or each is.
            number = {code: place for place, each in enumerate(guarantee.utility.constraints) for code in each}
            names = [plain_code(code, repeats=released.repeats) for code in released.vocabulary]
            alone = [-1 if guarantee.uncovered_together else -2 - place for place in range(len(names))]
            group = [number.get(name, own) for name, own in zip(names, alone, strict=True)]
            inside = all(len({group[code] for code in term}) == 1 for term in _rows(released.terms))
            checks.require(inside, "the codes of each term are in one set of the utility policy")
        if secret is not None:
            _check_original(checks, released, secret)
    return checks.verdict(HOW if secret is None else HOW_COMPARED)


def _is_sound(sets: Sets, width: int) -> bool:
    """Whether sets are runs of ascending numbers below the width."""
    in_range = np.all((sets.items >= 0) & (sets.items < width))
    return are_runs(sets.offsets, sets.items.size) and bool(in_range) and strictly_increasing(sets.items, sets.offsets)


def _form(released: Generalization) -> Iterator[tuple[str, bool | np.bool_]]:
    """What the rest takes for granted; each relies on those before it, and is asked for where these hold."""
    vocabulary, terms, records = released.vocabulary, released.terms, released.records
    n_codes, n_terms = len(vocabulary), terms.offsets.size - 1
    yield "k and m are 1 or more", released.k >= 1 and (released.m is None or released.m >= 1)
    yield "the codes are in order", all(a.encode() < b.encode() for a, b in pairwise(vocabulary))
    sound = _is_sound(terms, n_codes) and bool(np.all(np.diff(terms.offsets) > 0))
    in_order = sound and np.all(np.diff(terms.items[terms.offsets[:-1]], prepend=np.int32(-1)) > 0)
    yield "terms are sets of codes, in the order of their smallest codes", in_order
    placed = np.sort(np.concatenate([terms.items, released.suppressed]))
    yield "every code is in one term, or suppressed", np.array_equal(placed, np.arange(n_codes))
    yield "records are sets of terms", _is_sound(records, n_terms)
    rows = pairwise(_rows(records))
    yield "records are in the order of their terms", all(before <= after for before, after in rows)
    yield "every term is held by some record", np.unique(records.items).size == n_terms


def _check_policy(checks: Checks, released: Generalization, privacy: PrivacySets) -> None:
    """Check sets that a policy names, which is not in the release, so that its script cannot."""
    k, records, n_terms = released.k, released.records, released.terms.offsets.size - 1
    # Codes of one term cannot be distinguished, so that sets of terms are all that anybody can look for.
    rare = has_rare_part(records.offsets, records.items, n_terms, _as_terms(released, privacy), k)
    by_policy = f"every set of the privacy policy, and every part of one, is held by no record or by {k} or more"
    checks.require(not rare, by_policy)


def _as_terms(released: Generalization, privacy: PrivacySets) -> NDArray[np.int32]:
    """The terms of each set as a row, -1 where a code is suppressed or unknown, and beyond the end."""
    sets = privacy.sets
    if released.repeats:
        # Anyone who knows an occurrence looks for the terms of all up to it; a code without number is the first one.
        by_code = terms_by_code(released) or {}
        named = (occurrence(name) or (name, 1) for name in privacy.vocabulary)
        terms_of = [set(by_code.get(code, ())[:number]) for code, number in named]
        sets = Sets.of(set[int]().union(*(terms_of[item] for item in sets.members(at))) for at in range(len(sets)))
        terms = np.arange(released.terms.offsets.size - 1, dtype=np.int32)
    else:
        term_of = dict(zip(released.vocabulary, released.term_of().tolist(), strict=True))
        terms = np.array([term_of.get(code, -1) for code in privacy.vocabulary], dtype=np.int32)
    sizes = np.diff(sets.offsets)
    table = np.full((len(sizes), max(1, int(sizes.max(initial=0)))), -1, dtype=np.int32)
    table[np.arange(table.shape[1]) < sizes[:, None]] = terms[sets.items]
    return table


def _check_original(checks: Checks, released: Generalization, secret: GeneralizationSecret) -> None:
    codes = secret.codes
    held = set(codes.items.tolist())
    occurring = tuple(code for number, code in enumerate(codes.vocabulary) if number in held)
    term_of = dict(zip(released.vocabulary, released.term_of().tolist(), strict=True))
    term, items = [term_of.get(code, -1) for code in codes.vocabulary], codes.items.tolist()
    bounds = pairwise(codes.offsets.tolist())
    expected = [tuple(sorted({term[item] for item in items[start:end]} - {-1})) for start, end in bounds]
    # All records are released, but for those without any term where these are fewer than k.
    kept = [record for record, terms in enumerate(expected) if terms]
    kept = kept if len(expected) - len(kept) < released.k else list(range(len(expected)))
    if not checks.require(
        occurring == released.vocabulary and len(released.records) == len(kept),
        "the codes and the number of records are those of the original",
    ):
        return
    found = _rows(released.records)
    if secret.origin is not None:
        same = np.array_equal(np.sort(secret.origin), kept) and all(
            expected[record] == terms for record, terms in zip(secret.origin.tolist(), found, strict=True)
        )
    else:
        # Which record became which is not known: only the records as a whole can be compared.
        same = sorted(expected[record] for record in kept) == sorted(found)
    checks.require(same, "every record has the terms of its codes, and no others")


def _rows(sets: Sets) -> list[tuple[int, ...]]:
    items = sets.items.tolist()
    return [tuple(items[start:end]) for start, end in pairwise(sets.offsets.tolist())]
