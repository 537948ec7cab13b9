"""``cloister assess trajectories``."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from cloister.cli.data_argument import QueryText, data_of, data_word
from cloister.cli.options import Delimiter, Encoding, Json, Known, Missing, NumbersOut, Quiet, Verbose

EXAMPLE = "Example: cloister assess trajectories visits.csv -m 1,2,3 -k 5"


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
    from cloister.cli.assess_ending import announce, attackers_of, check_whether_released, tell
    from cloister.cli.assess_summary import print_histories_risk
    from cloister.cli.trajectories_job import UNITS
    from cloister.errors import InputError
    from cloister.io import EventColumns
    from cloister.sources import read_code_events
    from cloister.verbs.assess_histories import assess_events

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
