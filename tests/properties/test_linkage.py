"""Laws of linkage in two steps: summaries, then a register, leave at least k people behind each record."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.oracles.attacks import people_behind

import cloister as cl
from cloister.attacks.attack_parts import open_release
from cloister.attacks.linkage import add_linkage
from cloister.verification.driver import Request

CODES = cl.hierarchy_rows([["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]])
UNDER = {**{code: {code} for code in "abcd"}, "ab": {"a", "b"}, "cd": {"c", "d"}, "*": set("abcd")}
PAIRS = st.tuples(st.sampled_from("abcd"), st.integers(0, 9))
PEOPLE = st.tuples(st.sampled_from("FM"), st.sampled_from(["1950", "1960", None]))
COLUMNS = ["sex", "born"]


@st.composite
def hospitals(draw):
    """Patients with pairs and demographics, a register or none, and whether sex is released."""
    records = draw(st.lists(st.lists(PAIRS, min_size=1, max_size=3), min_size=3, max_size=9))
    demographics = draw(st.lists(PEOPLE, min_size=len(records), max_size=len(records)))
    return records, demographics, draw(st.none() | st.lists(PEOPLE, max_size=9)), draw(st.booleans())


def sequences_of(frame):
    """The released pairs of each record, in the order of the records."""
    return [
        list(zip(codes, ages, strict=True))
        for _, codes, ages in frame.group_by("id").agg("code", "age").sort("id").rows()
    ]


@examples(60)
@given(hospitals())
def test_people_behind_a_record_are_those_of_the_definition(case):
    """Both steps leave k people or more, the second never fewer; a released demographic is taken into account."""
    records, demographics, register, is_sex_released = case
    ids = [f"P{number}" for number in range(len(records))]
    given_ = cl.Trajectories.from_records(records, ids)
    summaries = pl.DataFrame(demographics, COLUMNS, orient="row", strict=False).with_columns(id=pl.Series(ids))
    people = None if register is None else pl.DataFrame(register, dict.fromkeys(COLUMNS, pl.String), orient="row")
    k = 2
    release = cl.protect_trajectories(
        given_,
        k=k,
        code_hierarchy=CODES,
        age_hierarchy=cl.intervals(2, 4),
        attributes=summaries.select("id", "sex") if is_sex_released else None,
        accept_empty=True,
    )
    opened = open_release(release, given_, Request(hierarchies={"code": CODES}))
    first, second = add_linkage(opened, summaries, people).adversaries[2:]
    rows = dict(release.custody.crosswalk.select("original", "released").rows())
    sequences = sequences_of(release.frame)
    seen = [sex if is_sex_released else None for sex, _ in demographics]
    knowledge = list(zip([[(c, str(a)) for c, a in pairs] for pairs in records], demographics, seen, strict=True))
    for target, name in enumerate(ids):
        sequence = sequences[int(rows[name]) - 1]
        expected = people_behind(
            sequence, seen[target], knowledge, demographics if register is None else register, UNDER
        )
        found = [step.released.match(target, []) for step in (first, second)]

        assert tuple(each.matches for each in found) == expected
        assert expected[1] >= expected[0]
        assert all(each.own == 1 for each in found)
        assert is_sex_released or expected[0] >= k
        assert first.covers(target, []) is not is_sex_released
