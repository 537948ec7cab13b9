"""Steps 1 to 6, one by one, on four patients."""

import hashlib
import hmac
from types import SimpleNamespace as Said

import polars as pl
import pytest
from tests.made.claims_data import CLAIMS, PATIENTS, PLAN, claims

from cloister.errors import InputError
from cloister.release.masking import WITHHELD
from cloister.report.page import worded_steps
from cloister.shapes.claims.format.data import PATIENT, StepLine
from cloister.shapes.claims.format.released_columns import plan_published
from cloister.shapes.claims.format.representativeness import representativeness
from cloister.shapes.claims.method.prepare import (
    add_derived_columns,
    exclusions,
    grouping,
    leave_out_without_claims,
    number_pseudonyms,
    prepare,
    pseudonyms,
    removals,
    top_coding,
    years_of,
)

EXCLUDED = "Patients with codes on the exclusion list are left out, with all their claims"
UNSEEN = "Not looked for, as no column has them: procedure, place."
REMOVED, LETTERS = "Claims removed", "those with a letter before the procedure"
REVENUE, NO_PROCEDURES = (
    "those with a revenue code for a procedure",
    "Procedures could not be told: there is no column of them.",
)
NO_REMOVALS = "newborns = false\nletter_procedures = false\nrevenue_codes = false\n"


def said(data):
    """What the report says of steps 1 to 6."""
    manifest = Said(
        settings=Said(plan=plan_published(data.plan)),
        steps=[line.masked(10) for line in prepare(data).lines],
        representativeness=Said(variables={}),
        choice=Said(truncation="none", max_flag_rate=0.05, lattice=1, optimal=True),
        risk=Said(known=1.0, draws=1, k=10),
        sensitivity=Said(attacks=[], voter_list=Said(list="released patients")),
    )
    return [done for _, done in worded_steps(manifest)]


def test_pseudonyms_take_out_the_ids():
    """Neither table has the patients' ids any more; how large the groups of other ids are is counted."""
    done = pseudonyms(claims())

    assert "mrn" not in [*done.claims.patients.columns, *done.claims.claims.columns]
    assert "D1" in done.claims.claims["doctor"].to_list()  # until the released order numbers it
    assert {name.split()[-2]: count for name, count in done.line.counts.items() if count and "doctor" in name} == {
        "1": 1,
        "2-4": 2,
    }


def test_keyed_hashes_are_those_of_rfc_2104(tmp_path):
    """With a key, ids become HMAC-SHA256 in hexadecimal; a short key and one that others may read are refused."""
    key = tmp_path / "key"
    key.write_bytes(b"k" * 32)
    key.chmod(0o600)
    done = pseudonyms(claims(text=f'{PLAN}\n[ids]\npatients = "hmac:key"\n', folder=tmp_path))

    assert hmac.new(b"k" * 32, b"P1", hashlib.sha256).hexdigest() == done.claims.patients["mrn"][0]
    key.write_bytes(b"short")
    with pytest.raises(InputError, match="5 bytes; 32 are needed"):
        pseudonyms(claims(text=f'{PLAN}\n[ids]\npatients = "hmac:key"\n', folder=tmp_path))
    key.chmod(0o640)
    with pytest.raises(InputError, match="may be read by others"):
        pseudonyms(claims(text=f'{PLAN}\n[ids]\npatients = "hmac:key"\n', folder=tmp_path))


@pytest.mark.parametrize(("how", "columns"), [("number", True), ("per-table", True), ("drop", False)])
def test_provider_ids_are_numbered_or_dropped(how, columns):
    """Numbers are in the order of the rows given, or the column is gone."""
    data = claims(text=f'{PLAN}\n[ids]\nprovider = "{how}"\n')
    done = pseudonyms(data).claims
    _, events = number_pseudonyms(done.patients, done.claims.reverse(), data.plan)

    assert columns == ("doctor" in events.columns)
    if columns:
        assert events["doctor"].to_list() == [1, 1, 1, 1, 2, 3, 2]


