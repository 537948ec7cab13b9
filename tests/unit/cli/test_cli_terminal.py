"""What commands print is text: no name of a column, a file or a received release moves the cursor or turns letters."""

import json

import pytest

from cloister.cli.output import printable
from cloister.release.folder import json_bytes

PAINT = "\x1b[2J\x1b[Hrelease holds\n  all is well\x9b31m\u202etxt.exe\x07\r"
UNSAFE = ("\x1b", "\x9b", "\u202e", "\x07", "\r", "\nrelease holds", "\n  all is well")


def is_text(said):
    """Whether a text that was printed leaves the terminal alone, and is told as what it is."""
    return not any(mark in said for mark in UNSAFE)


@pytest.mark.parametrize(
    "mark", [*map(chr, [*range(32), *range(127, 160), *range(0x202A, 0x202F)]), "\u2066", "\u2028"]
)
def test_marks_are_spelled_out(mark):
    """Each control character, and each that turns the direction of letters, is shown by its number."""
    assert printable(f"a{mark}b") == f"a\\u{ord(mark):04x}b"


def test_other_letters_stay():
    """Text of any language is printed as it is."""
    assert printable("Größe (年) ä́ 🙂 \u200d") == "Größe (年) ä́ 🙂 \u200d"


def test_names_of_columns(cloister, protect, data):
    """A column whose name paints the screen is named in errors, notes, tables and JSON without doing so."""
    name = PAINT.replace("\r", "")
    head, *rows = data.read_text().splitlines()
    data.write_text(f'{head},"{name}"\n' + "".join(f"{row},x\n" for row in rows))
    refused = protect()
    shown = protect("--undecided", "keep")
    told = protect("--undecided", "keep", "--json", out="third")
    checked = cloister("verify", "release")

    assert [ran.code for ran in (refused, shown, told, checked)] == [2, 0, 0, 0]
    assert all(is_text(ran.out + ran.err) for ran in (refused, shown, told, checked))
    assert name in told.json["columns"]
    assert "\\u001b[2J" in refused.err


def test_a_hostile_folder_does_not_paint_its_verdict(cloister, protect, tmp_path):
    """A release that was received, whose name and manifest paint, is refused in one line each time."""
    assert protect("-q").code == 0
    manifest = json.loads((tmp_path / "release" / "release.json").read_text())
    manifest["columns"][PAINT] = {"role": "kept"}
    manifest["settings"]["hierarchies"]["age"] = PAINT
    (tmp_path / "release" / "release.json").write_bytes(json_bytes(manifest))
    name = "x\x1b[2Jx holds\nx"
    (tmp_path / "release").rename(tmp_path / name)
    ran = cloister("verify", name, "--original", "patients.csv")
    other = cloister("verify", name)
    gone = cloister("verify", f"{name}/none")

    assert [one.code for one in (ran, other, gone)] != [0, 0, 0]
    assert other.code == 1
    assert all(is_text(one.out + one.err) for one in (ran, other, gone))
    assert all(one.err.count("\n") == 1 for one in (ran, other, gone))
