"""One small release of every shape, on disk, with the custodian's folder beside it."""

import random

import polars as pl
import pytest
from tests.made.claims_files import write_files

import cloister as cl

CODES = ("250.00", "250.01", "401.1", "401.9", "428.0", "486", "496", "530.81", "585.9", "599.0", "V45.81", "008.45")
N_PATIENTS = 120


def records():
    """Codes of patients, frequent and rare ones."""
    draw = random.Random(3)
    weights = [1 / (place + 1) for place in range(len(CODES))]
    return [sorted(set(draw.choices(CODES, weights, k=draw.randint(1, 4)))) for _ in range(N_PATIENTS)]


def table():
    """Patients, some of whom stand out."""
    draw = random.Random(4)
    rows = [(draw.randint(20, 79), draw.choice("FM"), draw.choice(("asthma", "flu"))) for _ in range(N_PATIENTS - 6)]
    rows += [(age, sex, "flu") for age, sex in ((81, "M"), (82, "M"), (95, "M"), (96, "M"), (105, "F"), (106, "F"))]
    return pl.DataFrame(rows, schema=["age", "sex", "diagnosis"], orient="row")


def of_table(frame=None, **options):
    """A release of the table, or of another one with its columns."""
    wanted = {"qi": {"age": "interval:5,10,20/top=120", "sex": "suppress"}, "rule": ["k-anonymity=4"]}
    return cl.protect_table(
        table() if frame is None else frame,
        **wanted | {"sensitive": ["diagnosis"], "suppression": 0.2, "purpose": "one-coding"} | options,
    )


def with_codes(**options):
    """A release of a table with codes."""
    frame = table().with_columns(pl.Series("codes", [" ".join(codes) for codes in records()]))
    hierarchies = {"age": "interval:20/top=80", "sex": "suppress"}
    return cl.protect_table(
        frame, qi=hierarchies, rule=["k-anonymity=4"], codes="codes", m=2, undecided="drop", purpose="one-coding",
        **options,
    )  # fmt: skip


def of_trajectories():
    """A release of trajectories."""
    draw = random.Random(5)
    pairs = [[(code, draw.randint(30, 60)) for code in codes] for codes in records()]
    return cl.protect_trajectories(
        cl.Trajectories.from_records(pairs),
        k=4,
        code_hierarchy=cl.icd9(),
        age_hierarchy=cl.parse_hierarchy("interval:5,20/top=90"),
    )


def of_claims(folder):
    """A release of claims."""
    write_files(folder, n_patients=80)
    plan = cl.ClaimsPlan.read(folder / "plan.toml")
    return cl.protect_claims(cl.Claims.read(patients=folder / "patients.csv", claims=folder / "claims.csv", plan=plan))


@pytest.fixture(scope="session")
def original():
    """What the release of a table was made from."""
    return table()


@pytest.fixture(scope="session")
def releases(tmp_path_factory):
    """By shape: a folder in which ``release`` and ``secret`` are."""
    place = tmp_path_factory.mktemp("reports")
    codes = cl.CodeSets.from_records(records())
    policy = cl.UtilityPolicy.by_level(codes, 2)
    made = {
        "table": of_table(),
        "mondrian": of_table(method="mondrian", microaggregate={"age": "mean"}),
        "table_with_codes": with_codes(),
        "table_with_terms": with_codes(codes_method="generalization"),
        "disassociation": cl.protect_codes(codes, k=4, m=2, policy=policy, workload="random:50"),
        "generalization": cl.protect_codes(codes, k=4, method="cba", policy=policy),
        "trajectories": of_trajectories(),
        "claims": of_claims(place),
    }
    for name, release in made.items():
        (place / name).mkdir()
        release.write(place / name / "release", custodian_dir=place / name / "secret")
    return {name: place / name for name in made}
