"""Disassociation of real diagnoses: verified, and little of them left without a count.

The shares of occurrences in item chunks without refining (35 and 75 percent) were measured by an earlier program of
other people's hands; the bound on what refining leaves is 2 percent.
"""

import polars as pl
import pytest

from cloister.shapes.codes.data import CodeSets
from cloister.shapes.disassociation.format.data import DisassociationRequest, Refine
from cloister.shapes.disassociation.method.protect import disassociate
from cloister.shapes.disassociation.verify.verify import DisassociationSecret, verify

UNREFINED = {"diabetes130": 0.35, "synpuf": 0.75}


@pytest.fixture(scope="module", params=sorted(UNREFINED))
def real_codes(request, real_data):
    """Name of a data set and its code sets."""
    frame = pl.read_csv(real_data / request.param / "codes.csv.gz", infer_schema=False)
    return request.param, CodeSets.from_records([codes.split() for codes in frame["codes"].to_list()])


def share_left(protected):
    """Share of the occurrences that stand in item chunks."""
    return protected.figures.in_item_chunks / protected.figures.occurrences


@pytest.mark.realdata
@pytest.mark.parametrize("m", [2, 3])
def test_real_diagnoses_are_released_almost_whole(real_codes, m):
    """With k = 5 the release is verified against the original, and at most 2 % of occurrences are not counted."""
    _, codes = real_codes
    protected = disassociate(codes, DisassociationRequest(5, m))

    assert verify(protected.released, DisassociationSecret(codes, protected.cluster_of)).failures == ()
    assert share_left(protected) <= 0.02


@pytest.mark.realdata
def test_without_refining_much_is_left(real_codes):
    """Horizontal and vertical partitioning alone leave as much in item chunks as was measured elsewhere."""
    name, codes = real_codes
    protected = disassociate(codes, DisassociationRequest(5, 2, refine=Refine.OFF))

    assert UNREFINED[name] == pytest.approx(share_left(protected), abs=0.01)
