"""Optima of real tables, k = 5 and 5 % suppressed, as computed by ARX 3.9 (losses within 1e-9)."""

from dataclasses import dataclass
from decimal import Decimal

import pytest

from cloister.hierarchy import hierarchy_file
from cloister.io import read_table
from cloister.privacy import KAnonymity
from cloister.search import optimal
from cloister.shapes.table.method.data import QuasiIdentifier, TableRequest
from cloister.shapes.table.method.encode import encode
from cloister.utility import LOSSES


@dataclass(frozen=True)
class Golden:
    """A table, how many of its columns, and its optimum in the order of the file."""

    file: str
    columns: int
    loss: str
    levels: list[int]
    suppressed: int
    value: float


ADULT, FARS, DIABETES = "adult/adult.csv", "fars/fars.csv", "diabetes130/table15/diabetes15.csv"
TABLES = [
    Golden(ADULT, 9, "arx", [0, 3, 0, 0, 2, 1, 1, 2, 0], 1346, 0.24193236510335),
    Golden(ADULT, 9, "iyengar", [0, 3, 0, 0, 2, 1, 1, 2, 0], 1346, 0.26963466278940),
    Golden(FARS, 8, "arx", [3, 0, 1, 1, 0, 0, 2, 0], 4597, 0.15415307156492),
    Golden(FARS, 8, "iyengar", [3, 0, 1, 1, 0, 0, 2, 0], 4597, 0.16024953263325),
    Golden(DIABETES, 8, "arx", [2, 0, 1, 2, 2, 0, 2, 1], 3018, 0.20119077369339),
    Golden(DIABETES, 8, "iyengar", [2, 0, 1, 2, 2, 0, 2, 1], 3018, 0.20799781154230),
    Golden(DIABETES, 10, "arx", [2, 0, 1, 3, 2, 1, 2, 2, 1, 4], 3287, 0.29332767670957),
    Golden(DIABETES, 11, "arx", [2, 0, 1, 3, 3, 1, 2, 1, 1, 4, 2], 3287, 0.33458340979430),
]


@pytest.mark.realdata
@pytest.mark.parametrize("golden", TABLES, ids=lambda g: f"{g.file.split('/')[-1]}-{g.columns}-{g.loss}")
def test_real_tables_have_the_known_optimum(real_data, golden):
    """Levels, suppressed records and loss are those that another implementation found, and they are proven."""
    path = real_data / golden.file
    source = read_table(path)
    columns = source.frame.columns[: golden.columns]
    request = TableRequest(
        {c: QuasiIdentifier(hierarchy_file(path.with_name(f"{path.stem}_hierarchy_{c}.csv"))) for c in columns},
        (KAnonymity(5),),
        suppression=Decimal("0.05"),
        loss=LOSSES[golden.loss],
        undecided=("drop",),
    )

    found = optimal(encode(source.frame, request).problem, threads=2)

    assert golden.levels == [found.levels[column] for column in columns]
    assert golden.suppressed == found.suppressed
    assert golden.value == pytest.approx(found.loss, abs=1e-9)
    assert found.optimal
