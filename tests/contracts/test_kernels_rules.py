"""The rules that compiled code keeps."""

import ast

from house import FILES, KERNELS, for_all, place, tree

MOST_ARGUMENTS = 8
LONGEST_BODY = 37
DECORATORS = ("jit", "inner", "inner_with_arrays")


SYSTEM = {
    "_cached": {
        "cloister.kernels.private_cache",
        "functools",
        "hashlib",
        "llvmlite",
        "pathlib",
        "platform",
        "re",
        "sys",
    },
    "_jit": {"collections.abc", "functools", "sys", "threading"},
    "_numba": {
        "collections.abc",
        "contextlib",
        "numba",
        "numba.core",
        "numba.core.registry",
        "numba.core.runtime.nrt",
        "numba.core.typing.templates",
        "numba.np.arraymath",
        "pathlib",
        "sys",
    },
}
"""What the decorators need to choose and name the cache, and to compile."""

NOT_KERNELS = {"compiling", "private_cache", "ragged"}
"""What lies beside the kernels: who compiles them, where they are kept, and the arrays that they are handed."""


def functions(path):
    """All functions of a file."""
    return [node for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef)]


def is_compiled(function):
    """Whether a function is decorated by a decorator of kernels."""
    return any(isinstance(decorator, ast.Name) and decorator.id in DECORATORS for decorator in function.decorator_list)


COMPILED = [(path, function) for path in KERNELS for function in functions(path) if is_compiled(function)]


def name_of_kernel(kernel):
    """The file and the function."""
    return f"{kernel[0].stem}.{kernel[1].name}"


def without_docstring(function):
    """Nodes of the body of a function, its docstring left out."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return [node for statement in body for node in ast.walk(statement)]


def test_there_are_kernels():
    """The tests below find something to look at."""
    assert len(COMPILED) > 10


@for_all(FILES)
def test_numba_is_named_in_one_file(path):
    """Only kernels/_numba.py names Numba; everything compiled takes its decorator from kernels/_jit.py."""
    imported = {
        name.partition(".")[0]
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
    }
    words = {node.id for node in ast.walk(tree(path)) if isinstance(node, ast.Name)}

    if place(path) != "kernels/_numba.py":
        assert "numba" not in imported
        assert words & {"njit", "vectorize", "guvectorize", "generated_jit", "prange"} == set()


@for_all([path for path in KERNELS if path.stem not in NOT_KERNELS])
def test_kernels_import_numpy_and_nothing_else(path):
    """A kernel sees arrays: its file imports NumPy, typing and other kernels (the decorator: Numba and the system)."""
    allowed = {"numpy", "numpy.typing", "typing"} | SYSTEM.get(path.stem, set())
    absolute = {
        name
        for node in ast.walk(tree(path))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module]
            if isinstance(node, ast.ImportFrom) and not node.level
            else []
        )
    }
    assert absolute - allowed == set()


def test_fast_math_is_off():
    """The decorator releases the lock and keeps arithmetic exact, and nothing overrules it."""
    from cloister.kernels import _jit, classes

    _jit.load()
    for kernel in (classes._classes, classes._raise):
        options = kernel.targetoptions
        assert options["fastmath"] is False
        assert options["nogil"] is True
        assert not options.get("parallel", False)


@for_all(COMPILED, name_of_kernel)
def test_a_kernel_is_small(kernel):
    """A compiled function has at most 8 arguments, all by position, and a body of at most 37 lines."""
    function = kernel[1]
    arguments = function.args
    body = function.body[1:] if ast.get_docstring(function) else function.body

    assert len(arguments.args) + len(arguments.posonlyargs) <= MOST_ARGUMENTS
    assert [arguments.kwonlyargs, arguments.vararg, arguments.kwarg, arguments.defaults] == [[], None, None, []]
    assert body[-1].end_lineno - body[0].lineno + 1 <= LONGEST_BODY


@for_all(COMPILED, name_of_kernel)
def test_a_kernel_only_counts(kernel):
    """A compiled function knows no text, prints nothing, raises nothing and makes up no random numbers."""
    nodes = without_docstring(kernel[1])

    assert not [node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)]
    assert not [node for node in nodes if isinstance(node, ast.JoinedStr | ast.Raise | ast.Assert | ast.Try | ast.Dict)]
    assert not [node for node in nodes if isinstance(node, ast.Name) and node.id in ("print", "open", "object")]
    assert not [node for node in nodes if isinstance(node, ast.Attribute) and node.attr == "random"]


def called_from_python(path):
    """Names that code of a file uses which is not compiled, each with the file of kernels that has it."""
    home = {function.name: path.stem for function in functions(path)}
    for node in tree(path).body:
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            home |= {alias.name: node.module for alias in node.names}
    plain = [node for node in tree(path).body if not (isinstance(node, ast.FunctionDef) and is_compiled(node))]
    names = {node.id for part in plain for node in ast.walk(part) if isinstance(node, ast.Name)}
    return {(home[name], name) for name in names & set(home)}


def test_what_python_calls_is_an_entry_and_nothing_else():
    """``jit`` for what plain functions call, ``inner...`` for what kernels alone do; no other decorator, no options."""
    entries = set().union(*(called_from_python(path) for path in KERNELS))
    wrong = [
        f"{path.stem}.{function.name}"
        for path, function in COMPILED
        if len(function.decorator_list) != 1
        or (getattr(function.decorator_list[0], "id", "") == "jit") != ((path.stem, function.name) in entries)
    ]

    assert wrong == []


@for_all([path for path in FILES if path.parent.name != "kernels"])
def test_kernels_are_called_through_their_wrappers(path):
    """Nobody outside the kernels imports a compiled function."""
    names = {function.name for _, function in COMPILED}
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and "kernels" in (node.module or ""):
            assert {alias.name for alias in node.names} & names == set()
