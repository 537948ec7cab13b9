"""``cloister impute``: complete tables of a release as one file, as mice and Stata read it."""

from collections.abc import Sequence

import polars as pl

from cloister.api.open import ReleasedData
from cloister.api.open import open as open_release
from cloister.cli.options import ImputeOptions
from cloister.cli.output import print_json, say
from cloister.cli.query import read_column_hierarchy
from cloister.errors import InputError, setting
from cloister.io import Place, appearing, write_csv, write_parquet, write_private
from cloister.release.folder import check_new

NUMBER, ROW = ".imp", ".id"
README = """COMPLETE TABLES OF A RELEASE
{files}: {n} complete tables of {release}, drawn with seed {seed} by cloister.

.imp  number of the table, 1 to {n}; 0 is the release, where cells with a label of several values are empty
.id   number of the row, the same in each table
{more}
WHY THESE FILES REVEAL NO MORE THAN THE RELEASE
Each cell is drawn among the values that its label admits. The draw uses the released files and the seed, and nothing
else. Whoever has the release can compute these files, so they reveal nothing more, and the guarantee stays.

HOW TO USE THEM
Analyse each table from 1 on, and pool the results by Rubin's rules. Drawn cells are nobody's values: never count or
look up single patients. Suppressed records are not in the tables.
R:      library(mice); d <- {read}
        fits <- with(as.mids(d), glm(...)); summary(pool(fits))
Stata:  import delimited {file}, clear  (CSV; then rename its first two columns to imp and id)
        mi import flong, m(imp) id(id) imputed(COLUMNS) clear
        mi estimate: logit ...
Python: cloister.pool of the results of each table
"""
MORE = {
    "trajectories": """
One row for each released pair, in the order of age; a row that the release shows as * alone is empty. Suppressed
pairs are absent, so that a missing code does not mean that the patient never had it.
""",
    "claims": """
The files have equal numbers .imp and are joined by .imp and the id of the patient. Cells that sup_ columns mark were
suppressed and stay empty. Patients with claims_truncated = 1 had more claims.
""",
}


def run_impute(options: ImputeOptions) -> None:
    """Verify the release, write the tables with a README, and print a confirmation."""
    if options.format not in ("csv", "parquet"):
        raise InputError("--format is csv or parquet.")
    check_new(options.out, setting("out"))
    release = open_release(options.folder, hierarchies=dict(map(read_column_hierarchy, options.hierarchies)))
    names = {"claims": ("patients", "claims")}.get(release.manifest.form, ("data",))
    long = {name: long_table(release, name, release.impute(options.n, options.seed, name)) for name in names}
    files = {name: f"{'imputed' if name == 'data' else name}.{options.format}" for name in names}
    file = files[names[-1]]
    read = f'read.csv("{file}", check.names = FALSE)' if options.format == "csv" else f'arrow::read_parquet("{file}")'
    words = {"n": options.n, "release": options.folder.name, "seed": options.seed}
    more = MORE.get(release.manifest.form, "")
    with appearing(Place(options.out)) as (folder,):
        for name, frame in long.items():
            (write_csv if options.format == "csv" else write_parquet)(frame, folder / files[name])
        text = README.format(**words, files=", ".join(files.values()), file=file, read=read, more=more)
        write_private(folder / "README.txt", text.encode())
    if options.as_json:
        print_json({"out": options.out.name, "files": [*files.values(), "README.txt"], **words})
    elif not options.quiet:
        for name in files.values():
            say(f"{options.out.name}/{name} has tables 1 to {options.n}, and the release as table 0. See README.txt.")


def long_table(release: ReleasedData, name: str, tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return a table as number 0, with empty cells where tables were drawn, and the drawn ones below each other."""
    first, text = tables[0], release.tables[name].cast(pl.String)
    about = f"{name}." if release.manifest.form == "claims" else ""
    codebook = release.codebook.filter(pl.col("column").str.starts_with(about)).with_columns(
        pl.col("column").str.strip_prefix(about)
    )
    shown = pl.DataFrame([_as_known(text[one.name], one, codebook) for one in first])
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
