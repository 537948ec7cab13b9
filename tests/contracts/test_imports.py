"""Who may import whom: the floors of the code base, and the three doors of a shape."""

import ast
import os
import subprocess
import sys
from functools import cache

import pytest
from house import FILES, MODULES, ROOT, for_all, modules_imported, modules_loaded, place, rooms_imported, tree

FLOORS = (
    ("errors", "results", "version"),
    (
        *("settings", "io", "sources", "kernels", "search", "hierarchy", "privacy", "utility", "risk", "evidence"),
        "testing",
    ),
    ("shapes/registry", "release", "report"),
    ("shapes", "verification", "jobs", "engines"),
    ("pipeline", "exploration", "attacks", "recipients", "jobs/running", "jobs/first_jobs"),
    ("api", "cli", "web", "__init__", "__main__"),
)
"""Rooms and modules, lowest floor first. Where two names fit a module, the longer one counts."""

MADE_OF = {
    "table_with_codes": {"table", "disassociation", "generalization", "codes"},
    "disassociation": {"codes"},
    "generalization": {"codes"},
}
"""Shapes that use others."""

NOT_COMPILED = {"cloister.kernels", *(f"cloister.kernels.{name}" for name in ("compiling", "private_cache", "ragged"))}
"""What lies with the kernels and loads no compiler."""

VERIFIERS = [name for name in MODULES if name.startswith("cloister.shapes.") and ".verify." in name]


def floor(module):
    """The floor of a module."""
    here = module.partition(".")[2].replace(".", "/") or "__init__"
    fitting = [
        (len(name), number)
        for number, names in enumerate(FLOORS)
        for name in names
        if here == name or here.startswith(f"{name}/")
    ]
    return max(fitting)[1]


def shape_and_door(module):
    """The shape that a module belongs to, and its door; what the shapes share has neither."""
    words = module.split(".")
    inside = words[1:2] == ["shapes"] and module not in ("cloister.shapes.registry", "cloister.shapes.protocol")
    return (words[2] if inside and len(words) > 2 else None), (words[3] if inside and len(words) > 3 else None)


def module_of(path):
    """The module of a file."""
    return next(name for name, file in MODULES.items() if file == path)


@for_all(FILES)
def test_a_module_imports_from_its_own_floor_or_below(path):
    """Nothing imports from a floor above its own; types for the type checker excepted."""
    own = floor(module_of(path))
    assert {name for name in modules_imported(path) if name != "cloister" and floor(name) > own} == set()


@for_all(FILES)
def test_method_and_verify_never_import_each_other(path):
    """In every shape: no method imports a verifier, no verifier a method, and a format neither."""
    never = {"method": {"verify"}, "verify": {"method"}, "format": {"method", "verify"}}
    door = shape_and_door(module_of(path))[1]
    found = {name for name in modules_imported(path) if shape_and_door(name)[1] in never.get(door, set())}
    assert found == set()


@for_all(FILES)
def test_a_shape_imports_no_other_shape(path):
    """A shape uses what is its own, unless it is made of others."""
    shape = shape_and_door(module_of(path))[0]
    others = {shape_and_door(name)[0] for name in modules_imported(path)} - {None, shape}
    assert shape is None or others - MADE_OF.get(shape, set()) == set()


