"""``cloister impute``: complete tables of a release as one file, as mice and Stata read it."""

from collections.abc import Sequence

import polars as pl

from cloister.api.open import ReleasedData
from cloister.api.open import open as open_release
from cloister.cli.options import ImputeOptions
from cloister.cli.output import say
from cloister.cli.query import read_column_hierarchy
from cloister.errors import InputError
from cloister.io import Place, appearing, write_csv, write_parquet, write_private
from cloister.release.folder import check_new

NUMBER, ROW = ".imp", ".id"
README = """COMPLETE TABLES OF A RELEASE
{file} has {n} complete tables of {release}, drawn with seed {seed} by cloister.

.imp  number of the table, 1 to {n}; 0 is the release, where cells with a label of several values are empty
.id   number of the row, the same in each table

WHY THIS FILE REVEALS NO MORE THAN THE RELEASE
Each cell is drawn among the values that its label admits. The draw uses the released files and the seed, and nothing
else. Whoever has the release can compute this file, so it reveals nothing more, and the guarantee stays.

HOW TO USE IT
Analyse each table from 1 on, and pool the results by Rubin's rules. Drawn cells are nobody's values: never count or
look up single patients. Suppressed records are not in the tables.
R:      library(mice); d <- {read}
        fits <- with(as.mids(d), glm(...)); summary(pool(fits))
Stata:  import delimited {file}, clear  (CSV; then rename its first two columns to imp and id)
        mi import flong, m(imp) id(id) imputed(COLUMNS) clear
        mi estimate: logit ...
Python: cloister.pool of the results of each table
"""


def run_impute(options: ImputeOptions) -> None:
    """Verify the release, write the tables with a README, and print a confirmation."""
    if options.format not in ("csv", "parquet"):
        raise InputError("--format is csv or parquet.")
    check_new(options.out)
    release = open_release(options.folder, hierarchies=dict(map(read_column_hierarchy, options.hierarchies)))
    long = long_table(release, release.impute(options.n, options.seed))
    name = f"imputed.{options.format}"
    read = f'read.csv("{name}", check.names = FALSE)' if options.format == "csv" else f'arrow::read_parquet("{name}")'
    words = {"file": name, "n": options.n, "release": options.folder.name, "seed": options.seed, "read": read}
    with appearing(Place(options.out)) as (folder,):
        (write_csv if options.format == "csv" else write_parquet)(long, folder / name)
        write_private(folder / "README.txt", README.format(**words).encode())
    if not options.quiet:
        say(f"{options.out.name}/{name} has tables 1 to {options.n}, and the release as table 0. See README.txt.")


def long_table(release: ReleasedData, tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the release as table 0, with empty cells where tables were drawn, and all tables below each other."""
    first, text = tables[0], release.data.cast(pl.String)
    shown = pl.DataFrame([_as_known(text[one.name], one, release.codebook) for one in first])
    rows = pl.Series(ROW, range(1, first.height + 1))
    parts = [
        table.select(pl.lit(number).alias(NUMBER), rows, pl.all()) for number, table in enumerate([shown, *tables])
    ]
    return pl.concat(parts)


def _as_known(labels: pl.Series, drawn: pl.Series, codebook: pl.DataFrame) -> pl.Series:
    """Return a column with null in each cell whose label is not the drawn value itself."""
    if "codes" in codebook.filter(pl.col("column") == drawn.name)["role"]:
        return pl.Series(drawn.name, [None] * len(drawn), drawn.dtype)
    same = pl.DataFrame({"label": labels, "drawn": drawn.cast(pl.String), "value": drawn})
    rows = codebook.filter(pl.col("column") == drawn.name, pl.col("role") == "quasi-identifier")
    if not rows["label"].is_not_null().any():
        return drawn
    single = rows.filter(pl.col("lower") == pl.col("upper"))["label"]
    is_known = (pl.col("label") == pl.col("drawn")) | pl.col("label").is_in(single.implode())
    return same.select(pl.when(is_known).then(pl.col("value")).alias(drawn.name)).to_series()
