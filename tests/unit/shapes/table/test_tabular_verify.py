"""The verifier: every promise has a release that breaks it, and a sentence that says so in counts."""

from dataclasses import replace

import polars as pl
import pytest

from cloister.hierarchy import hierarchy_rows, suppress
from cloister.io import Tally
from cloister.shapes.table.format.facts import class_sizes
from cloister.shapes.table.format.guarantee import Guarantee, OriginalTable
from cloister.shapes.table.verify.verify import released_texts, verify

AGES = hierarchy_rows([["31", "30s", "*"], ["35", "30s", "*"], ["42", "40s", "*"], ["99", "90s", "*"]])
TABLE = pl.DataFrame(
    {"id": ["a", "b", "c", "d", "e", "f"], "age": ["31", "35", "42", "42", "42", "99"], "dx": list("xyxyzx")}
)
ORIGINAL = OriginalTable(Tally(TABLE), {"age": AGES.bind("age", ["31", "35", "42", "99"])})
GOOD = pl.DataFrame({"id": [1, 2, 3, 4, 5], "age": ["30s", "30s", "40s", "40s", "40s"], "dx": list("xyxyz")})


def with_k(k, promise=None):
    """The good promise, or another, with k-anonymity of this k."""
    return replace(promise or PROMISE, k=k, rules=({"model": "k-anonymity", "k": k},))


K2 = ({"model": "k-anonymity", "k": 2},)
PROMISE = Guarantee(("id", "age", "dx"), {"age": 1}, 2, 5, 1, K2, id="id", numbered=True, limit=1)


def test_a_good_release_holds():
    """A release that keeps its promise holds, with and without the original."""
    assert verify(Tally(GOOD), PROMISE).holds
    verdict = verify(Tally(GOOD), PROMISE, ORIGINAL)
    assert verdict.holds
    assert verdict.failures == ()
    assert "compared with the original" in verdict.how


def set_cell(row, column, value):
    """The good release with one cell changed."""
    texts = GOOD.with_columns(pl.all().cast(pl.String))
    number = pl.int_range(pl.len())
    return texts.with_columns(pl.when(number == row).then(pl.lit(value)).otherwise(pl.col(column)).alias(column))


BROKEN = {
    "a column more": (GOOD.with_columns(x=1), PROMISE, "the file has 4 columns that are not, in order, the 3 declared"),
    "columns in another order": (GOOD.select("age", "id", "dx"), PROMISE, "3 columns that are not, in order"),
    "a record less": (GOOD.head(4), PROMISE, "there are released records, as many as declared (1 violation)"),
    "no record": (GOOD.head(0), PROMISE, "there are released records"),
    "a small class": (GOOD, with_k(3), "every class has at least 3 records (k-anonymity) (1 violation)"),
    "a value put back": (
        set_cell(0, "age", "31"),
        PROMISE,
        "every class has at least 2 records (k-anonymity) (2 violations)",
    ),
    "a missing value": (
        set_cell(0, "age", None),
        PROMISE,
        "every class has at least 2 records (k-anonymity) (2 violations)",
    ),
    "unsorted": (
        GOOD[[1, 0, 2, 3, 4]].with_columns(id=GOOD["id"]),
        PROMISE,
        "rows are sorted by their released values: their order reveals nothing (1 violation)",
    ),
    "ids unsorted": (
        GOOD.with_columns(id=GOOD["id"].reverse()),
        PROMISE,
        "not so: ids are 1, 2, 3 ... in the order of the file",
    ),
    "ids from elsewhere": (
        GOOD.with_columns(id=GOOD["id"] + 7),
        PROMISE,
        "not so: ids are 1, 2, 3 ... in the order of the file",
    ),
    "no star": (
        GOOD,
        replace(PROMISE, stars=True),
        "suppressed records are rows of *, as many as declared (1 violation)",
    ),
}


