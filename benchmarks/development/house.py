"""The way through the code base, and how it is written: what is counted, how much there is, and how much there may be.

    python -m benchmarks.development.house          # with the ways: runs commands on an example hospital, half a minute
    python -m benchmarks.development.house static   # without

The way is what a reader crosses who follows one command: the files, folders and functions that it enters, traced in a
run. Sizes (lines, files) are printed for information: a limit on them moved with every feature and kept nothing small.
"""

import ast
import io
import json
import re
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "cloister"
SETTING = "local_recoding"
CHECKS = re.compile(r"(^|_|/)(verify|verification|recheck|stated|told|manifest)")
MANIFESTS = re.compile(r"""\b(manifest|told|found|stated|asked|choice|settings)(\[["']|\.get\(["'])""")
FOR_TOOLS = re.compile(r"#\s*(noqa|type:|pragma)")
IRREGULAR = {"told", "taken", "given", "made", "held", "said", "shown", "kept", "written", "known", "found", "left"}
INVARIANTS = ("search/", "kernels/")
"""Where comments must say why; with the verifiers."""


@dataclass(frozen=True)
class Source:
    """One file of Python: its path from the package, its text and its syntax tree."""

    path: str
    text: str
    tree: ast.Module

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of the tree."""
        return list(ast.walk(self.tree))

    @property
    def lines(self) -> int:
        """All lines."""
        return len(self.text.splitlines())

    def code(self) -> int:
        """Lines that hold code: neither blank, nor comments, nor docstrings."""
        held = {line for node in self.nodes if hasattr(node, "lineno") for line in range(*_span(node))}
        documented = {line for node in _docstrings(self) for line in range(*_span(node))}
        texts = self.text.splitlines()
        return sum(bool(texts[line - 1].strip()) for line in held - documented if not _is_comment(texts[line - 1]))

    def comments(self) -> int:
        """Comments, beside code too; those for tools left out."""
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        return sum(token.type == tokenize.COMMENT and not FOR_TOOLS.match(token.string) for token in tokens)


def _span(node: ast.AST) -> tuple[int, int]:
    return node.lineno, (node.end_lineno or node.lineno) + 1


def _is_comment(line: str) -> bool:
    return line.strip().startswith("#")


def _docstrings(file: Source) -> Iterator[ast.Expr]:
    for node in file.nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node


def sources(folder: Path) -> list[Source]:
    """Every file of Python under a folder."""
    paths = sorted(folder.rglob("*.py"))
    return [
        Source(str(path.relative_to(folder)), text, ast.parse(text))
        for path in paths
        if (text := path.read_text()) or 1
    ]


def lonely_helpers(files: list[Source]) -> int:
    """Private functions of at most three lines of body that one place calls."""
    found = 0
    for file in files:
        uses = Counter(node.id for node in file.nodes if isinstance(node, ast.Name))
        uses.update(node.attr for node in file.nodes if isinstance(node, ast.Attribute))
        for node in file.nodes:
            if isinstance(node, ast.FunctionDef) and re.match(r"_[a-z]", node.name) and uses[node.name] == 1:
                body = node.body[1:] if ast.get_docstring(node) else node.body
                found += bool(body) and (body[-1].end_lineno or 0) - body[0].lineno < 3
    return found


def shared_names(files: list[Source]) -> int:
    """Names that classes of several files have."""
    names = Counter(node.name for file in files for node in file.tree.body if isinstance(node, ast.ClassDef))
    return sum(count > 1 for count in names.values())


def circles(files: list[Source]) -> int:
    """Groups of modules that import each other, inside functions too."""
    modules = {_module(file.path): file for file in files}
    graph = {name: _imported(name, file, modules.keys()) for name, file in modules.items()}
    return sum(len(group) > 1 for group in _components(graph))


def _module(path: str) -> str:
    parts = ["cloister", *Path(path).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(name: str, file: Source, modules: object) -> set[str]:
    package = name if file.path.endswith("__init__.py") else name.rpartition(".")[0]
    found = set()
    for node in file.nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            base = ".".join(parts[: len(parts) - node.level + 1]) if node.level else ""
            stem = ".".join(part for part in (base, node.module or "") if part)
            named = {f"{stem}.{alias.name}" for alias in node.names}
            found |= {one for one in named if one in modules} or {stem}  # type: ignore[operator]
    return {one for one in found if one in modules and one != name}  # type: ignore[operator]


def _components(graph: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected components, by Kosaraju's two passes."""
    back = defaultdict(set)
    for name, targets in graph.items():
        for target in targets:
            back[target].add(name)
    seen: set[str] = set()
    order = [name for start in graph for name in _reached(start, graph, seen)]
    seen = set()
    return [group for start in reversed(order) if (group := list(_reached(start, back, seen)))]


