"""Lists of codes become numbered sets, whatever the layout and the order of the lines."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloister import CodeSets
from cloister.errors import InputError
from cloister.io import CodeColumns, Source, code_lists
from cloister.shapes.codes import data as module
from cloister.shapes.codes.data import encode

RECORDS = st.lists(
    st.lists(st.sampled_from(["a", "a.1", "B", "001", "é"]), min_size=1, max_size=6), min_size=1, max_size=9
)


def wide(cells, missing=(), ids=None):
    """A source of one patient a line."""
    columns = {} if ids is None else {"id": ids}
    frame = pl.DataFrame(columns | {"codes": cells}, schema_overrides={"codes": pl.String})
    return code_lists(Source(frame, "csv", ",", "utf-8", "codes.csv"), CodeColumns(), missing)


def long(rows, missing=()):
    """A source of one code a line."""
    frame = pl.DataFrame(rows, schema={"id": pl.String, "code": pl.String}, orient="row")
    return code_lists(Source(frame, "csv", ",", "utf-8", "codes.csv"), CodeColumns(), missing)


def sets(encoded):
    """The code sets as lists of codes."""
    codes = encoded.codes
    return [[codes.vocabulary[i] for i in codes.items[a:b]] for a, b in pairwise(codes.offsets.tolist())]


@given(RECORDS)
def test_wide_lists_become_sets(records):
    """Each record holds its codes once, in the order of their bytes."""
    encoded = encode(wide([" ".join(record) for record in records]))

    assert [sorted(set(record), key=str.encode) for record in records] == sets(encoded)
    assert encoded.codes.items.dtype == np.int32


@given(RECORDS, st.randoms(use_true_random=False))
def test_long_lists_become_the_same_sets_in_any_order(records, random):
    """One code a line gives the same sets as one patient a line, records in the order of their ids."""
    rows = [(f"{number:03d}", code) for number, record in enumerate(records) for code in record]
    random.shuffle(rows)
    encoded = encode(long(rows))

    assert sets(encode(wide([" ".join(record) for record in records]))) == sets(encoded)
    assert [f"{number:03d}" for number in range(len(records))] == encoded.codes.ids.to_list()


@given(RECORDS)
def test_repeats_are_numbered(records):
    """With repeats the n-th occurrence of a code is an item of its own, as in code sets made of lists."""
    encoded = encode(wide([" ".join(record) for record in records]), repeats=True)
    expected = CodeSets.from_records(records, repeats=True)

    assert expected.vocabulary == encoded.codes.vocabulary
    assert expected.offsets.tolist() == encoded.codes.offsets.tolist()
    assert expected.items.tolist() == encoded.codes.items.tolist()


@given(RECORDS, st.integers(1, 4))
def test_slices_make_no_difference(records, at_once):
    """However many records are split at a time, the sets are the same."""
    source = wide([" ".join(record) for record in records])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "RECORDS_AT_ONCE", at_once)
        pieces = encode(source)
    whole = encode(source)

    assert whole.codes.items.tolist() == pieces.codes.items.tolist()
    assert whole.codes.vocabulary == pieces.codes.vocabulary


def test_white_space_of_all_kinds_separates():
    """Several spaces, tabs and spaces at the ends are no codes."""
    assert sets(encode(wide(["  a \t b ", "c"]))) == [["a", "b"], ["c"]]


def test_missing_texts_are_no_codes():
    """A text that stands for a missing code is left out, also among others."""
    assert sets(encode(wide(["250 ? 401", "401"], missing=("?",)))) == [["250", "401"], ["401"]]
    encoded = encode(long([("1", "250"), ("1", "?"), ("2", "401")], missing=("?",)))
    assert sets(encoded) == [["250"], ["401"]]
    assert encoded.notes[-1] == "lines of codes.csv without a code were passed over"


@pytest.mark.parametrize(
    "source", [wide(["a", None, "b"], ids=["1", "2", "3"]), long([("1", "a"), ("2", None), ("3", "b")])]
)
def test_patients_without_codes(source):
    """They are refused, and on request left out, counted and said."""
    with pytest.raises(InputError, match=r"1 of 3 patients in codes.csv have no code.*drop_empty"):
        encode(source)
    encoded = encode(source, drop_empty=True)

    assert sets(encoded) == [["a"], ["b"]]
    assert encoded.codes.ids.to_list() == ["1", "3"]
    assert (encoded.n_empty, encoded.lines.tolist()) == (1, [0, 2])


def test_the_first_patient_without_codes_is_named_by_position():
    """Of a file with one patient a line the record is told."""
    with pytest.raises(InputError, match="the first is record 2") as caught:
        encode(wide(["a", None, None]))

    assert caught.value.row == 2


def test_nobody_has_a_code():
    """Nothing to release is refused, also with leave to drop."""
    with pytest.raises(InputError, match="No patient"):
        encode(wide([None, None]), drop_empty=True)


@pytest.mark.parametrize(
    ("source", "repeats", "words"),
    [
        (long([("1", "250 01"), ("2", "401")]), False, "1 of 2 distinct codes of column 'code' have white space"),
        (wide(["250#1 401"]), True, "1 of 2 distinct codes of column 'codes' end in #"),
    ],
)
def test_codes_that_could_not_be_told_apart(source, repeats, words):
    """Codes that a release would write like others are refused, in counts."""
    with pytest.raises(InputError, match=words):
        encode(source, repeats=repeats)


def test_one_code_a_million_times():
    """One patient with one code a million times, and a vocabulary of one."""
    encoded = encode(wide([" ".join(["250.00"] * 1_000_000), "250.00"]))

    assert encoded.codes.vocabulary == ("250.00",)
    assert encoded.codes.offsets.tolist() == [0, 1, 2]


def test_a_record_with_many_codes():
    """A record may have 10,000 codes."""
    codes = [f"{number:05d}" for number in range(10_000)]

    assert [codes, ["00001"]] == sets(encode(wide([" ".join(reversed(codes)), "00001"])))


def test_code_sets_are_read_from_files(tmp_path):
    """``CodeSets.read`` does it all, and shows no values."""
    path = tmp_path / "codes.csv"
    path.write_text("patient_id,codes\nP1,250.10 001\nP2,V51\n")
    codes = CodeSets.read(path)

    assert codes.vocabulary == ("001", "250.10", "V51")
    assert codes.ids.to_list() == ["P1", "P2"]
    assert repr(codes) == "CodeSets(2 records, 3 codes, 3 occurrences)"