@pytest.mark.parametrize(("frame", "promise", "failure"), BROKEN.values(), ids=BROKEN)
def test_a_broken_promise(frame, promise, failure):
    """A release that breaks its promise is refused, and what is wrong is said."""
    verdict = verify(Tally(frame), promise)

    assert not verdict.holds
    assert failure in "; ".join(verdict.failures)


UNLIKE = {
    "a class left out": (
        GOOD.head(2),
        replace(PROMISE, released=2, suppressed=4, limit=4),
        "1 classes differ from the original",
    ),
    "another level": (GOOD, replace(PROMISE, levels={"age": 0}), "classes differ from the original"),
    "another number suppressed": (GOOD, replace(PROMISE, suppressed=2, limit=2), "it should be another number"),
    "too many suppressed": (GOOD, replace(PROMISE, limit=0), "more records were suppressed than the 0 allowed"),
    "values that were not there": (set_cell(4, "dx", "zz"), PROMISE, "2 combinations of values differ"),
}


@pytest.mark.parametrize(("frame", "promise", "failure"), UNLIKE.values(), ids=UNLIKE)
def test_a_release_unlike_its_original(frame, promise, failure):
    """A release that is not what its original gives at the stated levels is refused."""
    verdict = verify(Tally(frame), promise, ORIGINAL)

    assert not verdict.holds
    assert failure in "; ".join(verdict.failures)


def test_stars_are_set_aside():
    """Rows of ``*`` are suppressed records: no class, and no id."""
    stars = pl.DataFrame({"id": ["*"], "age": ["*"], "dx": ["*"]})
    frame = pl.concat([stars, GOOD.with_columns(pl.all().cast(pl.String))])

    assert verify(Tally(frame), replace(PROMISE, stars=True), ORIGINAL).holds
    assert not verify(Tally(frame), PROMISE).holds


def test_what_is_kept_back_is_not_judged():
    """Where the manifest keeps the number of suppressed records back, the rest is checked all the same."""
    hidden = replace(PROMISE, suppressed=None, limit=None)

    assert verify(Tally(GOOD), hidden, ORIGINAL).holds
    assert not verify(Tally(GOOD.head(4)), hidden, ORIGINAL).holds


def test_missing_sorts_first_and_forms_classes():
    """A missing value is someone: it has a class of its own, and stands first."""
    frame = pl.DataFrame({"a": [None, None, "x", "x"]}, schema={"a": pl.String})
    promise = Guarantee(("a",), {"a": 0}, 2, 4, 0, K2)

    assert verify(Tally(frame), promise).holds
    assert not verify(Tally(frame[[2, 3, 0, 1]]), promise).holds
    assert not verify(Tally(frame), with_k(3, promise)).holds


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", [*BROKEN, *UNLIKE])
def test_packed_text_is_judged_as_text(name):
    """Text that is packed, by its order or by another one, is judged as it is where it is not."""
    frame, promise, _ = (BROKEN | UNLIKE)[name]
    texts = frame.with_columns(pl.all().cast(pl.String))

    def packed(table, order):
        kinds = {column: sorted(table[column].drop_nulls().unique())[::order] for column in table.columns}
        return table.with_columns(table[column].cast(pl.Enum(kind)) for column, kind in kinds.items())

    for order in (1, -1):
        original = replace(ORIGINAL, tally=Tally(packed(TABLE, order)))
        found = verify(Tally(packed(texts, order)), promise, original)
        assert found.failures == verify(Tally(texts), promise, ORIGINAL).failures


def test_no_failure_tells_a_value():
    """No failure holds a value of the release or of the original."""
    for frame, promise, _ in [*BROKEN.values(), *UNLIKE.values()]:
        said = "; ".join(verify(Tally(frame), promise, ORIGINAL).failures)
        assert not [value for value in ("30s", "40s", "31", "99", "zz") if value in said]