def test_one_id_has_one_number_in_both_tables_unless_asked_otherwise():
    """`number` is the same in patients and claims, `per-table` begins anew."""
    text = PLAN.replace('doctor = "provider"', 'doctor = "pcp"').replace('born = "birth-date"', 'born = "pcp"')
    text = text.replace('derived = ["age", "days_in_hospital"]', 'derived = ["days_in_hospital"]').replace(
        'age = "age"\n', ""
    )
    people = [("P1", "D9", "F"), ("P2", "D1", "M"), ("P3", "D3", "F"), ("P4", None, "M")]
    numbers = {}
    for how in ("number", "per-table"):
        data = pseudonyms(claims(people, text=f'{text}\n[ids]\npcp = "{how}"\n')).claims
        patients, events = number_pseudonyms(data.patients, data.claims, data.plan)
        numbers[how] = (patients["born"].to_list(), events["doctor"].to_list())

    assert numbers["number"] == ([1, 2, 3, None], [2, 4, 2, 3, 3, 3, 3])
    assert numbers["per-table"] == ([1, 2, 3, None], [1, 2, 1, 3, 3, 3, 3])


def test_a_high_risk_patient_leaves_with_all_claims():
    """One listed diagnosis, though only in the list of all diagnoses, takes the patient and all claims."""
    done = exclusions(claims())

    assert done.claims.patients[PATIENT].to_list() == [0, 2, 3]
    assert 1 not in done.claims.claims[PATIENT].to_list()
    assert done.removed.patients[PATIENT].to_list() == [1]
    assert (done.line.counts, done.line.total) == ({"hiv": 1}, 1)


def test_rules_can_be_chosen_and_added(tmp_path):
    """Rules left out of the plan do nothing; a list of one's own is used besides."""
    (tmp_path / "own.csv").write_text("rule,kind,first,last\nheart,diagnosis,410,414\nat home,place,12,\n")
    text = f'{PLAN}\n[exclusions]\nrules = []\nfile = "own.csv"\n'
    done = exclusions(claims(text=text, folder=tmp_path))

    assert done.line.counts == {"heart": 1, "at home": 1}
    assert done.claims.patients[PATIENT].to_list() == [1, 3]
    (tmp_path / "own.csv").write_text("rule,kind,first,last\nheart,diagnosis,410,41\n")
    with pytest.raises(InputError, match="record 1 is no rule"):
        exclusions(claims(text=text, folder=tmp_path))


def test_claims_of_newborns_and_of_no_procedure_are_removed():
    """The 28th day after birth is removed and the 29th is not; letters and three digits before the procedure are."""
    done = removals(claims())

    assert done.line.counts == {
        "newborns": 1, "procedure codes with a letter": 1, "revenue codes of three digits": 1
    }  # fmt: skip
    assert done.line.total == 3
    assert done.claims.claims.filter(pl.col(PATIENT) == 2)["date"].to_list() == ["2008-07-01"]
    assert done.claims.n_patients == 4


@pytest.mark.parametrize("key", ["newborns", "letter_procedures", "revenue_codes"])
def test_each_removal_can_be_left_out(key):
    """With a removal switched off its claims stay."""
    assert removals(claims(text=f"{PLAN}\n[removals]\n{key} = false\n")).claims.n_claims == 5


def test_all_claims_of_a_patient_leave_with_one_that_is_removed():
    """Where the plan asks for it, and the line says so; the patient is then one without claims."""
    text = f"{PLAN}\n[removals]\nwhole_patient = true\n"
    done = removals(claims(text=text))
    left, before = done.claims.claims[PATIENT].unique().to_list(), claims().claims
    owners = {0, 1, 2} - {*left}

    assert left
    assert owners == {2}
    assert done.line.total == before.filter(pl.col(PATIENT) == 2).height
    assert done.line.patients_in_all == 1
    more = [("P2", "2008-06-09", *CLAIMS[2][2:]), ("P1", "2008-04-01", *CLAIMS[0][2:])]
    assert said(claims(events=[*CLAIMS, *more], text=text))[2].endswith("; and all other claims of their patients.")


