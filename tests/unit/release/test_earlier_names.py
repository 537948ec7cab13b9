"""Earlier names of a manifest, and what only looks like one."""

import pytest

from cloister.release.earlier_names import with_earlier_names, with_names_of_today

EARLIER = {
    "settings": {"plan": {"adversary": {"tolerant": "waived", "likeliest": "told"}}},
    "guarantee": {"rules": [{"tolerant": "waived", "likeliest": "told"}]},
    "risk": {"tolerant": {"limit": "told"}, "likeliest": {"limit": "told"}},
    "sensitivity": {"attacks": [{"adversary": "flags believed (tolerant)"}]},
}
TODAY = {
    "settings": {"plan": {"adversary": {"flag_aware": "waived", "likeliest": "reported"}}},
    "guarantee": {"rules": [{"flag_aware": "waived", "likeliest": "reported"}]},
    "risk": {"flag_aware": {"limit": "told"}, "likeliest": {"limit": "reported"}},
    "sensitivity": {"attacks": [{"adversary": "flags believed"}]},
}


def test_earlier_names_are_those_of_today():
    """Every earlier name has one of today, and the other way round."""
    assert with_names_of_today(EARLIER) == TODAY
    assert with_earlier_names(TODAY) == EARLIER


@pytest.mark.parametrize("column", ["limit", "likeliest", "adversary", "tolerant", "are"])
@pytest.mark.parametrize("word", ["told", "reported", "flags believed", "flags believed (tolerant)"])
def test_a_column_is_no_earlier_name(column, word):
    """A column with such a name, or the file of its hierarchy with such a word, stays what it is."""
    manifest = {
        "settings": {"hierarchies": {column: word}, "plan": {"claims": {"qi": {column: word}}}},
        "columns": {column: {"role": "quasi-identifier", "hierarchy": word}},
    }
    assert with_names_of_today(manifest) == manifest
    assert with_earlier_names(manifest) == manifest
