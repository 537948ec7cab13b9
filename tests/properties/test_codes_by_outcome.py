"""Codes of a table against columns of any role: bounds are reached by some original, and hold the true one."""

import itertools

import numpy as np
import polars as pl
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.made.examples import examples

import cloister as cl
from cloister.errors import NoSafeRelease
from cloister.shapes.disassociation.format.clusters_file import read_clusters
from oracles.answers import cells, odds_ratio, on_rows
from oracles.disassociation import reconstructions, written

CODES = ["401.9", "250.00", "272.4"]
MOST_WAYS = 1_000

tiny = st.lists(
    st.tuples(st.sampled_from("FM"), st.sets(st.sampled_from(CODES), max_size=2), st.booleans()), min_size=4, max_size=8
)
larger = st.lists(
    st.tuples(st.sampled_from("FMX"), st.sets(st.sampled_from(CODES)), st.booleans()), min_size=8, max_size=30
)


def opened(records, folder, **settings):
    """A release of a table with codes and a death that is released as recorded, and its original."""
    rows = [(sex, " ".join(sorted(codes)), str(int(died))) for sex, codes, died in records]
    frame = pl.DataFrame(rows, ["sex", "codes", "death"], orient="row")
    try:
        made = cl.protect_table(
            frame,
            qi={"sex": "suppress"},
            keep=["death"],
            accept=["death"],
            codes="codes",
            accept_empty=True,
            **settings,
        )
    except (NoSafeRelease, cl.InputError):
        assume(False)
    made.write(folder, overwrite=True)
    return cl.open(folder, verify=False)


@examples(40, quick=3)
@given(tiny, st.sampled_from([None, "F", "M"]))
def test_bounds_are_reached_by_some_original(tmp_path_factory, records, sex):
    """In tiny releases, every data set on every order of rows is listed: counts and odds ratios reach their bounds."""
    release = opened(records, tmp_path_factory.getbasetemp() / "tiny", k=2)
    clusters, frame = read_clusters(release.folder / "clusters.json"), release.data.select(pl.all().cast(pl.String))
    worlds = [*itertools.islice(reconstructions(written(clusters)), MOST_WAYS)]
    classes = [label for (label,) in map(clusters.classes.__getitem__, np.repeat(clusters.class_of, clusters.sizes))]
    table = [
        ((label, death), codes is not None) for label, codes, death in frame.select("sex", "codes", "death").rows()
    ]
    rows = {own: [row for row, has_codes in table if has_codes and row[0] == own] for own in dict.fromkeys(classes)}
    ways = [*itertools.islice(on_rows(worlds, classes, rows), MOST_WAYS)]
    assume(release.facts.suppressed == 0 and len(ways) < MOST_WAYS and sex in (None, *classes))
    rest = [(frozenset(), row) for row, has_codes in table if not has_codes]

    asked = {"death": "1"} if sex is None else {"death": "1", "sex": sex}
    table_of = {code: row for code, *row in release.count_by_code(asked, [*CODES, CODES[:2]]).iter_rows()}
    for query in (*([code] for code in CODES), CODES[:2]):
        found = [cells([*way, *rest], {*query}, lambda row: row[1] == "1" and sex in (None, row[0])) for way in ways]
        counts, with_code = [one[0] for one in found], [one[0] + one[1] for one in found]
        lower, _, upper, *of_code, low, high = table_of[" ".join(query)]
        answer = release.count(query, where=asked)
        assert (answer.lower, answer.upper) == (min(counts), max(counts)) == (lower, upper)
        assert of_code == [min(with_code), max(with_code)]
        ratios = [odds_ratio(*one) for one in found]
        assert all(low <= one <= high for one in ratios if one is not None)
        if None not in ratios:
            assert (low, high) == (min(ratios), max(ratios))
    for death, lower, _, upper in release.count_by(CODES[:1], "death").iter_rows():
        counts = [cells([*way, *rest], {CODES[0]}, lambda row, own=death: row[1] == own)[0] for way in ways]
        assert (lower, upper) == (min(counts), max(counts))


@examples(40, quick=3)
@given(larger, st.sampled_from(["disassociation", "cba", "generalization"]), st.booleans())
def test_bounds_hold_the_original(tmp_path_factory, records, method, keep_suppressed):
    """Of any original, suppressed records too, the counts and the odds ratio lie within the bounds."""
    release = opened(
        records, tmp_path_factory.getbasetemp() / "larger", k=3, suppression=0.4, keep_suppressed=keep_suppressed,
        codes_method=method,
    )  # fmt: skip
    for code, lower, expected, upper, least, most, low, high in release.count_by_code({"death": "1"}).iter_rows():
        truth = cells([(own, died) for _, own, died in records], {code}, bool)
        assert lower <= truth[0] <= upper
        assert lower <= expected <= upper
        assert least <= truth[0] + truth[1] <= most
        ratio = odds_ratio(*truth)
        assert ratio is None or low <= ratio <= high
        answer = release.count([code], where={"death": "1"})
        assert (answer.lower, answer.expected, answer.upper) == (lower, expected, upper)
        women = sum({code} <= own and died and sex == "F" for sex, own, died in records)
        inside = release.count([code], where={"death": "1", "sex": "F"})
        assert inside.lower <= women <= inside.upper
