"""The quick preview of cut points gives what the preview of any hierarchy gives."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples

from cloister.hierarchy import CutHierarchy, preview
from cloister.hierarchy.cut_preview import CountedNumbers, preview_cuts

WHOLE = st.integers(-(10**6), 10**6)
DECIMALS = st.decimals(-1000, 1000, places=2)
TEXTS = WHOLE.map(str) | DECIMALS.map(str) | WHOLE.map("{}.".format)


@given(
    st.dictionaries(TEXTS, st.integers(1, 9), min_size=1, max_size=30),
    st.lists(WHOLE, min_size=1, max_size=4, unique=True) | st.lists(DECIMALS, min_size=1, max_size=4, unique=True),
    st.integers(0, 3),
)
@examples(100)
def test_each_interval_is_represented_by_one_value(records, cuts, missing):
    """Groups, their sizes, order and examples are the same, with missing values and numbers at a cut point, too."""
    cuts = [cut if isinstance(cut, int) else Decimal(str(cut)) for cut in sorted(cuts)]
    records |= {str(cuts[0]): 1}
    hierarchy = CutHierarchy((tuple(cuts), tuple(cuts[:1])) if len(cuts) > 1 else (tuple(cuts),))
    counted = CountedNumbers.of(records | ({"": missing} if missing else {}))
    values = {**records, **({None: missing} if missing else {})}

    assert preview_cuts(hierarchy, counted, "x") == preview(hierarchy, values, "x")


def test_words_and_long_numbers_are_left_to_the_other_preview():
    """It refuses what is no number, and tells numbers apart that are equal as floats."""
    assert CountedNumbers.of({"1": 1, "many": 2}) is None
    assert CountedNumbers.of({"0.1000000000000001": 1}) is None
    assert CountedNumbers.of({"": 3}) is None
    counted = CountedNumbers.of({"999999999": 1, "1": 1})
    assert preview_cuts(CutHierarchy(((Decimal("0.123456789"),),)), counted, "x") is None
