"""Dates: labels, chains of units, refusals."""

import pytest

from cloister import errors
from cloister.hierarchy import dates, parse_hierarchy


@pytest.mark.parametrize(
    ("unit", "label"),
    [
        ("day", "2024-05-17"),
        ("week", "2024-W20"),
        ("month", "2024-05"),
        ("quarter", "2024-Q2"),
        ("year", "2024"),
        ("decade", "2020s"),
    ],
)
@pytest.mark.parametrize("value", ["2024-05-17", "2024-05-17T23:59:59", "2024-05-17 00:00", "2024-05-17T12:00:00.5Z"])
def test_labels_of_each_unit(unit: str, label: str, value: str) -> None:
    """A date is named by its period; the time does not matter."""
    assert [level[0] for level in dates(unit).bind("seen", [value]).labels] == [value, label, "*"]


def test_weeks_follow_iso_at_the_turn_of_the_year() -> None:
    """The last days of December may belong to week 1 of the next year, the first of January to week 53."""
    hierarchy = dates("week").bind("seen", ["2019-12-31", "2021-01-01"])

    assert hierarchy.labels[1] == ("2020-W01", "2020-W53")


def test_quarters_begin_in_january_april_july_october() -> None:
    """Every month falls into its quarter."""
    hierarchy = dates("quarter").bind("seen", [f"2024-{month:02d}-01" for month in range(1, 13)])

    assert [label[-1] for label in hierarchy.labels[1]] == list("111222333444")


def test_domain_is_the_values_present() -> None:
    """A label covers the values present that share it; missing is apart."""
    hierarchy = dates("month", "year").bind("seen", ["2024-05-17", "2024-05-18", "2024-06-01", None])

    assert hierarchy.leaves.tolist() == [[1, 1, 1, 1], [2, 2, 1, 1], [3, 3, 3, 1], [4, 4, 4, 4]]
    assert [level[-1] for level in hierarchy.labels] == [None, None, None, "*"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2024-5",
        "24",
        "17.05.2024",
        "2024-13-01",
        "2023-02-29",
        "20240517",
        "2024-W20-5",
        "2024-05-17T25:00",
        "0000-01-01",
    ],
)
def test_what_is_no_iso_date_is_outside(text: str) -> None:
    """Only dates of the calendar are covered."""
    assert dates("year").outside(["2024-05-17", text, None]) == [text]
    with pytest.raises(errors.InputError, match="1 of 2 distinct values of column 'seen' are not dates"):
        dates("year").bind("seen", ["2024-05-17", text])


@pytest.mark.parametrize("chain", [(), ("hour",), ("Month",), ("",)])
def test_units_must_be_known(chain: tuple[str, ...]) -> None:
    """The refusal lists the units."""
    with pytest.raises(errors.InputError, match="day, week, month, quarter, year, decade"):
        dates(*chain)


@pytest.mark.parametrize(
    "chain", [("year", "month"), ("month", "month"), ("week", "month"), ("week", "year"), ("week", "day")]
)
def test_units_must_nest(chain: tuple[str, ...]) -> None:
    """Units stand from fine to coarse, and nothing but the root is above weeks."""
    with pytest.raises(errors.InputError, match="units that nest"):
        dates(*chain)


def test_spec_is_as_typed() -> None:
    """The specification can be typed again."""
    assert (dates("month", "year").kind, dates("month", "year").spec) == ("date", "date:month,year")


def test_dates_that_are_cut_short_join_where_they_are_known() -> None:
    """A year joins at the year, a month at the month; until then each keeps what is known of it."""
    bound = dates("month", "quarter", "year").bind("onset", ["2019-05-12", "2019-05", "2019"])
    labels = {value: [level[place] for level in bound.labels] for place, value in enumerate(bound.values)}

    assert labels["2019"] == ["2019", "2019", "2019", "2019", "*"]
    assert labels["2019-05"] == ["2019-05", "2019-05", "2019-Q2", "2019", "*"]
    assert labels["2019-05-12"] == ["2019-05-12", "2019-05", "2019-Q2", "2019", "*"]


def test_years_before_the_bottom_are_one_group_at_every_level() -> None:
    """Births of people over 89 are never released by year: ``bottom`` acts from the recorded date on."""
    hierarchy = parse_hierarchy("date:year,decade/bottom=1937")
    bound = hierarchy.bind("born", ["1931-02-03", "1936-01-01", "1937-05-05"])

    assert hierarchy.spec == "date:year,decade/bottom=1937"
    assert [level[0] for level in bound.labels] == ["<1937", "<1937", "<1937", "*"]
    assert [level[2] for level in bound.labels] == ["1937-05-05", "1937", "1930s", "*"]