def test_newborns_that_cannot_be_told_are_said():
    """Without a date of birth the line says that newborns were not looked for."""
    text = PLAN.replace('"birth-date"', '"drop"').replace('["age", ', "[").replace('age = "age"\n', "")

    assert "Newborns could not be told" in said(claims(text=text))[2]


def test_patients_without_claims_leave_if_the_plan_says_so():
    """They are left out by default, and kept where that is asked for."""
    kept = PLAN.replace("[patients]\n", '[patients]\nwithout_claims = "keep"\n')

    assert leave_out_without_claims(claims()).claims.patients[PATIENT].to_list() == [0, 1, 2]
    assert leave_out_without_claims(claims(text=kept)).claims.n_patients == 4


def test_derived_columns():
    """Age in whole years at the first claim, days in hospital up to 15+, days from the first claim, stay, and delay."""
    done = add_derived_columns(claims()).claims

    assert done.patients["age"].to_list() == [57, 28, 0, None]
    assert done.patients["days_in_hospital"].to_list() == ["3", "1", "15+", "0"]
    assert done.claims["days_since_first_claim"].to_list() == [29, 0, 0, 0, 1, 115, 145]
    assert done.claims["length_of_stay"].to_list() == [3, None, 1, 13, 1, 1, 20]
    assert done.claims["pay_delay"].to_list() == [10, 0, None, 29, 0, 1, 0]
    assert years_of(done).to_list() == [2008] * 7


def test_days_begin_again_with_each_year():
    """Where days of a year are asked for, from the first claim of a patient in that calendar year."""
    events = [
        (who, date.replace("2008-06", "2009-06").replace("2008-07", "2009-07"), *rest) for who, date, *rest in CLAIMS
    ]
    text = PLAN.replace("days_since_first_claim", "days_since_first_claim_of_year")
    done = add_derived_columns(claims(events=events, text=text)).claims

    assert done.claims["days_since_first_claim_of_year"].to_list() == [29, 0, 0, 0, 1, 0, 30]


def test_age_by_year_of_birth_is_the_difference_of_years():
    """Where only the year of birth is known, the age is that of the year."""
    people = [(who, None if born is None else born[:4], sex) for who, born, sex in PATIENTS]
    done = add_derived_columns(claims(people, text=PLAN.replace('"birth-date"', '"birth-year"')))

    assert done.claims.patients["age"].to_list() == [58, 28, 0, None]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('until = "end-date"', 'until = "drop"', "length_of_stay is derived from claims with the role end-date"),
        ('born = "birth-date"', 'born = "drop"', "age is derived from patients with the role birth-date or birth-year"),
    ],
)
def test_what_cannot_be_derived_is_said(old, new, said):
    """A derivation without its columns is refused."""
    with pytest.raises(InputError) as refusal:
        add_derived_columns(claims(text=PLAN.replace(old, new)))

    assert said in refusal.value.message


def test_dates_that_are_none_are_counted_not_shown():
    """A value that is no date is refused without being told."""
    with pytest.raises(InputError, match="Column 'date' of claims: 1 values are not dates") as refusal:
        add_derived_columns(claims(events=[("P1", "SECRET", *CLAIMS[0][2:]), *CLAIMS[1:]]))
    assert "SECRET" not in refusal.value.message


def test_places_and_specialties_are_replaced_by_their_groups():
    """The columns asked for hold groups, missing stays missing, and unknown names are counted."""
    done = grouping(claims())

    assert done.claims.claims["pos"].to_list()[:4] == ["OFFICE", "INPATIENT HOSPITAL", "OFFICE", "HOME"]
    assert done.claims.claims["spec"].to_list()[:4] == ["INTERNAL", "OTHER", None, "PEDIATRIC"]
    assert done.line.counts == {"'pos' in group OTHER": 0, "'spec' in group OTHER": 1}
    assert done.claims.claims["dx"].to_list()[:2] == ["410.01", "250.10"]


