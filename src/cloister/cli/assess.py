"""``cloister assess``: a command for each shape."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from cloister.cli.data_argument import QueryText, data_of, data_word
from cloister.cli.options import Delimiter, Encoding, Json, Known, Missing, NumbersOut, Quiet, Threads, Verbose

TABLE = "Example: cloister assess table patients.csv --qi age --qi sex --qi zip --sampling-fraction 0.01"
CODES = "Example: cloister assess codes codes.csv -m 1,2,3,5 -k 5"
TRAJECTORIES = "Example: cloister assess trajectories visits.csv -m 1,2,3 -k 5"
CLAIMS = "Example: cloister assess claims patients.csv claims.csv --plan plan.toml"

app = typer.Typer(
    help="Say how likely patients are to be found in data as they are.",
    epilog=TABLE,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("table", epilog=TABLE)
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
    from cloister.cli.assess_summary import announce, print_table_risk, tell
    from cloister.errors import InputError
    from cloister.flow.table_words import split_wanted
    from cloister.io.columns import check_header
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


@app.command("codes", epilog=CODES)
def assess_codes(
    data: Annotated[
        Path,
        Argument(
            metavar="DATA",
            parser=data_word,
            help="CSV (also gzip'd) or Parquet: id,codes or codes (wide), or id,code (long).",
        ),
    ],
    m: Known = None,
    k: Annotated[int, Option("-k", help="Records that a set of codes should at least have.")] = 5,
    id: Annotated[  # noqa: A002  (as the option is called)
        str | None, Option("--id", metavar="COLUMN", help="Column that tells patients apart.")
    ] = None,
    codes: Annotated[
        str | None, Option(metavar="COLUMN", help="Column with all codes of a patient, separated by spaces.")
    ] = None,
    code: Annotated[str | None, Option(metavar="COLUMN", help="Column with one code a line.")] = None,
    repeats: Annotated[bool, Option("--repeats", help="Attackers know how often a code was recorded, too.")] = False,
    drop_empty: Annotated[bool, Option("--drop-empty", help="Leave patients without codes out.")] = False,
    seed: Annotated[int, Option(help="Of what is sampled, that is for more than three codes.")] = 0,
    missing: Missing = None,
    query: QueryText = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    out: NumbersOut = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001
) -> None:
    """Say how many patients are found by some of their codes, in data as they are; for their custodian alone."""
    from cloister.cli.assess_summary import announce, print_codes_risk, tell, whole_numbers
    from cloister.codesets.request import check_seed, read_given
    from cloister.io import CodeColumns
    from cloister.verbs.assess import USUAL_KNOWN
    from cloister.verbs.assess import assess_codes as assess_code_sets

    known = whole_numbers(m, "-m") if m else list(USUAL_KNOWN)
    given = read_given(
        data_of(data, query, encoding=encoding, delimiter=delimiter),
        CodeColumns(id, codes, code),
        repeats=repeats,
        drop_empty=drop_empty,
        encoding=encoding,
        delimiter=delimiter,
        missing=tuple(missing or ()),
    )
    announce(as_json=as_json, quiet=quiet)
    found = assess_code_sets(given.codes, known, k, check_seed(seed))
    notes = [note for note in given.notes if not note.startswith("columns not released")]
    if given.n_empty:
        notes.append(f"patients without a code are left out: {given.n_empty:,}")
    summary = {"source": given.name} | found.summary() | {"notes": notes}
    tell(summary, out, print_codes_risk, as_json=as_json, quiet=quiet)


@app.command("trajectories", epilog=TRAJECTORIES)
def assess_trajectories(
    data: Annotated[
        Path,
        Argument(metavar="DATA", parser=data_word, help="CSV (also gzip'd) or Parquet: id,code,age, one pair a line."),
    ],
    m: Known = None,
    k: Annotated[int, Option("-k", help="Patients that a set of pairs should at least have.")] = 5,
    id: Annotated[  # noqa: A002  (as the option is called)
        str | None, Option("--id", metavar="COLUMN", help="Column that tells patients apart.")
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
    age_unit: Annotated[str, Option(metavar="years|days", help="With --date: what is counted.")] = "years",
    released: Annotated[
        bool, Option("--released", help="The file is of a release: its codes and ages are labels, as [40-44].")
    ] = False,
    repeats: Annotated[bool, Option("--repeats", help="Attackers know how often a pair was recorded, too.")] = False,
    seed: Annotated[int, Option(help="Of what is sampled, that is for more than three pairs.")] = 0,
    missing: Missing = None,
    query: QueryText = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    out: NumbersOut = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001
) -> None:
    """Say how many patients are found by some of their codes and ages, in data as they are; for their custodian alone.

    Attackers know pairs of a code and an age, or codes alone, or ages alone.
    """
    from cloister.cli.assess_summary import announce, attackers_of, check_whether_released, print_histories_risk, tell
    from cloister.errors import InputError
    from cloister.io import EventColumns
    from cloister.sources import read_code_events
    from cloister.trajectories.options import UNITS
    from cloister.verbs.assess import assess_events

    if released and date is not None:
        raise InputError("A release has no dates. Leave out --date, or --released.")
    if age_unit not in UNITS:
        raise InputError(f"--age-unit can be {', '.join(UNITS)}, not {age_unit!r}.")
    unit = next(unit for unit in UNITS if unit == age_unit)
    where = data_of(data, query, encoding=encoding, delimiter=delimiter)
    check_whether_released(where, released=released)
    source = read_code_events(
        where,
        columns=EventColumns(id, code, age, date, anchor, unit),
        encoding=encoding,
        delimiter=delimiter,
        missing=missing or (),
        labels=released,
    )
    announce(as_json=as_json, quiet=quiet)
    found = assess_events(source, attackers_of(m, k, seed, repeats=repeats))
    notes = [note for note in source.notes if not note.startswith("columns not released")]
    summary = {"source": source.name} | found.summary() | {"notes": notes}
    tell(summary, out, print_histories_risk, as_json=as_json, quiet=quiet)


@app.command("claims", epilog=CLAIMS)
def assess_claims(
    patients: Annotated[Path, Argument(metavar="PATIENTS", help="CSV (also gzip'd) or Parquet; one row a patient.")],
    claims: Annotated[Path, Argument(metavar="CLAIMS", help="CSV or Parquet; any number of rows a patient.")],
    plan: Annotated[
        Path, Option(metavar="PLAN", help="Which columns tell patients apart and are quasi-identifiers; see init.")
    ],
    m: Known = None,
    k: Annotated[int, Option("-k", help="Patients that a set of claims should at least have.")] = 5,
    released: Annotated[
        bool, Option("--released", help="The files are of a release: looked at as they are, without the plan's steps.")
    ] = False,
    repeats: Annotated[bool, Option("--repeats", help="Attackers know how often a value was recorded, too.")] = False,
    seed: Annotated[int, Option(help="Of what is sampled, that is for more than three claims.")] = 0,
    missing: Missing = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    out: NumbersOut = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001
) -> None:
    """Say how many patients are found by some of their claims, in data as they are; for their custodian alone.

    Attackers know whole claims, or values of one column, alone or with the quasi-identifiers of the patient. Data that
    are no release are taken through the steps of the plan first, up to where something would be generalized.
    """
    from cloister.claims.data import Claims
    from cloister.claims.plan import ClaimsPlan
    from cloister.cli.assess_summary import announce, attackers_of, check_whether_released, print_histories_risk, tell
    from cloister.sources import read_claim_tables
    from cloister.verbs.assess import assess_claims as assess_prepared
    from cloister.verbs.assess import assess_released_claims

    attackers, wanted = attackers_of(m, k, seed, repeats=repeats), ClaimsPlan.read(plan)
    read = {"missing": tuple(missing or ()), "encoding": encoding, "delimiter": delimiter}
    check_whether_released(patients, released=released)
    announce(as_json=as_json, quiet=quiet)
    if released:
        sources = read_claim_tables(patients, claims, **read)
        notes = [text for source in sources for text in source.notes]
        found = assess_released_claims(sources[0], sources[1], wanted, attackers)
    else:
        given = Claims.read(patients, claims, wanted, **read)  # type: ignore[arg-type]
        notes = [*given.notes, "patients whom the steps of the plan leave out are not counted"]
        found = assess_prepared(given, attackers)
    summary = {"source": f"{patients.name}, {claims.name}"} | found.summary() | {"notes": notes}
    tell(summary, out, print_histories_risk, as_json=as_json, quiet=quiet)
