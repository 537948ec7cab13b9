"""Workflows of the build machine: what they use is pinned, what they may do is little, what they call exists."""

import re

import pytest
import yaml
from house import REPOSITORY

WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
WRITES = {
    ("docs", "publish"): {"pages", "id-token"},
    ("scorecard", "scorecard"): {"id-token", "security-events"},
    ("wheels", "publish"): {"id-token"},
}
"""What a job may do besides reading; nothing else may."""

for_each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)


def read(path):
    """A workflow as data. YAML 1.1 takes the key ``on`` for true."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@for_each_workflow
def test_every_action_is_pinned_by_its_hash(path):
    """A tag can be moved to other code, a hash cannot; its version is a comment, which Dependabot renews."""
    text = path.read_text(encoding="utf-8")
    pinned = re.findall(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", text, re.MULTILINE)

    assert pinned
    assert len(pinned) == text.count("uses:")


def test_one_action_has_one_hash():
    """All workflows use the same version of an action."""
    text = "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    pins = set(re.findall(r"uses: ([\w./-]+)@([0-9a-f]{40} # \S+)", text))

    assert len(pins) == len({name for name, _ in pins}) > 5


@for_each_workflow
def test_a_workflow_reads_and_little_else(path):
    """By default a workflow reads the sources; only named jobs may write, and no more than they need."""
    workflow = read(path)

    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        writes = {scope for scope, level in job.get("permissions", {}).items() if level != "read"}
        assert writes == WRITES.get((path.stem, name), set()), name
        assert job["timeout-minutes"] > 0


@for_each_workflow
def test_sources_are_checked_out_without_a_password(path):
    """The token of the workflow is not left where a test, or a package that it installs, could read it."""
    steps = [step for job in read(path)["jobs"].values() for step in job["steps"]]

    for step in steps:
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


@for_each_workflow
def test_make_targets_of_a_workflow_exist(path):
    """What a workflow makes, the Makefile has; and no shell line contains what a stranger may write."""
    for name, job in read(path)["jobs"].items():
        tasks = job.get("strategy", {}).get("matrix", {}).get("task", [])
        for line in [step["run"] for step in job["steps"] if "run" in step] + [f"make {task}" for task in tasks]:
            assert "github.event" not in line, name
            made = re.findall(r"\bmake ((?:[^\s|>&;]+ ?)+)", line)
            words = [word for words in made for word in words.split() if re.fullmatch(r"[a-z][a-z-]+", word)]
            assert not made or words or "matrix.task" in line or ".venv/" in line, name
            assert {*words} <= TARGETS, name


def test_only_what_was_checked_is_published():
    """The publishing job waits for wheels, sources and image, and is for a tag alone."""
    jobs = read(REPOSITORY / ".github" / "workflows" / "wheels.yml")["jobs"]

    assert jobs["publish"]["needs"] == "dry-run"
    assert {*jobs["dry-run"]["needs"]} == {*jobs} - {"dry-run", "publish"}
    assert jobs["publish"]["if"] == "startsWith(github.ref, 'refs/tags/v')"
    assert jobs["publish"]["environment"] == "pypi"
    assert jobs["publish"]["steps"][-1]["with"]["attestations"] is True


def test_dependabot_reads_actions_and_packages():
    """Pins are renewed: those of actions, and those of packages."""
    updates = read(REPOSITORY / ".github" / "dependabot.yml")["updates"]

    assert {one["package-ecosystem"] for one in updates} == {"github-actions", "pip"}