def test_groups_of_ones_own(tmp_path):
    """A table of one's own replaces the shipped one."""
    (tmp_path / "own.csv").write_text("group,name\nHEART,cardiology\nYOUNG,pediatrics\n")
    text = f'{PLAN}\n[grouping]\ncolumns = ["specialty", "place"]\ntables = {{ specialty = "own.csv" }}\n'
    done = grouping(claims(text=text, folder=tmp_path))

    assert done.claims.claims["spec"].to_list()[:4] == ["HEART", "OTHER", None, "YOUNG"]


@pytest.mark.parametrize(
    ("quantile", "exclude_zero", "expected"),
    [
        (0.95, "false", ["10", "0", None, "29+", "0", "1", "0"]),
        (0.5, "false", ["0+"] * 2 + [None] + ["0+"] * 4),
        (0.5, "true", ["10+", "0", None, "10+", "0", "1", "0"]),
        (0.01, "true", ["1+", "0", None, "1+", "0", "1+", "0"]),
    ],
)
def test_top_coding_is_by_nearest_rank(quantile, exclude_zero, expected):
    """All numbers from the quantile on have one label, zeros being left out of the count if asked for."""
    coding = f'\n[[top_coding]]\ncolumn = "pay_delay"\nquantile = {quantile}\nexclude_zero = {exclude_zero}\n'
    data = claims(text=PLAN + coding)

    assert expected == top_coding(add_derived_columns(data).claims).claims.claims["pay_delay"].to_list()
    assert "percentile of the data" in said(data)[-1]


def test_top_coding_of_a_column_that_is_not_there():
    """A column that no table has is refused."""
    with pytest.raises(InputError, match="there is no such column"):
        top_coding(claims(text=f'{PLAN}\n[[top_coding]]\ncolumn = "los"\n'))


def test_excluded_and_remaining_patients_are_compared():
    """Shares by band, medians of claims, and the test of Kolmogorov and Smirnov where there are numbers."""
    first = exclusions(claims())
    found = representativeness(add_derived_columns(first.removed).claims, add_derived_columns(first.claims).claims)
    sex, age = (found.variables[name] for name in ("sex", "age"))

    assert list(found.variables) == ["sex", "age", "days since first claim", "length of stay"]
    assert sex == {"excluded and remaining": {"F": [0, 2], "M": [1, 1]}, "statistic": None, "p_value": None}
    assert [counts for counts, _ in age["excluded and remaining"].values()] == [0, 0, 1, 0, 0, 0, 0, 0, 0]
    assert [counts for _, counts in age["excluded and remaining"].values()] == [1, 0, 0, 0, 0, 1, 0, 0, 0]
    assert age["statistic"] == pytest.approx(0.5)
    assert (found.median_claims_excluded, found.median_claims_remaining) == (1.0, 3.0)


def test_days_of_the_year_are_a_variable_of_their_own():
    """A plan with the days since the first claim of the year compares patients in these as well."""
    text = PLAN.replace('"days_since_first_claim"', '"days_since_first_claim", "days_since_first_claim_of_year"')
    text = text.replace(
        "\ndays_since_first_claim = ", '\ndays_since_first_claim_of_year = "suppress"\ndays_since_first_claim = '
    )
    first = exclusions(claims(text=text))
    found = representativeness(add_derived_columns(first.removed).claims, add_derived_columns(first.claims).claims)

    assert [name for name in found.variables if name.startswith("days")] == [
        "days since first claim",
        "days since first claim of the year",
    ]


