"""The documents say what is so: their commands run, their output is real, and what they name exists.

A ``console`` block is a session: lines after ``$`` are commands, what follows is what they print. ``cloister`` runs in
this process, ``head``, ``cat`` and ``ls`` as they are, ``make`` not at all. A block whose language is followed by a
file name is that file. ``pycon`` blocks are doctests, ``python`` blocks run. All blocks of a document share one folder,
which holds ``demo/patients.csv`` as ``make demo`` leaves it. ``...`` stands for lines left out; times are not compared.
"""

import doctest
import importlib.util
import itertools
import json
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from house import REPOSITORY, ROOT

import cloister
from cloister.cli import main
from cloister.cli.main import run
from cloister.errors import CloisterError
from cloister.testing import hospital

GENERATED = REPOSITORY / "docs/reference/commands"  # by `make docs`, from the commands themselves
PAGES = [page for page in (REPOSITORY / "docs").rglob("*.md") if page.parent != GENERATED]
DOCUMENTS = sorted([*REPOSITORY.glob("*.md"), *PAGES])
FENCED = re.compile(r"^```(?P<language>\w+)(?: (?P<file>\S+))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
SECONDS = re.compile(r"\d+\.\d+ s\b")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
OF_PIP = ("--constraint", "--find-links", "--no-index")
OF_CONTAINERS = ("--cap-drop", "--file", "--network", "--publish", "--read-only", "--rm", "--tag", "--tmpfs")
NOT_OURS = {*OF_PIP, *OF_CONTAINERS, "--user", "--volume", "--install", "--yes"}
SHOWN_BY_THE_SHELL = {"head", "cat", "ls"}
NOT_RUN = {"make"}
WIDEST = 90  # characters of code in a block of the site
SPEC = importlib.util.spec_from_file_location("command_line", REPOSITORY / "docs/command_line.py")
command_line = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(command_line)
COMMANDS = dict(command_line.commands())


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file it is if any, and its text."""

    language: str
    file: str | None
    text: str


def name_of(document):
    """Path of a document inside the repository, for test names."""
    return document.relative_to(REPOSITORY).as_posix()


def blocks(document):
    """The fenced blocks of a document, in order."""
    found = FENCED.finditer(document.read_text(encoding="utf-8"))
    return [Block(match["language"], match["file"], match["text"]) for match in found]


def commands(text):
    """The commands of a session with the lines that each is shown to print."""
    whole = text.replace("\\\n", " ")
    for part in re.split(r"^\$ ", whole, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield shlex.split(command, comments=True), shown.splitlines()


def plain(lines):
    """Lines without what differs from run to run, and without empty ends."""
    stripped = [SECONDS.sub("0 s", line.rstrip()) for line in lines]
    while stripped and not stripped[-1]:
        stripped.pop()
    return stripped


def matches(shown, printed):
    """Whether the lines shown are the lines printed, ``...`` standing for any number of them."""
    pattern = r"\n".join(r".*" if line.strip() == "..." else re.escape(line) for line in plain(shown))
    return re.fullmatch(pattern, "\n".join(plain(printed)), re.DOTALL) is not None


@pytest.fixture
def newcomer(tmp_path, monkeypatch):
    """The folder of somebody who has run the demonstration, on a terminal of 80 columns."""
    hospital().write(tmp_path / "demo")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path


def run_session(text, capsys):
    """Run the commands of a session and compare what they print with what is shown."""
    for command, shown in commands(text):
        capsys.readouterr()
        if command[0] in NOT_RUN:
            continue
        if command[0] == "cloister":
            code = run(command[1:])
            captured = capsys.readouterr()
            printed = captured.err.splitlines() + captured.out.splitlines()
            printed = [line for line in printed if not line.startswith("Compiling ")]  # only in a new installation
            has_failed = any(line.startswith("cloister: ") or line.endswith(" YES") for line in shown)  # linkable: YES
            assert (code != 0) == has_failed, shlex.join(command)
        else:
            assert command[0] in SHOWN_BY_THE_SHELL
            printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        assert matches(shown, printed), "\n".join([shlex.join(command), *plain(printed)])


def run_examples(text, document):
    """Run a Python session and compare what it prints."""
    test = doctest.DocTestParser().get_doctest(text, {}, name_of(document), str(document), 0)
    report = []
    failed, _ = doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert failed == 0, "".join(report)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning")  # of lifelines
def test_examples_run_and_print_what_is_shown(document, newcomer, capsys):
    """Every command and every piece of Python of a document runs, in order, and prints what the document shows."""
    for block in blocks(document):
        if block.file is not None:
            (newcomer / block.file).write_text(block.text, encoding="utf-8")
        elif block.language in ("console", "bash"):
            run_session(block.text, capsys)
        elif block.language == "pycon":
            run_examples(block.text, document)
        elif block.language == "python":
            exec(compile(block.text, name_of(document), "exec"), {})  # our own documents


@pytest.mark.parametrize("document", PAGES, ids=name_of)
def test_commands_fit_the_width_of_the_site(document):
    """No command of a page is wider than its block at 1,280 pixels: longer ones are broken by hand."""
    sessions = [block.text for block in blocks(document) if block.language in ("console", "bash", "sh")]
    typed = [line for text in sessions for line in re.findall(r"^(?:\$ |cloister ).*(?:\\\n.*)*", text, re.MULTILINE)]

    assert [line for one in typed for line in one.splitlines() if len(line) > WIDEST] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_make_targets_named_in_documents_exist(document):
    """Whoever types ``make`` and a word from the documents is understood."""
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE))
    text = document.read_text(encoding="utf-8")
    named = set(re.findall(r"(?:`|^\$ )make ([a-z-]+)", text, re.MULTILINE))

    assert named <= targets


def options_of(command):
    """Every long option of a command and of the commands below it."""
    found = {option for parameter in command.params for option in parameter.opts if option.startswith("--")}
    for below in getattr(command, "commands", {}).values():
        found |= options_of(below)
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_options_named_in_documents_exist(document):
    """Every option that a document names is one of a command of cloister."""
    known = options_of(main.command()) | {"--help"} | NOT_OURS
    text = "\n".join(
        line for line in document.read_text(encoding="utf-8").splitlines() if "mypy" not in line and "pip" not in line
    )

    assert set(OPTION.findall(text)) - known == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(document):
    """Every link from one document to another, to a file, or to the page of a command has a target."""
    targets = re.findall(r"\]\((?!https?:)([^)#\s]+)", document.read_text(encoding="utf-8"))
    generated = {GENERATED / f"{name}.md" for name in ("index", *map(command_line.file_name, COMMANDS))}
    places = {target: (document.parent / target).resolve() for target in targets}

    assert [target for target, place in places.items() if not (place in generated or place.exists())] == []


def test_every_command_has_a_page_with_all_of_its_options(tmp_path):
    """`make docs` writes a page for each command with what its help lists, and an index that leads to each."""
    command_line.write_pages(tmp_path / "commands")
    pages = {page.stem: page.read_text(encoding="utf-8") for page in (tmp_path / "commands").iterdir()}
    index = pages.pop("index")

    assert set(pages) == {command_line.file_name(words) for words in COMMANDS}
    assert [name for name in pages if f"]({name}.md)" not in index or f"<{name}>" not in index] == []
    for words, command in COMMANDS.items():
        page = pages[command_line.file_name(words)]
        assert [option for option in options_of(command) if option not in page] == [], words


def paths_named_in(text):
    """Words in code quotes that look like files or folders of the repository."""
    for word in re.findall(r"`([^`\n]+)`", text):
        if re.fullmatch(r"[\w./-]+(?:/|\.(?:py|md|toml|lock|cff))", word):
            yield word


def test_every_page_is_in_the_table_of_contents():
    """The site that ``make docs`` makes leaves out no page."""
    docs = REPOSITORY / "docs"
    index = "".join((docs / f"{page}.md").read_text(encoding="utf-8") for page in ("index", "internals"))
    listed = set(
        re.findall(r"^(?:.*<)?([\w/*-]+)>?$", "".join(re.findall(r"```{toctree}(.*?)```", index, re.DOTALL)), re.M)
    )
    pages = {page.relative_to(docs).with_suffix("").as_posix() for page in PAGES} - {"index"}

    assert {page for page in pages if page not in listed and f"{page.split('/')[0]}/*" not in listed} == set()


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/internals.md"])
def test_files_named_in_the_map_exist(name):
    """Every file, folder and module that the map of the house names is there, in the package or beside it."""
    text = (REPOSITORY / name).read_text(encoding="utf-8")
    # behind the doors of every shape, as of trajectories
    promised = {
        "data.py",
        "statements.py",
        "verify.sql.j2",
        "options.py",
        "protect.py",
        "verify.py",
        "recheck.py",
        "manifest.py",
        "release.py",
        "facts.py",
    }
    doors = [ROOT / "shapes/trajectories" / door for door in ("format", "method", "verify")]
    for word in paths_named_in(text):
        behind = [door / word for door in doors] if word in promised else []
        places = [REPOSITORY / word, ROOT / word, ROOT / "shapes/table" / word, *behind]
        assert any(place.exists() for place in places), word


def test_every_room_is_on_the_map():
    """The map of the house leaves out no room and no file that stands in the hall."""
    text = (REPOSITORY / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rooms = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "__pycache__"}
    files = {path.name for path in ROOT.glob("*.py")} - {"__main__.py"}

    assert [room for room in rooms if f"  {room}/" not in text] == []
    assert [file for file in files if f"  {file} " not in text] == []


def test_every_dependency_has_its_reason():
    """Each library in pyproject.toml has a line in ARCHITECTURE.md that says why."""
    project = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    names = set(re.findall(r'^    "([a-z0-9-]+)>=', project, re.MULTILINE)) | {"hatchling"}
    rows = re.findall(
        r"^\| ([a-z0-9, -]+) \|", (REPOSITORY / "ARCHITECTURE.md").read_text(encoding="utf-8"), re.MULTILINE
    )

    assert names <= {name.strip() for row in rows for name in row.split(",")}


def keys_of(value, by_name=("weights", "hierarchies", "level_bounds", "columns", "files", "levels", "losses")):
    """Every key of a manifest, those that are names of columns, losses, files or class sizes left out."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if key == "columns":
                yield from itertools.chain.from_iterable(keys_of(described) for described in inner.values())
            elif key not in by_name and key != "records_by_class_size":
                yield from keys_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner)


