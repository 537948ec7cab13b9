"""``cloister protect codes``."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from cloister.cli.codes_options import CodesOptions

EXAMPLE = "Example: cloister protect codes diagnoses.csv -k 5 -m 2 --policy level:1 --out release"


def protect_codes(
    data: Annotated[
        Path,
        Argument(
            metavar="DATA",
            help="CSV (also gzip'd) or Parquet: id,codes with the codes separated by spaces, or codes alone, one "
            "patient a line; or id,code, one code a line.",
        ),
    ],
    k: Annotated[int, Option("-k", help="Candidates that must be left to whoever knows codes of a patient.")],
    out: Annotated[Path, Option("--out", metavar="DIR", help="Folder of the release; must not exist.")],
    m: Annotated[int, Option("-m", help="Codes that somebody may know of a patient.")] = CodesOptions.m,
    method: Annotated[str, Option(help="disassociation.")] = CodesOptions.method,
    policy: Annotated[
        str | None,
        Option(
            metavar="POLICY",
            help="Codes to keep countable together: level:1|2|3 (category, section, chapter), sim:5, sup:0.625 "
            "(percent), or a JSON file from name to list of codes.",
        ),
    ] = None,
    max_cluster_size: Annotated[
        int | None, Option(metavar="N", help="Clusters of fewer records are not split; 2k if not given.")
    ] = None,
    refine: Annotated[
        str, Option(metavar="tree|paper|off", help="How codes that are rare in their cluster are shared.")
    ] = CodesOptions.refine,
    safe: Annotated[
        str, Option(metavar="off|report|enforce", help="Count, or remove, codes that give another code away.")
    ] = CodesOptions.safe,
    safe_threshold: Annotated[
        float, Option(metavar="SHARE", help="Confidence from which a code gives another away.")
    ] = CodesOptions.safe_threshold,
    sensitive: Annotated[
        list[str] | None,
        Option(metavar="CODES", help="Codes that nobody outside knows, separated by commas; kept apart. Repeatable."),
    ] = None,
    diversity: Annotated[
        int, Option(metavar="L", help="At most one record in L of a cluster has a sensitive code.")
    ] = CodesOptions.diversity,
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
    missing: Annotated[
        list[str] | None, Option(metavar="TEXT", help="Read this text as a missing code, as ? or NA. Repeatable.")
    ] = None,
    ids: Annotated[
        str, Option(metavar="drop|number", help="Whether reconstructed records are numbered.")
    ] = CodesOptions.ids,
    crosswalk: Annotated[
        Path | None, Option(metavar="FILE", help="Write the secret map from patients to clusters here.")
    ] = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an earlier release.")] = False,
    internal: Annotated[
        Path | None, Option(metavar="DIR", help="Folder, outside the release, for what only the custodian may see.")
    ] = None,
    delimiter: Annotated[
        str | None, Option(metavar="CHAR", help="Delimiter of the CSV file; detected if not given.")
    ] = None,
    encoding: Annotated[str | None, Option(help="Encoding of the CSV file; detected if not given.")] = None,
    seed: Annotated[
        int, Option(help="Of the reconstruction in data.csv; nothing random protects.")
    ] = CodesOptions.seed,
    threads: Annotated[
        int | None, Option(metavar="N", help="Threads; all cores if not given. Never changes the answer.")
    ] = None,
    engine: Annotated[str, Option(metavar="auto|memory", help="Where the records live.")] = CodesOptions.engine,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object on standard output.")] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    verbose: Annotated[bool, Option("--verbose", "-v", help="Say more; show places in the code on errors.")] = False,
) -> None:
    """Protect sets of codes: release them in parts, so that no few codes of a patient lead to the patient.

    Every code is released as recorded. The release folder appears whole or not at all, after an independent
    verification.
    """
    options = locals()
    from cloister.cli.codes_job import run_codes  # frames and kernels are loaded only when needed

    run_codes(CodesOptions(**options))