NAMES = ["len", "^.*$", "*", "\0records", "\0records_released", "c0", "c1", "value", "label", "records", "literal"]


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("one", "other"), [pair for n in (1, 3) for pair in zip(NAMES, NAMES[n:] + NAMES[:n])])
def test_names_of_columns_are_names(one, other):
    """No name of a column is taken for a pattern or for another column, whatever its role."""
    frame = GOOD.with_columns(sex=pl.Series(["F"] * 5)).rename({"age": one, "dx": other})
    source = TABLE.with_columns(sex=pl.Series(list("FFFFFM"))).rename({"age": one, "dx": other})
    promise = replace(PROMISE, columns=("id", one, other, "sex"), levels={one: 1, "sex": 0})
    sexes = suppress().bind("sex", ["F", "M"])
    original = OriginalTable(Tally(source), {one: ORIGINAL.hierarchies["age"], "sex": sexes})

    assert verify(Tally(frame), promise, original).failures == ()
    assert class_sizes(released_texts(Tally(frame), promise), [one, "sex"]).sort().to_list() == [2, 3]
    assert not verify(Tally(frame), with_k(3, promise), original).holds
    assert not verify(Tally(frame.with_columns(sex=pl.Series(list("FFFFM")))), promise, original).holds
    moved = pl.Series(other, list("yxxyz"))
    changed = pl.DataFrame([moved if series.name == other else series for series in frame])
    assert "not so: rows are sorted" in verify(Tally(changed), promise, original).failures[0]


HASHES = [letter * 64 for letter in "cabde"]
KEYED = GOOD.with_columns(id=pl.Series(HASHES))


def test_keyed_ids():
    """Keyed ids are 64 hexadecimal digits, each of them once, and none is an id of the original."""
    promise = replace(PROMISE, numbered=False)
    broken = [
        [*HASHES[:4], "e" * 63],
        [*HASHES[:4], "E" * 64],
        [*HASHES[:4], "e" * 64 + "\n"],
        [*HASHES[:4], HASHES[0]],
        [*HASHES[:4], None],
    ]

    assert verify(Tally(KEYED), promise, ORIGINAL).holds
    for ids in broken:
        failures = verify(Tally(KEYED.with_columns(id=pl.Series(ids))), promise).failures
        assert failures == ("not so: ids are keyed hashes of 64 hexadecimal digits, each once (1 violation)",)
    same = OriginalTable(Tally(TABLE.with_columns(id=pl.Series([*HASHES, "f"]))), ORIGINAL.hierarchies)
    assert verify(Tally(KEYED), promise, same).failures == ("5 ids of the original were released",)


def test_keyed_ids_order_equal_records():
    """Where records are equal in all else, their keyed ids decide the order, so that the input's order never does."""
    equal = KEYED.with_columns(dx=pl.lit("x"))
    promise = replace(PROMISE, numbered=False)

    assert not verify(Tally(equal), promise).holds
    assert verify(Tally(equal[[1, 0, 2, 3, 4]]), promise).holds


def test_a_star_is_no_id_of_a_released_record():
    """A released record has an id of its own, also where it is generalized to the roots."""
    stars = pl.DataFrame({"id": ["*"] * 2, "age": ["*"] * 2, "dx": ["*"] * 2})
    frame = pl.concat([stars, GOOD.with_columns(pl.all().cast(pl.String))])
    promise = replace(PROMISE, stars=True, released=6)

    assert "not so: ids are 1, 2, 3" in "; ".join(verify(Tally(frame), promise).failures)
    assert "not so: ids are keyed" in "; ".join(verify(Tally(frame), replace(promise, numbered=False)).failures)


def test_a_number_kept_back_is_from_1_to_below_k():
    """With the original it is counted whether the number kept back is one that must be."""
    hidden = replace(PROMISE, suppressed=None, limit=None)
    none = OriginalTable(Tally(TABLE.head(5)), ORIGINAL.hierarchies)

    assert verify(Tally(GOOD), hidden, none).failures == (
        "fewer than 2 suppressed records are declared, but it should be none or more",
    )
