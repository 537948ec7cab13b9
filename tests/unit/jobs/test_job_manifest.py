"""Manifests of jobs of the older schema: read, and written again as they were."""

from cloister.jobs.manifest import JobGuarantee, PartGuarantee
from cloister.release.head import read_section


def test_words_of_the_older_schema_keep_their_place():
    """What `report.json` of an older job repeats of its manifest is the same, byte for byte."""
    for kind, words in ((PartGuarantee, ["sentences"]), (JobGuarantee, ["sentences", "not_promised"])):
        stated = {**{name: ["so worded"] for name in words}, "verified": True}
        found, places = read_section(kind, stated)

        assert (places, found and list(found.as_json())) == ([], [*words, "verified"])
