"""A table with a column of codes, from Python: what comes out, and what is refused."""

import pandas as pd
import polars as pl
import pytest

import cloister as cl

MARKER = "XYZZY"
PEOPLE = pl.DataFrame(
    {
        "mrn": [f"M{number:02d}" for number in range(24)],
        "age": [30 + number % 12 for number in range(24)],
        "diagnoses": ["250.00 401.9", "401.9", "250.00", ""] * 6,
        "sex": ["F", "M"] * 12,
    }
)
QUASI_IDENTIFIERS = {"age": cl.intervals(5, 10), "sex": cl.suppress()}


def anonymize(frame=PEOPLE, /, **settings):
    """The release of the people, with these settings."""
    frame = settings.pop("frame", frame)
    wanted = {"qi": QUASI_IDENTIFIERS, "rule": [cl.KAnonymity(3)], "id": "mrn", "codes": "diagnoses"}
    return cl.protect_table(frame, **(wanted | settings))


def test_the_release_of_a_table_with_codes():
    """It is a release of a table, with clusters that name the class they are in, and says what is promised of both."""
    release = anonymize(m=2)
    codes = release.summary()["codes"]

    assert isinstance(release, cl.TableWithCodesRelease)
    assert release.data.columns == ["mrn", "age", "diagnoses", "sex"]
    assert release.clusters.class_columns == ("age", "sex")
    assert codes["guarantee"]["rules"] == [{"model": "(k,k^m)-anonymity", "k": 3, "m": 2, "column": "diagnoses"}]
    assert codes["patients"] == {"with_codes": 18, "without_codes": 6}
    assert release.reconstruct(seed=3).n_records == 18
    assert release.verify().holds


def test_a_dataframe_comes_back_as_it_came():
    """pandas in, pandas out; the release is the same."""
    release = anonymize(pd.DataFrame(PEOPLE.to_dict(as_series=False)))

    assert isinstance(release.data, pd.DataFrame)
    assert anonymize().frame.equals(release.frame)


@pytest.mark.parametrize("method", ["disassociation", "cba"])
def test_codes_are_not_compared_with_their_presence(method):
    """The table counts who has any codes, which says nothing of how often a code or a term was in the original."""
    counts = anonymize(codes_method=method, method="full-domain").original_counts()

    assert set(counts.labels) == {"age", "sex"}


def test_codes_need_not_stand_in_order():
    """Repeated codes, other white space and another order in a cell make no difference."""
    other = PEOPLE.with_columns(pl.col("diagnoses").replace({"250.00 401.9": " 401.9  250.00 401.9"}))

    assert anonymize().frame.equals(anonymize(other).frame)


def test_suppressed_records_can_be_kept_as_rows_of_stars():
    """A row of stars has a star for codes too, and is no class."""
    lonely = PEOPLE.with_columns(age=pl.when(pl.col("mrn") < "M04").then(99).otherwise(pl.col("age")))
    release = anonymize(lonely, keep_suppressed=True, suppression=0.5, level_bounds={"age": (0, 2)})
    stars = release.frame.filter(pl.col("age") == "*")

    assert stars.height == release.summary()["records"]["suppressed"]
    assert stars.height > 0
    assert {"*"} == set(stars["diagnoses"])
    assert release.verify().holds


def test_the_ids_can_be_keyed():
    """With keyed ids, equal rows are in the order of their codes first."""
    release = anonymize(ids="hmac", id_key=b"k" * 32)

    assert release.verify().holds


