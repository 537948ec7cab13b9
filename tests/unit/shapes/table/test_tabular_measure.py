"""Risk and utility, worked out by hand on ten records."""

from math import log2

import polars as pl
import pytest

from cloister.errors import InternalError
from cloister.hierarchy import hierarchy_rows, suppress
from cloister.io import Tally
from cloister.privacy import KAnonymity
from cloister.results import Utility
from cloister.risk.prosecutor import measure_risk
from cloister.shapes.table.format.facts import class_sizes, facts_of
from cloister.shapes.table.format.manifest import PublishedSettings
from cloister.shapes.table.method.data import QuasiIdentifier, TableRequest
from cloister.shapes.table.method.encode import encode
from cloister.shapes.table.method.measure import confirm_loss, measure_utility
from cloister.utility import ARX, parse_loss

RELEASED = pl.DataFrame({"age": ["young"] * 5 + ["old"] * 3, "sex": ["F"] * 2 + ["M"] * 3 + ["F"] * 3})
"""Eight records released of ten: classes of 2, 3 and 3."""

AGES = hierarchy_rows(
    [["1", "young", "*"], ["2", "young", "*"], ["3", "old", "*"], ["4", "old", "*"], ["5", "old", "*"]]
)
LADDERS = {"age": AGES.bind("age", ["1", "2", "3", "4"]), "sex": suppress().bind("sex", ["F", "M"])}
LEVELS = {"age": (1,), "sex": (0,)}


def utility(**options):
    """What the release of eight of ten records lost."""
    request = TableRequest({column: QuasiIdentifier(AGES) for column in LADDERS}, (KAnonymity(2),), **options)
    return measure_utility(Tally(RELEASED), LADDERS, LEVELS, 2, request)


def test_loss_by_hand():
    """Age: 5 records lose 1 of 4 leaves, 3 lose 2, 2 lose all; sex: 2 of 10 records lose all."""
    age = (5 * 1 + 3 * 2 + 2 * 4) / (10 * 4)
    found = utility()

    assert [column.loss for column in found.columns] == [age, 0.2]
    assert found.loss == pytest.approx((age + 0.2) / 2, abs=1e-15)
    assert found.losses["arx"] == pytest.approx(((1 + age) * 1.2) ** 0.5 - 1, abs=1e-15)
    assert [(column.levels, column.top, column.labels) for column in found.columns] == [((1,), 2, 2), ((0,), 1, 2)]


def test_weighted_loss_by_hand():
    """Weights count in proportion."""
    age = 19 / 40

    assert utility(weights={"age": 3}).loss == pytest.approx((3 * age + 0.2) / 4, abs=1e-15)
    assert utility(weights={"sex": 3}, loss=ARX).loss == pytest.approx(((1 + age) * 1.2**3) ** 0.25 - 1, abs=1e-15)


def test_risk_by_hand():
    """Classes of 2, 3 and 3: the highest risk is a half, the average 3 classes in 8 records."""
    sizes = class_sizes(Tally(RELEASED), ["age", "sex"])
    risk = measure_risk(sizes, 0.4)

    assert sorted(sizes.to_list()) == [2, 3, 3]
    assert (risk.highest, risk.average, risk.share_above_threshold) == (0.5, 3 / 8, 2 / 8)
    assert (risk.classes, risk.smallest, risk.largest) == (3, 2, 3)
    assert dict(risk.histogram)["2-4"] == 8
    assert sum(records for _, records in risk.histogram) == 8


def test_a_risk_at_the_threshold_is_not_above_it():
    """Five records a class are a risk of exactly 0.2, which is acceptable."""
    assert measure_risk(pl.Series([5, 5]), 0.2).share_above_threshold == 0.0
    assert measure_risk(pl.Series([4, 6]), 0.2).share_above_threshold == 0.4


@pytest.mark.parametrize(
    ("size", "band"), [(1, "1"), (2, "2-4"), (4, "2-4"), (5, "5-9"), (999, "500-999"), (1000, "1000 and more")]
)
def test_bands(size, band):
    """Every class size is in one band."""
    found = dict(measure_risk(pl.Series([size]), 0.2).histogram)

    assert found[band] == size
    assert sum(found.values()) == size


@pytest.mark.parametrize("sizes", [[2, 3, 3], [1, 1], [4, 5, 6], [1000, 999, 500, 49]])
def test_facts_tell_the_risk_that_assessing_measures(sizes):
    """What a manifest says of risk and labels is what is found by numbering records and comparing class sizes."""
    records = pl.DataFrame({"age": [str(place) for place, size in enumerate(sizes) for _ in range(size)]})
    facts = facts_of(
        Tally(records.with_columns(dx=pl.lit("a"))), PublishedSettings.model_construct(hierarchies={"age": "x"})
    )
    risk = measure_risk(pl.Series(sizes), 0.2)

    assert (facts.released, facts.labels) == (sum(sizes), {"age": len(sizes)})
    assert (facts.risk.highest, facts.risk.average) == (risk.highest, risk.average)
    assert facts.risk.share_above_threshold == risk.share_above_threshold
    assert (facts.risk.classes, facts.risk.smallest_class, facts.risk.largest_class) == (
        risk.classes,
        risk.smallest,
        risk.largest,
    )
    assert facts.risk.records_by_class_size == dict(risk.histogram)


def test_missing_forms_a_class():
    """Missing is a value like any other."""
    assert sorted(class_sizes(Tally(pl.DataFrame({"a": [None, None, "x"]})), ["a"]).to_list()) == [1, 2]


def test_a_loss_that_is_not_the_method_s_is_our_bug():
    """What the method computed and what the release lost must agree."""
    confirm_loss(Utility(0.25 + 1e-12), 0.25)
    with pytest.raises(InternalError, match=r"computed 0\.25"):
        confirm_loss(Utility(0.26), 0.25)


def test_divergence_by_hand():
    """Of a, a, b, c among a to d: two classes of two leaves lose 0.31 of the half bit that one class loses."""
    domain = hierarchy_rows([[value, "ab" if value in "ab" else "cd", "*"] for value in "abcd"])
    request = TableRequest(
        {"v": QuasiIdentifier(domain)}, (KAnonymity(2),), suppression=1, loss=parse_loss("kl_divergence")
    )
    problem = encode(pl.DataFrame({"v": list("aabc" * 2)}), request).problem
    lost = 0.5 * log2(0.5 / 0.375) + 0.25 * log2(0.25 / 0.375) + 0.25 * log2(0.25 / 0.125)

    assert [problem.measure([level]).loss for level in (0, 1, 2)] == pytest.approx([0, lost / 0.5, 1], abs=1e-12)