def _reached(start: str, graph: dict[str, set[str]], seen: set[str]) -> Iterator[str]:
    """What is reached from a start and was not seen, each after all that it leads to."""
    if start in seen:
        return
    seen.add(start)
    for target in sorted(graph.get(start, ())):
        yield from _reached(target, graph, seen)
    yield start


@dataclass(frozen=True)
class Measure:
    """Something that is counted: how much there is, how much there may be (None: as much as it takes), and the goal.

    A test holds the limits, which are lowered whenever less is needed.
    """

    what: str
    found: float
    limit: float | None
    goal: float
    is_least: bool = False

    @property
    def holds(self) -> bool:
        """Whether the limit, if there is one, is kept."""
        if self.limit is None:
            return True
        return self.found >= self.limit if self.is_least else self.found <= self.limit


def measures() -> list[Measure]:
    """Count everything."""
    files, tests = sources(SRC), sources(ROOT / "tests")
    code = sum(file.code() for file in files)
    text = "\n".join(file.text for file in files)
    where = [file for file in files if file.path.startswith(INVARIANTS) or "verif" in file.path]
    comments = 100 * sum(file.comments() for file in where) / sum(file.code() for file in where)
    any_count = sum(isinstance(node, ast.Name) and node.id == "Any" for file in files for node in file.nodes)
    named = sum(SETTING in file.text for file in files)
    lines_of_tests = sum(file.lines for file in tests)
    return [
        Measure("lines of src", sum(file.lines for file in files), None, 58_000),
        Measure("lines of code", code, None, 40_000),
        Measure("files", len(files), None, 240),
        Measure("lines that verify, or say what a manifest may hold", _lines(files, CHECKS), None, 5_000),
        Measure("lines of cli/", _lines(files, re.compile("^cli/")), None, 2_300),
        Measure(f"files that name {SETTING}", named, 4, 4),
        Measure("Any", any_count, 50, 120),
        Measure("access to a manifest by string key", len(MANIFESTS.findall(text)), 0, 0),
        Measure("private helpers of three lines with one caller", lonely_helpers(files), 60, 60),
        Measure("class names of several classes", shared_names(files), 5, 5),
        Measure("import circles", circles(files), 0, 0),
        Measure("imports between a method and a verifier", crossings(files), 0, 0),
        Measure("modules in the root", sum("/" not in file.path for file in files), 5, 5),
        Measure("declarations of a setting", declarations(files), None, 1.3),
        Measure("uses of aliases of Any", aliases_of_any(files), None, 0),
        Measure("public names of two modules", names_of_two(files), None, 60),
        Measure("functions named by a participle", participles(files), None, 40),
        Measure("comments for 100 lines of search, kernels, verifiers", comments, 3, 3, is_least=True),
        Measure("test lines for a line of code", lines_of_tests / code, 0.8, 0.8, is_least=True),
    ]


def participles(files: list[Source]) -> int:
    """Functions named by a bare participle, such as ``taken`` or ``described``: they do not say what they do.

    A property is a quantity, which an adjective may name; ``read`` is a verb.
    """
    names = [
        node.name.strip("_")
        for file in files
        for node in file.nodes
        if isinstance(node, ast.FunctionDef) and not any("property" in ast.unparse(one) for one in node.decorator_list)
    ]
    return sum("_" not in name and (name.endswith("ed") or name in IRREGULAR) for name in names)


def names_of_two(files: list[Source]) -> int:
    """Public names that two modules or more define at their top level."""
    where = defaultdict(set)
    for file in files:
        for node in file.tree.body:
            for name in _defined(node):
                if not name.startswith("_"):
                    where[name].add(file.path)
    return sum(len(paths) > 1 for paths in where.values())


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def aliases_of_any(files: list[Source]) -> int:
    """Uses of names that stand for a type with ``Any`` in it."""
    aliases = {
        name
        for file in files
        for node in file.tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        if not isinstance(node.value, ast.Call)
        if any(isinstance(one, ast.Name) and one.id == "Any" for one in ast.walk(node.value))
        for name in _defined(node)
    }
    return sum(isinstance(node, ast.Name) and node.id in aliases for file in files for node in file.nodes) - len(
        aliases
    )


