"""Help, version, and how much is said."""

import subprocess
import sys

import pytest

from cloister.cli.commands import command_tree, parameter
from cloister.cli.help_groups import COMMANDS as COMMAND_GROUPS
from cloister.cli.help_groups import GROUPS
from cloister.cli.options import ExploreOptions
from cloister.search import SEARCHES
from cloister.settings.constraints import OneOf
from cloister.settings.declaration import settings_of
from cloister.shapes.registry import SHAPES
from cloister.shapes.table.format.options import LOSS_NAMES, SEARCH_NAMES
from cloister.utility import LOSSES, PAYOUT

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

    assert (ran.code, ran.out, ran.err) == (0, "cloister 0.2.0\n", "")


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
    assert {"iyengar|arx|...", "optimal|exhaustive|..."} <= {*words}  # no placeholder for any text


@pytest.mark.parametrize(("option", "choices"), [("--loss", LOSS_NAMES), ("--search", SEARCH_NAMES)])
def test_a_wrong_loss_or_search_is_answered_with_all_of_them(cloister, data, option, choices):
    """The message names every loss or search."""
    ran = cloister("protect", "table", data, "-k", "5", "--qi", "age", "--undecided", "drop", option, "x", "--out", "r")
    assert ran.err == f"cloister: {option} must be {OneOf(*choices)}, not 'x'.\n"


def test_every_option_is_in_one_group():
    """Each option of protecting and exploring has its group; no group names an option that no command has."""
    grouped = [name for names in GROUPS.values() for name in names]
    options = [one.word for shape in SHAPES.values() for one in settings_of(shape.options) if one.help]
    options += [one.word for one in settings_of(ExploreOptions)]
    typed = {one.word for shape in SHAPES.values() for one in settings_of(shape.options) if one.option[:1] != "-"}

    assert len(grouped) == len(set(grouped))
    assert set(options) - set(grouped) - typed == set()
    assert set(grouped) - set(options) == {"help"}


def test_help_lists_every_command_in_one_group(cloister):
    """``cloister --help`` has a title for each group; each command is in one, with all words of its first line."""
    said = cloister("--help").out
    titles = [line.rstrip(":") for line in said.splitlines() if line.endswith(":") and not line.startswith(" ")]
    grouped = [name for names in COMMAND_GROUPS.values() for name in names]
    tree = command_tree()

    assert titles == ["Options", *COMMAND_GROUPS]
    assert sorted(grouped) == sorted(one.name for one in [*tree.registered_commands, *tree.registered_groups])
    assert "..." not in said.partition("Start:")[2]


def test_help_of_many_options_has_groups(cloister):
    """A command of many options lists them in groups; one of few in a single list."""
    many, few = (cloister(*words, "--help").out for words in (("protect", "table"), ("compare",)))

    titles = [line for line in many.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["Arguments:", *(f"{title}:" for title in GROUPS)]
    assert "Options:" in few


def test_names_that_a_shell_completes():
    """Losses and searches are those that there are, though help loads neither; so are the words of every choice."""
    assert sorted(LOSS_NAMES) == sorted([*LOSSES, PAYOUT])
    assert sorted(SEARCH_NAMES) == sorted(SEARCHES)
    for name, starts, expected in (
        ("loss", "e", ["entropy"]),
        ("method", "m", ["mondrian", "mdav"]),
        ("search", "o", ["optimal", "ola"]),
    ):
        (one,) = [one for one in settings_of(SHAPES["table"].options) if one.name == name]
        info = parameter(one).annotation.__metadata__[0]
        assert info.autocompletion(starts) == expected
