"""Forms of dates: what they read, and which one is proposed."""

import pytest

from cloister.errors import InputError
from cloister.settings.reading import formats_of, parse_date_format, proposal


@pytest.mark.parametrize(
    ("words", "date"),
    [
        ("dd.mm.yyyy", "31.12.2020"),
        ("d.m.yy", "1.2.20"),
        ("m/d/yy", "12/31/99"),
        ("yyyymmdd", "20201231"),
        ("d-mon-yyyy", "3-Feb-2021"),
        ("dd.mm.yyyy hh:mm", "31.12.2020 8:05"),
        ("%d %B %Y", "5 March 2020"),
        ("%m/%d/%Y %H:%M:%S", "1/2/2020 10:11:12"),
    ],
)
def test_words_and_directives_say_how_a_date_is_written(words, date):
    """A format fits dates so written, and none written otherwise."""
    form = parse_date_format(words)

    assert form.fits(date)
    assert not form.fits("2020-12-31")
    assert not form.fits(f"{date} ")


@pytest.mark.parametrize("words", ["", "dd.mm", "dd.dd.yyyy", "yyyy", "day", "%d.%m", "%d.%m.%Q", "%", "dd.mm.yyyy %d"])
def test_what_is_no_format_is_refused(words):
    """A date has one day, one month and one year; anything else is refused, and the message has examples."""
    with pytest.raises(InputError, match=r"dd\.mm\.yyyy"):
        parse_date_format(words)


@pytest.mark.parametrize("date", ["31.02.2020", "31/12/2020", "1.2.20", "00.01.2020", "٣1.12.2020"])
def test_no_day_of_the_calendar_fits(date):
    """Days that there are not, other marks and other digits do not fit."""
    assert not parse_date_format("dd.mm.yyyy").fits(date)


def test_the_format_of_most_texts_is_proposed():
    """The stricter of two formats is proposed, both where either can be meant, none for texts that are no dates."""
    assert formats_of(["31.12.2020", "01.02.2021"]) == (["dd.mm.yyyy"], 2)
    assert formats_of(["31.12.2020", "1.2.2021", "soon"]) == (["d.m.yyyy"], 2)
    assert formats_of(["01/02/2021"]) == (["dd/mm/yyyy", "mm/dd/yyyy"], 1)
    assert formats_of(["01/02/2021", "01/31/2021"]) == (["mm/dd/yyyy"], 2)
    assert formats_of(["2021-01-31", "x", "y"]) == ([], 0)
    assert formats_of([]) == ([], 0)


def test_a_proposal_says_counts_and_no_value():
    """What is proposed is a setting, with how many texts it would read."""
    said = proposal(["31.12.2020", "secret", "01.01.2020"])

    assert "2 of 3 values are dates as dd.mm.yyyy" in said
    assert "secret" not in said
    assert "31" not in said
