"""The size and shape of the code base: what is counted, how much of it there is, and how much there may be.

    python benchmarks/house.py

Sizes (lines, files) are printed for information: a limit on them was moved with every feature and kept nothing small.
What has a limit is how the code is written.
"""

import ast
import io
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src" / "cloister"
SETTING = "local_recoding"
CHECKS = re.compile(r"(^|_|/)(verify|verification|recheck|stated|told|manifest)")
MANIFESTS = re.compile(r"""\b(manifest|told|found|stated|asked|choice|settings)(\[["']|\.get\(["'])""")
FOR_TOOLS = re.compile(r"#\s*(noqa|type:|pragma)")
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
        Measure("comments for 100 lines of search, kernels, verifiers", comments, 3, 3, is_least=True),
        Measure("test lines for a line of code", lines_of_tests / code, 0.8, 0.8, is_least=True),
    ]


def _lines(files: list[Source], name: re.Pattern[str]) -> int:
    return sum(file.lines for file in files if name.search(file.path))


def _text(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:.1f}"


if __name__ == "__main__":
    for one in measures():
        word = "at least" if one.is_least else "at most"
        limit = "" if one.limit is None else f"{word} {_text(one.limit)}"
        print(f"{one.what:<54} {_text(one.found):>8}   {limit:<14} goal {_text(one.goal)}")
