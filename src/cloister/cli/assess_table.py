"""``cloister assess table``."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from cloister.cli.data_argument import QueryText, data_of, data_word
from cloister.cli.options import Delimiter, Encoding, Json, Missing, NumbersOut, Quiet, Threads, Verbose

EXAMPLE = "Example: cloister assess table patients.csv --qi age --qi sex --qi zip --sampling-fraction 0.01"


def assess_table(
    data: Annotated[
        Path, Argument(metavar="DATA", parser=data_word, help="CSV (also gzip'd) or Parquet; one row a patient.")
    ],
    qi: Annotated[
        list[str] | None,
        Option(
            "--qi",
            metavar="COLUMN",
            help="A quasi-identifier: what attackers know. Repeatable; without any, only identifiers are looked for.",
        ),
    ] = None,
    population: Annotated[
        Path | None,
        Option(metavar="FILE", help="A table of all people that the patients may be among, patients included."),
    ] = None,
    sampling_fraction: Annotated[
        float | None,
        Option(metavar="SHARE", help="Instead: share of the population that the patients are, as a random sample."),
    ] = None,
    threshold: Annotated[
        str, Option(metavar="RISK", help="The risk taken as acceptable: a number, hhp (0.05) or ema (0.09).")
    ] = "0.2",
    largest_unique: Annotated[
        int | None,
        Option(
            metavar="N",
            help="Look for records that up to N columns make unique; 3, or fewer where that would take long.",
        ),
    ] = None,
    zip_census: Annotated[
        str, Option(metavar="2000|2010|both", help="Census of the lists of ZIP areas with 20,000 people or fewer.")
    ] = "both",
    missing: Missing = None,
    query: QueryText = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    threads: Threads = None,
    out: NumbersOut = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001
) -> None:
    """Say how likely patients are to be found in a table as it is, raw or released; for its custodian alone."""
    from cloister.cli.assess_ending import announce, tell
    from cloister.cli.assess_summary import print_table_risk
    from cloister.cli.table_request import split_wanted
    from cloister.errors import InputError
    from cloister.io.header import check_header
    from cloister.sources import read_table
    from cloister.verbs.assess import assess_frame

    if population is not None and sampling_fraction is not None:
        raise InputError("--population and --sampling-fraction were given. One of them says what is needed.")
    read = {"missing": missing or (), "encoding": encoding, "delimiter": delimiter}
    where = data_of(data, query, encoding=encoding, delimiter=delimiter)
    source = read_table(where, **read)  # type: ignore[arg-type]
    if source.format == "csv":
        check_header(source.frame, source.name)
    wanted = [split_wanted(text, source.frame.columns) for text in qi or []]
    if any(spec for _, spec in wanted):
        raise InputError(
            "Risk is that of the values as they are, so a quasi-identifier takes no hierarchy: --qi COLUMN."
        )
    people = None if population is None else read_table(population, **read)  # type: ignore[arg-type]
    announce(as_json=as_json, quiet=quiet)
    found = assess_frame(
        source.frame,
        [column for column, _ in wanted],
        threshold=threshold,
        population=None if people is None else people.frame,
        fraction=sampling_fraction,
        largest_unique=largest_unique,
        census=zip_census,
        threads=threads,
        name=source.name,
        population_name="" if people is None else people.name,
    )
    notes = [*source.notes, *([] if people is None else people.notes)]
    if not wanted:
        notes.append("there are no quasi-identifiers, so only identifiers were looked for; name them with --qi")
    summary = {"source": source.name} | found.summary() | {"notes": notes}
    tell(summary, out, print_table_risk, as_json=as_json, quiet=quiet)
