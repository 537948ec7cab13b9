"""``init table``, ``init codes`` and ``init trajectories``: a job that runs as it is, and keeps nothing unknown."""

import datetime
import random

import pytest
from tests.made.jobs_files import CODES

from cloister.jobs.job_file import read_job

HEADER = (
    "Patient ID;First name;e-mail;AgeYears;Birth_Year;gender;ZIP;seen_on;weight_kg;dx_main;all_dx;rare_drug;remark;x1\n"
)


def rows(n=60, seed=5):
    """Patients with columns of all kinds, under names that are not the usual ones."""
    draw = random.Random(seed)
    for number in draw.sample(range(10_000), n):
        age, codes = draw.randint(20, 99), draw.sample(CODES, 2)
        cells = (
            f"P-{number}",
            draw.choice(("Ann", "Bo")),
            f"p{number}@example.org",
            age,
            2024 - age,
            draw.choice("mf"),
        )
        cells += (f"0{draw.randint(1000, 1009)}", f"2024-0{draw.randint(1, 9)}-11", draw.randint(40, 120), codes[0])
        yield (
            ";".join(map(str, (*cells, " ".join(codes), f"drug {number}", f"seen by {number}", draw.randint(0, 1))))
            + "\n"
        )


@pytest.fixture
def folder(tmp_path):
    """A folder with a table, code lists and coded events, in a folder of their own."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "all people.csv").write_text(HEADER + "".join(rows()))
    draw = random.Random(2)
    events = [
        (f"P{n % 40}", draw.choice(CODES), f"20{draw.randint(10, 20)}-05-0{draw.randint(1, 9)}") for n in range(120)
    ]
    (tmp_path / "codes.csv").write_text("member_id,DX\n" + "".join(f"{a},{b}\n" for a, b, _ in events))
    lines = "".join(f"{a},{b},{c},19{30 + int(a[1:])}-01-01\n" for a, b, c in events)
    (tmp_path / "events.csv").write_text("MemberID,icd_code,ServiceDate,date_of_birth\n" + lines)
    (tmp_path / "odd.csv").write_text("id,code,age\n" + "".join(f"{n % 9},X-{n % 3},{40 + n % 3}\n" for n in range(40)))
    return tmp_path


def test_a_table_is_guessed_and_its_job_runs(cloister, folder):
    """Identifiers are dropped, what is known of people is generalized, the rest is to be decided; how sure is told."""
    told = cloister("init", "table", folder / "data" / "all people.csv", "--out", "job.toml", "--json")
    part = read_job(folder / "job.toml").parts["all_people"]

    assert told.code == 0
    assert part.keywords["qi"] == {
        "AgeYears": "interval:5,10,20/top=90",
        "Birth_Year": f"interval:5,10,20/bottom={datetime.date.today().year - 89}",
        "gender": "suppress",
        "ZIP": "prefix:5",
        "seen_on": "date:month,quarter,year",
        "weight_kg": "interval:2,10,20",
    }
    assert part.keywords["sensitive"] == ("dx_main",)
    assert set(part.keywords["drop"]) == {"First name", "e-mail", "all_dx", "rare_drug", "remark"}
    roles = told.json["roles"]["all people.csv"]
    assert (roles["Patient ID"]["role"], roles["Patient ID"]["sureness"]) == ("id", "sure")
    assert [roles[name]["sureness"] for name in ("e-mail", "AgeYears", "weight_kg", "x1")] == [
        "sure",
        "sure",
        "likely",
        "not sure",
    ]
    assert not any(
        word in (folder / "job.toml").read_text() + told.out for word in ("P-", "example.org", "Ann", "01001")
    )
    assert cloister("run", "job.toml", "-q").code == 2
    assert cloister("run", "job.toml", "-q", "--undecided", "sensitive").code == 0
    assert cloister("verify", "all_people-release", "-q").code == 0


@pytest.mark.parametrize(
    ("shape", "file", "expected"),
    [
        ("codes", "codes.csv", {"code": "DX", "m": 2}),
        ("trajectories", "events.csv", {"code": "icd_code", "date": "ServiceDate", "anchor": "date_of_birth"}),
        ("trajectories", "odd.csv", {"code": "code", "age": "age", "code_hierarchy": "suppress"}),
    ],
)
def test_codes_and_events_are_guessed_and_their_jobs_run(cloister, folder, shape, file, expected):
    """Whatever the columns are called; codes that no classification has are told apart or suppressed."""
    found = cloister("init", shape, folder / file, "--out", "job.toml", "-k", "3")
    job = read_job(folder / "job.toml")
    part = job.parts[file.partition(".")[0]]

    assert found.code == 0
    assert expected == {name: part.keywords[name] for name in expected}
    assert part.keywords["k"] == 3
    assert cloister("run", "job.toml", "-q").code == 0


@pytest.mark.parametrize(
    ("shape", "text", "words"),
    [
        ("codes", "who,code,other\n7,401.9,w\n8,250.00,w\n", "each row would count as another patient"),
        ("codes", "id,number,other\n1,x,y\n2,z,w\n", "recognised as codes"),
        ("trajectories", "id,code\n1,401.9\n", "recognised as age"),
    ],
)
def test_what_cannot_be_guessed_is_refused(cloister, folder, shape, text, words):
    """With what was looked for; and nothing is written, nor over what is there."""
    (folder / "odd.csv").write_text(text)
    refused = cloister("init", shape, folder / "odd.csv", "--out", "job.toml")

    assert refused.code == 2
    assert words in refused.err
    assert not (folder / "job.toml").exists()
    assert cloister("init", shape, folder / "odd.csv", "--out", folder / "codes.csv").code == 2


def test_events_of_any_names_are_read_once_their_columns_are_named(cloister, folder):
    """The refusal names the options of what is lacking; with them the job runs; a name that is none is refused."""
    rows = [f"{n // 3},{('A10', 'B20', 'C30')[n % 3]},{40 + n % 3}" for n in range(60)]
    (folder / "odd.csv").write_text("\n".join(["a,b,c", *rows]))
    asked = ("init", "trajectories", folder / "odd.csv", "--out", "odd.toml")
    assert "recognised as id or as age. Name it with --id and --age (or --date," in cloister(*asked).err
    assert "Did you mean 'a'?" in cloister(*asked, "--id", "aa", "--age", "c").err
    for words, why in (
        (("--id", "a", "--code", "b", "--age", "b"), "cannot be two things at once"),
        (("--id", "a", "--age", "a"), "cannot be two things at once"),
        (("--id", "a", "--age", "c", "--date", "b"), "Give --age or --date, not both."),
    ):
        refused = cloister(*asked, *words)
        assert (refused.code, why in refused.err) == (2, True)
    assert cloister(*asked, "--id", "a", "--code", "b", "--age", "c").code == 0
    part = read_job(folder / "odd.toml").parts["odd"]

    assert {name: part.keywords[name] for name in ("code", "age")} == {"code": "b", "age": "c"}
    assert cloister("run", "odd.toml", "-q").code == 0


def test_markers_that_are_named_stand_beside_those_that_are_found(cloister, folder):
    """What was named missing is so, and what init finds itself is so too."""
    lines = [
        f"{20 + row % 60},{'M' if row % 2 else 'F'},{'N/A' if row % 9 == 0 else 20 + row % 7}" for row in range(200)
    ]
    (folder / "some.csv").write_text("age,sex,bmi\nforty,F,22\n" + "\n".join(lines) + "\n")
    made = cloister("init", "table", folder / "some.csv", "--missing", "forty", "--out", folder / "some.toml")

    assert made.code == 0, made.err
    assert 'missing = ["forty", "N/A"]' in (folder / "some.toml").read_text()


def test_a_job_of_a_file_without_a_shape(cloister, tmp_path):
    """The names of the columns decide what the job protects."""
    (tmp_path / "people.csv").write_text("id,codes\n" + "".join(f"{n},I10 E11.9\n" for n in range(20)))
    found = cloister("init", tmp_path / "people.csv", "--out", tmp_path / "job.toml")

    assert "people.csv is read as codes." in found.err
    assert [part.shape for part in read_job(tmp_path / "job.toml").parts.values()] == ["codes"]


def test_a_job_has_a_name_unless_another_is_given(cloister, tmp_path, monkeypatch):
    """The file alone makes ``job.toml``, which is never overwritten: the message names the option for another."""
    (tmp_path / "people.csv").write_text("age,sex\n" + "".join(f"{20 + n % 9},F\n" for n in range(60)))
    monkeypatch.chdir(tmp_path)

    assert cloister("init", "people.csv", "-q").code == 0
    assert "job.toml exists already. Give another name by --out" in cloister("init", "people.csv", "-q").err


def test_a_wide_table_is_printed_by_role(cloister, tmp_path):
    """Of more than 40 columns the numbers by role and the quasi-identifiers are printed; --verbose prints each."""
    header = ",".join(["age", *(f"x{n:02}" for n in range(50))])
    lines = [",".join([str(20 + n % 60), *["01"[(n * m) % 3 == 0] for m in range(1, 51)]]) for n in range(90)]
    (tmp_path / "wide.csv").write_text("\n".join([header, *lines]) + "\n")
    short = cloister("init", "table", "wide.csv", "--out", "short.toml")
    full = cloister("init", "table", "wide.csv", "--out", "full.toml", "--verbose")

    assert "51 columns of wide.csv by role; --verbose lists each of them" in short.out
    assert "x00, x01, x02, x03, x04 and 45 more" in " ".join(short.out.split())
    assert "ages, by name and content" in short.out
    assert "x30" not in short.out
    assert "x30" in full.out
    assert "by role" not in full.out
