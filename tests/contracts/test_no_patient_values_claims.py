"""No patient's value in any message, log, repr or plan where claims are prepared: a marker is looked for."""

import json
import logging
import sys
import traceback

import pytest
from tests.claims_data import CLAIMS, OF_CLAIMS, OF_PATIENTS, PATIENTS, PLAN, claims

from cloister.claims.encode import encode
from cloister.claims.prepare import prepare
from cloister.cli.main import run
from cloister.errors import InputError

MARKER = "PATIENT-7-SECRET"
EVENT = CLAIMS[0]


def with_marker(row, place):
    """A row with the marker in one cell."""
    return (*row[:place], MARKER, *row[place + 1 :])


def written(path, columns, rows):
    """A CSV file, missing values empty."""
    path.write_text("\n".join(",".join(cell or "" for cell in row) for row in [columns, *rows]) + "\n")
    return path


@pytest.mark.parametrize("table", ["patients", "claims"])
@pytest.mark.parametrize("more", [(), ("--json",), ("--verbose",)], ids=" ".join)
def test_a_first_plan(tmp_path, monkeypatch, capsys, caplog, table, more):
    """Whatever cell holds the marker, neither the plan nor what is said of it does, refusals included."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.chdir(tmp_path)
    base, columns = (PATIENTS, OF_PATIENTS) if table == "patients" else (CLAIMS, OF_CLAIMS)
    names = {"dx": "icd9", "all_dx": "icd9_all", "pos": "place", "spec": "specialty", "born": "birth_date"}
    for place in range(len(columns)):
        rows = [with_marker(base[0], place), *base[1:]]
        people, events = (rows, CLAIMS) if table == "patients" else (PATIENTS, rows)
        written(tmp_path / "patients.csv", [names.get(name, name) for name in OF_PATIENTS], people)
        written(tmp_path / "claims.csv", [names.get(name, name) for name in OF_CLAIMS], events)
        (tmp_path / "plan.toml").unlink(missing_ok=True)
        code = run(["init", "claims", "patients.csv", "claims.csv", "--out", "plan.toml", *more])
        said = capsys.readouterr()
        plan = (tmp_path / "plan.toml").read_text() if code == 0 else ""

        assert code in (0, 2)
        assert (code == 0) == (place > 0)
        for text in (said.out, said.err, caplog.text, plan, str(sys.exc_info())):
            assert MARKER[:9] not in text
        if "--json" in more:
            json.loads(said.out)


@pytest.mark.parametrize("place", range(len(OF_CLAIMS)))
def test_steps_of_claims(place):
    """Steps with the marker in any cell of a claim say nothing of it, whether they succeed or refuse."""
    quiet([*CLAIMS, with_marker(EVENT, place)], PATIENTS)


@pytest.mark.parametrize("place", range(len(OF_PATIENTS)))
def test_steps_of_patients(place):
    """The same with a patient."""
    quiet(CLAIMS, [*PATIENTS, with_marker(("P9", "1950-01-01", "F"), place)])


def quiet(events, people):
    """Take claims through steps 1 to 6 and look for the marker in what is told, or in the refusal and its traceback."""
    told = ""
    text = PLAN + '[[top_coding]]\ncolumn = "pay_delay"\n'
    try:
        data = claims(people, events, text)
        done = prepare(data)
        encoding = encode(done.claims)
        told = repr([data, done, encoding, encoding.claims, done.representativeness, data.plan])
        told += json.dumps([line.told(20) for line in done.lines] + [line.exact() for line in done.lines])
    except InputError as refusal:
        told = refusal.message + "".join(traceback.format_exception(refusal))

    assert MARKER[:9] not in told
