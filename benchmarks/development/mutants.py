"""Do the tests notice? Forty changes of kernels, verifiers and masking, each one sign or number, each tried alone.

    python -m benchmarks.development.mutants [--only TEXT] [--wide]

Every change is made in a copy of the project, and the quick profile of the tests of its subject is run there. A change
that no test notices is a hole in the suite: it is printed, and the exit code is 1. ``--wide`` then runs all tests.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).parents[2]
SEARCH = "tests/properties/test_search.py tests/properties/test_paper_searches.py tests/unit/kernels"
RECODING = "tests/properties/test_recodings.py tests/unit/kernels"
DISASSOCIATION = "tests/properties/test_disassociation.py tests/unit/shapes/disassociation"
GENERALIZATION = "tests/properties/test_generalization.py tests/unit/shapes/generalization"
TRAJECTORIES = (
    "tests/properties/test_trajectories.py tests/properties/test_trajectory_search.py tests/unit/shapes/trajectories"
)
CLAIMS = "tests/properties/test_claims_candidates.py tests/properties/test_claims_risk.py tests/unit/shapes/claims"
TABLES = "tests/unit/shapes/table tests/properties/test_verified_rules.py tests/properties/test_recoded_releases.py"
RISK = "tests/properties/test_risk.py tests/properties/test_itemsets.py tests/unit/risk"

MUTANTS = {
    "kernels/classes.py": f"""{SEARCH} {RISK}
        if records[i] < k:  ->  if records[i] < k - 1:
        if records[i] >= k:  ->  if records[i] > k:
        totals[labels[i]] == 1  ->  totals[labels[i]] <= 2
        total * (total - 1) // 2  ->  total * (total + 1) // 2""",
    "kernels/boxes.py": f"""{SEARCH}
        if suppressed > task.threshold.limit or kept == 0:  ->  if suppressed > task.threshold.limit:
        if suppressed > task.threshold.limit or kept == 0:  ->  if suppressed >= task.threshold.limit or kept == 0:""",
    "kernels/layout.py": f"""{SEARCH}
        return rank < 0  ->  return rank > 0
        return suppressed < best.suppressed[0]  ->  return suppressed > best.suppressed[0]
        share * (1.0 - costs.worst[attribute, level])  ->  share""",
    "kernels/segments.py": f"""{SEARCH}
        if total[code] < k:  ->  if total[code] <= k:
        if pool.total[code] < k:  ->  if pool.total[code] <= k:""",
    "kernels/shared_labels.py": f"""{RECODING}
        while pool.sizes[one] < least  ->  while pool.sizes[one] <= least
        if cost < lowest  ->  if cost <= lowest""",
    "kernels/horpart.py": f"""{DISASSOCIATION}
        if count < k or left - count < k  ->  if count < k or left - count <= k
        and count > bench.counts[best])  ->  and count < bench.counts[best])""",
    "kernels/verpart.py": f"""{DISASSOCIATION}
        if count < k:  ->  if count < k - 1:
        few = rule.m >= 2 and counts[other] < rule.k  ->  few = rule.m > 2 and counts[other] < rule.k""",
    "kernels/shared_chunks.py": f"""{DISASSOCIATION}
        if records < k:  ->  if records <= k:""",
    "kernels/reconstruction.py": f"""{DISASSOCIATION}
        while rows.stamp[row] == chunk:  ->  while rows.stamp[row] == -2:""",
    "kernels/itemset_support.py": f"""{RISK}
        if found < k:  ->  if found <= k:
        if found == 1:  ->  if found == 2:""",
    "kernels/clusters.py": f"""{TRAJECTORIES}
        if lowest + left > limit:  ->  if lowest + 2 * left > limit:
        if loss < best or  ->  if loss <= best or
        while left >= 2 * k:  ->  while left >= 2 * k + 1:""",
    "kernels/claim_matches.py": f"""{CLAIMS}
        if one >= postings.first[label + 1]:  ->  if one > postings.first[label + 1]:
        one = postings.first[label] + count - 1  ->  one = postings.first[label]""",
    "shapes/table/verify/rules.py": f"""{TABLES}
        classes.sizes[COUNT] >= int(rule["k"]),  ->  classes.sizes[COUNT] >= int(rule["k"]) - 1,
        >= int(rule["l"])  ->  >= int(rule["l"]) - 1""",
    "shapes/table/verify/verify.py": f"""{TABLES}
        suppressed <= guarantee.limit,  ->  suppressed <= guarantee.limit + 1,
        moved == 0, OTHERS_AS_RECORDED  ->  moved <= 2, OTHERS_AS_RECORDED""",
    "shapes/disassociation/verify/verify.py": f"""{DISASSOCIATION}
        released.sizes >= released.k  ->  released.sizes >= released.k - 1
        >= released.sizes + k * (np.minimum(m, chunks) - 1)  ->  >= released.sizes""",
    "shapes/disassociation/verify/chunks.py": f"""{DISASSOCIATION}
        if both.bit_count() < k:  ->  if both.bit_count() < k - 1:""",
    "shapes/generalization/verify/verify.py": f"""{GENERALIZATION}
        not 0 < empty < k  ->  not 0 < empty < k - 1""",
    "shapes/trajectories/verify/verify.py": f"""{TRAJECTORIES}
        fewest >= guarantee.k  ->  fewest >= guarantee.k - 1
        * least > held[SIZE]  ->  > held[SIZE]""",
    "shapes/claims/verify/verify.py": f"""{CLAIMS}
        all(own >= k for own in fewest)  ->  all(own >= k - 1 for own in fewest)""",
    "shapes/claims/verify/risk.py": f"""{CLAIMS}
        max(tops) <= promise.threshold,  ->  min(tops) <= promise.threshold,""",
    "release/masking.py": """tests/unit/release/test_masking.py
        return 0 < patients < k  ->  return 0 < patients < k - 1
        n_hidden == 1 or patients  ->  n_hidden == 2 or patients
        ((1 << (2 * k - 1)) - 1)  ->  ((1 << (2 * k - 3)) - 1)""",
}
"""Files, the tests that should notice, and changes."""


