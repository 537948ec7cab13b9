"""What can still be learnt from releases of code sets, trajectories and claims, against the original.

    python -m benchmarks.usefulness.codes [--patients 5000] [--k 5 11]

On made-up patients, and on DE-SynPUF where CLOISTER_DATA names the folder with it.

*Pairs* of the 40 most frequent codes: the share of those had by 20 patients or more whose support the release gives
within a fifth, and the share whose lift is on the same side of 1 where it is not near 1 in the original (below 0.8 or
above 1.25). Chunks are read through ten reconstructions; a term counts for each of its codes by 1 / its size.
*Pairs of code and age*: the share of released pairs that give the category of the code and the age to ten years.
*Imputed pairs*: half the sum of the differences of the shares of chapters and of categories (total variation) between
the original and ten imputations, and the mean age in the original and in these.
*Claims*: the share of claims and patients that say a column, and how many labels it has.
"""

import argparse
import os
from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import cloister as cl
from cloister.cli.main import run
from cloister.release.codebook import bounds_of
from cloister.testing import hospital

Matrix = NDArray[np.float64]
MOST, FEWEST, DRAWS = 40, 20, 10
CATEGORY = r"^(?:[0-9]{3}|[VE][0-9]{2,3})(?:\.|$)"
METHODS = ("disassociation", "cba", "ugaclip")


def frequent(records: Iterable[Sequence[str]]) -> list[str]:
    """Return the most frequent codes."""
    counts = pl.Series([code for record in records for code in set(record)]).value_counts(sort=True)
    return counts.to_series()[:MOST].to_list()


def records_of(codes: cl.CodeSets) -> list[list[str]]:
    """Return the codes of each patient."""
    bounds, items = codes.offsets.tolist(), codes.items.tolist()
    return [[codes.vocabulary[item] for item in items[a:b]] for a, b in pairwise(bounds)]


def had(records: Sequence[dict[str, float]], codes: Sequence[str]) -> Matrix:
    """Return how much of each code each record has, (n_records, n_codes)."""
    return np.array([[record.get(code, 0.0) for code in codes] for record in records])


def pairs_of(matrix: Matrix) -> tuple[Matrix, Matrix]:
    """Return support and lift of all pairs."""
    support, alone = matrix.T @ matrix, matrix.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return support, support * matrix.shape[0] / np.outer(alone, alone)


def kept_pairs(original: Matrix, released: Sequence[Matrix]) -> tuple[float, float]:
    """Return the shares of pairs whose support, and whose lift, is told."""
    support, lift = pairs_of(original)
    found = [pairs_of(one) for one in released]
    own, own_lift = (np.mean([one[part] for one in found], axis=0) for part in (0, 1))
    places = [(a, b) for a, b in combinations(range(support.shape[0]), 2) if support[a, b] >= FEWEST]
    close = [abs(own[at] - support[at]) <= support[at] / 5 for at in places]
    clear = [at for at in places if not 0.8 <= lift[at] <= 1.25]
    return float(np.mean(close)), float(np.mean([(own_lift[at] > 1) == (lift[at] > 1) for at in clear]))


def term_weights(cell: str | None) -> dict[str, float]:
    """Return the codes of a generalized record, each by 1 / the size of its term."""
    found: dict[str, float] = {}
    for term in (cell or "").split():
        codes = term.strip("()").split(",")
        found |= {code: 1 / len(codes) for code in codes}
    return found


def of_codes(sets: Sequence[Sequence[str]], k: int) -> list[list[str]]:
    """Return a row for each method."""
    codes, named = cl.CodeSets.from_records(sets), frequent(sets)
    original, rows = had([dict.fromkeys(one, 1.0) for one in sets], named), []
    for method in METHODS:
        if method == "disassociation":
            chunks = cl.protect_codes(codes, k=k, m=2)
            drawn = [chunks.reconstruct(seed) for seed in range(DRAWS)]
            cells = [[dict.fromkeys(one, 1.0) for one in records_of(each)] for each in drawn]
        else:
            policy = cl.UtilityPolicy.similar(codes, 20)
            terms = cl.protect_codes(codes, k=k, method=method, policy=policy, accept_empty=True)
            cells = [[term_weights(cell) for cell in terms.frame["codes"]]]
        support, lift = kept_pairs(original, [had(one, named) for one in cells])
        rows.append([method, str(k), f"{support:.0%}", f"{lift:.0%}"])
    return rows


def released_pairs(frame: pl.DataFrame, k: int) -> cl.TrajectoriesRelease:
    """Return the release of the usual method."""
    grouped = frame.group_by("patient_id", maintain_order=True).agg("code", "age")
    records = [[*zip(codes, ages, strict=True)] for codes, ages in grouped.select("code", "age").rows()]
    return cl.protect_trajectories(cl.Trajectories.from_records(records), k=k, accept_empty=True)


