"""The code base as data: its files, its syntax trees, and which module imports which."""

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
ROOT = REPOSITORY / "src" / "cloister"
FILES = tuple(sorted(ROOT.rglob("*.py")))
KERNELS = tuple(path for path in FILES if path.parent.name == "kernels")


def place(path: Path) -> str:
    """The path of a file inside the package, for test names."""
    return path.relative_to(ROOT).as_posix()


def for_all(items: Iterable, name: Callable = place) -> Callable:
    """Make one test of a rule about each of many files (or other items): it names all that break the rule."""
    every = list(items)

    def test_of(rule):
        def test():
            broken = []
            for item in every:
                try:
                    rule(item)
                except AssertionError as problem:
                    broken.append(f"{name(item)}: {problem}".split("\n")[0])
            if broken:
                raise AssertionError("; ".join(broken))

        test.__doc__ = rule.__doc__
        test.__name__ = rule.__name__
        return test

    return test_of


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def module_of(path: Path) -> str:
    """The dotted name under which a file is imported."""
    parts = ["cloister", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in FILES}


def room_of(module: str) -> str:
    """The room a module of ours is in: the word after ``cloister``; empty for the front door."""
    return module.partition(".")[2].partition(".")[0]


def _nodes_that_run(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes, those for the type checker alone excepted."""
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _nodes_that_run(child)


def names_imported(path: Path) -> set[str]:
    """Dotted names of everything of ours that a file imports when it runs, wherever in the file, however spelled."""
    here = ["cloister", *path.relative_to(ROOT).parts[:-1]]
    names: set[str] = set()
    for node in _nodes_that_run(tree(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            names |= {f"{stem}.{alias.name}" for alias in node.names}
    return {name for name in names if name == "cloister" or name.startswith("cloister.")}


@cache
def modules_imported(path: Path) -> frozenset[str]:
    """Modules of ours that a file imports; for ``from a import b``, ``a.b`` where that is a module, else ``a``."""
    found = set()
    for name in names_imported(path):
        module = name
        while module not in MODULES:
            module = module.rpartition(".")[0]
        found.add(module)
    return frozenset(found)


def rooms_imported(path: Path) -> set[str]:
    """Rooms that a file imports from."""
    return {room_of(module) for module in modules_imported(path)}


def modules_loaded(module: str) -> set[str]:
    """Modules of ours that importing a module loads, itself and the packages above them included."""
    loaded: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in loaded:
            continue
        loaded.add(name)
        waiting += modules_imported(MODULES[name])
        package = name.rpartition(".")[0]
        if "." in package:  # the front door loads nothing by itself; a test below says so
            waiting.append(package)
    return loaded
