"""A table whose codes are generalized inside its classes, from Python: what comes out, and what is refused."""

import polars as pl
import pytest

import cloister as cl
from cloister.shapes.table.format.manifest import guarantee_of
from cloister.shapes.table.method.protect import TableRelease
from cloister.shapes.table_with_codes.format.terms import NO_TERM, ReleasedTerms
from cloister.shapes.table_with_codes.verify.statements import find_broken_terms

PEOPLE = pl.DataFrame(
    {
        "mrn": [f"M{number:02d}" for number in range(24)],
        "age": [30 + number % 12 for number in range(24)],
        "diagnoses": ["250.00 401.9", "401.9", "250.00", ""] * 6,
        "sex": ["F", "M"] * 12,
    }
)
QUASI_IDENTIFIERS = {"age": cl.intervals(5, 10), "sex": cl.suppress()}
LONELY = PEOPLE.with_columns(age=pl.when(pl.col("mrn") < "M04").then(99).otherwise(pl.col("age")))


def anonymize(frame=PEOPLE, /, **settings):
    """The release of the people, with these settings."""
    wanted = {"qi": QUASI_IDENTIFIERS, "rule": [cl.KAnonymity(3)], "id": "mrn", "codes": "diagnoses"}
    return cl.protect_table(frame, **(wanted | {"codes_method": "cba"} | settings))


def test_the_release_of_a_table_with_terms():
    """It is a release of a table, whose column of codes has terms, and says what is promised of both."""
    release = anonymize(m=2)
    codes = release.summary()["codes"]

    assert isinstance(release, TableRelease)
    assert release.data.columns == ["mrn", "age", "diagnoses", "sex"]
    assert set(release.data["diagnoses"].drop_nulls()) <= {"250.00", "401.9", "250.00 401.9", "(250.00,401.9)"}
    assert (codes["column"], codes["method"]) == ("diagnoses", "cba")
    assert codes["settings"] == {"k": 3, "m": 2, "policy": None, "code_hierarchy": "icd9"}
    assert codes["guarantee"]["rules"] == [{"model": "(k,k^m)-anonymity", "k": 3, "m": 2, "column": "diagnoses"}]
    assert codes["patients"] == {"with_codes": 18, "without_codes": 6}
    assert release.verify().holds


def test_codes_and_words_in_another_order_make_no_difference():
    """Repeated codes, other white space and another order in a cell."""
    other = PEOPLE.with_columns(pl.col("diagnoses").replace({"250.00 401.9": " 401.9  250.00 401.9"}))

    assert anonymize().frame.equals(anonymize(other).frame)


def test_what_is_lost_is_counted_from_the_terms():
    """Of two classes: one term of two codes for three of four patients is half of their terms."""
    frame = pl.DataFrame({"age": ["a"] * 4 + ["b"] * 3, "codes": ["(x,y) z"] * 3 + ["z"] + ["x"] * 3})
    terms = ReleasedTerms.of(frame, "codes", ["age"])

    assert terms.terms.select("class", "term", "rows").rows() == [(0, "(x,y)", 3), (0, "z", 4), (1, "x", 3)]
    assert terms.members.rows() == [(0, "x", "(x,y)"), (0, "y", "(x,y)"), (0, "z", "z"), (1, "x", "x")]


def test_patients_whose_codes_are_all_suppressed_have_a_cell_of_their_own():
    """Where sets of a policy are too small, a class may lose all codes; its patients do not become ones without."""
    codes = pl.Series(["250.00"] * 6 + ["401.9", "401.9", "715.9"] + [""] * 3)
    frame = pl.DataFrame({"age": [30] * 6 + [50] * 3 + [30] * 3, "codes": codes, "id": range(12)})
    policy = cl.UtilityPolicy.of({"one": ["250.00"], "two": ["401.9"], "three": ["715.9"]})
    release = cl.protect_table(
        frame, qi={"age": "interval:10"}, k=3, id="id", codes="codes", policy=policy, codes_method="cba",
        purpose="one-coding",
    )  # fmt: skip
    by_age = release.frame.group_by("age").agg(pl.col("codes").unique()).sort("age")

    assert [set(cells) for cells in by_age["codes"]] == [{"250.00", None}, {NO_TERM}]
    assert release.summary()["codes"]["patients"] == {"with_codes": 9, "without_codes": 3}
    assert release.summary()["codes"]["utility"]["patients_without_terms"] == 3
    assert release.codebook.filter(pl.col("label") == NO_TERM)["meaning"].to_list() == [
        "codes, all of which are suppressed"
    ]
    assert release.verify().holds


@pytest.mark.parametrize("settings", [{"ids": "hmac", "id_key": b"k" * 32}, {"ids": "drop"}, {"method": "mondrian"}])
def test_ids_and_methods_of_tables(settings):
    """Keyed ids decide the order of equal rows, numbers come after terms; levels may differ between classes."""
    assert anonymize(**settings).verify().holds


def test_suppressed_records_can_be_kept_as_rows_of_stars():
    """A row of stars has a star for codes too, and no term."""
    release = anonymize(LONELY, keep_suppressed=True, suppression=0.5, level_bounds={"age": (0, 2)})
    stars = release.frame.filter(pl.col("age") == "*")

    assert stars.height == release.summary()["records"]["suppressed"] > 0
    assert {"*"} == set(stars["diagnoses"])
    assert release.verify().holds