@dataclass(frozen=True)
class Mutant:
    """A change of one place, and the tests that should notice it."""

    file: str
    before: str
    after: str
    tests: str


def mutants(only: str) -> list[Mutant]:
    """Return the changes of files whose name holds a text."""
    found = []
    for file, text in MUTANTS.items():
        tests, *changes = text.splitlines()
        pairs = [tuple(part.strip() for part in change.split("  ->  ")) for change in changes]
        found += [Mutant(file, before, after, tests) for before, after in pairs if only in file]
    return found


def fails(copy: Path, tests: str) -> bool:
    """Whether a test fails in a copy of the project."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", *tests.split()],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy / "src"), "CLOISTER_EXAMPLES": "quick"},
        capture_output=True,
        check=False,
    )
    return done.returncode != 0


def noticed(mutant: Mutant, copy: Path, tests: str) -> bool:
    """Whether a test fails with the change made in a copy of the project."""
    file = copy / "src/cloister" / mutant.file
    text = file.read_text(encoding="utf-8")
    if text.count(mutant.before) != 1:
        raise SystemExit(f"{mutant.file} has not one {mutant.before!r}: bring the list of mutants up to date.")
    file.write_text(text.replace(mutant.before, mutant.after), encoding="utf-8")
    try:
        return fails(copy, tests)
    finally:
        file.write_text(text, encoding="utf-8")


def main() -> int:
    """Print a line for each change; return 1 if one was not noticed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="changes of files whose name holds this")
    parser.add_argument("--wide", action="store_true", help="run all tests where those of the subject notice nothing")
    asked = parser.parse_args()
    tried, left = mutants(asked.only), []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "cloister"
        shutil.copytree(PROJECT, copy, ignore=shutil.ignore_patterns(".venv", ".git", "build", "demo", "dist"))
        for tests in dict.fromkeys(one.tests for one in tried):
            if fails(copy, tests):
                raise SystemExit(f"Without any change a test of {tests} fails: mend that first.")
        for mutant in tried:
            started = time.perf_counter()
            found = noticed(mutant, copy, mutant.tests) or (asked.wide and noticed(mutant, copy, "tests"))
            seconds = time.perf_counter() - started
            print(f"{'noticed' if found else 'LEFT':<8} {seconds:5.0f} s  {mutant.file}: {mutant.after}", flush=True)
            left += [] if found else [mutant]
    print(f"{len(left)} changes were not noticed.")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
