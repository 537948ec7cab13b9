"""The image, read without an engine: what it copies and calls exists, and what runs has no rights and no network."""

import json
import re
import shlex
import subprocess
import sys
import tomllib

import pytest
from house import REPOSITORY

from cloister.cli import main

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
PAGE = REPOSITORY / "docs" / "how-to" / "containers.md"


@pytest.fixture(scope="module")
def stages():
    """The steps of each stage: the instruction and the rest of its line."""
    text = (REPOSITORY / "Containerfile").read_text(encoding="utf-8")
    steps = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    (_, second) = [place for place, (name, _) in enumerate(steps) if name == "FROM"]
    return steps[:second], steps[second:]


def given(steps, instruction):
    """What follows an instruction, each time."""
    return [rest for name, rest in steps if name == instruction]


def test_what_is_copied_is_all_that_a_wheel_needs(stages):
    """Each copied file is in the repository, and none that the build reads is missing; nothing else is copied."""
    copied = {word for rest in given(stages[0], "COPY") for word in rest.split()[:-1]}
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]

    assert all((REPOSITORY / path).exists() for path in copied)
    assert copied >= {wheel["hooks"]["custom"]["path"], *wheel["force-include"], PROJECT["project"]["readme"]}
    assert copied >= {"src", "pyproject.toml", "Makefile", ".ci/locked.py", *PROJECT["project"]["license-files"]}
    assert "." not in copied


def test_what_is_called_while_building_exists(stages):
    """The target of make, the extra and the file of the wheel are those of the Makefile and of pyproject.toml."""
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    runs = "\n".join(given(stages[0], "RUN"))
    (extra,) = re.findall(r"locked\.py (\w+) ", runs)

    assert re.findall(r"^make .*?([a-z-]+)$", runs, re.MULTILINE) == ["wheel"]
    assert re.search(r"^wheel:", makefile, re.MULTILINE)
    assert extra in PROJECT["project"]["optional-dependencies"]
    assert "--require-hashes" in runs
    assert "cloister-*-cp*.whl" in makefile
    printed = subprocess.run(
        [sys.executable, ".ci/locked.py", extra], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert "--hash=sha256:" in printed.stdout


def test_what_runs_has_no_rights_and_loads_nothing(stages):
    """The second stage runs nothing while it is built, has a user without rights, and starts a command of ours."""
    steps = stages[1]
    ((entry,), (words,)) = given(steps, "ENTRYPOINT"), given(steps, "CMD")

    assert {name for name, _ in steps} == {"FROM", "COPY", "ENV", "USER", "WORKDIR", "ENTRYPOINT", "CMD"}
    assert given(steps, "USER") == ["10001:10001"]
    assert json.loads(entry)[0] in PROJECT["project"]["scripts"]
    assert json.loads(words) == ["--help"]


def test_commands_of_the_page_are_commands_of_cloister():
    """What follows the name of the image on the page is understood by cloister."""
    text = PAGE.read_text(encoding="utf-8").replace("\\\n", " ")
    commands = main.command().commands
    ran = [shlex.split(line.split(" cloister ", 1)[1]) for line in text.splitlines() if line.startswith("docker run")]

    assert {words[0] for words in ran} == {"protect", "ui"}
    for words in ran:
        command = commands[words[0]]
        command = getattr(command, "commands", {}).get(words[1], command)
        options = {option for one in command.params for option in one.opts}
        assert {word for word in words if word.startswith("-")} <= options
