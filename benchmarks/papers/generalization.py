"""How much do generalized code sets lose, by CBA and by UGACLIP, and beside disassociation?

Repeats Tables I and II and Figs 2 to 6 of Loukides, Gkoulalas-Divanis, Malin (2010), IEEE ITAB, and Figs 13 and 14 of
Loukides et al. (2014), Journal of Biomedical Informatics 50, on two public data sets (in the folder that CLOISTER_DATA
names), and measures time.

    python -m benchmarks.papers.generalization figures [--out docs/benchmarks]
    python -m benchmarks.papers.generalization sampled
    python -m benchmarks.papers.generalization moved
    python -m benchmarks.papers.generalization bars

`figures` writes ``generalization.json``; with the extra `bench` installed also SVG drawings and ``generalization.md``.
`sampled` adds to Figs 13 and 14 all sets of three codes of some patients of synpuf. `moved`, which `figures` ends with,
measures the method `generalization` beside both: some ten minutes.
"""

import argparse
import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

from benchmarks.machine import machine
from benchmarks.papers.disassociation import FILES, RECONSTRUCTIONS, blocks, made_up
from cloister import CodeSets, NoSafeRelease, PrivacyPolicy, UtilityPolicy
from cloister.shapes.codes.policy import parse_policy
from cloister.shapes.codes.request import frequent_workload, index_codes
from cloister.shapes.disassociation.format.data import DisassociationRequest
from cloister.shapes.disassociation.method.protect import disassociate
from cloister.shapes.disassociation.method.release import reconstruct
from cloister.shapes.generalization.format.data import GeneralizationMethod, GeneralizationRequest, Uncovered
from cloister.shapes.generalization.method.losses import GeneralizedCodes, queried_sets
from cloister.shapes.generalization.method.protect import generalize, load_kernels
from cloister.shapes.generalization.verify.verify import GeneralizationSecret, guarantee_of, verify
from cloister.utility import Reading, query_errors

WHOLE_RECORDS, DISEASE_RECORDS = 2_762, 1_335
"""Patients of the two data sets of the paper: all codes, and those of the 18 diseases."""

KS = (2, 5, 10, 15, 20, 25)
METHODS = (GeneralizationMethod.CBA, GeneralizationMethod.UGACLIP)
POLICIES = ("level:1", "sim:10", "sup:1.25")
QUERIES = 1_000
LARGEST_QUERY = 4

SAMPLED = 5_000
"""Patients of synpuf of whom all sets of three codes are protected: all patients did not end within 15 minutes."""

SCREEN = Console(width=150)
Rows = list[dict[str, Any]]
Queries = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Sample:
    """Patients of one data set, and the policies that the paper asks for."""

    name: str
    codes: CodeSets
    privacy: dict[str, PrivacyPolicy]
    policy: UtilityPolicy
    queries: Queries

    @property
    def readings(self) -> tuple[Uncovered, ...]:
        """What may become of codes outside the policy; where there are none, it is all the same."""
        covered = self.policy.n_uncovered(self.codes) == 0
        return (Uncovered.SUPPRESS,) if covered else tuple(Uncovered)


def load(name: str) -> CodeSets:
    """Read a data set."""
    return CodeSets.read(Path(os.environ["CLOISTER_DATA"], FILES[name]))


def records_of(codes: CodeSets) -> list[list[str]]:
    """The codes of each patient."""
    bounds, items = codes.offsets.tolist(), codes.items.tolist()
    return [[codes.vocabulary[item] for item in items[a:b]] for a, b in pairwise(bounds)]


def varied(codes: CodeSets, n_records: int, seed: int = 0) -> list[int]:
    """Patients among whom as many codes as possible occur, as in the data of the paper; the rest drawn at random.

    Of each code, the rarest first, the holder with the fewest codes is taken if nobody taken before has it.
    """
    sizes, supports = np.diff(codes.offsets), codes.supports()
    owner = np.repeat(np.arange(codes.n_records), sizes)[np.argsort(codes.items, kind="stable")]
    starts = np.concatenate([[0], np.cumsum(supports)])
    seen = np.zeros(codes.n_codes, dtype=np.bool_)
    chosen: list[int] = []
    for code in np.argsort(supports, kind="stable").tolist():
        if not seen[code] and len(chosen) < n_records:
            holders = owner[starts[code] : starts[code + 1]]
            chosen.append(int(holders[np.argmin(sizes[holders])]))
            seen[codes.items[codes.offsets[chosen[-1]] : codes.offsets[chosen[-1] + 1]]] = True
    rest = np.setdiff1d(np.arange(codes.n_records), chosen)
    drawn = np.random.default_rng(seed).choice(rest, n_records - len(chosen), replace=False).tolist()
    return sorted(chosen + drawn)


