"""A hierarchy edited by hand stays legal, whatever is grouped, taken apart, added or removed."""

from hypothesis import given
from hypothesis import strategies as st

from cloister.errors import InputError
from cloister.hierarchy import check_rows
from cloister.hierarchy.draft import HierarchyDraft

VALUES = ["a", "b", "c", "d", ""]
NAMES = st.sampled_from([*VALUES, "x", "y", "*"])
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["group", "apart", "add", "remove"]), st.integers(0, 4), st.sets(NAMES, max_size=3), NAMES
    ),
    max_size=12,
)


def changed(draft: HierarchyDraft, change) -> HierarchyDraft:
    """The draft after a change, or the same where the change is refused."""
    kind, level, items, name = change
    try:
        if kind == "group":
            return draft.put_together(level, items, name)
        if kind == "apart":
            return draft.take_apart(level, items)
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
        assert [row[0] for row in draft.rows] == VALUES
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