def test_lines_withhold_small_counts_and_what_tells_them():
    """Counts from 1 to k - 1 become <k, and the total goes where it would tell them; the custodian sees all."""
    line = StepLine("2", 33, {"a": 3, "b": 30, "none": 0})

    assert line.masked(11).counts == {"a": "<11", "b": 30, "none": 0}
    assert line.masked(11).total == WITHHELD
    assert line.exact()["counts"] == {"a": 3, "b": 30, "none": 0}
    assert StepLine("2", 4).masked(11).total == "<11"
    assert StepLine("2", 60, {"a": 9, "b": 8, "c": 43}).masked(11).total == 60


@pytest.mark.parametrize(
    ("total", "counts", "expected"),
    [
        (55, (25, 30), 55),
        (54, (25, 30), WITHHELD),
        (44, (25, 30), 44),
        (32, (30, 30), WITHHELD),
        (41, (30, 9, 8), 41),
        (40, (30, 9, 8), WITHHELD),
        (60, (25, 30, 30), WITHHELD),
        (72, (25, 30, 30), 72),
        (30, (30, 30), 30),
    ],
)
def test_a_total_that_tells_who_has_two_reasons_is_withheld(total, counts, expected):
    """No total less some of the counts leaves 1 to k - 1 patients, nor the other way round."""
    line = StepLine("2", total, {f"{place}": count for place, count in enumerate(counts)})

    assert expected == line.masked(11).total


def test_claims_of_few_patients_are_withheld():
    """Counts of claims are withheld by how many patients they are of; a total is told where no claim counts twice."""

    def told(total, counts, patients, in_all):
        line = StepLine("3", total, counts, patients, in_all).masked(11)
        return line.total, line.counts

    assert told(50, {"a": 20, "b": 30}, {"a": 1, "b": 30}, 30) == (WITHHELD, {"a": WITHHELD, "b": 30})
    assert told(50, {"a": 20, "b": 30}, {"a": 20, "b": 30}, 30) == (50, {"a": 20, "b": 30})
    assert told(38, {"a": 20, "b": 30}, {"a": 20, "b": 30}, 30) == (WITHHELD, {"a": 20, "b": 30})
    assert told(40, {}, {}, 10) == (WITHHELD, {})


@pytest.mark.parametrize(
    ("old", "new", "step", "expected"),
    [
        ("", "", 1, f"{EXCLUDED}: diagnosis, procedure, place."),
        ("", "[exclusions]\nrules = []\n", 1, "No exclusion list was asked for."),
        ('cpt = "procedure"\npos = "place"\n', 'cpt = "drop"\npos = "drop"\n', 1, f"{EXCLUDED}: diagnosis. {UNSEEN}"),
        ("", "[removals]\nnewborns = false\n", 2, f"{REMOVED}: {LETTERS}, {REVENUE}."),
        ("", "[removals]\nletter_procedures = false\nrevenue_codes = false\n", 2, f"{REMOVED}: those of newborns."),
        ("", f"[removals]\n{NO_REMOVALS}", 2, "No claims were removed."),
        ('cpt = "procedure"\n', 'cpt = "drop"\n', 2, f"{REMOVED}: those of newborns. {NO_PROCEDURES}"),
    ],
)
def test_lines_say_what_was_done_under_the_plan(old, new, step, expected):
    """Nothing is said to be left out or removed that was not looked for."""
    roles, qi = PLAN.split("[claims.qi]")
    gone = [line.split(" = ")[0] for line in new.splitlines() if '"drop"' in line]
    kept = "".join(line for line in qi.splitlines(True) if line.split(" = ")[0] not in gone)
    text = f"{roles.replace(old, new)}[claims.qi]{kept}" if old else PLAN + new

    assert expected == said(claims(text=text))[step]


def test_all_steps_in_order():
    """Steps 1 to 6 each leave a line, and what is left is ready to be encoded."""
    done = prepare(claims())

    assert [line.step[0] for line in done.lines] == ["1", "2", "3", "3", "4", "5", "6", "6"]
    assert (done.claims.n_patients, done.claims.n_claims) == (2, 3)