def with_diseases(codes: CodeSets) -> tuple[CodeSets, list[int]]:
    """Only codes of the 18 diseases, and the patients who have one."""
    wanted = frozenset().union(*UtilityPolicy.gwas(codes).constraints)
    left = [[code for code in record if code in wanted] for record in records_of(codes)]
    kept = [number for number, record in enumerate(left) if record]
    return CodeSets.from_records([left[number] for number in kept]), kept


def visits_of(name: str, rows: Sequence[int], codes: CodeSets) -> PrivacyPolicy:
    """Codes that some of these patients were diagnosed with at one visit; for diabetes130 all codes of a patient."""
    if name != "synpuf":
        return PrivacyPolicy.records(codes)
    folder = Path(os.environ["CLOISTER_DATA"], "synpuf")
    ids = pl.read_csv(folder / "codes.csv.gz", infer_schema=False)["patient_id"].gather(list(rows))
    claims = pl.read_parquet(folder / "claims.parquet", columns=["patient_id", "icd9_all"])
    found = claims.filter(pl.col("patient_id").is_in(ids.implode()))["icd9_all"].drop_nulls()
    known = set(codes.vocabulary)
    sets = [known.intersection(text.split()) for text in found.to_list()]
    return PrivacyPolicy.visits([each for each in sets if each])


def samples() -> Iterator[Sample]:
    """The data sets of the paper's sizes: all codes, and codes of the diseases alone."""
    for name in FILES:
        everything = load(name)
        rows = varied(everything, WHOLE_RECORDS)
        records = records_of(everything)
        yield _sample(name, f"{name}, all codes", CodeSets.from_records([records[row] for row in rows]), rows)
        diseases, kept = with_diseases(everything)
        chosen = varied(diseases, DISEASE_RECORDS)
        few = records_of(diseases)
        codes = CodeSets.from_records([few[row] for row in chosen])
        yield _sample(name, f"{name}, diseases", codes, [kept[row] for row in chosen])


def _sample(name: str, label: str, codes: CodeSets, rows: Sequence[int]) -> Sample:
    privacy = {"visits": visits_of(name, rows, codes), "all:2": PrivacyPolicy.all_combinations(codes, 2)}
    return Sample(label, codes, privacy, UtilityPolicy.gwas(codes), frequent_workload(codes, 5).queries)


def described(sample: Sample) -> dict[str, Any]:
    """What a sample is made of."""
    sizes = np.diff(sample.codes.offsets)
    return {
        "data": sample.name,
        "patients": sample.codes.n_records,
        "codes": sample.codes.n_codes,
        "a_patient": float(sizes.mean()),
        "most": int(sizes.max()),
        "visits": len(sample.privacy["visits"]),
        "diseases": len(sample.policy.names),
        "disease_codes": sum(map(len, sample.policy.constraints)),
        "queries": len(sample.queries),
    }


def measured(
    sample: Sample, privacy: str, uncovered: Uncovered, k: int, method: GeneralizationMethod
) -> dict[str, Any]:
    """Generalize, verify, and ask the paper's queries."""
    request = GeneralizationRequest(k, sample.privacy[privacy], method, uncovered, policy=sample.policy)
    row: dict[str, Any] = {"data": sample.name, "privacy": privacy, "uncovered": str(uncovered), "k": k}
    row["method"] = str(method)
    started = time.perf_counter()
    try:
        found = generalize(sample.codes, request)
    except NoSafeRelease:
        return row | {"ilm": None}
    row["seconds"] = time.perf_counter() - started
    check(found, request)
    figures = found.figures
    true = index_codes(sample.codes).counts(sample.queries)
    errors = {
        reading: query_errors(true, [queried_sets(found.released).answers(sample.queries, reading)], sample.queries)
        for reading in Reading
    }
    return row | {
        "ilm": figures.ilm,
        "ilm_terms": figures.ilm_terms,
        "bound": figures.bound,
        "ncp": figures.ncp,
        "suppressed_codes": figures.suppressed_codes,
        "suppressed_occurrences": figures.suppressed_occurrences,
        "are": errors[Reading.SUBSETS].average_relative_error,
        "are_inverse_size": errors[Reading.INVERSE_SIZE].average_relative_error,
        "preserved": [each.name for each in figures.outcomes if each.fully_preserved],
    }