CODES = "id,codes\n" + "".join(f"{number},001 V51\n" for number in range(9))
VISITS = "id,code,age\n" + "".join(f"{number},401.1,33\n" for number in range(9))
SIDE = "id,sex\n" + "".join(f"{number},{'FM'[number % 2]}\n" for number in range(9))
PEOPLE = "demo/patients.csv --qi age=interval:20@0-2 --qi sex --id mrn --sensitive diagnosis --undecided drop -k 5"
RELEASED = {
    f"protect table {PEOPLE}": (),
    "protect codes codes.csv -k 3 --policy level:1 --workload random:40": ("code-sets",),
    "protect codes codes.csv -k 3 --policy level:1 --method cba -m 2": ("generalization", "code-sets"),
    "protect codes codes.csv -k 3 --policy level:1 --method cba --privacy records": ("generalization", "code-sets"),
    "protect trajectories visits.csv -k 3 --accept-empty": ("trajectories",),
    "protect trajectories visits.csv -k 3 --attributes side.csv --policy level:1 --accept-empty": ("trajectories",),
    "protect trajectories visits.csv -k 9 --sensitive-codes 401.1 --accept-empty": ("trajectories",),
}


@pytest.mark.parametrize("words", RELEASED)
def test_every_file_and_key_of_a_release_is_documented(newcomer, words):
    """The pages on its shape and on the release folder name each file of a release and each key of its manifest."""
    pages = (*RELEASED[words], "release-folder")
    text = "".join((REPOSITORY / "docs" / f"{page}.md").read_text(encoding="utf-8") for page in pages)
    for name, content in {"codes.csv": CODES, "visits.csv": VISITS, "side.csv": SIDE}.items():
        (newcomer / name).write_text(content)
    assert run([*words.split(), "--out", "release", "--quiet"]) == 0
    manifest = json.loads(Path("release/release.json").read_text(encoding="utf-8"))

    assert [path.name for path in Path("release").iterdir() if f"`{path.name}`" not in text] == []
    assert sorted({key for key in keys_of(manifest) if f"`{key}`" not in text and f"`records.{key}`" not in text}) == []


