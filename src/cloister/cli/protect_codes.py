"""``cloister protect codes``."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from cloister.cli.codes_options import CodesOptions
from cloister.cli.data_argument import QueryText, data_word, with_data
from cloister.cli.options import Delimiter, Encoding, Json, Missing, Quiet, Threads, VerboseOfRun

EXAMPLE = "Example: cloister protect codes diagnoses.csv -k 5 -m 2 --policy level:1 --out release"


def protect_codes(
    data: Annotated[
        Path,
        Argument(
            metavar="DATA",
            parser=data_word,
            help="CSV (also gzip'd) or Parquet: id,codes with the codes separated by spaces, or codes alone, one "
            "patient a line; or id,code, one code a line.",
        ),
    ],
    k: Annotated[int, Option("-k", help="Candidates that must be left to whoever knows codes of a patient.")],
    out: Annotated[Path, Option("--out", metavar="DIR", help="Folder of the release; must not exist.")],
    m: Annotated[
        int | None, Option("-m", help="Codes that somebody may know of a patient; 2 if not given.")
    ] = CodesOptions.m,
    method: Annotated[
        str,
        Option(
            metavar="disassociation|cba|ugaclip|apriori",
            help="Release codes in parts (disassociation), or sets of codes in place of a code (the others).",
        ),
    ] = CodesOptions.method,
    privacy: Annotated[
        str | None,
        Option(
            metavar="PRIVACY",
            help="Of generalization, in place of -m: sets of codes that somebody may know of a patient: all:2, and "
            "of cba and ugaclip also visits:FILE (recorded together), records, or a JSON list of lists of codes.",
        ),
    ] = None,
    visit: Annotated[
        str | None, Option(metavar="COLUMN", help="Of --privacy visits:FILE: the column that tells visits apart.")
    ] = None,
    policy: Annotated[
        str | None,
        Option(
            metavar="POLICY",
            help="Codes to keep countable together: level:1|2|3 (category, section, chapter), sim:5, sup:0.625 "
            "(percent), gwas (18 diseases), or a JSON file from name to list of codes.",
        ),
    ] = None,
    uncovered: Annotated[
        str | None,
        Option(
            metavar="generalize|suppress",
            help="Of cba and ugaclip: what may become of codes of no set of the policy; generalize if not given.",
        ),
    ] = None,
    loss: Annotated[
        str | None, Option(metavar="ilm|ul", help="Of cba and ugaclip: what is kept low; ilm if not given.")
    ] = None,
    code_hierarchy: Annotated[
        str | None,
        Option(metavar="HIERARCHY", help="Of generalization: how close codes are; ICD-9-CM or ICD-10-CM if not given."),
    ] = None,
    max_cluster_size: Annotated[
        int | None, Option(metavar="N", help="Clusters of fewer records are not split; 2k if not given.")
    ] = None,
    refine: Annotated[
        str | None,
        Option(
            metavar="tree|paper|off", help="How codes that are rare in their cluster are shared; tree if not given."
        ),
    ] = None,
    safe: Annotated[
        str | None,
        Option(
            metavar="off|report|enforce",
            help="Count, or remove, codes that give another code away; report if not given.",
        ),
    ] = None,
    safe_threshold: Annotated[
        float | None, Option(metavar="SHARE", help="Confidence from which a code gives another away; 1 if not given.")
    ] = None,
    sensitive: Annotated[
        list[str] | None,
        Option(metavar="CODES", help="Codes that nobody outside knows, separated by commas; kept apart. Repeatable."),
    ] = None,
    diversity: Annotated[
        int | None,
        Option(
            metavar="L",
            help="Each sensitive code is in at most one record in L of a cluster, so in exactly one below 2L records; "
            "2 if not given.",
        ),
    ] = None,
    repeats: Annotated[
        bool, Option("--repeats", help="Count the occurrences of a code of a patient instead of taking it once.")
    ] = False,
    drop_empty: Annotated[bool, Option("--drop-empty", help="Leave patients without codes out.")] = False,
    workload: Annotated[
        str | None,
        Option(
            metavar="WORKLOAD",
            help="Case counts whose error is measured for --internal: frequent:5 (percent), random:1000.",
        ),
    ] = None,
    id: Annotated[  # noqa: A002  (as the option is called)
        str | None, Option("--id", metavar="COLUMN", help="Column that identifies patients.")
    ] = None,
    codes: Annotated[str | None, Option(metavar="COLUMN", help="Column with all codes of a patient.")] = None,
    code: Annotated[str | None, Option(metavar="COLUMN", help="Column with one code a line.")] = None,
    missing: Missing = None,
    ids: Annotated[
        str, Option(metavar="drop|number", help="Whether records of the data file are numbered.")
    ] = CodesOptions.ids,
    crosswalk: Annotated[
        Path | None, Option(metavar="FILE", help="Write the secret map from patients to clusters or records.")
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
    seed: Annotated[
        int, Option(help="Of the reconstruction in data.csv, or of a workload; nothing random protects.")
    ] = CodesOptions.seed,
    threads: Threads = None,
    engine: Annotated[
        str,
        Option(
            metavar="auto|memory|spark|MASTER|sc://HOST",
            help="Where the records live: here, or on Spark (spark, local[N], spark://HOST:PORT, sc://HOST:PORT).",
        ),
    ] = CodesOptions.engine,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: VerboseOfRun = False,
) -> None:
    """Protect sets of codes, so that no few codes of a patient lead to the patient.

    By disassociation every code is released as recorded, in parts; by generalization records stay whole, and sets of
    codes stand for codes. The release folder appears whole or not at all, after an independent verification.
    """
    options = locals()
    from cloister.cli.codes_job import run_codes  # frames and kernels are loaded only when needed

    run_codes(CodesOptions(**with_data(options)))