def test_merging_classes_tells_more_counts():
    """Within a larger loss more occurrences of codes are told."""
    one, other = anonymize(), anonymize(merge_classes=0.9)

    counted = [each.summary()["codes"]["utility"]["occurrences_counted"] for each in (one, other)]
    assert counted == sorted(counted)
    assert other.summary()["utility"]["loss"] <= 0.9
    assert other.summary()["method"] == "merged-classes"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"codes": "diagnosis"}, "no such column. Did you mean 'diagnoses'?"),
        ({"sensitive": ["diagnoses"]}, "and another role"),
        ({"rule": ["l-diversity:sex=2"], "qi": {"age": "suppress"}}, "needs k-anonymity as well"),
        ({"m": 0}, "m must be a whole number from 1, not 0"),
        ({"max_cluster_size": 3}, "max_cluster_size must be a whole number from 4"),
        ({"merge_classes": 1.5}, "a loss from 0 to 1"),
        ({"merge_classes": 0.5, "loss": "entropy"}, "cannot be merged by the loss entropy"),
        ({"codes": None, "m": 3}, "name a column of codes with codes"),
        ({"codes": None, "merge_classes": 0.3}, "name a column of codes with codes"),
        ({"policy": cl.UtilityPolicy.of({"one": [MARKER]})}, "does not occur in the data"),
        ({"qi": {}}, "No quasi-identifier was named"),
        ({"levels": {"age": 1, "sex": 0, "diagnoses": 1}}, "which have no levels"),
        ({"frame": PEOPLE.head(0)}, "has no records"),
        ({"id": None, "patient": "mrn"}, "one patient could be all k of them"),
        (
            {"frame": PEOPLE.with_columns(diagnoses=pl.lit("401.9 @XYZZY")), "escape_formulas": True},
            "escape_formulas escapes other cells only",
        ),
        ({"rule": [cl.KAnonymity(3), cl.KMap(3, population=PEOPLE, name="all")]}, "compares classes with a population"),
    ],
)
def test_what_cannot_be_asked(settings, words):
    """A request that makes no sense is refused, and says why."""
    with pytest.raises(cl.InputError, match=words.replace("?", r"\?")):
        anonymize(**settings)


def test_nobody_has_codes():
    """A column without any codes is refused."""
    with pytest.raises(cl.InputError, match="there is nothing to release"):
        anonymize(PEOPLE.with_columns(diagnoses=pl.lit("")))


@pytest.mark.parametrize("cell", ["*", "* *", "* 250.00"])
def test_a_code_that_reads_as_suppressed(cell):
    """A cell of one star would be taken for a suppressed record; in a reconstruction any code can be alone."""
    with pytest.raises(cl.InputError, match="stands for suppressed records"):
        anonymize(PEOPLE.with_columns(diagnoses=pl.lit(cell)))


@pytest.mark.parametrize("policy", ["sim:2", "sup:40", "level:1", None])
def test_codes_of_suppressed_patients_have_no_part(policy):
    """Whatever codes suppressed patients have, the release is the same."""
    lonely = PEOPLE.with_columns(age=pl.when(pl.col("mrn") < "M04").then(99).otherwise(pl.col("age")))
    settings = {"suppression": 0.5, "level_bounds": {"age": (0, 2)}, "policy": policy, "purpose": "one-coding"}
    one = anonymize(lonely, **settings)
    kept = set(one.custody.crosswalk["original"])
    others = pl.when(pl.col("mrn").is_in(kept)).then(pl.col("diagnoses"))
    other = anonymize(lonely.with_columns(diagnoses=others.otherwise(pl.lit("401.8 401.1 250.1 001"))), **settings)

    assert one.summary()["records"]["suppressed"] > 0
    assert one.frame.equals(other.frame)
    assert one.summary()["codes"] == other.summary()["codes"]


def test_what_was_proven_is_not_said_of_merged_classes():
    """The policy was the least lossy one; the release is not."""
    search = anonymize(merge_classes=0.9).summary()["search"]

    assert (search["optimal"], search["bound"], search["gap"]) == (False, None, None)


def test_too_few_patients_have_codes():
    """Where everybody who has codes would be suppressed there is no release, and no code is told."""
    rare = PEOPLE.with_columns(diagnoses=pl.when(pl.col("mrn") == "M00").then(pl.lit(MARKER)).otherwise(pl.lit("")))
    with pytest.raises(cl.NoSafeRelease, match="patients with codes would be suppressed") as refused:
        anonymize(rare, suppression=0.1)

    assert MARKER not in str(refused.value)