@pytest.mark.parametrize("policy", ["sim:2", "sup:40", "level:1", None])
def test_codes_of_suppressed_patients_have_no_part(policy):
    """Whatever codes suppressed patients have, the release is the same."""
    settings = {"suppression": 0.5, "level_bounds": {"age": (0, 2)}, "policy": policy, "purpose": "one-coding"}
    one = anonymize(LONELY, **settings)
    kept = set(one.custody.crosswalk["original"])
    others = pl.when(pl.col("mrn").is_in(kept)).then(pl.col("diagnoses"))
    other = anonymize(LONELY.with_columns(diagnoses=others.otherwise(pl.lit("401.8 401.1 250.1 001"))), **settings)

    assert one.summary()["records"]["suppressed"] > 0
    assert one.frame.equals(other.frame)
    assert one.summary()["codes"] == other.summary()["codes"]


def test_a_recipient_counts_codes_and_conditions_together(tmp_path):
    """Terms of one code count exactly; a condition on a column as recorded is possible, as rows are of patients."""
    frame = PEOPLE.with_columns(ward=pl.Series(["x", "x", "y", "y"] * 6))
    anonymize(frame, keep=["ward"], suppression=0).write(tmp_path / "out")
    release = cl.open(tmp_path / "out")
    has_code = pl.col("diagnoses").str.contains("401.9", literal=True)

    for where, rows in (({}, frame), ({"ward": "x"}, frame.filter(ward="x")), ({"sex": "F"}, frame.filter(sex="F"))):
        found = release.count(["401.9"], where=where)
        assert found.lower <= rows.filter(has_code).height <= found.upper
    assert release.count(["999.9"]) == cl.CountBounds(0, 0.0, 0)
    with pytest.raises(cl.InputError, match="no disassociated codes"):
        release.reconstruct(1)
    for codes, column, reason in (([], "sex", "Give one or more"), (["401.9"], "codes", "another column")):
        with pytest.raises(cl.InputError, match=reason):
            release.count_by(codes, column)
    assert release.count_by("401.9", "sex").equals(release.count_by(["401.9"], "sex"))
    with pytest.raises(cl.InputError, match="Ask for codes, not for terms"):
        release.count(["(250.00,401.9)"])


@pytest.mark.parametrize("cell", ["*", "250.00\u00a0401.9", "250.00\t401.9"])
def test_what_is_no_term_is_rejected(cell):
    """A star, which stands for nothing here, and white space in a code."""
    release = anonymize(m=2)
    promised = guarantee_of(release.derived.stated)
    codes = pl.when(pl.col("diagnoses").is_null()).then(None).otherwise(pl.lit(cell)).alias("diagnoses")
    found = find_broken_terms(release.data.with_columns(codes), promised, "diagnoses", 3, 2)

    assert not any(one.violations for one in find_broken_terms(release.data, promised, "diagnoses", 3, 2))
    assert any(one.violations for one in found)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"codes_method": "chunks"}, "codes_method must be disassociation, cba, ugaclip, generalization or apriori"),
        ({"codes": None}, "Leave out codes_method, or name a column of codes"),
        ({"max_cluster_size": 8}, "max_cluster_size is for the method disassociation, but codes_method"),
        ({"m": 0}, "m must be a whole number from 1, not 0"),
        ({"rule": ["l-diversity:sex=2"], "qi": {"age": "suppress"}}, "needs k-anonymity as well"),
        ({"codes": "diagnosis"}, "no such column"),
        ({"codes_method": "apriori", "policy": "sim:2"}, "cannot keep"),
        ({"id": None, "patient": "mrn"}, "one patient could be all k of them"),
        ({"rule": [cl.KAnonymity(3), cl.LDiversity(2, "ward")], "sensitive": ["ward"]}, "ward=2 is about all records"),
    ],
)
def test_what_cannot_be_asked(settings, words):
    """A request that makes no sense is refused, and says why."""
    with pytest.raises(cl.InputError, match=words):
        anonymize(**settings)


def test_codes_that_read_as_terms_are_refused():
    """Brackets and commas write terms; a code with one is counted, and not shown."""
    odd = PEOPLE.with_columns(diagnoses=pl.lit("(XYZZY,1)"))
    with pytest.raises(cl.InputError, match="1 of 1 distinct codes have a bracket or a comma") as refused:
        anonymize(odd)
    assert "XYZZY" not in str(refused.value)


def test_where_no_code_can_be_released():
    """If every code of every class would be suppressed there is no release."""
    frame = pl.DataFrame({"age": [30] * 3, "codes": ["250.00", "401.9", "715.9"], "id": range(3)})
    policy = cl.UtilityPolicy.of({"one": ["250.00"], "two": ["401.9"], "three": ["715.9"]})
    with pytest.raises(cl.NoSafeRelease, match="every code would have to be suppressed"):
        cl.protect_table(frame, qi=["age"], k=3, id="id", codes="codes", policy=policy, codes_method="cba")
