"""What somebody sees who types a command and nothing else."""

import pytest


def test_the_command_alone_says_how_to_begin(cloister):
    """What it is, examples, and the way into a browser, in lines; exit code 0."""
    ran = cloister()

    assert ran.code == 0
    assert "\\u000a" not in ran.out + ran.err
    assert "cloister demo my-demo" in ran.out.splitlines()[3]
    assert "  cloister ui ." in ran.out.splitlines()


@pytest.mark.parametrize("group", ["protect", "assess", "explore", "init", "hierarchy"])
def test_a_group_alone_shows_its_help(cloister, group):
    """The help of a group comes in lines, on standard output, with exit code 0."""
    ran = cloister(group)

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[0] == f"Usage: cloister {group} [OPTIONS] COMMAND [ARGS]..."
