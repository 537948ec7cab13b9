"""``cloister protect trajectories``."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from cloister.cli.data_argument import QueryText, data_word, with_data
from cloister.cli.options import Delimiter, Encoding, Json, Missing, Quiet, Threads, VerboseOfRun
from cloister.cli.trajectories_options import TrajectoriesOptions

EXAMPLE = "Example: cloister protect trajectories visits.csv -k 5 --side samples.csv --out release"


def protect_trajectories(
    data: Annotated[
        Path,
        Argument(
            metavar="DATA",
            parser=data_word,
            help="CSV (also gzip'd) or Parquet: id,code,age, one code of a patient a line.",
        ),
    ],
    k: Annotated[int, Option("-k", help="Patients that share every released trajectory.")],
    out: Annotated[Path, Option("--out", metavar="DIR", help="Folder of the release; must not exist.")],
    method: Annotated[
        str,
        Option(
            metavar="a-gs|baseline",
            help="How two trajectories are aligned: with the least loss, or pair by pair in the same places.",
        ),
    ] = TrajectoriesOptions.method,
    weights: Annotated[
        str, Option(metavar="CODE,AGE", help="Weights of codes and of ages in the loss; together 1.")
    ] = TrajectoriesOptions.weights,
    cost: Annotated[
        str,
        Option(
            metavar="paper|exact",
            help="Count what a merged pair loses once, or for each patient that it stands for.",
        ),
    ] = TrajectoriesOptions.cost,
    code_hierarchy: Annotated[
        str | None,
        Option(
            metavar="HIERARCHY",
            help="icd9, icd10 or a file; ICD-9-CM or ICD-10-CM, whichever has more of the codes, if not given.",
        ),
    ] = None,
    age_hierarchy: Annotated[
        str | None,
        Option(metavar="HIERARCHY", help="A file or intervals; interval:1,5,10,20/top=90 if not given."),
    ] = None,
    side: Annotated[
        Path | None,
        Option(metavar="FILE", help="What rides along as it is, one row a patient: written to side.csv."),
    ] = None,
    sensitive: Annotated[
        list[str] | None,
        Option(metavar="COLUMN", help="Column of --side whose values must differ among those who share a trajectory."),
    ] = None,
    sensitive_codes: Annotated[
        list[str] | None,
        Option(
            metavar="CODES",
            help="In place of --sensitive: codes, separated by commas, that must not be told of all who share a "
            "trajectory. Repeatable.",
        ),
    ] = None,
    diversity: Annotated[
        int | None,
        Option(
            metavar="L",
            help="At most one in L of them has the same value of the sensitive column, or a sensitive code behind a "
            "released one; 2 if not given.",
        ),
    ] = None,
    policy: Annotated[
        str | None,
        Option(
            metavar="POLICY",
            help="Codes that must not be generalized with others: level:1|2|3 (category, section, chapter), sim:5, "
            "gwas (18 diseases), or a JSON file from name to list of codes.",
        ),
    ] = None,
    block: Annotated[
        str,
        Option(
            metavar="auto|off|N",
            help="Compare patients within blocks of at most N; off: all with all; auto: so where that takes too long.",
        ),
    ] = TrajectoriesOptions.block,
    drop_empty_pairs: Annotated[
        bool, Option("--drop-empty-pairs", help="Leave out pairs of which neither code nor age is told.")
    ] = False,
    on_unknown_code: Annotated[
        str,
        Option(
            metavar="error|root|drop",
            help="What becomes of codes that the hierarchy does not have: refused, * where they cannot stay, left out.",
        ),
    ] = TrajectoriesOptions.on_unknown_code,
    workload: Annotated[
        str | None,
        Option(
            metavar="frequent:PERCENT",
            help="Pairs, and sets of pairs, of at least so many percent of the patients: how far counts of them are "
            "off is measured for --internal.",
        ),
    ] = None,
    id: Annotated[  # noqa: A002  (as the option is called)
        str | None, Option("--id", metavar="COLUMN", help="Column that identifies patients.")
    ] = None,
    code: Annotated[str | None, Option(metavar="COLUMN", help="Column with one code a line.")] = None,
    age: Annotated[str | None, Option(metavar="COLUMN", help="Column with the age, a number from 0 on.")] = None,
    date: Annotated[
        str | None, Option(metavar="COLUMN", help="In place of --age: column with a date, YYYY-MM-DD.")
    ] = None,
    anchor: Annotated[
        str | None,
        Option(metavar="COLUMN|first", help="With --date: column with the date to count from, or each first date."),
    ] = None,
    age_unit: Annotated[
        str, Option(metavar="years|days", help="With --date: what is counted.")
    ] = TrajectoriesOptions.age_unit,
    missing: Missing = None,
    ids: Annotated[str, Option(metavar="number", help="How patients are named in the release.")] = "number",
    crosswalk: Annotated[
        Path | None, Option(metavar="FILE", help="Write the secret map from released to original ids.")
    ] = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an earlier release.")] = False,
    internal: Annotated[
        Path | None, Option(metavar="DIR", help="Folder, outside the release, for what only the custodian may see.")
    ] = None,
    attack: Annotated[
        bool, Option("--attack", help="Attack the release before it appears, and report what was found.")
    ] = False,
    query: QueryText = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    seed: Annotated[int, Option(help="Written down; nothing random protects.")] = TrajectoriesOptions.seed,
    threads: Threads = None,
    engine: Annotated[
        str,
        Option(
            metavar="auto|memory|spark|MASTER|sc://HOST",
            help="Where blocks are clustered: here, or on Spark (spark, local[N], spark://HOST:PORT, sc://HOST:PORT).",
        ),
    ] = TrajectoriesOptions.engine,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: VerboseOfRun = False,
) -> None:
    """Protect trajectories: which codes a patient had, at which ages.

    Patients who are alike are put into clusters of at least k, and all of a cluster get the same sequence of codes and
    ages, generalized where they differ. The release folder appears whole or not at all, after an independent
    verification.
    """
    options = locals()
    from cloister.cli.trajectories_job import run_trajectories  # frames and kernels are loaded only when needed

    run_trajectories(TrajectoriesOptions(**with_data(options)))
