"""Columns that two parts spell differently: whoever reads them as the same joins rows, and both searches see it."""

import random
import unicodedata
from datetime import date

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples

from cloister.jobs import recheck, recheck_spelling, release, spelling
from cloister.jobs.unlinkable import ReleasedPart, _why
from cloister.settings.reading import USUAL, parse_date_format

LOOKUPS = (release.LOOKUP, recheck.LOOKUP)
DAYS = st.dates(date(1969, 1, 1), date(2068, 12, 31))
WORDS = st.text("abcxyzäöü", min_size=1, max_size=6)


def written(form):
    """What writes a day in a format of the reader."""
    parsed = parse_date_format(form)
    padded = "dd" in form

    def write(text):
        day = date.fromisoformat(text)
        found = day.strftime(parsed.strptime)
        return found if padded else "".join(_unpadded(parsed.strptime, day))

    return write


def _unpadded(directives, day):
    """The parts of a day, without leading zeros."""
    at = 0
    while at < len(directives):
        if directives[at] == "%":
            whole = day.strftime(directives[at : at + 2])
            yield whole if directives[at + 1] in "yYb" else whole.lstrip("0")
            at += 2
        else:
            yield directives[at]
            at += 1


RESPELLINGS = {
    **{f"dates as {form}": (DAYS.map(date.isoformat), written(form)) for form in USUAL},
    "time stamps": (DAYS.map(date.isoformat), lambda text: f"{text}T10:30:00Z"),
    "case": (st.from_regex("[a-z][0-9]{1,4}", fullmatch=True), str.upper),
    "decimal comma": (st.integers(-9999, 9999).map(lambda n: f"{n / 10}"), lambda text: text.replace(".", ",")),
    "decomposed": (WORDS.map(lambda text: f"ü{text}"), lambda text: unicodedata.normalize("NFD", text)),
    "no-break space": (st.tuples(WORDS, WORDS).map(" ".join), lambda text: text.replace(" ", "\u00a0")),
    "hyphen": (st.integers(1, 999).map(lambda n: f"A-{n}"), lambda text: text.replace("-", " ")),
    "prefix": (st.integers(0, 999).map(lambda n: f"{n:03}"), lambda text: f"P{text}"),
    "prefix and zeros": (st.integers(1, 999).map(str), lambda text: f"PAT-{text.zfill(6)}"),
    "sharp s": (WORDS.map(lambda text: f"{text}ße"), str.upper),
}


def part(values):
    """What a part releases that has one column."""
    return ReleasedPart(pl.DataFrame({"c": pl.Series(values, dtype=pl.String)}), 2)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("how", RESPELLINGS)
@examples(40)
@given(st.data())
def test_a_column_that_is_respelled_joins_rows(how, data):
    """Rows that lead to one row by a reading are refused by both searches; those that lead to two are not."""
    values, respelled = RESPELLINGS[how]
    one = data.draw(st.lists(values, min_size=3, max_size=12, unique_by=str.casefold))
    two = data.draw(st.permutations([respelled(value) for value in one]))

    for lookup in LOOKUPS:
        assert _why(part(one), part(two), lookup) != []
        assert _why(part(one * 2), part(two * 2), lookup) == []


def test_columns_that_are_respelled_in_several_ways_join_rows_together():
    """Neither column joins rows alone; read each in its own way, both together do."""
    rows = [(f"2020-01-{1 + n % 5:02}", f"u{n // 5}") for n in range(20)]
    ours = [(day, f"u-{number[1:]}") for day, number in rows]
    theirs = [(f"{day[8:]}.{day[5:7]}.{day[:4]}", f"{int(number[1:]):03}") for day, number in rows]
    parts = [ReleasedPart(pl.DataFrame(one, schema=["day", "ward"], orient="row"), 4) for one in (ours, theirs)]

    for lookup in LOOKUPS:
        assert _why(*parts, lookup) == ["values of day, ward lead to fewer than 4"]


ODD = st.one_of(
    st.none(),
    st.text("aAäßẞ017.,-+/ eEPpⅣ²\u00a0\u0308\u2212:T", max_size=7),
    st.sampled_from(["1/2/20", "13/2/2020", "2/13/2020", "31.2.2020", "1e400", "20200231", "5-Jan-20", "Jan 5 2020"]),
)


@examples(400)
@given(st.lists(ODD, min_size=1, max_size=8), st.lists(ODD, min_size=1, max_size=8))
def test_both_searches_read_columns_alike(one, two):
    """Written twice, readings take the same values for one: what is released is not refused by the verifier."""
    frames = [pl.DataFrame({"c": pl.Series(values, dtype=pl.String)}) for values in (one, two)]

    assert _partitions(spelling, frames) == _partitions(recheck_spelling, frames)


def _partitions(module, frames):
    """Which rows are equal, in each reading."""
    return {
        tuple(values.index(value) for value in values)
        for one, two in module.respell(*frames)
        for values in [[*one["c"], *two["c"]]]
    }


UNRELATED = {
    "sexes": lambda draw: draw.choice(["F", "M"]),
    "counts": lambda draw: str(min(draw.randrange(4), draw.randrange(4))),
    "marks": lambda draw: draw.choice("+-"),
    "wards": lambda draw: draw.choice(["A-1", "A-2", "B-1"]),
}


@pytest.mark.parametrize("what", UNRELATED)
@examples(20)
@given(st.integers(0, 2**32 - 1))
def test_columns_of_few_values_are_not_refused(what, seed):
    """Two columns of one name and few values, each of many rows, join none."""
    draw = random.Random(seed)
    columns = [[UNRELATED[what](draw) for _ in range(300)] for _ in range(2)]

    for lookup in LOOKUPS:
        assert _why(part(columns[0]), part(columns[1]), lookup) == []
