"""``cloister protect table``."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from cloister.cli.data_argument import QueryText, data_word, with_data
from cloister.cli.options import Delimiter, Encoding, Json, Missing, MissingAs, Quiet, Threads, VerboseOfRun
from cloister.cli.table_options import TableOptions

EXAMPLE = (
    "Example: cloister protect table patients.csv --id mrn --drop name --qi age=interval:5,10,20/top=90 --qi sex "
    "--qi zip=prefix:5 --sensitive diagnosis -k 5 --suppression 0.05 --out release"
)


def protect_table(
    data: Annotated[
        Path, Argument(metavar="DATA", parser=data_word, help="CSV (also gzip'd) or Parquet; one row a patient.")
    ],
    k: Annotated[int, Option("-k", help="Records that must share every combination of quasi-identifiers.")],
    out: Annotated[Path, Option("--out", metavar="DIR", help="Folder of the release; must not exist.")],
    qi: Annotated[
        list[str] | None,
        Option(
            "--qi",
            metavar="COLUMN[=HIERARCHY]",
            help="A quasi-identifier; HIERARCHY is a file or a builder "
            "(interval:5,10 prefix:5 date:month,year icd9 icd10 suppress), @1-3 bounds its levels. Repeatable.",
        ),
    ] = None,
    hierarchies: Annotated[
        Path | None,
        Option(metavar="DIR", help="Folder of ARX hierarchy files: STEM_hierarchy_COLUMN.csv or COLUMN.csv."),
    ] = None,
    rule: Annotated[
        list[str] | None, Option(metavar="RULE", help="A further privacy rule, as k-anonymity=11. Repeatable.")
    ] = None,
    suppression: Annotated[
        str, Option(metavar="SHARE", help="Share of the records that may be suppressed.")
    ] = TableOptions.suppression,
    loss: Annotated[str, Option(help="What is minimized: iyengar or arx.")] = TableOptions.loss,
    weight: Annotated[
        list[str] | None, Option(metavar="COLUMN=NUMBER", help="Weight of a column in the loss. Repeatable.")
    ] = None,
    search: Annotated[
        str | None, Option(help="optimal, or exhaustive for small lattices.", show_default="optimal")
    ] = TableOptions.search,
    time_limit: Annotated[
        float | None, Option(metavar="SECONDS", help="Return the best policy found by then, with its gap.")
    ] = None,
    levels: Annotated[
        list[str] | None, Option(metavar="COLUMN=LEVEL,...", help="A fixed policy instead of a search.")
    ] = None,
    like: Annotated[Path | None, Option(metavar="DIR", help="Use the levels of this earlier release.")] = None,
    codes: Annotated[
        str | None,
        Option(
            metavar="COLUMN",
            help="Column of a patient's codes, separated by spaces: protected with the quasi-identifiers together.",
        ),
    ] = None,
    m: Annotated[
        int | None, Option("-m", help="Codes that somebody may know beside the quasi-identifiers; 2 unless given.")
    ] = None,
    policy: Annotated[
        str | None, Option(help="Sets of codes to keep countable together: a JSON file, level:1, sim:5 or sup:0.625.")
    ] = None,
    max_cluster_size: Annotated[
        int | None, Option(metavar="N", help="Clusters of fewer patients are not split; 2k unless given.")
    ] = None,
    merge_classes: Annotated[
        float | None,
        Option(metavar="LOSS", help="Merge classes, so that more codes can be counted, up to this loss of the table."),
    ] = None,
    method: Annotated[
        str, Option(help="full-domain: one level a column. mondrian, cluster: levels differ between classes.")
    ] = TableOptions.method,
    local_recoding: Annotated[
        bool, Option("--local-recoding", help="Release suppressed records at coarser levels of their own.")
    ] = False,
    microaggregate: Annotated[
        list[str] | None,
        Option(metavar="COLUMN=mean|median", help="Release a number as the average of its class. Repeatable."),
    ] = None,
    id: Annotated[  # noqa: A002  (as the option is called)
        str | None, Option("--id", metavar="COLUMN", help="Column that identifies patients; must not repeat.")
    ] = None,
    drop: Annotated[list[str] | None, Option(metavar="COLUMN", help="Do not release this column. Repeatable.")] = None,
    sensitive: Annotated[
        list[str] | None, Option(metavar="COLUMN", help="Release as recorded: sensitive. Repeatable.")
    ] = None,
    keep: Annotated[list[str] | None, Option(metavar="COLUMN", help="Release as recorded. Repeatable.")] = None,
    rest: Annotated[
        str, Option(metavar="drop|keep", help="What to do with columns that have no role.")
    ] = TableOptions.rest,
    missing: Missing = None,
    missing_as: MissingAs = None,
    ids: Annotated[
        str, Option(metavar="drop|number|hmac:KEYFILE", help="What becomes of the id column.")
    ] = TableOptions.ids,
    crosswalk: Annotated[
        Path | None, Option(metavar="FILE", help="Write the secret map from released to original ids here.")
    ] = None,
    keep_suppressed: Annotated[
        bool, Option("--keep-suppressed", help="Write suppressed records as rows of *.")
    ] = False,
    escape_formulas: Annotated[
        bool, Option("--escape-formulas", help="Put ' before cells that a spreadsheet would run as formulas.")
    ] = False,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an earlier release.")] = False,
    internal: Annotated[
        Path | None, Option(metavar="DIR", help="Folder, outside the release, for what only the custodian may see.")
    ] = None,
    values_to: Annotated[
        Path | None, Option(metavar="FILE", help="List values that their hierarchy does not hold here.")
    ] = None,
    attack: Annotated[
        bool, Option("--attack", help="Attack the release before it appears, and report what was found.")
    ] = False,
    query: QueryText = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    seed: Annotated[int, Option(help="Written to the manifest; nothing random protects a table.")] = TableOptions.seed,
    threads: Threads = None,
    engine: Annotated[
        str,
        Option(
            metavar="auto|memory|duckdb|spark|URL",
            help="What counts the records. auto: memory, from 10 million records of a file on duckdb. An address of a "
            "database (that of DATA): the protected table is made there, and only counts leave it.",
        ),
    ] = TableOptions.engine,
    table: Annotated[
        str | None,
        Option(metavar="NAME", help="Name of the protected table in the database of --engine; as DIR unless given."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: VerboseOfRun = False,
) -> None:
    """Protect a table: generalize quasi-identifiers, suppress what stands out, with the least possible loss.

    Every column needs a role. The release folder appears whole or not at all, after an independent verification.
    """
    options = locals()
    from cloister.cli.table_job import run_table  # frames and kernels are loaded only when needed

    run_table(TableOptions(**with_data(options)))
