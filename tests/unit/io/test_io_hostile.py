"""Files that were damaged or made to harm: a sentence, and a process that lives on."""

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from cloister.errors import InputError
from cloister.io import read, read_table
from cloister.release.folder import read_data

WHY = "needs the extra files"
FRAME = pl.DataFrame({"id": [1, 2, 3, 4], "name": ["Zq7a", "Zq7b", "Zq7c", "Zq7d"], "x": [1.5, 2.5, None, 4.0]})


@pytest.mark.parametrize(("at", "byte"), [(328, 70), (331, 201), (71, 243), (84, 3), (200, 255)])
def test_a_changed_byte_of_a_file_of_spss_ends_nothing_but_its_reader(tmp_path, at, byte):
    """The reader is written in C and may crash: the file is refused in a sentence, or read, by a process of its own."""
    pyreadstat, path = pytest.importorskip("pyreadstat", reason=WHY), tmp_path / "harm.sav"
    pyreadstat.write_sav(FRAME, str(path), column_labels=["i", "n", "x"], variable_value_labels={"id": {1: "one"}})
    content = bytearray(path.read_bytes())
    content[at] = byte
    path.write_bytes(content)

    message = ""
    try:
        read_table(path)
    except InputError as error:
        message = str(error)
    assert message in ("", "harm.sav cannot be read as a file of SPSS. Save it as CSV.")


@pytest.mark.parametrize("end", ["sav", "dta", "xpt", "sas7bdat"])
def test_what_is_no_such_file_is_refused(tmp_path, end):
    """Bytes that are none of the program's."""
    pytest.importorskip("pyreadstat", reason=WHY)
    path = tmp_path / f"harm.{end}"
    path.write_bytes(b"\x7fELF" + bytes(range(256)) * 20)
    with pytest.raises(InputError, match="cannot be read as a file of"):
        read_table(path)


def test_parquet_that_stands_for_more_than_memory_is_refused_unread(tmp_path, monkeypatch):
    """A few bytes stand for any number of equal cells: its size is looked at first, also by verify."""
    path = tmp_path / "bomb.parquet"
    pl.DataFrame({"a": pl.repeat("*", 300_000, eager=True), "b": pl.repeat(1, 300_000, eager=True)}).write_parquet(path)
    assert path.stat().st_size < 5_000
    assert read_table(path).frame.height == 300_000
    monkeypatch.setattr(read, "memory_left", lambda: 1 << 22)
    for reading in (read_table, read_data):
        with pytest.raises(InputError, match="300,000 records of 2 columns, which do not fit into memory"):
            reading(path)


def test_a_damaged_parquet_file_does_not_end_the_process():
    """A file in which one number was changed is read or refused; the reader of Polars asks for 2 EiB and aborts."""
    damaged = Path(__file__).with_name("damaged.parquet")
    program = (
        f"from cloister.io import read_table\nfor _ in range(40): print(read_table({str(damaged)!r}).frame.height)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (ran.returncode, ran.stdout) == (0, "30\n" * 40)
