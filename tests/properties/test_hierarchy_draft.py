"""A hierarchy edited by hand stays legal, whatever is grouped, taken apart, added or removed."""

from hypothesis import given
from hypothesis import strategies as st

from cloister.errors import InputError
from cloister.hierarchy import check_rows
from cloister.hierarchy.draft import HierarchyDraft

VALUES = ["a", "b", "c", "d", ""]
NAMES = st.sampled_from([*VALUES, "x", "y", "*"])
KINDS = st.sampled_from(["group", "apart", "add", "remove", "move", "neighbours"])
CHANGES = st.lists(st.tuples(KINDS, st.integers(0, 4), st.sets(NAMES, max_size=3), NAMES), max_size=12)


def changed(draft: HierarchyDraft, change) -> HierarchyDraft:
    """The draft after a change, or the same where the change is refused."""
    kind, level, items, name = change
    try:
        if kind == "group":
            return draft.put_together(level, items, name)
        if kind == "apart":
            return draft.take_apart(level, items)
        if kind == "move":
            return draft.move(level, items, len(name))
        if kind == "neighbours":
            return draft.join_neighbours(level, len(items))
        return draft.add_level() if kind == "add" else draft.remove_level(level)
    except InputError:
        return draft


@given(CHANGES)
def test_levels_nest_after_any_change(changes):
    """Every value keeps its row, levels nest, there is one root, and groups add up to all records."""
    draft = HierarchyDraft.of([[value, "*"] for value in VALUES])
    records = {value: place + 1 for place, value in enumerate(VALUES)}
    for change in changes:
        draft = changed(draft, change)
        assert check_rows(draft.rows) == []
        assert sorted(row[0] for row in draft.rows) == sorted(VALUES)
        for level in range(1, draft.n_levels + 1):
            assert sum(group.records for group in draft.groups(level, records)) == sum(records.values())


@given(CHANGES, st.sets(st.sampled_from(VALUES), min_size=1))
def test_what_is_grouped_shares_its_label(changes, items):
    """The items of a group have its name, and all other items of the level keep their label."""
    draft = HierarchyDraft.of([[value, "*"] for value in VALUES]).add_level()
    for change in changes:
        draft = changed(draft, change)
    if draft.n_levels:
        level = draft.n_levels
        chosen = {row[level - 1] for row in draft.rows if row[0] in items}
        after = draft.put_together(level, chosen, "new")
        for row, old in zip(after.rows, draft.rows, strict=True):
            assert row[level] == ("new" if old[level - 1] in chosen else old[level])


@given(st.sets(st.sampled_from(VALUES), min_size=1), st.integers(1, 9))
def test_values_take_the_place_that_is_given(items, place):
    """The first of the moved values has the place, or is as far behind as it can be; all others keep their order."""
    draft = HierarchyDraft.of([[value, "*"] for value in VALUES]).add_level().move(1, items, place)
    order, others = draft.order(1), [value for value in VALUES if value not in items]
    first = min(place - 1, len(others))
    assert order[first : first + len(items)] == [value for value in VALUES if value in items]
    assert [value for value in order if value not in items] == others


def test_neighbours_are_grouped_in_the_order_that_was_chosen():
    """Each so many values are a group named by its ends, and missing values are apart."""
    draft = HierarchyDraft.of([[value, "*"] for value in ["PhD", "", "None", "School", "College"]]).add_level()
    ordered = draft.move(1, ["PhD"], 5).join_neighbours(1, 2)
    assert [(group.label, len(group.items)) for group in ordered.groups(1, {})] == [
        ("", 1),
        ("None - School", 2),
        ("College - PhD", 2),
    ]
