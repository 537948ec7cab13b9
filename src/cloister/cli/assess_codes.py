"""``cloister assess codes``."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from cloister.cli.data_argument import QueryText, data_of, data_word
from cloister.cli.options import Delimiter, Encoding, Json, Known, Missing, NumbersOut, Quiet, Verbose

EXAMPLE = "Example: cloister assess codes codes.csv -m 1,2,3,5 -k 5"


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
    from cloister.cli.assess_ending import announce, tell
    from cloister.cli.assess_summary import print_codes_risk, whole_numbers
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
