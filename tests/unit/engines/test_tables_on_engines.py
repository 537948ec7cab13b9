"""One test body over all engines: wherever the records of a table live, the release is the same."""

import datetime
import json
import math
import random
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.made.ruled_tables import ruled_cases
from tests.made.tables import cases

from cloister.api.tables import protect_table as protect_frame
from cloister.engines.duckdb import duckdb_database, duckdb_file
from cloister.engines.postgresql import postgresql
from cloister.errors import CloisterError, GuaranteeViolation, InputError, NoSafeRelease
from cloister.hierarchy import intervals, prefix, suppress
from cloister.io import Source, read_table, write_csv, write_parquet
from cloister.io.query import Query
from cloister.io.read import read_query
from cloister.pipeline.protecting import protect
from cloister.pipeline.table_engines import CountedProtection, DatabaseProtection, OpenedTable
from cloister.pipeline.tables import TableProtection
from cloister.privacy import DeltaPresence, KAnonymity, LDiversity, TCloseness
from cloister.shapes.table.method.data import Ids, QuasiIdentifier, TableRequest
from cloister.verification.folder import verify_folder

TABLE = "protected"
DIFFER = {"seconds", "created", "machine", "table", "files"}
"""What may differ between engines; files are compared by their bytes."""

N = 400
NAMES = ("patients.parquet", "patients.csv")


