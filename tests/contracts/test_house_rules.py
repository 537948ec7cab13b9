"""Rules about files, names and words."""

import ast
import inspect
import re
import subprocess

import pytest
from house import FILES, REPOSITORY, for_all, place, tree

import cloister

BANNED = {"utils", "util", "misc", "common", "helpers", "helper", "core", "stuff", "lib", "base", "general", "tools"}
LONGEST_FILE = 600


@for_all(FILES)
def test_names_of_modules_say_what_is_in_them(path):
    """No module is named after nothing, or after a version of itself."""
    words = path.stem.strip("_").split("_")

    assert not BANNED.intersection([path.stem, *words])
    assert not [word for word in words if re.fullmatch(r"v\d+|new|old|final\d*", word)]


@for_all(FILES)
def test_files_are_short(path):
    """No file has more than 600 lines."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_FILE


def public_parts(node, name):
    """A module or class, and the public functions and classes in it."""
    yield name, node
    for child in node.body:
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not child.name.startswith("_"):
            if isinstance(child, ast.ClassDef):
                yield from public_parts(child, f"{name}.{child.name}")
            else:
                yield f"{name}.{child.name}", child


@for_all(FILES)
def test_everything_public_is_documented(path):
    """Every module, public class and public function of the package has a docstring."""
    private_classes = [node for node in ast.walk(tree(path)) if isinstance(node, ast.ClassDef) and node.name[0] == "_"]
    hidden = {id(child) for node in private_classes for child in ast.walk(node)}
    bare = [
        name
        for name, node in public_parts(tree(path), path.stem)
        if id(node) not in hidden and not ast.get_docstring(node)
    ]

    assert bare == []


@pytest.mark.parametrize("name", cloister.__all__)
def test_public_names_are_there_and_documented(name):
    """Every name that the front door offers resolves to something that explains itself."""
    found = getattr(cloister, name)

    assert inspect.getdoc(found)
    assert name in dir(cloister)


def test_the_front_door_is_in_order():
    """The public names are told once; an unknown one is an AttributeError."""
    assert len(set(cloister.__all__)) == len(cloister.__all__)
    assert dir(cloister) == sorted([*cloister.__all__, "__version__"])
    with pytest.raises(AttributeError, match="no attribute 'anonymise'"):
        _ = cloister.anonymise


@pytest.mark.parametrize(
    "name", ["protect_table", "protect_trajectories", "assess", "attack", "protect_codes", "verify_folder"]
)
def test_verbs_name_all_their_parameters(name):
    """The docstring of a verb explains every parameter and what is raised."""
    verb = getattr(cloister, name)
    text = inspect.getdoc(verb)

    assert [parameter for parameter in inspect.signature(verb).parameters if parameter not in text] == []
    assert "Raises" in text


QUIETING = {"engines/spark/tasks.py", "recipients/models.py"}
"""Where others are kept from writing: Spark quotes rows in its logs and warnings."""


@for_all(FILES)
def test_only_the_command_line_prints(path):
    """No module outside the command line prints or writes to the standard streams, or logs."""
    if place(path).startswith("cli/"):
        return
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Name):
            assert node.id != "print"
        if isinstance(node, ast.Attribute):
            assert node.attr not in ("stdout", "stderr", "print")
        if isinstance(node, ast.Import):
            told = {alias.name for alias in node.names} & {"logging", "warnings", "traceback", "pdb"}
            assert not told or place(path) in QUIETING


@for_all(FILES)
def test_errors_do_not_chain_what_others_said(path):
    """Nothing is raised from a caught exception: its message might quote a value."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Raise) and node.cause is not None:
            assert isinstance(node.cause, ast.Constant)
            assert node.cause.value is None


def test_duckdb_is_opened_in_one_place():
    """One function opens DuckDB, and closes it to all but what it is to read."""
    opening = [
        place(path)
        for path in FILES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "duckdb.connect"
    ]

    assert opening == ["io/databases.py"]


def repository_files():
    """Text files of the repository that are, or would be, in version control."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=REPOSITORY,
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [REPOSITORY / name.decode() for name in listed.stdout.split(b"\0") if name]


def test_the_repository_stands_alone():
    """No file points to the workshop outside: only .ci/run may say where real data are."""
    places = re.compile(rb"\.\./sha[r]ed|/work/sha[r]ed|\.libr[a]ry|(?<!benchmarks/)\bpap[e]rs/|/work/m[a]in")
    naming = {
        path.relative_to(REPOSITORY).as_posix()
        for path in repository_files()
        if path.is_file() and places.search(path.read_bytes())
    }
    assert naming - {".ci/run"} == set()
