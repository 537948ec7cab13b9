"""Whether a first line names columns or is a record."""

import polars as pl
import pytest

from cloister.errors import InputError
from cloister.io.columns import check_header

RECORDS = {
    "an age": {"Maria": ["Anna", "Eva"], "30": ["41", "55"]},
    "a date": {"Maria": ["Anna", "Eva"], "1980-03-17": ["1975-01-01", "1999-12-31"]},
}
NAMED = {
    "years above counts": {"country": ["A", "B"], "2019": ["12", "7"], "2020": ["13", "101"]},
    "codes above zeros and ones": {"id": ["P1", "P2"], "401.9": ["0", "1"], "250.00": ["1", "1"]},
    "an index without a name": {"": ["0", "1"], "age": ["30", "41"]},
    "nothing below": {"30": [None, None]},
}


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_is_refused(name):
    """A first line whose cells look like those below is a patient."""
    with pytest.raises(InputError, match="looks like a record"):
        check_header(pl.DataFrame(RECORDS[name]), "people.csv")


@pytest.mark.parametrize("name", NAMED)
def test_names_that_look_like_values_are_names(name):
    """A year, a code or nothing at all may name a column of other values."""
    check_header(pl.DataFrame(NAMED[name], strict=False), "people.csv")