def patients() -> pl.DataFrame:
    """Patients with values and names that need care in SQL."""
    draw = random.Random(0)
    texts = ["it's", 'a "b"', "", "back\\slash", "Zoë", "zoe", "two\nlines", "?"]
    return pl.DataFrame(
        {
            "mrn": [f"p{(7 * i) % N:03}" for i in range(N)],
            "age": [None if i % 41 == 0 else 20 + (i * i) % 60 for i in range(N)],
            'se"x': [["F", "M", None][(i // 3) % 3] for i in range(N)],
            "zip code": [f"{100 + i % 7:03}" for i in range(N)],
            "n": [texts[(i * 5) % len(texts)] or ["", " ", "\t\r\n"][i % 3] for i in range(N)],
            "weight": [[1.5, 2.0, math.nan, 1e-7][draw.randrange(4)] for _ in range(N)],
            "since": [datetime.date(2020, 1, 1) + datetime.timedelta(days=draw.randrange(5)) for _ in range(N)],
            "smokes": [[True, False, None][draw.randrange(3)] for _ in range(N)],
        }
    )


def request_of(**changes: object) -> TableRequest:
    """What is asked of the patients unless something else is."""
    asked = TableRequest(
        quasi_identifiers={
            "age": QuasiIdentifier(intervals(10, 20)),
            'se"x': QuasiIdentifier(suppress()),
            "zip code": QuasiIdentifier(prefix(3)),
        },
        rules=(KAnonymity(4),),
        suppression=Decimal("0.2"),
        id="mrn",
        sensitive=("n",),
        keep=("weight", "since", "smokes"),
    )
    return replace(asked, **changes)


REQUESTS = {
    "k": request_of(),
    "no id": request_of(id=None, drop=("mrn", "weight"), keep=("since", "smokes")),
    "ids dropped": request_of(ids=Ids.DROP),
    "rules of a column": request_of(rules=(KAnonymity(3), LDiversity(2, "n"), TCloseness(0.5, "n"))),
    "nothing suppressed": request_of(suppression=Decimal(0)),
    "all suppressible": request_of(suppression=Decimal(1), rules=(KAnonymity(12),)),
    "rest kept": request_of(keep=(), undecided=("keep",)),
    "levels fixed": request_of(levels={"age": 2, 'se"x': 0, "zip code": 2}, suppression=Decimal("0.6")),
    "another loss": request_of(weights={"age": 3.0}, keep=(), undecided=("drop",)),
}


@dataclass(frozen=True)
class Released:
    """What came of a table: its records in the order of their ids, what is told of them, and the bytes of the files."""

    frame: pl.DataFrame
    manifest: dict
    figures: dict
    files: dict[str, bytes]


def written(release, folder: Path) -> tuple[dict, dict, dict[str, bytes]]:
    """Write a release; its manifest, its figures, and its files but those that tell the time."""
    release.write(folder)
    manifest = json.loads((folder / "release.json").read_text())
    figures = json.loads((folder / "report.json").read_text())["figures"]
    told = {"release.json", "report.json", "report.html", "README.txt"}
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in told}
    return {key: value for key, value in manifest.items() if key not in DIFFER}, figures, files


def in_memory(frame: pl.DataFrame, request: TableRequest, folder: Path, name: str = "patients.parquet") -> Released:
    """The release of the engine memory."""
    data = folder / name
    if not data.exists():
        (write_csv if data.suffix == ".csv" else write_parquet)(frame, data)
    release = protect(TableProtection(read_table(data), request))
    return Released(release.frame, *written(release, folder / "memory"))


def of_file(engine: Callable, request: TableRequest, data: Path, folder: Path) -> Released:
    """The release of a file that an engine counts."""
    with ExitStack() as stack:
        opened = stack.enter_context(engine(data))
        release = protect(CountedProtection(OpenedTable(opened, opened.format, opened.delimiter), request))
        told = written(release, folder)
    data_file = next(path for path in folder.iterdir() if path.stem == "data")
    return Released(read_table(data_file).frame, *told)


@pytest.fixture(params=["classic", "connect"])
def on_spark(request) -> Callable[[Path], object]:
    """What opens a file so that Spark counts it."""
    word = request.getfixturevalue("sessions")[request.param].word
    from cloister.engines.spark.tables import SparkFiles, spark_table

    return lambda path: spark_table(SparkFiles(path), word)


@pytest.fixture(params=["duckdb", "postgresql"])
def inside(request, tmp_path) -> tuple[str, Callable, Callable[[pl.DataFrame], None]]:
    """The address of a database, what opens it, and what loads a table into it."""
    if request.param == "postgresql":
        server = request.getfixturevalue("postgresql")
        server.run(f"DROP TABLE IF EXISTS {TABLE}")
        return server.url, postgresql, lambda frame: server.load("patients", frame)
    path = tmp_path / "hospital.duckdb"

    def load(frame: pl.DataFrame) -> None:
        with duckdb.connect(str(path)) as connection:
            connection.register("loaded", frame.to_arrow())
            connection.execute("CREATE TABLE patients AS SELECT * FROM loaded")

    return f"duckdb:{path}", duckdb_database, load


def same_as_memory(counting: Callable, request: TableRequest, name: str, folder: Path) -> None:
    """The same bytes, the same manifest, the same figures, whatever counts the records of a file."""
    expected = in_memory(patients(), request, folder, name)

    found = of_file(counting, request, folder / name, folder / "released")

    assert expected.files == found.files
    assert expected.manifest == found.manifest
    assert expected.figures == found.figures


@pytest.mark.sampled(6)
@pytest.mark.parametrize("asked", REQUESTS)
@pytest.mark.parametrize("name", NAMES)
def test_duckdb_releases_what_memory_does(asked, name, tmp_path):
    """A file that DuckDB counts is released as from memory."""
    same_as_memory(duckdb_file, REQUESTS[asked], name, tmp_path)


@pytest.mark.parametrize(("asked", "name"), [("k", "patients.csv"), ("rules of a column", "patients.parquet")])
def test_spark_releases_what_memory_does(on_spark, asked, name, tmp_path):
    """A file that Spark counts, classic or by Connect, is released as from memory."""
    same_as_memory(on_spark, REQUESTS[asked], name, tmp_path)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("asked", REQUESTS)
def test_a_table_in_a_database_is_protected_as_in_memory(inside, asked, tmp_path):
    """The table that is made in a database has the records, and the manifest says, what memory would have."""
    url, opened, load = inside
    load(patients())
    query, request = Query(url, "select * from patients", "patients"), REQUESTS[asked]
    source = Source(read_query(query), "csv", ",", None, "patients")
    expected = protect(TableProtection(source, request))

    with opened(query) as database:
        release = protect(DatabaseProtection(database, TABLE, request))
        manifest, _, files = written(release, tmp_path / "released")

    made = read_query(Query(url, f"select * from {TABLE}", "made"))
    ordered = made.columns if request.id is None or request.ids is Ids.DROP else ["mrn"]
    columns = [pl.col(column) for column in ordered]
    labels = expected.frame.with_columns(pl.col(*request.quasi_identifiers).cast(pl.String))
    assert labels.sort(columns).equals(made.sort(columns))
    told = {key: value for key, value in expected.summary().items() if key not in DIFFER}
    told["settings"].pop("delimiter")
    assert told == manifest
    assert {"codebook.csv", "verify.sql"} == files.keys()
    verdict = verify_folder(tmp_path / "released", engine=url)
    assert not verdict.failures
    assert {name for name, _ in verdict.unchecked} <= {"t-closeness"}  # which compares with the original
    keys = [pl.col(column).cast(pl.String).fill_null("") for column in made.columns if column != request.id]
    own = "ctid" if url.startswith("postgres") else "rowid"
    laid = read_query(Query(url, f"select * from {TABLE} order by {own}", "laid"))
    if "weight" not in laid.columns:  # whose text is not that of the database to the last digit
        assert laid.select(keys).equals(laid.sort(keys).select(keys))


LOOSE = "provider = icu, locale = 'und-u-ks-level2', deterministic = false"


def test_a_collation_hides_no_record_from_the_verifier(inside, request, tmp_path):
    """One record whose value differs in case alone is a class of its own, whatever the column takes for the same."""
    url, opened, load = inside
    load(patients())
    asked = request_of(id=None, keep=(), sensitive=(), undecided=("drop",))
    with opened(Query(url, "select * from patients", "patients")) as database:
        written(protect(DatabaseProtection(database, TABLE, asked)), tmp_path / "released")
    assert verify_folder(tmp_path / "released", engine=url).holds

    row = "ctid" if url.startswith("postgresql") else "rowid"
    first = f'select min({row}) from {TABLE} where "se""x" = \'F\''
    lone = f'update {TABLE} set "se""x" = \'f\' where {row} = ({first})'
    if url.startswith("postgresql"):
        server = request.getfixturevalue("postgresql")
        server.run(f"create collation if not exists loose ({LOOSE})")
        server.run(f'{lone}; alter table {TABLE} alter "se""x" type text collate loose')
    else:
        with duckdb.connect(url.removeprefix("duckdb:")) as connection:
            columns = 'age varchar, "se""x" varchar collate nocase, "zip code" varchar'
            connection.execute(f"{lone}; alter table {TABLE} rename to kept; create table {TABLE} ({columns})")
            connection.execute(f"insert into {TABLE} from kept")

    with pytest.raises(GuaranteeViolation, match="1 of 58 classes have fewer than 4 records"):
        verify_folder(tmp_path / "released", engine=url)


def test_texts_that_a_collation_takes_for_the_same_differ(inside, request, tmp_path):
    """Values that a column of the database compares without regard to case are counted as the values that they are."""
    url, opened, load = inside
    load(patients())
    loose = "NOCASE"
    if url.startswith("postgresql"):
        loose = "loose"
        request.getfixturevalue("postgresql").run(f"create collation if not exists loose ({LOOSE})")
    query = Query(url, f'select "mrn", "age", "n" COLLATE {loose} as "n" from patients', "patients")
    only_n = {"n": QuasiIdentifier(suppress())}
    asked = request_of(quasi_identifiers=only_n, keep=(), sensitive=(), drop=("age",), suppression=Decimal(1))
    expected = in_memory(patients().select("mrn", "age", "n"), asked, tmp_path)

    with opened(query) as database:
        release = protect(DatabaseProtection(database, TABLE, asked))

    assert expected.manifest["risk"] == release.summary()["risk"]


@examples(100, quick=10)
@given(cases(most_records=30))
def test_small_tables_are_released_as_from_memory(tmp_path_factory, case):
    """Random tables, hierarchies and losses: DuckDB gives the bytes of memory, or is refused as memory is."""
    _as_memory(tmp_path_factory.mktemp("case"), case.frame(), case.request(accept_empty=True))


@examples(100, quick=10)
@given(ruled_cases(), st.booleans())
def test_rules_are_kept_as_in_memory(tmp_path_factory, case, keep_suppressed):
    """Random rules about a sensitive column, people and the table: DuckDB gives the bytes of memory."""
    request = case.case.request(sensitive=("value",), keep_suppressed=keep_suppressed, accept_empty=True)
    _as_memory(tmp_path_factory.mktemp("case"), case.frame(), replace(request, rules=case.rules))


def _as_memory(folder: Path, frame: pl.DataFrame, request: TableRequest) -> None:
    refusal = ""
    try:
        expected = in_memory(frame, request, folder, "patients.csv")
    except (NoSafeRelease, InputError) as error:
        refusal = error.message
    if refusal:
        with pytest.raises(CloisterError) as caught:
            of_file(duckdb_file, request, folder / "patients.csv", folder / "released")
        assert refusal == caught.value.message
        return
    found = of_file(duckdb_file, request, folder / "patients.csv", folder / "released")
    assert (expected.files, expected.manifest, expected.figures) == (found.files, found.manifest, found.figures)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"method": "mondrian"}, "the method mondrian"),
        ({"local_recoding": True}, "local recoding"),
        ({"microaggregate": {"age": "mean"}}, "averages"),
        ({"ids": Ids.HMAC, "id_key": b"k" * 32}, "keyed ids"),
    ],
)
def test_what_needs_rows_is_refused(changes, what, tmp_path):
    """An engine that knows counts alone says so, rather than doing something else."""
    write_parquet(patients(), tmp_path / "patients.parquet")

    with pytest.raises(InputError, match=what):
        of_file(duckdb_file, request_of(**changes), tmp_path / "patients.parquet", tmp_path / "released")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (pl.lit("p1").alias("mrn"), "distinct values of 'mrn'"),
        (pl.lit(None, dtype=pl.String).alias("mrn"), "records of patients have none"),
        (pl.lit("150").alias("zip code"), None),
    ],
)
def test_ids_are_counted_where_they_are(inside, change, said):
    """Ids that repeat or are missing are refused in a database as they are in memory, in counts."""
    url, opened, load = inside
    load(patients().with_columns(change))

    with opened(Query(url, "select * from patients", "patients")) as database:
        if said is None:
            assert protect(DatabaseProtection(database, TABLE, request_of())).summary()["records"]["in"] == N
            return
        with pytest.raises(InputError, match=said):
            protect(DatabaseProtection(database, TABLE, request_of()))


