"""Readers of CSV, Parquet, JSON and TOML against changed files: exit 0, 1 or 2, and no value on the screen."""

import shutil

from tests.made.forms import FORMS
from tests.made.jobs_files import JOB, write_hospital

from .command import check, cloister
from .forgeries import other_bytes

MARKER = "zanzibar"
"""Stands in cells of the data in place of a name, a code or an id; whoever reads the screen must not find it."""

LINES = 30
HARD = (
    b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b'"', b"'", b"\n", b"\r", b"\r\n", b",", b";", b"\t", b"[" * 30_000,
    b"{" * 500,
    b"9" * 6_000, b"-0.0", b"1e999", b"=1+1", b"\x1b[2J", "İ\u202e\U0001f9ea".encode(), b"a" * 70_000, b"# ", b"\\",
)  # fmt: skip


def readers(draw, folder):
    """Make data of one shape, change one of its files, and give it to commands that read it."""
    name = draw.choice([*FORMS, "job", "release"])
    if name == "job":
        write_hospital(folder, JOB.replace("attack = true", "attack = false"))
        files = sorted(folder.iterdir())
        words = [("run", folder / "job.toml", "--dry-run"), ("run", folder / "job.toml", "--overwrite")]
    else:
        made = FORMS[draw.choice(list(FORMS)) if name == "release" else name](draw, folder, n=30)
        files = list(made.files)
        words = [("protect", *made.words, "--out", folder / "release", "--overwrite")]
        if name != "release":
            words.append(("assess", *made.words[:2]))
        elif cloister(*words[0]).code == 0:
            files = sorted((folder / "release").iterdir())
            words = [("verify", folder / "release"), ("compare", folder / "release", "--json")]
    for path in files:
        _marked(path)
    whole = {path: path.read_bytes() for path in files}
    for _ in range(LINES):
        path = draw.choice(files)
        path.write_bytes(_broken(whole[path], draw))
        said = cloister(*draw.choice(words))
        # A word in the first line cannot be told from the name of a column, and may be shown as one.
        is_name = MARKER.encode() in path.read_bytes().partition(b"\n")[0]
        check(MARKER not in said.text or is_name, f"a value of {path.name} was shown")
        path.write_bytes(whole[path])
        if name != "release":
            shutil.rmtree(folder / "release", ignore_errors=True)
            for secret in folder.glob("*map.csv"):
                secret.unlink()


def _marked(path):
    """Put the marker into cells of CSV files, but not into their first lines."""
    if path.suffix != ".csv" or path.parent.name == "release":
        return
    head, *lines = path.read_text().splitlines(keepends=True)
    for place in range(0, len(lines), 5):
        cells = lines[place].rstrip("\n").split(",")
        cells[-1] = f"{MARKER}{place}"
        lines[place] = ",".join(cells) + "\n"
    path.write_text(head + "".join(lines))


def _broken(data, draw):
    """Bytes changed once or a few times, in small or with what is hard to read."""
    for _ in range(draw.choice((1, 1, 1, 3))):
        if draw.random() < 0.5:
            data = other_bytes(data, draw)
        else:
            start = draw.randrange(len(data) + 1)
            data = data[:start] + draw.choice(HARD) + data[start + draw.choice((0, 0, 1, 5)) :]
    return data[: draw.randrange(len(data) + 1)] if draw.random() < 0.1 else data