def declarations(files: list[Source]) -> float:
    """Declarations for each setting: fields of records, and parameters of the functions of Python."""
    fields = [
        (node.target.id, "Help(" in ast.unparse(node.annotation))
        for file in files
        for one in file.nodes
        if isinstance(one, ast.ClassDef)
        for node in one.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
    settings = {name for name, is_setting in fields if is_setting}
    parameters = [
        argument.arg
        for file in files
        if file.path.startswith("api/")
        for node in file.nodes
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
        for argument in [*node.args.args, *node.args.kwonlyargs]
    ]
    every = [name for name, _ in fields] + parameters
    return sum(name in settings for name in every) / len(settings)


def crossings(files: list[Source]) -> int:
    """Imports between a method and a verifier."""
    modules = {_module(file.path): file for file in files}
    doors = {"method": ".verify.", "verify": ".method."}
    return sum(
        doors[door] in target
        for name, file in modules.items()
        if name.startswith("cloister.shapes.") and (door := (name.split(".") + [""] * 4)[3]) in doors
        for target in _imported(name, file, modules.keys())
    )


TRACE = """
import json, sys, threading
entered = set()
def note(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_flags & 1 and "/cloister/" in code.co_filename and "<" not in code.co_name:
        entered.add((code.co_filename, code.co_qualname))
threading.setprofile(note)
sys.setprofile(note)
from cloister.cli.main import run
code = run(sys.argv[1:])
sys.setprofile(None)
assert code == 0, code
files = {file for file, _ in entered}
print(json.dumps([len(files), len({file.rpartition("/")[0] for file in files}), len(entered)]))
"""
ASKED = (
    "-k",
    "5",
    "--qi",
    "age=interval:5,10,20/top=90",
    "--qi",
    "sex",
    "--sensitive",
    "diagnosis",
    "--undecided",
    "drop",
)
WAYS = {
    "protect table": (("protect", "table", "patients.csv", *ASKED, "--out", "table", "-q"), (45, 15, 300)),
    "verify a table": (("verify", "table", "-q"), (20, 8, 120)),
    "protect codes": (("protect", "codes", "codes.csv", "-k", "5", "--out", "codes", "-q"), (40, 14, 260)),
    "protect trajectories": (
        ("protect", "trajectories", "trajectories.csv", "-k", "5", "--out", "trajectories", "-q"),
        (40, 14, 260),
    ),
    "protect claims": (
        ("protect", "claims", "claim_patients.csv", "claims.csv", "--plan", "plan.toml", "--out", "claims", "-q"),
        (50, 17, 420),
    ),
}
"""Commands on the example hospital, and the goals for files, folders and functions that they enter."""


def ways() -> Iterator[tuple[str, list[int], tuple[int, int, int]]]:
    """Run each command in a process of its own and yield what of ours it entered."""
    with tempfile.TemporaryDirectory() as place:
        run = partial(subprocess.run, cwd=place, capture_output=True, text=True, check=True)
        run([sys.executable, "-m", "cloister", "demo", "demo", "--quiet"])
        for source in (Path(place) / "demo").glob("*.csv"):
            source.rename(Path(place) / source.name)
        run(
            [
                sys.executable,
                "-m",
                "cloister",
                "init",
                "claims",
                "claim_patients.csv",
                "claims.csv",
                "--out",
                "plan.toml",
            ]
        )
        for name, (words, goals) in WAYS.items():
            done = run([sys.executable, "-c", TRACE, *words])
            yield name, json.loads(done.stdout.splitlines()[-1]), goals


def _lines(files: list[Source], name: re.Pattern[str]) -> int:
    return sum(file.lines for file in files if name.search(file.path))


def _text(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:.1f}"


if __name__ == "__main__":
    for one in measures():
        word = "at least" if one.is_least else "at most"
        limit = "" if one.limit is None else f"{word} {_text(one.limit)}"
        print(f"{one.what:<54} {_text(one.found):>8}   {limit:<14} goal {_text(one.goal)}")
    if sys.argv[1:] != ["static"]:
        print("\nentered by                  files (goal)   folders (goal)   functions (goal)")
        for way, found, aimed in ways():
            print(f"{way:<26}" + "".join(f"{n:>8} ({most})".ljust(17) for n, most in zip(found, aimed, strict=True)))
