"""``cloister demo``: the example hospital, protected."""

import shlex


def test_demo_twice(cloister, tmp_path):
    """The demonstration runs, runs again over itself, and gives the same data both times."""
    first = cloister("demo", tmp_path / "demo")
    released = (tmp_path / "demo" / "release" / "data.csv").read_bytes()
    second = cloister("demo", tmp_path / "demo")

    assert (first.code, second.code) == (0, 0)
    assert (tmp_path / "demo" / "release" / "data.csv").read_bytes() == released
    assert "report.html" in first.out
    assert {path.name for path in (tmp_path / "demo").iterdir()} == {"patients.csv", "release"}


def test_demo_shows_the_command(cloister, tmp_path):
    """The command that it shows does the same by hand."""
    said = cloister("demo", "demo").out
    words = shlex.split(said.rsplit("The same by hand: ", 1)[1])
    words[words.index("--out") + 1] = "again"

    assert words[0] == "cloister"
    assert cloister(*words[1:]).code == 0
    assert (tmp_path / "again" / "data.csv").read_bytes() == (tmp_path / "demo" / "release" / "data.csv").read_bytes()


def test_demo_quietly(cloister):
    """``-q`` prints nothing; the release holds."""
    ran = cloister("demo", "-q", "--patients", "200", "--seed", "3")

    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert cloister("verify", "demo/release", "--original", "demo/patients.csv", "-q").code == 0


def test_demo_where_it_cannot_be(cloister, tmp_path):
    """A demonstration that cannot write is one sentence."""
    (tmp_path / "file").write_text("")
    ran = cloister("demo", tmp_path / "file" / "demo")

    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert (tmp_path / "file").read_text() == ""


def test_demo_does_not_replace_what_is_not_its_own(cloister, tmp_path):
    """Other people's data and releases are left alone."""
    (tmp_path / "patients.csv").write_text("mine")
    ran = cloister("demo", tmp_path)

    assert ran.code == 2
    assert (tmp_path / "patients.csv").read_text() == "mine"
