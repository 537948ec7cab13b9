"""Values of columns that are looked at together."""

import polars as pl

from cloister.evidence import column as evidence
from cloister.evidence.column import Column, read_numbers
from cloister.risk import values
from cloister.risk.values import TEXT, Values, forms, sum_up_together

COLUMNS = (
    ["a1", "b", None, "a1"],
    ["x", "y", "z", "z"],
    [None] * 4,
    ["1.5", " 2", "a", "-3"],
    ["é9", "9", "99", "999"],
)
ASKED = forms(r"[0-9]", r"^[a-z]$") | {"length": TEXT.str.len_chars()}


def test_columns_answer_together_what_each_answers_alone(monkeypatch):
    """Sums over records are those of each column, whatever lies next to it, in however many parts."""
    texts = [pl.Series(f"c{place}", one, dtype=pl.String) for place, one in enumerate(COLUMNS)]
    by_hand = [
        (sum(any(mark.isdigit() for mark in one) for one in some), sum(one in [*"xyzab"] for one in some),
         sum(map(len, some)))
        for some in ([one for one in column if one is not None] for column in COLUMNS)
    ]  # fmt: skip
    for at_once in (1, 3, 5, 1_000):
        monkeypatch.setattr(values, "AT_ONCE", at_once)
        counted = [Values.of(text).in_order() for text in texts]
        sum_up_together(counted, ASKED)
        assert [{name: one.sums.get(name, 0) for name in ASKED} for one in counted] == [
            dict(zip(ASKED, one, strict=True)) for one in by_hand
        ]
    assert [Values.of(text).sum_up(ASKED) for text in texts] == by_hand


def test_records_of_a_tally_count_as_often_as_they_are():
    """A row of a tally counts as its records."""
    counted = Values.of(pl.Series(["a1", "b", None, "a1"]), pl.Series([2, 3, 4, 5]))

    assert counted.count_like("[0-9]", "b") == (7, 3)
    assert counted.n_records == 10


def test_numbers_are_read_together_as_alone():
    """The numbers of each column are its own, NaN where a value is none."""
    texts = [pl.Series(f"c{place}", one, dtype=pl.String) for place, one in enumerate(COLUMNS)]
    alone, together = ([Column.of(text, "") for text in texts] for _ in range(2))
    read_numbers(together)

    assert all("numbers" in vars(one) for one in together)
    assert [[*map(str, one.numbers)] for one in alone] == [[*map(str, one.numbers)] for one in together]
    assert evidence.complete("a") == "^(?:a)$"