@for_all(VERIFIERS, str)
def test_a_verifier_loads_nothing_of_what_it_checks(module):
    """Importing a verifier loads, directly or not, no search, no kernel, no method and no pipeline."""
    loaded = modules_loaded(module)
    never = ("cloister.search", "cloister.kernels", "cloister.pipeline", "cloister.api")

    assert {name for name in loaded if name.startswith(never)} - NOT_COMPILED == set()
    assert {name for name in loaded if shape_and_door(name)[1] == "method"} == set()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "module",
    [
        *(f"cloister.shapes.{shape}.verify.verify" for shape in ("table", "claims", "trajectories")),
        *(f"cloister.shapes.{shape}.verify.verify" for shape in ("disassociation", "generalization")),
        "cloister.shapes.table_with_codes.verify.verify",
        "cloister.shapes.table_with_codes.verify.recheck",
        "cloister.verification.folder",
        "cloister.api.attack",
    ],
)
def test_the_verifier_really_loads_nothing_of_what_it_checks(module):
    """In a fresh interpreter the verifier, all of ``cloister verify`` and attacks load no Numba, search or method."""
    program = f"import sys, {module}\nprint(*(m for m in sys.modules if m.startswith(('cloister.', 'numba'))))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split()) - NOT_COMPILED

    assert module in loaded
    assert {name for name in loaded if name.startswith(("numba", "cloister.search", "cloister.kernels"))} == set()
    assert {name for name in loaded if shape_and_door(name)[1] == "method"} == set()


@for_all([path for path in FILES if not place(path).startswith(("cli/", "__main__"))])
def test_nobody_imports_the_command_line(path):
    """Only the command line knows that there is one."""
    assert "cli" not in rooms_imported(path)


@for_all([path for path in FILES if not place(path).startswith("web/") and place(path) != "cli/ui.py"])
def test_nobody_imports_the_application(path):
    """Only its command knows that there is one."""
    assert "web" not in rooms_imported(path)


@for_all([path for path in FILES if place(path).startswith("cli/")])
def test_the_command_line_parses_calls_and_prints(path):
    """The command line uses no kernels and no method: it calls the pipeline and the API, and prints what they found."""
    imported = modules_imported(path)
    assert {name for name in imported if name.startswith("cloister.kernels.")} <= {"cloister.kernels.compiling"}
    assert {name for name in imported if name.startswith("cloister.search")} == set() or place(path) == "cli/output.py"


@for_all([path for path in FILES if place(path).startswith("engines/") and "spark/" not in place(path)])
def test_engines_know_no_shapes(path):
    """What counts tables knows SQL and columns; parts of other shapes are handed to Spark's workers only."""
    assert rooms_imported(path) & {"shapes", "release", "hierarchy", "kernels"} == set()


def test_the_verifier_of_jobs_reads_spellings_by_itself():
    """Checking parts of a job loads nothing of what reads columns as two systems spell them, nor formats of dates."""
    loaded = modules_loaded("cloister.jobs.recheck_spelling")
    never = {"jobs.spelling", "settings.reading", "io.read", "risk.row_numbers"}

    assert loaded & {f"cloister.{name}" for name in never} == set()
    assert {f"cloister.{name}" for name in never} <= MODULES.keys()
    assert "cloister.jobs.recheck_spelling" in modules_loaded("cloister.jobs.recheck")
    assert "cloister.jobs.spelling" not in modules_loaded("cloister.jobs.recheck")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("course", "shapes"),
    [
        ("tables", {"table"}),
        ("disassociation", {"codes", "disassociation"}),
        ("generalization", {"codes", "generalization"}),
        ("trajectories", {"trajectories"}),
        ("claims", {"claims"}),
    ],
)
def test_a_course_loads_nothing_of_other_shapes(course, shapes):
    """In a fresh interpreter the course of a shape loads no module of another, nor the courses beside it."""
    program = f"import sys, cloister.pipeline.{course}\nprint(*(m for m in sys.modules if m.startswith('cloister.')))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())

    assert f"cloister.pipeline.{course}" in loaded
    assert {shape_and_door(name)[0] for name in loaded} - {None} <= shapes
    of_course = {"tables": {"table_refusals", "undecided"}, "disassociation": {"codes"}, "generalization": {"codes"}}
    own = {"protecting", "output_paths", course} | of_course.get(course, set())
    assert {name for name in loaded if name.startswith("cloister.pipeline.")} == {
        f"cloister.pipeline.{it}" for it in own
    }