def test_the_version_is_the_same_everywhere():
    """Package, project, citation and changes speak of one version."""
    version = cloister.__version__
    read = {
        name: (REPOSITORY / name).read_text(encoding="utf-8")
        for name in ("pyproject.toml", "CITATION.cff", "CHANGELOG.md")
    }

    assert f'version = "{version}"' in read["pyproject.toml"]
    assert f"version: {version}" in read["CITATION.cff"]
    assert f"## {version}" in read["CHANGELOG.md"]


def test_the_lock_file_holds_versions_and_hashes_only():
    """The development lock names packages, versions and hashes, no address or folder of the machine that made it."""
    lines = (REPOSITORY / "requirements-dev.lock").read_text(encoding="utf-8").splitlines()
    pinned = [line for line in lines if line and not line.lstrip().startswith("#")]
    line_of_a_lock = r"[a-z0-9-]+(?:\[[a-z-]+\])?==[\w.]+(?: ; .+)? \\| {4}--hash=sha256:[0-9a-f]{64}(?: \\)?"

    assert [line for line in pinned if not re.fullmatch(line_of_a_lock, line)] == []
    assert [line for line in lines if "://" in line] == []


def test_the_page_of_exit_codes_has_every_kind_of_error():
    """Each kind of error stands there with its exit code, and no other."""
    page = (REPOSITORY / "docs" / "reference" / "exit-codes.md").read_text(encoding="utf-8")
    found = {(int(code), kind) for code, kind in re.findall(r"^\| (\d) \|[^|]*\| `([a-z-]+)` \|", page, re.MULTILINE)}

    def kinds(error):
        own = {(error.exit_code, error.kind)} if "kind" in vars(error) else set()
        return own.union(*map(kinds, error.__subclasses__()))

    assert found == set().union(*map(kinds, CloisterError.__subclasses__()))
