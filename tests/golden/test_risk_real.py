"""Risk of real data, counted once more in plain Python."""

from collections import Counter
from itertools import combinations

import polars as pl
import pytest

import cloister as cl
from cloister.io import read_table

pytestmark = pytest.mark.realdata


def test_what_known_codes_find_among_real_patients(real_data):
    """Diabetes 130-US hospitals: shares of records and of sets, for two and three codes, by counting dictionaries."""
    path = real_data / "diabetes130" / "codes.csv.gz"
    cells = read_table(path).frame["codes"].to_list()
    records = [sorted(set(cell.split())) for cell in cells]
    held = {size: Counter(s for r in records for s in combinations(r, size)) for size in (1, 2, 3)}
    risks = cl.assess(cl.CodeSets.read(path), m=[2, 3], k=5).knowledge.risks

    for risk in risks:
        supports = [[held[min(risk.m, len(r))][s] for s in combinations(r, min(risk.m, len(r)))] for r in records]
        n = len(records)
        assert risk.records_unique.value == pytest.approx(sum(min(s) == 1 for s in supports) / n)
        assert risk.records_below_k.value == pytest.approx(sum(min(s) < 5 for s in supports) / n)
        assert risk.chance_unique.value == pytest.approx(sum(s.count(1) / len(s) for s in supports) / n)
        distinct = held[risk.m]
        assert risk.sets_unique.value == pytest.approx(sum(c == 1 for c in distinct.values()) / len(distinct))


def test_real_tables(real_data):
    """Adult: class sizes, separation and minimal uniques of two columns, by Polars."""
    frame = read_table(real_data / "adult" / "adult.csv").frame
    columns = ["age", "native-country", "occupation", "sex"]
    found = cl.assess(frame, qi=columns, largest_unique=2)
    sizes = frame.group_by(columns).len()["len"]

    assert found.prosecutor.average == pytest.approx(len(sizes) / frame.height)
    assert found.sample_uniques == (sizes == 1).sum()
    unique = {
        group: frame.select(pl.len().over(group) == 1).to_series()
        for size in (1, 2)
        for group in combinations(columns, size)
    }
    pairs = [unique[(a, b)] & ~unique[(a,)] & ~unique[(b,)] for a, b in combinations(columns, 2)]
    assert found.special_uniques.by_size == (
        sum(int(unique[(column,)].sum()) for column in columns),
        sum(int(pair.sum()) for pair in pairs),
    )
    told = {separation.columns: separation for separation in found.special_uniques.separations}
    for group, alone in unique.items():
        assert told[group].uniques == alone.sum()
        sizes = frame.group_by(group).len()["len"]
        together = int((sizes * (sizes - 1)).sum()) / (frame.height * (frame.height - 1))
        assert told[group].separation == pytest.approx(1 - together, abs=1e-12)
