"""The page on the columns of patients and claims."""

import re

from tests.unit.web.conftest import OWN

from cloister.web.job_state import load_job

JOB = "claim_patients.toml"


def opened_page(window):
    """The page, its form as it is, and the field of a role by file and column."""
    page = window.get("/columns", job=JOB)
    fields = {
        (field.partition("-")[0], name): field
        for field, name in re.findall(r'<label for="((?:patients|claims)-role-\d+)">([^<]+)</label>', page.text)
    }
    return window.form_of(page, "/columns"), fields


def plan_of(window):
    """The plan in the job file."""
    return load_job(window.folder / JOB).section("claims")["plan"]


def test_saving_the_page_as_it_is_changes_nothing(window):
    """Roles, derived columns and hierarchies of both files come back as they were."""
    before = (window.folder / JOB).read_text()
    form, fields = opened_page(window)
    assert {("patients", "age"), ("claims", "icd9"), ("claims", "pay_delay")} <= fields.keys()
    assert window.post("/columns", form).status_code == 200
    assert (window.folder / JOB).read_text() == before


def test_a_column_that_is_not_released_loses_its_hierarchy(window):
    """A quasi-identifier becomes drop, and a derived column is not computed any more."""
    form, fields = opened_page(window)
    changed = {fields["claims", "specialty"]: "drop", fields["claims", "pay_delay"]: ""}
    page = window.post("/columns", {**form, **changed})
    assert "/promise" in str(page.url), page.text
    claims = plan_of(window)["claims"]
    assert claims["roles"]["specialty"] == "drop"
    assert not {"specialty", "pay_delay"} & claims["qi"].keys()
    assert "pay_delay" not in claims["derived"]


def test_a_new_quasi_identifier_has_the_hierarchy_of_its_role(window):
    """Without a hierarchy in the form the usual one of the role is written."""
    form, fields = opened_page(window)
    place = fields["claims", "specialty"]
    window.post("/columns", {**form, place: "drop"})
    form, fields = opened_page(window)
    window.post("/columns", {**form, place: "specialty"})
    assert plan_of(window)["claims"]["qi"]["specialty"] == "specialty"


def test_an_undecided_column_or_a_wrong_hierarchy_is_refused(window):
    """Nothing is saved, and what was chosen stays in the form."""
    before = (window.folder / JOB).read_text()
    form, fields = opened_page(window)
    undecided = window.post("/columns", {**form, fields["claims", "specialty"]: ""})
    hierarchy = fields["claims", "specialty"].replace("role", "qi")
    wrong = window.post("/columns", {**form, hierarchy: "nothing:5"})
    assert (undecided.status_code, wrong.status_code) == (400, 400)
    assert window.form_of(wrong, "/columns")[hierarchy] == "nothing:5"
    assert (window.folder / JOB).read_text() == before


def test_undecided_columns_are_dropped_at_once(window):
    """The page counts them and names them, and a button decides all; columns that can be computed stay as they are."""
    form, fields = opened_page(window)
    cleared = {fields["claims", "specialty"]: "", fields["claims", "pay_delay"]: "", fields["patients", "sex"]: ""}
    page = window.post("/columns", {**form, **cleared})
    assert "2 columns are undecided" in page.text
    assert "each column has a role: sex, specialty." in page.text
    window.post("/columns", {**window.form_of(page, "/columns"), "rest": "drop"})
    plan = plan_of(window)
    assert (plan["patients"]["roles"]["sex"], plan["claims"]["roles"]["specialty"]) == ("drop", "drop")
    assert "pay_delay" not in plan["claims"]["derived"]


def test_roles_belong_to_names_if_columns_of_a_file_move(window):
    """A page of an earlier state of the claims gives no role to another column."""
    claims = window.folder / "claims.csv"
    form, fields = opened_page(window)
    rows = [line.split(",") for line in claims.read_text().splitlines()]
    claims.write_text("".join(",".join(row[::-1]) + "\n" for row in rows))
    refused = window.post("/columns", form)
    assert refused.status_code == 409
    sent = window.form_of(refused, "/columns")
    now = {sent[f"claims-name-{place}"]: sent[f"claims-role-{place}"] for place in range(len(rows[0]))}
    assert now == {name: form[field] for (table, name), field in fields.items() if table == "claims" and name in now}


