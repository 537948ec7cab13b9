"""Options that many commands have, in the same words."""

from pathlib import Path
from typing import Annotated

from typer import Option

Missing = Annotated[
    list[str] | None, Option(metavar="TEXT", help="Read this text as a missing value, as ? or NA. Repeatable.")
]
MissingAs = Annotated[str | None, Option(metavar="VALUE", help="How hierarchy files write a missing value.")]
Delimiter = Annotated[str | None, Option(metavar="CHAR", help="Delimiter of the CSV files; detected if not given.")]
Encoding = Annotated[str | None, Option(metavar="NAME", help="Encoding of the CSV files; detected if not given.")]
Threads = Annotated[int | None, Option(metavar="N", help="Threads; all cores if not given. Never changes the answer.")]
Json = Annotated[bool, Option("--json", help="Print one JSON object on standard output.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Print nothing but errors.")]
Verbose = Annotated[bool, Option("--verbose", "-v", help="Show places in the code on errors.")]
Known = Annotated[
    list[str] | None,
    Option("-m", metavar="N,N,...", help="How many of them attackers know of a patient; 1,2,3,5 unless given."),
]
NumbersOut = Annotated[
    Path | None, Option(metavar="FILE", help="Write the numbers as JSON to a new file, for its owner alone.")
]
