"""What becomes of codes as recorded: the same words before a release, from what is asked, and in its report."""

import re

import pytest

from cloister.pipeline.codes_shape import CodesShape
from cloister.pipeline.releasing import write_release
from cloister.report.sentences import recorded_codes
from cloister.shapes.codes.options import CodesOptions
from cloister.shapes.protocol import Run
from cloister.testing import hospital


def test_which_codes_are_as_recorded_is_one_sentence():
    """All of them, some of them, or as many as turns out."""
    assert recorded_codes(1470) == "all 1,470 codes"
    assert recorded_codes(1470, 458) == "1,012 of 1,470 codes"
    assert recorded_codes(1470, None) == "as many of the 1,470 codes as the privacy models allow"


@pytest.mark.parametrize("method", ["disassociation", "cba"])
def test_the_report_agrees_with_what_was_announced(tmp_path, method):
    """Disassociation releases every code as recorded; generalization as many as it can."""
    hospital(n=200).write(tmp_path)
    options = CodesOptions(data=tmp_path / "codes.csv", k=3, method=method, out=tmp_path / "out", accept_empty=True)
    announced = dict(CodesShape().prepare(options, Run()).summary)["released as recorded"]
    codes = write_release("codes", options, Run()).manifest["utility"]["codes"]
    report = (tmp_path / "out" / "report.html").read_text()
    stated = re.search(r">Released as recorded</th><td class=\"n\">([^<]*)<", report)[1]

    if method == "disassociation":
        assert announced == stated == f"all {codes:,} codes"
    else:
        assert announced == f"as many of the {codes:,} codes as the privacy models allow"
        assert stated.endswith("codes")