def test_a_column_kept_as_recorded_that_identifies_has_an_alert_with_its_fix(window):
    """Dates that would be released as recorded: the button gives them another role, and leaves all others alone."""
    form, fields = opened_page(window)
    field = fields["claims", "paid_date"]
    page = window.post("/columns/list", {**form, field: "keep"})
    assert "1 column is released as recorded, with signs of identifiers: paid_date." in page.text

    (fix,) = re.findall(r'name="fix" value="(drop:[^"]+)"', page.text)
    kept = window.form_of(page, "/columns")
    fixed = window.form_of(window.post("/columns/list", {**kept, "fix": fix}), "/columns")
    assert {name for name in fixed if fixed[name] != kept.get(name)} == {field}
    assert fixed[field] == "drop"


def test_the_fix_of_an_alert_is_for_its_column_wherever_that_is_now(window):
    """The columns of the file moved after the page was opened: the one that the alert names is dropped, no other."""
    form, fields = opened_page(window)
    page = window.post("/columns/list", {**form, fields["claims", "paid_date"]: "keep"})
    (fix,) = re.findall(r'name="fix" value="(drop:[^"]+)"', page.text)
    claims = window.folder / "claims.csv"
    claims.write_text("".join(",".join(line.split(",")[::-1]) + "\n" for line in claims.read_text().splitlines()))

    fixed = window.post("/columns/list", {**window.form_of(page, "/columns"), "fix": fix})
    roles = dict(re.findall(r'<label for="(claims-role-\d+)">([^<]+)</label>', fixed.text))
    sent = window.form_of(fixed, "/columns")
    assert {name: sent[field] for field, name in roles.items() if sent[field] in ("drop", "keep")} == {
        "paid_date": "drop"
    }


def test_enter_in_a_field_changes_no_role(window):
    """A browser then presses the first button of the form: it shows the page as it is filled in, and saves nothing."""
    form, fields = opened_page(window)
    page = window.post("/columns/list", {**form, fields["claims", "specialty"]: ""})
    start = page.text.index('<form method="post" action="/columns">')
    first = re.search(r"<button[^>]*>", page.text[start:])

    assert first is not None
    assert 'formaction="/columns/list?' in first[0]
    assert 'name="view"' in first[0]


def test_columns_are_found_by_name_and_by_filter(window):
    """Both files are searched; a hidden column keeps what was chosen, also if only the table is asked for."""
    form, fields = opened_page(window)
    changed = {fields["claims", "specialty"]: "drop", fields["claims", "specialty"].replace("role", "qi"): ""}
    searched = window.post("/columns/list", {**form, **changed, "find": "DATE"})
    part = window.post("/columns/list", {**form, "show": "quasi-identifier"}, {**OWN, "hx-request": "true"})
    names = [
        re.findall(r'<label for="(?:patients|claims)-role-\d+">([^<]+)</label>', one.text) for one in (searched, part)
    ]

    assert {"birth_date", "paid_date"} <= {*names[0]}
    assert "specialty" not in names[0]
    assert window.form_of(searched, "/columns").items() >= {**form, **changed, "find": "DATE"}.items()
    assert {"sex", "icd9", "pay_delay"} <= {*names[1]}
    assert "service_date" not in names[1]
    assert "<html" not in part.text


def test_a_suggested_role_has_its_evidence(window):
    """Each column of both files says why its role was suggested; a plan that was edited changes no suggestion."""
    form, fields = opened_page(window)
    window.post("/columns", {**form, fields["claims", "specialty"]: "drop"})
    page = window.get("/columns", job=JOB).text

    assert "Suggested role: id (sure). In both files, unique among patients." in page
    assert "Suggested role: specialty (sure). By name and content" in page
