"""Columns that would undo the protection of a table: refused, unless the releaser accepts them by name."""

from collections.abc import Sequence

from cloister.errors import InputError, NoSafeRelease, setting
from cloister.io import as_text, is_tally
from cloister.results import Disclosing, Why
from cloister.risk.identifiers import free_texts, ordered, repeated_patients, said_of
from cloister.tabular.data import EncodedTable, ProtectedTable, Role, TableRequest

RECORDED = (Role.SENSITIVE, Role.KEPT)


def accepted_as_recorded(table: EncodedTable, request: TableRequest, file: str) -> list[Disclosing]:
    """Refuse texts that most records have alone, and ids that are left out although they repeat."""
    if is_tally(table.frame):
        return []
    of_role = {role: [name for name, one in table.roles.items() if one is role] for role in Role}
    left_out = {name: table.frame[name] for name in of_role[Role.DROPPED] if request.patients is None}
    quasi_identifiers = [as_text(table.frame[name]) for name in request.quasi_identifiers]
    recorded = {name: table.frame[name] for role in RECORDED for name in of_role[role]}
    return _accepted(
        [*repeated_patients(left_out, quasi_identifiers), *free_texts(recorded)], request, file, InputError
    )


def accepted_beside_labels(
    table: EncodedTable, protected: ProtectedTable, request: TableRequest, file: str
) -> list[Disclosing]:
    """Refuse columns as recorded that say a quasi-identifier more finely than its labels in the release do.

    Tables that are counted elsewhere are not looked at: which columns go together there is not known.
    """
    recorded = [name for name, role in table.roles.items() if role in RECORDED]
    if is_tally(table.frame) or not recorded:
        return []
    originals = protected.originals.drop_nulls()
    quasi_identifiers = {}
    for name, levels in protected.levels.items():
        if generalized := [level for level in levels if level > 0]:
            values, hierarchy = as_text(table.frame[name]).gather(originals), table.hierarchies[name]
            if not ordered(values).dtype.is_numeric():
                below = dict(zip(hierarchy.values, hierarchy.labels[generalized[0] - 1], strict=True))
                values = values.replace_strict(
                    {value: below[value] for value in below if value is not None}, default=None
                )
            quasi_identifiers[name] = (protected.labels[name], values)
    columns = {name: as_text(table.frame[name]).gather(originals) for name in recorded}
    return _accepted(said_of(quasi_identifiers, columns), request, file, NoSafeRelease)


def _accepted(
    found: Sequence[Disclosing], request: TableRequest, file: str, refusal: type[InputError | NoSafeRelease]
) -> list[Disclosing]:
    """Those that were accepted by name; all others in one error."""
    refused = [one for one in found if one.column not in request.accept]
    if refused:
        every = sorted({one.column for one in refused})
        whys = " ".join(_sentence(why, [one for one in refused if one.why == why], file) for why in WORDS_FOR)
        raise refusal(
            f"{whys.strip()} To release all the same, with a sentence in the report: "
            f"{', '.join(setting('accept', column) for column in every)}.",
            file=file,
            column=every[0],
            columns=every,
        )
    return list(found)


WORDS_FOR: dict[Why, str] = {
    "several records of a patient": "{columns} repeats in {file}, so a patient may have several records, and k would "
    "count records. Name it as {patient}, and k counts patients.",
    "free text": "{columns}: most records of {file} have a text of several words there that no other has. Leave it "
    "out: {drop}.",
    "says a quasi-identifier": "{columns} would be released as recorded, and with it more can be said of a patient "
    "than the labels of the quasi-identifier do. Leave it out ({drop}), or make it a quasi-identifier too.",
}


def _sentence(why: Why, found: Sequence[Disclosing], file: str) -> str:
    if not found:
        return ""
    of = {one.column: sorted({other.about or "" for other in found if other.column == one.column}) for one in found}
    named = [f"{column!r}" + (f" (says {' and '.join(about)})" if any(about) else "") for column, about in of.items()]
    first = next(iter(of))
    return WORDS_FOR[why].format(
        columns=", ".join(named), file=file, patient=setting("patient", first), drop=setting("drop", first)
    )