def test_a_help_page_loads_no_dataframes_and_no_compiler():
    """What Ctrl-C could meet before it is heeded is short: options are declared in modules that load nothing."""
    heavy = ("polars", "numpy", "numba", "scipy", "duckdb", "pydantic")
    program = f"import sys, cloister.cli.main\nprint([name for name in {heavy} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == "[]"


def test_the_command_line_loads_no_linear_algebra(tmp_path):
    """Numba loads what SciPy has for products of matrices, unless it knows that kernels need none."""
    program = "import sys, cloister.kernels.compiling as c\nc.compiles_only_ours()\nc.load('risk')\n"
    program += "print(*(name in sys.modules for name in ('scipy.linalg', 'coverage')))"
    empty = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=empty)

    assert run.stdout.split() == ["False", "False"]


def test_a_kernel_that_is_compiled_loads_no_compiler():
    """Every kernel runs from the cache, and those of tables do without what takes Numba longest to load."""
    program = "import sys, cloister.kernels.compiling as c\nc.compiles_only_ours()\n"
    program += "[*map(c.load, ('optimal', 'cluster', 'risk'))]\n"
    program += "print(*(name in sys.modules for name in ('numba', 'numba.np.arraymath')))\n[*map(c.load, c.KERNELS)]"
    runs = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(2)  # the first compiles what is not compiled yet
    ]

    assert runs[1] == ["True", "False"]


def test_the_front_door_loads_nothing():
    """``import cloister`` loads no other module of ours until something is used."""
    outside_checking = [node for node in tree(MODULES["cloister"]).body if isinstance(node, ast.ImportFrom)]
    assert {node.module for node in outside_checking} == {"importlib", "typing"}


BY_NAME = {"kernels/compiling.py", "io/databases.py", "cli/commands.py", "web/app.py", "shapes/registry.py"}
"""Drivers of databases are called as the scheme of an address says; their names begin with ``adbc_driver_``. What does
the work of a command, or answers a page, is a function of a module in ``cli/`` or ``web/``, loaded when it is called.
Kernels are loaded by methods that are listed by name, in a process of their own.
What is special about a shape or a form of release is named in the registry.
"""


@for_all([path for path in FILES if place(path) != "__init__.py"])
def test_imports_are_written_as_imports(path):
    """No module but the front door imports by name at run time, where these tests would not see it."""
    if place(path) in BY_NAME:
        return
    words = {node.id for node in ast.walk(tree(path)) if isinstance(node, ast.Name)}
    words |= {node.attr for node in ast.walk(tree(path)) if isinstance(node, ast.Attribute)}
    imported = [
        alias.name
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in [*node.names, ast.alias(getattr(node, "module", None) or "")]
    ]

    assert words & {"__import__", "import_module"} == set()
    assert [
        name for name in imported if name == "import_module" or name in ("importlib", "importlib.util", "runpy")
    ] in (
        [],
        ["importlib.util"],  # find_spec: whether something is installed
    )


@for_all(FILES)
def test_there_are_no_cycles(path):
    """No module is loaded by a module that it loads itself at import time."""
    module = next(name for name, file in MODULES.items() if file == path)
    package = module.rpartition(".")[0]
    for imported in modules_at_the_top(path):
        if imported not in (module, package):
            assert module not in reached(imported), f"{module} and {imported} import each other"


@cache
def modules_at_the_top(path):
    """Modules of ours that the top level of a file imports, type-checking blocks left out."""
    here = ["cloister", *path.relative_to(ROOT).parts[:-1]]
    found = set()
    for node in tree(path).body:
        if not isinstance(node, ast.ImportFrom):
            continue
        base = here[: len(here) - node.level + 1] if node.level else []
        stem = ".".join([*base, *([node.module] if node.module else [])])
        for alias in node.names:
            name = f"{stem}.{alias.name}"
            found |= {name if name in MODULES else stem} & MODULES.keys()
    return found


def reached(module):
    """Modules reached from a module by imports at the top level; packages are not entered."""
    seen, waiting = set(), [module]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += modules_at_the_top(MODULES[name])
    return seen
