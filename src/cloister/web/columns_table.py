"""The table of columns: its rows and their order, counts by role, and alerts with the changes that resolve them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias, TypeVar

from cloister.errors import name_few
from cloister.evidence.column import Column
from cloister.io import as_text
from cloister.recipients.utility_comparison import ComparedTable

from .data_read import ColumnFacts

Bars: TypeAlias = tuple[float, ...]
"""Records or shares by values."""

ROLES = {
    "": "undecided",
    "quasi-identifier": "quasi-identifier",
    "sensitive": "sensitive",
    "keep": "kept as recorded",
    "drop": "not released",
    "id": "id of the patient",
    "patient": "id, several rows each",
    "codes": "codes, protected too",
}
SUGGESTED = "suggested"
"""In place of a role: the suggested one of each column."""

RECORDED = ("sensitive", "keep")
"""Roles whose columns are released as recorded."""

TREATMENTS = {
    "": "to be decided",
    "quasi-identifier": "generalized",
    "sensitive": "as recorded",
    "keep": "as recorded",
    "drop": "removed",
    "id": "removed",
    "patient": "replaced by numbers",
    "codes": "codes, or groups of codes",
}

SORTS = {
    "": "order of the file",
    "undecided": "undecided first",
    "missing": "most missing first",
    "unique": "most unique values first",
    "name": "name",
}
UNDECIDED = "undecided. Nothing is released until each column has a role"
MOSTLY = 0.5
"""Share of records with a unique value that makes a column a way to find records."""


class RowOfColumn(Protocol):
    """A column in a table of columns: its place there, facts, and the filter that its role belongs to."""

    @property
    def place(self) -> int | str:
        """Where it is in the table."""

    @property
    def facts(self) -> ColumnFacts:
        """Figures of it."""

    @property
    def group(self) -> str:
        """A word of `ROLES`, or "other"."""


Row = TypeVar("Row", bound=RowOfColumn)


@dataclass(frozen=True)
class ColumnRow:
    """A column in the table: its place in the file, facts, chosen role and treatment, and whether the row is shown."""

    place: int
    facts: ColumnFacts
    role: str
    treatment: str
    is_shown: bool

    @property
    def group(self) -> str:
        """The role."""
        return self.role


@dataclass(frozen=True)
class ColumnAlert:
    """What is wrong with some columns, and the roles that would resolve it, each with its words."""

    text: str
    places: tuple[int | str, ...]
    fixes: Mapping[str, str]


@dataclass(frozen=True)
class ColumnsView:
    """What is shown of the table: names that contain a text, one role or sign, in an order."""

    find: str = ""
    show: str = ""
    sort: str = ""

    def includes(self, facts: ColumnFacts, role: str) -> bool:
        """Whether a column is shown."""
        is_found = self.find.strip().casefold() in facts.name.casefold()
        return is_found and (not self.show or self.show in _marks(facts, role))


def rows_of(
    columns: Sequence[ColumnFacts],
    chosen: Sequence[str],
    hierarchies: Mapping[str, str],
    bulk: str,
    view: ColumnsView,
    shown: Sequence[int] = (),
) -> list[ColumnRow]:
    """Return the rows of the table, in the order of the view.

    ``hierarchies``: of quasi-identifiers, in their words; ``bulk``: the role that a run gives to undecided columns;
    ``shown``: rows that stay where they are, whatever their role is now, as the view did not change
    """
    rows = [
        ColumnRow(place, facts, role, _describe(hierarchies.get(facts.name), role or bulk), view.includes(facts, role))
        for place, (facts, role) in enumerate(zip(columns, chosen, strict=True))
    ]
    if shown:
        order = {place: number for number, place in enumerate(shown)}
        rows = [replace(row, is_shown=row.place in order) for row in rows]
        return sorted(rows, key=lambda row: order.get(row.place, len(order)))
    return sort_rows(rows, view.sort)


def sort_rows(rows: Sequence[Row], order: str) -> list[Row]:
    """Return the rows in one of the orders that the page offers."""
    if order == "undecided":
        return sorted(rows, key=lambda row: row.group != "")
    if order in ("missing", "unique"):
        return sorted(rows, key=lambda row: -(row.facts.missing if order == "missing" else row.facts.alone))
    return sorted(rows, key=lambda row: row.facts.name.casefold()) if order == "name" else [*rows]


def _describe(hierarchy: str | None, role: str) -> str:
    """What becomes of the values of a column with this hierarchy or role, in words."""
    if hierarchy is None:
        return TREATMENTS.get(role, TREATMENTS[""])
    name, _, more = hierarchy.partition("@")[0].partition(":")
    first, *options = (word.replace(",", ", ") for word in more.split("/"))
    kept = [f"{word.removeprefix('keep=')} characters" for word in options if word.startswith("keep=")]
    words = {
        "interval": f"cut at {first[5:]}" if first.startswith("cuts=") else f"ranges of {first}",
        "quantile": f"{first} groups of equal size",
        "prefix": "".join(kept) or f"{first} characters and fewer",
        "date": first,
        "suppress": "as recorded, or *",
        "icd9": "groups of ICD-9 codes",
        "icd10": "groups of ICD-10 codes",
    }
    return words.get(name, "groups")


def counts_of(rows: Sequence[RowOfColumn]) -> dict[str, tuple[str, int]]:
    """Return the filters that apply to any column: their words, and the number of columns of each."""
    words = {"": "all", "undecided": "undecided", **{role: text for role, text in ROLES.items() if role}}
    words |= {"other": "other roles", "dates": "dates", "signs": "signs of identifiers"}
    marks = [_marks(row.facts, row.group) for row in rows]
    counted = {key: sum(not key or key in own for own in marks) for key in words}
    return {key: (words[key], count) for key, count in counted.items() if count or not key}


def _marks(facts: ColumnFacts, role: str) -> set[str]:
    """The filters that a column is shown by."""
    return {
        role or "undecided",
        *(["dates"] if facts.kind == "dates" else []),
        *(["signs"] if _has_sign(facts) else []),
    }


def _has_sign(facts: ColumnFacts) -> bool:
    return any(sign.confidence != "possible" for sign in facts.signs)


DROP, QUASI = {"drop": "Do not release"}, {"quasi-identifier": "Make quasi-identifiers"}
"""Roles that resolve an alert, with their words."""


def alerts_of(rows: Sequence[ColumnRow], bulk: str, refused: Collection[str] = ()) -> Iterator[ColumnAlert]:
    """Yield what needs a decision, the gravest first; ``refused``: columns that ended the last run."""
    undecided = [row for row in rows if not row.role]
    if undecided and not bulk:
        suggested = (
            {SUGGESTED: "Use the suggested roles"} if any(row.facts.suggestion in ROLES for row in undecided) else {}
        )
        yield alert_of(undecided, UNDECIDED, {**suggested, **DROP, **QUASI, "sensitive": "Release as recorded"})
    recorded = [row for row in rows if (row.role or bulk) in RECORDED]
    stopping = [row for row in recorded if row.facts.name in refused]
    if stopping:
        yield alert_of(stopping, "released as recorded in the last run, which refused that", DROP | QUASI)
    yield from alerts_of_recorded([row for row in recorded if row not in stopping])


def alerts_of_recorded(recorded: Sequence[RowOfColumn]) -> Iterator[ColumnAlert]:
    """Yield an alert for columns that shall be released as recorded, and that identify or are known."""
    identifying = [row for row in recorded if _has_sign(row.facts) or row.facts.suggestion == "drop"]
    if identifying:
        yield alert_of(identifying, "released as recorded, with signs of identifiers", DROP)
    known = [row for row in recorded if row not in identifying and row.facts.suggestion == "quasi-identifier"]
    if known:
        yield alert_of(known, "released as recorded, though outsiders may know the values", QUASI)
    unique = [row for row in recorded if row not in [*identifying, *known] and row.facts.alone > MOSTLY]
    if unique:
        text = "released as recorded, with values that mostly occur once: whoever knows one finds the record"
        yield alert_of(unique, text, DROP | QUASI)


def alerts_of_revealed(
    rows: Sequence[ColumnRow], bulk: str, found: Sequence[tuple[str, tuple[str, ...]]]
) -> Iterator[ColumnAlert]:
    """Yield an alert for each set of columns that reveals a quasi-identifier, unless one is not released as recorded.

    An undecided column may be. ``found``: the quasi-identifier and the columns of each set
    """
    places = {row.facts.name: row.place for row in rows if (row.role or bulk) in ("", *RECORDED)}
    for about, columns in found:
        if not places.keys() >= {*columns}:
            continue
        reveal, undo = ("together reveal", "these columns undo") if columns[1:] else ("reveals", "this column undoes")
        text = f"{name_few(columns, ' and ')} {reveal} {about}. Released as recorded, {undo} the protection of {about}."
        yield ColumnAlert(text, tuple(places[name] for name in columns), DROP | QUASI)


def bars_after(rows: Sequence[ColumnRow], compared: ComparedTable | None) -> dict[str, tuple[Bars, Bars]]:
    """Return the bars of each column before and after protection, on one axis; none without a release."""
    if compared is None:
        return {}
    found: dict[str, tuple[Bars, Bars]] = {}
    for row in rows:
        name = row.facts.name
        found[name] = (row.facts.bars, ())
        if name in compared.released.columns and name in compared.original.columns:
            before, after = (Column.of(as_text(one[name]), "") for one in (compared.original, compared.released))
            found[name] = (tuple(before.distribution()), tuple(after.distribution(before)))
        if name in compared.asked:
            shares = [(before, after) for _, before, after, *_ in compared.asked[name].rows()]
            found[name] = (tuple(before for before, _ in shares), tuple(after for _, after in shares))
    return found


def alert_of(rows: Sequence[RowOfColumn], text: str, fixes: Mapping[str, str]) -> ColumnAlert:
    """Return an alert about these columns."""
    return ColumnAlert(word_alert([row.facts.name for row in rows], text), tuple(row.place for row in rows), fixes)


def word_alert(names: Sequence[str], text: str = UNDECIDED) -> str:
    """Return the sentence of an alert: how many columns it is about, what is wrong, and their names."""
    count = "1 column is" if len(names) == 1 else f"{len(names)} columns are"
    return f"{count} {text}: {name_few(names).removesuffix('.')}."
