"""What a worker refuses of its part, without Spark."""

import pytest

from cloister.engines.spark.disassociation import check_others
from cloister.errors import NoSafeRelease
from cloister.shapes.codes.data import CodeSets
from cloister.shapes.disassociation.format.data import DisassociationRequest


@pytest.mark.parametrize(("others", "is_refused"), [(0, True), (2, True), (3, False)])
def test_a_part_of_sensitive_codes_alone_is_refused(others, is_refused):
    """A part in which fewer than k patients have a code that is not sensitive is no defect, but no safe release."""
    codes = CodeSets.from_records([["s"]] * 4 + [["s", "x"]] * others)
    request = DisassociationRequest(3, 2, sensitive=("s",))

    if not is_refused:
        check_others(codes, request)
        return
    with pytest.raises(NoSafeRelease, match='engine="memory"'):
        check_others(codes, request)
