"""Help, version, and how much is said."""

import subprocess
import sys

import pytest

from cloister.search import SEARCHES
from cloister.utility import LOSSES

COMMANDS = [
    (),
    ("protect", "table"),
    ("protect", "codes"),
    ("explore", "table"),
    ("explore", "claims"),
    ("compare",),
    ("verify",),
    ("init", "claims"),
    ("hierarchy", "check"),
    ("hierarchy", "preview"),
    ("hierarchy", "build"),
    ("demo",),
    ("ui",),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_shows_an_example(cloister, command, option):
    """The help of every command ends with an example of that very command."""
    ran = cloister(*command, option)

    assert ran.code == 0
    assert f"Example: cloister {' '.join(command)}" in " ".join(ran.out.split())


@pytest.mark.parametrize("group", [("protect",), ("explore",), ("init",), ("hierarchy",)], ids=" ".join)
def test_help_of_a_group_lists_its_commands(cloister, group):
    """A group of commands shows what it holds, with an example."""
    ran = cloister(*group, "--help")

    assert ran.code == 0
    assert "Commands" in ran.out
    assert f"Example: cloister {group[0]}" in " ".join(ran.out.split())


def test_help_names_every_option_of_the_contract(cloister):
    """The options that scripts rely on are there."""
    said = cloister("protect", "table", "--help").out
    options = (
        "--qi --hierarchies -k --rule --suppression --loss --weight --search --time-limit --levels --levels-from --id "
        "--drop --sensitive --keep --undecided --out --missing --missing-as --ids --crosswalk --keep-suppressed "
        "--escape-formulas "
        "--overwrite "
        "--custodian-dir --unmatched-values --encoding --seed --threads --engine --json --quiet --verbose"
    )
    assert [option for option in options.split() if option not in said] == []


def test_version(cloister):
    """``--version`` says the version and nothing else."""
    ran = cloister("--version")

    assert (ran.code, ran.out, ran.err) == (0, "cloister 0.1.0\n", "")


def test_quiet_prints_nothing(protect):
    """With ``-q`` a run that succeeds is silent."""
    ran = protect("-q")

    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_notes_go_to_standard_error(protect):
    """What is not the result goes to standard error, the summary to standard output."""
    ran = protect()

    assert ran.code == 0
    assert "sex has no hierarchy" in ran.err
    assert "proven optimal among 36 transformations" in ran.out
    assert "release/report.html" in ran.out.replace("\n", "")


@pytest.mark.parametrize("words", [("protekt",), ("protect", "tabel"), ("verify",), ("protect", "table", "d.csv")])
def test_bad_usage_is_exit_2(cloister, refused, words):
    """A word that is not known, or missing, is one sentence with exit 2."""
    assert "--help" in refused(cloister(*words))


def test_the_module_is_the_command(tmp_path):
    """``python -m cloister`` and its exit code are those of the command."""
    run = subprocess.run(
        [sys.executable, "-m", "cloister", "verify", str(tmp_path / "nowhere")], capture_output=True, text=True
    )
    assert (run.returncode, run.stdout, run.stderr) == (2, "", "cloister: There is no folder nowhere.\n")


def test_verbose_shows_places_without_messages(protect):
    """``--verbose`` adds where in the code an error arose."""
    ran = protect("-k", "1", "--verbose")

    assert ran.code == 2
    assert "  at table_shape.py:" in ran.err


def test_help_of_tables_names_every_loss_and_search(cloister):
    """Who looks for a loss or a search of the literature finds it in the help."""
    words = cloister("protect", "table", "--help").out.replace(",", " ").split()
    assert {*LOSSES, *SEARCHES} <= {word.rstrip(".") for word in words}
