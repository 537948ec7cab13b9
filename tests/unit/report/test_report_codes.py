"""The report of code sets: one page that needs nothing else, whatever the manifest says."""

import pytest
from test_report_page import NASTY, assert_whole, parsed

import cloister as cl
from cloister.release.manifest import parse_manifest
from cloister.report import render_report

RECORDS = [["250.00", "401.9", "V58.66"]] * 9 + [["250.00", "401.9"]] * 8 + [["001", "250.01"]] * 6 + [["001", "042"]]


def manifest(**options):
    """The manifest of a small release; a policy by its level."""
    codes = cl.CodeSets.from_records(RECORDS, repeats=options.pop("repeats", False))
    level = options.pop("level", None)
    policy = None if level is None else cl.UtilityPolicy.by_level(codes, level)
    return parse_manifest(cl.protect_codes(codes, **{"k": 3} | options, policy=policy).summary())


def saying(said, section, **told):
    """A manifest whose section says something else, whatever its type allows."""
    return said.model_copy(update={section: getattr(said, section).model_copy(update=told)})


VARIANTS = {
    "plain": {},
    "policy": {"level": 1},
    "workload": {"workload": "random:200"},
    "small workload": {"workload": "frequent:90"},
    "ties not counted": {"inference_check": "off"},
    "no ties": {"inference_check": "enforce"},
    "sensitive": {"sensitive": ["042"]},
    "repeats": {"repeats": True},
    "off": {"refine": "off", "m": 1},
}


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)
def test_every_manifest_has_a_page(options):
    """The page of every sort of release is whole, and needs no network, picture or script."""
    assert_whole(render_report(manifest(**options)))


@pytest.mark.parametrize("place", ["source", "policy", "workload", "not_released"])
def test_settings_are_text(place):
    """What a manifest says is shown as it is and never becomes a part of the page."""
    told = {place: (NASTY,) if place == "not_released" else NASTY}
    page = render_report(saying(manifest(level=1, workload="random:200"), "settings", **told))

    assert NASTY not in page
    assert NASTY in "".join(parsed(page).text)


def test_what_is_kept_back_is_kept_back_here_too():
    """Few patients without codes, and the errors of a workload, are not told."""
    said = saying(manifest(workload="frequent:90"), "records", in_="<27", released=24, suppressed="<3")
    text = "".join(parsed(render_report(said)).text)

    assert "<27" in text
    assert "are confidential and not shown here" in text


def test_a_bound_is_said_to_be_one():
    """Where the share of item chunks is a bound, the page says so."""
    said = manifest()

    assert "without a count, at most" in "".join(parsed(render_report(said)).text)


def test_a_policy_of_frequent_sets_is_named_without_its_sets():
    """Of frequent sets nothing is told, and the page says why."""
    sets = dict.fromkeys(("constraints", "constraints_satisfied", "constraints_preserved"))
    said = saying(saying(manifest(), "settings", policy="sup:10"), "utility", **sets)
    text = "".join(parsed(render_report(said)).text)

    assert "They do not follow from the chunks" in text
    assert "each code has an exact count" not in text


def test_one_pair_is_a_pair():
    """One pair of codes is not called pairs."""
    said = saying(manifest(), "risk", tied_pairs=1, tied_codes=1)

    assert "In 1 pair of codes of a chunk (1 code)" in "".join(parsed(render_report(said)).text)
