"""What terms reveal to somebody who repeats the method on every original that there could be.

python -m benchmarks.attacks.terms

All originals of some patients with some codes are generalized by each method; those with equal releases are the ones
that an attacker is left with. Printed are the terms of several codes, and how many of them have numbers of patients by
code that are the same in all of these originals.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence

import cloister as cl
from benchmarks import pages
from cloister.errors import NoSafeRelease
from cloister.shapes.codes.data import CodeSets
from cloister.shapes.generalization.format.data import GeneralizationMethod, GeneralizationRequest
from cloister.shapes.generalization.method.protect import generalize

CODES = ("250.00", "401.0", "401.1", "401.9")
SIZES = ((3, 6), (4, 4))  # codes and patients
ASKED = tuple(itertools.product((2, 3), (1, 2)))  # k and m

Original = tuple[tuple[str, ...], ...]
Released = tuple[tuple[tuple[str, ...], ...], ...]
"""The terms of each record, sorted; a term is its codes."""


def main() -> None:
    """Print the table of methods."""
    head = ["method", *(f"k = {k}, m = {m}" for k, m in ASKED)]
    rows = [
        [f"{method}, {n_patients} patients, {n_codes} codes"]
        + [_share(method, CODES[:n_codes], n_patients, k, m) for k, m in ASKED]
        for n_codes, n_patients in SIZES
        for method in GeneralizationMethod
    ]
    print(pages.table(head, rows))


def _share(method: GeneralizationMethod, codes: Sequence[str], n_patients: int, k: int, m: int) -> str:
    """Return how many terms of several codes have numbers that follow, of all such terms of all releases."""
    by_release = defaultdict[Released, list[Original]](list)
    for original in _originals(codes, n_patients):
        if released := _release(original, method, k, m):
            by_release[released].append(original)
    n_terms = n_known = 0
    for released, originals in by_release.items():
        for term in {term for record in released for term in record if len(term) > 1}:
            n_terms += 1
            n_known += (
                len({tuple(sum(code in one for one in original) for code in term) for original in originals}) == 1
            )
    return f"{n_known} of {n_terms}"


def _originals(codes: Sequence[str], n_patients: int) -> Iterator[Original]:
    """Yield each original: patients with at least one code each, in any order once."""
    sets = [some for size in range(1, len(codes) + 1) for some in itertools.combinations(codes, size)]
    return itertools.combinations_with_replacement(sets, n_patients)


def _release(original: Original, method: GeneralizationMethod, k: int, m: int) -> Released | None:
    """Return the released records, sorted; None where nothing is released."""
    codes = CodeSets.from_records(original)
    asked = GeneralizationRequest(k, cl.PrivacyPolicy.all_combinations(codes, m=m), method)
    try:
        made = generalize(codes, asked).released
    except NoSafeRelease:
        return None
    terms = [tuple(made.vocabulary[code] for code in made.terms.members(term)) for term in range(len(made.terms))]
    records = (made.records.members(record) for record in range(len(made.records)))
    return tuple(sorted(tuple(sorted(terms[term] for term in record)) for record in records))


if __name__ == "__main__":
    main()