def of_trajectories(release: cl.TrajectoriesRelease, k: int) -> list[str]:
    """Return the row of the labels."""
    codes, ages = (release.frame[name].cast(pl.String) for name in ("code", "age"))
    says_code = codes.str.contains(CATEGORY).to_numpy()
    ends = [bounds_of(label) or (None, None) for label in ages]
    says_age = np.array([None not in end and float(end[1] or 0) - float(end[0] or 0) < 10 for end in ends])
    return [str(k), f"{says_code.mean():.0%}", f"{says_age.mean():.0%}", f"{(says_code & says_age).mean():.0%}"]


def of_imputed_pairs(frame: pl.DataFrame, release: cl.TrajectoriesRelease, k: int) -> list[str]:
    """Return the row of the imputed pairs."""
    with TemporaryDirectory() as place:
        release.write(Path(place, "out"))
        drawn = pl.concat(cl.open(Path(place, "out"), verify=False).impute(n=DRAWS)).drop_nulls()
    found = [str(k), f"{drawn.height / DRAWS / frame.height:.0%}"]
    for level in (4, 2):  # chapter, category
        shares = []
        for codes in (frame["code"], drawn["code"].cast(pl.String)):
            bound = cl.icd9().bind("code", codes.unique().to_list())
            labels = dict(zip(bound.values, bound.labels[level], strict=True))
            shares.append(codes.replace_strict(labels).alias("code").value_counts(normalize=True, name="share"))
        both = shares[0].join(shares[1], on="code", how="full", suffix="_drawn").fill_null(0)
        found.append(f"{(both['share'] - both['share_drawn']).abs().sum() / 2:.2f}")
    return [*found, f"{frame['age'].mean():.1f}, {drawn['age'].mean():.1f}"]


def of_claims(folder: Path) -> list[list[str]]:
    """Return a row for each quasi-identifier, by the plan that ``init`` proposes."""
    plan = folder / "plan.toml"
    files = [folder / "claim_patients.csv", folder / "claims.csv"]
    if run(["init", "claims", *map(str, files), "--out", str(plan)]):
        return []
    release = cl.protect_claims(cl.Claims.read(*files, plan=cl.ClaimsPlan.read(plan)), accept_empty=True)
    shown = release.summary()["columns"]
    rows = []
    for table in ("patients", "claims"):
        frame = getattr(release, table)
        for name in [name for name, column in shown[table].items() if column["role"] == "quasi-identifier"]:
            said = frame[name].is_not_null() & (frame[name] != "*")
            rows.append([table, name, f"{said.mean():.0%}", str(frame[name].drop_nulls().n_unique())])
    return rows


def main() -> None:
    """Print four tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--patients", type=int, default=5_000)
    parser.add_argument("--k", type=int, nargs="+", default=[5, 11])
    asked = parser.parse_args()
    sets = Table("data", "method", "k", "support within a fifth", "lift on its side")
    pairs = Table("data", "k", "give the category", "give age to ten years", "both")
    imputed = Table("data", "k", "released pairs", "distance of chapters", "of categories", "mean age")
    columns = Table("data", "file", "column", "give a value", "labels")
    made = hospital(seed=0, n=asked.patients)
    data = {"made up": (made.codes["codes"].str.split(" ").to_list(), made.trajectories.cast({"code": pl.String}))}
    if folder := os.environ.get("CLOISTER_DATA"):
        codes = pl.read_csv(Path(folder, "synpuf", "codes.csv.gz"), infer_schema=False).head(asked.patients)
        lists = [one for one in codes["codes"].str.split(" ").to_list() if one]
        visits = pl.read_csv(Path(folder, "synpuf", "trajectories.csv.gz"), schema_overrides={"code": pl.String})
        few = visits.filter(pl.col("patient_id").is_in(visits["patient_id"].unique().sort().head(2_000).implode()))
        data["DE-SynPUF"] = (lists, few.select("patient_id", "code", age=pl.col("age_years").cast(pl.Int64)))
    with TemporaryDirectory() as place:
        made.write(place)
        for k in asked.k:
            for name, (records, visits) in data.items():
                for row in of_codes([one for one in records if one], k):
                    sets.add_row(name, *row)
                release = released_pairs(visits.sort("patient_id", "age", "code"), k)
                pairs.add_row(name, *of_trajectories(release, k))
                imputed.add_row(name, *of_imputed_pairs(visits, release, k))
        for row in of_claims(Path(place)):
            columns.add_row("made up", *row)
    for table in (sets, pairs, imputed, columns):
        Console(width=120).print(table)


if __name__ == "__main__":
    main()