@pytest.mark.parametrize("n_patients", [8, N // 2])
@pytest.mark.parametrize("role", ["drop", "sensitive"])
def test_repeated_ids_of_patients_are_refused_where_they_are_counted(inside, role, n_patients):
    """A column of patients that repeats is refused in a database, too, dropped or recorded, unless it is accepted."""
    url, opened, load = inside
    numbers = pl.Series("PatientId", [f"p{one % n_patients}" for one in range(N)])
    load(patients().drop("mrn").with_columns(numbers))
    asked = request_of(id=None, sensitive=(), drop=("n",))
    asked = replace(asked, **{role: (*getattr(asked, role), "PatientId")})

    with opened(Query(url, "select * from patients", "patients")) as database:
        with pytest.raises(InputError, match="'PatientId' repeats in"):
            protect(DatabaseProtection(database, TABLE, asked))
        accepted = protect(DatabaseProtection(database, TABLE, replace(asked, accept=("PatientId",))))
    assert [one["column"] for one in accepted.summary()["guarantee"]["accepted"]] == ["PatientId"]


def test_presence_is_judged_by_people_elsewhere(inside, tmp_path):
    """A rule that compares with a population works on counts, in a database as in memory."""
    url, opened, load = inside
    load(patients())
    people = pl.concat([patients(), patients()])
    rule = DeltaPresence(0.1, 0.6, population=people, name="people.csv")
    request = request_of(rules=(KAnonymity(2), rule))
    query = Query(url, "select * from patients", "patients")
    expected = protect(TableProtection(Source(read_query(query), "csv", ",", None, "patients"), request))

    with opened(query) as database:
        found = protect(DatabaseProtection(database, TABLE, request))

    assert expected.summary()["search"]["levels"] == found.summary()["search"]["levels"]
    assert expected.summary()["records"] == found.summary()["records"]


@pytest.fixture(params=["classic", "connect"])
def spark(request):
    """A session of Spark, classic and of Connect."""
    return request.getfixturevalue("sessions")[request.param].session


def test_dataframes_of_spark_come_back_as_such(spark):
    """`cloister.protect_table` takes a dataframe of Spark and returns one, with the records that Polars would have."""
    frame = patients().drop("weight", "since", "smokes")
    before = spark.conf.get("spark.sql.session.timeZone")
    asked = {
        "purpose": "one-coding",
        "qi": {"age": intervals(10, 20), 'se"x': suppress(), "zip code": prefix(3)},
        "rule": ["k-anonymity=4", "l-diversity:n=2"],
        "id": "mrn",
        "suppression": 0.2,
    }
    expected = protect_frame(frame, **asked)

    found = protect_frame(spark.createDataFrame(frame.to_arrow()), **asked)

    shown = pl.from_arrow(found.data.toArrow())
    assert expected.frame.equals(shown.sort("mrn"))
    assert expected.summary()["search"]["levels"] == found.summary()["search"]["levels"]
    assert found.verify().holds
    assert before == spark.conf.get("spark.sql.session.timeZone")
    assert "cloister_source" not in [table.name for table in spark.catalog.listTables()]
