"""What a column is taken for by a first job: not released where it may identify."""

import polars as pl
import pytest

from cloister.errors import InputError
from cloister.evidence.table import guess_table
from cloister.jobs.guessing_codes import NamedColumns, guess_codes, guess_events

N = 40


@pytest.mark.parametrize(
    ("name", "values", "role", "hierarchy"),
    [
        ("patient_nbr", range(1000, 1000 + N), "id", None),
        ("num_medications", [n % 5 for n in range(N)], "undecided", None),
        ("medication", [f"drug {n % 5}" for n in range(N)], "sensitive", None),
        ("medication", [f"drug {n}" for n in range(N)], "drop", None),
        ("diagnosis", [f"p{n % 3}@example.org" for n in range(N)], "drop", None),
        ("race", ["a", "b", *["c"] * (N - 2)], "quasi-identifier", "suppress"),
        ("region", [f"r{n}" for n in range(N)], "drop", None),
        ("zip", [f"021{n % 4}" for n in range(N)], "drop", None),
        ("income", [10_000 + 1_000 * n for n in range(N)], "quasi-identifier", "interval:1000,5000,10000"),
        ("income", ["much"] * N, "quasi-identifier", "suppress"),
        ("discharge", [f"2024-01-{1 + n % 28:02d}" for n in range(N)], "quasi-identifier", "date:month,quarter,year"),
        ("dob", [f"19{50 + n % 40}-01-01" for n in range(N)], "quasi-identifier", "date:year,decade"),
        ("void", [None] * N, "drop", None),
    ],
)
def test_a_column_is_taken_for_what_name_and_content_say(name, values, role, hierarchy):
    """Identifiers are dropped; what is known of people gets a builder with round bounds; the rest is to be decided."""
    frame = pl.DataFrame({"age": ["44"] * N, name: [None if value is None else str(value) for value in values]})
    guess = guess_table(frame, "people.csv").columns[1]

    assert (guess.role, guess.hierarchy) == (role, hierarchy)


@pytest.mark.parametrize(
    ("values", "cell", "role"),
    [
        ([f"AX{n // 2}" for n in range(N)], "250.00", "id"),
        ([f"AX{n // 2}" for n in range(N)], "250.00 401.9", "not released"),
        ([f"ward {n % 3}" for n in range(N)], "250.00", "not released"),
    ],
)
def test_an_id_of_any_name_is_seen_by_how_it_repeats(values, cell, role):
    """Where each row has one code, a column with more values than rows of each is an id; a ward is not."""
    found = guess_codes(pl.DataFrame({"Pseudonym": values, "Dx": [cell] * N}), "codes.csv")

    assert [guess.role for guess in found] == [role, "code" if role == "id" else "codes"]


def test_a_column_that_numbers_the_rows_is_dropped():
    """R writes one as `rownames`; numbers with a gap are to be decided."""
    columns = {"age": ["44"] * 99, "place": map(str, range(1, 100)), "gap": map(str, [*range(1, 99), 100])}
    _, numbered, with_gap = guess_table(pl.DataFrame(columns), "people.csv").columns

    assert (numbered.role, numbered.sureness, numbered.why)[:2] == ("drop", "likely")
    assert numbered.why.startswith("it numbers the rows")
    assert with_gap.role == "undecided"


def test_a_column_that_names_the_rows_is_dropped():
    """By its name, where R took a part of a data frame and numbers have gaps; what repeats names no row."""
    numbers = {"age": ["44"] * 99, "rownames": map(str, range(85, 283, 2)), "rowname": ["7", "8", "9"] * 33}
    found = {one.column: one for one in guess_table(pl.DataFrame(numbers), "people.csv").columns}

    assert (found["rownames"].role, found["rownames"].sureness) == ("drop", "likely")
    assert found["rownames"].why.startswith("it names the rows")
    assert found["rowname"].role == "undecided"


def test_an_age_is_seen_in_a_name_without_a_gap():
    """`agemth` and `ageentry` are ages, where the values may be; an agent is none."""
    ages = {name: [f"{15 + n % 70}" for n in range(N)] for name in ("agemth", "ageentry", "agent")}
    months = {"ageonset": [f"{700 + 3 * n}" for n in range(N)]}
    others = {"wageyear": [f"{12_000 + 700 * n}" for n in range(N)], "agedx": ["E11", "I10"] * (N // 2)}
    found = {one.column: one.role for one in guess_table(pl.DataFrame(ages | months | others), "people.csv").columns}

    assert found == {
        "agemth": "quasi-identifier",
        "ageentry": "quasi-identifier",
        "agent": "undecided",
        "ageonset": "drop",
        "wageyear": "undecided",
        "agedx": "undecided",
    }


@pytest.mark.parametrize("guess", [guess_codes, guess_events])
def test_a_first_line_that_may_be_a_record_is_not_listed(guess):
    """Without a name that is usual or asked for, nothing shows that the first line names columns."""
    record = pl.DataFrame({"Miller": ["Smith", "Jones"], "I10": ["E11", "I10"]})
    with pytest.raises(InputError, match="may be a record") as raised:
        guess(record, "people.csv", NamedColumns(id="patient"))
    assert "Miller" not in str(raised.value)
    with pytest.raises(InputError, match="Its columns: who, what"):
        guess(pl.DataFrame({"who": ["1", "2"], "what": ["E11", "I10"]}), "a.csv", NamedColumns(id="who", code="x"))
