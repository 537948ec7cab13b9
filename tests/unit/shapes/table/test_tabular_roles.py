"""Which column is what."""

import polars as pl
import pytest

from cloister.errors import InputError
from cloister.hierarchy import suppress
from cloister.privacy import KAnonymity
from cloister.shapes.table.method.data import QuasiIdentifier, Role, TableRequest
from cloister.shapes.table.method.roles import resolve_roles

FRAME = pl.DataFrame({"mrn": range(40), "sex": ["F", "M"] * 20, "note": ["n"] * 39 + ["rare"], "zip": ["1"] * 40})


def request(**options):
    """A request with sex as quasi-identifier."""
    return TableRequest({"sex": QuasiIdentifier(suppress())}, (KAnonymity(2),), **options)


def roles_of(frame, asked):
    """The roles of the columns of a frame."""
    return resolve_roles(frame.columns, asked, "data.csv", lambda column: float(frame[column].is_unique().mean()))


def test_roles_come_in_the_order_of_the_file():
    """Every column has one role, in the file's order."""
    roles = roles_of(FRAME, request(id="mrn", keep=("zip",), sensitive=("note",)))

    assert list(roles.items()) == [
        ("mrn", Role.IDENTIFIER),
        ("sex", Role.QUASI_IDENTIFIER),
        ("note", Role.SENSITIVE),
        ("zip", Role.KEPT),
    ]


def test_leftover_columns_are_an_error():
    """No column is released by default: those without a role are listed."""
    with pytest.raises(InputError, match=r"2 columns of data.csv are undecided.*: note, zip") as caught:
        roles_of(FRAME, request(id="mrn"))
    assert (caught.value.file, caught.value.column) == ("data.csv", "note")


def test_the_rest_dropped():
    """With ``drop`` the rest is dropped."""
    roles = roles_of(FRAME, request(undecided=("drop",)))
    assert [role for column, role in roles.items() if column != "sex"] == [Role.DROPPED] * 3


@pytest.mark.parametrize(("n_unique", "kept"), [(2, True), (3, False)])
def test_the_rest_kept_up_to_one_in_twenty(n_unique, kept):
    """With ``keep`` a column may be unique in 5 % of the records, and in no more."""
    note = [f"rare {number}" for number in range(n_unique)] + ["n"] * (40 - n_unique)
    frame = FRAME.select("sex", pl.Series("note", note))
    if kept:
        assert roles_of(frame, request(undecided=("keep",)))["note"] is Role.KEPT
    else:
        with pytest.raises(InputError, match=r"'note' \(7\.5%\)"):
            roles_of(frame, request(undecided=("keep",)))


def test_a_column_named_by_its_user_may_be_unique():
    """A column that was named to be kept is kept, however many values it has; in bulk it is kept once accepted."""
    assert roles_of(FRAME, request(keep=("mrn",), undecided=("drop",)))["mrn"] is Role.KEPT
    with pytest.raises(InputError, match="unique in more than 5% of the records"):
        roles_of(FRAME, request(undecided=("keep",)))
    unique = tuple(name for name in FRAME.columns if FRAME[name].is_unique().mean() > 0.05)
    assert roles_of(FRAME, request(undecided=("keep",), accept=unique))["mrn"] is Role.KEPT


@pytest.mark.parametrize("options", [{"keep": ("sex",)}, {"id": "zip", "drop": ("zip",)}, {"keep": ("zip", "zip")}])
def test_two_roles(options):
    """A column has one role."""
    with pytest.raises(InputError, match="Give it one role"):
        roles_of(FRAME, request(undecided=("drop",), **options))


@pytest.mark.parametrize("option", ["drop", "keep", "sensitive"])
def test_unknown_columns(option):
    """A column that is not there is refused in whatever role, with the nearest name."""
    with pytest.raises(InputError, match="Did you mean 'note'"):
        roles_of(FRAME, request(undecided=("drop",), **{option: ("note_",)}))
