"""``cloister assess claims``."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from cloister.cli.options import Delimiter, Encoding, Json, Known, Missing, NumbersOut, Quiet, Verbose

EXAMPLE = "Example: cloister assess claims patients.csv claims.csv --plan plan.toml"


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
    from cloister.cli.assess_ending import announce, attackers_of, check_whether_released, tell
    from cloister.cli.assess_summary import print_histories_risk
    from cloister.sources import read_claim_tables
    from cloister.verbs.assess_histories import assess_claims as assess_prepared
    from cloister.verbs.assess_histories import assess_released_claims

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