def check(found: GeneralizedCodes, request: GeneralizationRequest) -> None:
    """Every release is verified, against the original as well."""
    verdict = verify(found.released, guarantee_of(request), GeneralizationSecret(found.original, found.origin))
    assert verdict.holds, verdict.failures


def compared(name: str, codes: CodeSets, spec: str, m: int, privacy: PrivacyPolicy) -> dict[str, Any]:
    """Disassociation and CBA at k = 5: the error of queries over codes that CBA did not suppress."""
    policy = parse_policy(spec, codes)
    request = GeneralizationRequest(5, privacy, GeneralizationMethod.CBA, policy=policy)
    started = time.perf_counter()
    found = generalize(codes, request)
    seconds = time.perf_counter() - started
    check(found, request)
    parts = disassociate(codes, DisassociationRequest(5, m, policy=policy)).released
    rebuilt = [index_codes(reconstruct(parts, seed)) for seed in range(RECONSTRUCTIONS)]
    original, terms, gone = index_codes(codes), queried_sets(found.released), found.released.suppressed
    kept = np.setdiff1d(np.arange(codes.n_codes), gone)
    row: dict[str, Any] = {"data": name, "policy": spec, "m": m, "seconds": seconds}
    row |= {"suppressed": len(gone), "codes": codes.n_codes, "largest_term": int(found.released.terms.sizes.max())}
    for workload, queries in (("random", random_of(kept)), ("drawn", drawn_of(codes, kept))):
        true = original.counts(queries)
        errors = {str(reading): query_errors(true, [terms.answers(queries, reading)], queries) for reading in Reading}
        errors["disassociation"] = query_errors(true, [sets.counts(queries) for sets in rebuilt], queries)
        row[workload] = {
            how: {"are": each.average_relative_error, "by_size": each.by_size} for how, each in errors.items()
        }
    return row


def random_of(kept: np.ndarray, seed: int = 0) -> Queries:
    """Sets of one to four of these codes, drawn at random, as many of each size."""
    generator = np.random.default_rng(seed)
    largest = min(LARGEST_QUERY, len(kept))
    sizes = [1 + number % largest for number in range(QUERIES)]
    return tuple(tuple(sorted(generator.choice(kept, size, replace=False).tolist())) for size in sizes)


def drawn_of(codes: CodeSets, kept: np.ndarray, seed: int = 0) -> Queries:
    """Sets of one to four of these codes that some patient has: sets of random codes mostly occur in nobody."""
    generator, is_kept = np.random.default_rng(seed), np.isin(np.arange(codes.n_codes), kept)
    queries: list[tuple[int, ...]] = []
    tries = 0
    while len(queries) < QUERIES and tries < 1000 * QUERIES:
        tries += 1
        record = int(generator.integers(codes.n_records))
        items = codes.items[codes.offsets[record] : codes.offsets[record + 1]]
        items, size = items[is_kept[items]], 1 + len(queries) % LARGEST_QUERY
        if len(items) >= size:
            queries.append(tuple(sorted(generator.choice(items, size, replace=False).tolist())))
    return tuple(queries)


def figures(out: Path) -> None:
    """Everything that tables and figures show, as one JSON file, then as drawings and a page."""
    from benchmarks.papers.partition import beside

    load_kernels()
    out.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {"machine": machine(), "samples": [], "runs": [], "compared": []}
    started = time.perf_counter()
    for sample in samples():
        found["samples"].append(described(sample))
        for uncovered in sample.readings:
            for privacy in sample.privacy:
                for k in KS:
                    found["runs"] += [measured(sample, privacy, uncovered, k, method) for method in METHODS]
        SCREEN.print(f"{sample.name}: {time.perf_counter() - started:.0f} s")
    for name in FILES:
        codes = load(name)
        for m in (2, 3) if name == "diabetes130" else (2,):
            privacy = PrivacyPolicy.all_combinations(codes, m)
            found["compared"] += [compared(name, codes, spec, m, privacy) for spec in POLICIES]
            SCREEN.print(f"{name}, m = {m}: {time.perf_counter() - started:.0f} s")
    found["bars"] = timed()
    found["seconds"] = time.perf_counter() - started
    (out / "generalization.json").write_text(json.dumps(found, indent=1) + "\n")
    beside(out)
    sampled(out)
    moved(out)


