"""Analyses as they are published of cohorts, before and after: do they find the same?

python -m benchmarks.usefulness.replication FOLDER [--methods default cluster] [--k 5 11] [-n 10]

FOLDER is that of `benchmarks.usefulness.cohorts`. Of each cohort there are three analyses, written before any result
was seen. Printed are, by k, method and kind of data, the shares of terms inside the original's 95 % interval and
replicated (same sign, significant exactly if the original is), the mean overlap of the intervals, and the lowest one.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl
from rich.console import Console
from rich.table import Table

import cloister as cl

from .cohorts import COHORTS, read
from .tables import settings_of

# by cohort: columns that are recorded in addition to the outcome, and three analyses
ITEMS: dict[str, tuple[tuple[str, ...], tuple[str, str, str]]] = {
    "nesarc": ((), (
        "logistic: outcome ~ age + sex + marital", "logistic: outcome ~ age*sex + C(ethrace2a)",
        "table: outcome ~ sex")),
    "flchain": (("futime", "death"), (
        "cox: Surv(futime, death) ~ age + sex + flc.grp + creatinine",
        "logistic: death ~ age + sex + mgus + kappa",
        "kaplan-meier: Surv(futime, death) ~ sex")),
    "rotterdam": (("dtime", "death", "rtime", "recur"), (
        "cox: Surv(dtime, death) ~ age + meno + size + grade + nodes + hormon + chemo",
        "logistic: recur ~ age + nodes + grade + pgr", "kaplan-meier: Surv(rtime, recur) ~ hormon")),
    "nafld": (("futime", "status"), (
        "cox: Surv(futime, status) ~ age + male + weight + height", "logistic: status ~ age + male + weight",
        "kaplan-meier: Surv(futime, status) ~ male")),
    "yrbss": (("physically_active_7d",), (
        "logistic: outcome ~ age + gender + grade + height", "linear: physically_active_7d ~ gender + race + weight",
        "table: outcome ~ race")),
    "monica": ((), (
        "logistic: outcome ~ age + sex + premi + diabetes", "logistic: outcome ~ age + smstat + highbp + hosp",
        "table: outcome ~ sex")),
    "nhefs": (("wt82_71", "qsmk", "death"), (
        "linear: wt82_71 ~ qsmk + age + sex + race + smokeintensity + wt71",
        "logistic: death ~ age + sex + race + smokeintensity + school", "table: death ~ sex + race")),
    "colon": (("time", "status"), (
        "cox: Surv(time, status) ~ rx + age + sex + obstruct + adhere + nodes",
        "logistic: status ~ nodes + extent + surg + differ", "kaplan-meier: Surv(time, status) ~ rx")),
    "mgus2": (("futime", "death", "pstat"), (
        "cox: Surv(futime, death) ~ age + sex + hgb + creat", "logistic: pstat ~ age + sex + mspike",
        "kaplan-meier: Surv(futime, death) ~ sex")),
    "gbsg": (("rfstime", "status"), (
        "cox: Surv(rfstime, status) ~ age + meno + size + grade + nodes + hormon",
        "logistic: status ~ nodes + er + size", "kaplan-meier: Surv(rfstime, status) ~ hormon")),
    "pbc": (("time",), (
        "cox: Surv(time, outcome) ~ age + sex + bili + edema", "logistic: outcome ~ age + bili + ascites + hepato",
        "kaplan-meier: Surv(time, outcome) ~ stage")),
}  # fmt: skip


def replicate_cohort(folder: Path, name: str, k: int, method: str, n: int) -> pl.DataFrame:
    """Return the terms of the analyses of a cohort."""
    recorded, analyses = ITEMS[name]
    cohort = COHORTS[name]
    file = read(folder, cohort, *map(pl.col, recorded))
    kept = [*recorded, "outcome"]
    release = cl.protect_table(
        file.frame, k=k, qi=file.hierarchies, sensitive=kept, accept=kept, **settings_of(file, method)
    )
    with tempfile.TemporaryDirectory() as place:
        release.write(Path(place) / "release")
        opened = cl.open(Path(place) / "release", verify=False)
        return opened.replicate(file.frame, analyses, n=n).terms


def row_of(terms: pl.DataFrame) -> Sequence[str]:
    """Return the shares over all terms but constants."""
    counted = terms.filter(pl.col("term") != "Intercept")
    lowest = counted.sort("overlap").row(0, named=True)
    shares = (counted["is_inside"].mean(), counted["is_replicated"].mean(), counted["overlap"].mean())
    return [str(counted.height), *(f"{share:.3f}" for share in shares), f"{lowest['overlap']:.2f} ({lowest['term']})"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--methods", nargs="+", default=["default", "cluster", "mondrian"])
    parser.add_argument("--k", type=int, nargs="+", default=[5, 11])
    parser.add_argument("-n", type=int, default=10)
    parser.add_argument("--cohorts", nargs="+", default=list(ITEMS))
    asked = parser.parse_args()
    table = Table("k", "method", "cohort", "data", "terms", "inside", "replicated", "overlap", "lowest")
    for k, method in ((k, method) for k in asked.k for method in asked.methods):
        found = {name: replicate_cohort(asked.folder, name, k, method, asked.n) for name in asked.cohorts}
        found["all"] = pl.concat(found.values())
        for name, terms in found.items():
            for data in ("labels", "imputed"):
                table.add_row(str(k), method, name, data, *row_of(terms.filter(pl.col("data") == data)))
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