def sampled(out: Path) -> None:
    """Beside what was measured before, Figs 13 and 14 with all sets of two and of three codes of some patients."""
    load_kernels()
    path = out / "generalization.json"
    found = json.loads(path.read_text())
    everything = load("synpuf")
    rows = np.random.default_rng(0).choice(everything.n_records, SAMPLED, replace=False)
    records = records_of(everything)
    codes = CodeSets.from_records([records[row] for row in np.sort(rows).tolist()])
    name = f"synpuf, {SAMPLED:,} patients"
    found["compared"] = [row for row in found["compared"] if row["data"] in FILES]
    found["sampled_on"] = machine()["day"]
    for m in (2, 3):
        privacy = PrivacyPolicy.all_combinations(codes, m)
        for spec in POLICIES:
            found["compared"].append(compared(name, codes, spec, m, privacy))
            path.write_text(json.dumps(found, indent=1) + "\n")
    draw(out)


def moved(out: Path) -> None:
    """Beside what was measured before, the method `generalization` on the settings that the paper's two ran on."""
    load_kernels()
    path = out / "generalization.json"
    found = json.loads(path.read_text())
    found["moved"], started = [], time.perf_counter()
    for sample in samples():
        for uncovered in sample.readings:
            for k in KS:
                row = measured(sample, "visits", uncovered, k, GeneralizationMethod.GENERALIZATION)
                found["moved"].append(row)
                SCREEN.print(f"{sample.name}, k = {k}: {time.perf_counter() - started:.0f} s")
                path.write_text(json.dumps(found, indent=1) + "\n")
    draw(out)


def draw(out: Path) -> None:
    """Draw what was measured before."""
    from benchmarks.papers.generalization_figures import draw_all, write_page

    found = json.loads((out / "generalization.json").read_text())
    draw_all(found, out)
    write_page(found, out)


def timed() -> Rows:
    """Seconds of the works that have a bar, by CBA with k = 5, the verification included."""
    everyone = made_up(58_302, 631, 5.1)
    works = [("58,302 patients, 631 codes, all pairs", everyone, "all:2", blocks(everyone, 10), 300.0)]
    if "CLOISTER_DATA" in os.environ:
        codes = load("synpuf")
        rows = varied(codes, WHOLE_RECORDS)
        records = records_of(codes)
        some = CodeSets.from_records([records[row] for row in rows])
        name = f"{some.n_records:,} patients, {some.n_codes:,} codes"
        policy = UtilityPolicy.gwas(some)
        works.append((f"{name}, visits", some, "visits", policy, 10.0))
        works.append((f"{name}, all pairs", some, "all:2", policy, 60.0))
    found = []
    for label, codes, privacy, policy, bar in works:
        started = time.perf_counter()
        sets = visits_of("synpuf", rows, codes) if privacy == "visits" else PrivacyPolicy.all_combinations(codes, 2)
        request = GeneralizationRequest(5, sets, GeneralizationMethod.CBA, policy=policy)
        result = generalize(codes, request)
        middle = time.perf_counter()
        check(result, request)
        ended = time.perf_counter()
        found.append({"work": label, "bar": bar, "protect": middle - started, "verify": ended - middle})
    return found


def bars() -> None:
    """Print the seconds of the works that have a bar."""
    load_kernels()
    table = Table(title="CBA, k = 5, policy and verification included (seconds)")
    for head in ("work", "protect", "verify", "bar"):
        table.add_column(head, justify="right")
    for row in timed():
        missed = " MISSED" if row["protect"] + row["verify"] > row["bar"] else ""
        table.add_row(row["work"], f"{row['protect']:.2f}", f"{row['verify']:.2f}", f"{row['bar']:g}{missed}")
    SCREEN.print(table)


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("figures", "sampled", "moved", "draw", "bars"))
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[2] / "docs" / "benchmarks")
    options = parser.parse_args()
    if options.what == "bars":
        bars()
    else:
        {"figures": figures, "sampled": sampled, "moved": moved, "draw": draw}[options.what](options.out)


if __name__ == "__main__":
    main()
