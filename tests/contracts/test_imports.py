"""Who may import whom."""

import ast
import subprocess
import sys

import pytest

from house import FILES, MODULES, ROOT, for_all, modules_imported, modules_loaded, place, rooms_imported, tree

SHAPES = {"tabular", "codesets", "table_with_codes", "trajectories", "claims"}
COMPOSED = {"table_with_codes": {"tabular", "codesets", "table_with_codes"}}
"""Shapes made of others, and which they may use."""

ALLOWED = {
    "errors": set(),
    "version": set(),
    "runs": set(),
    "results": set(),
    "masking": set(),
    "reading": {"errors"},
    "private_cache": set(),
    "kernels": {"kernels", "private_cache"},
    "search": {"search", "results", "errors", "kernels"},
    "report": {
        "errors",
        "report",
        "results",
        "manifest",
        "manifests",
        "private_cache",
        "registry",
        "release_folder",
        *SHAPES,
    },
    "testing": {"testing"},
    "hierarchy": {"hierarchy", "reading", "errors", "results"},
    "io": {"io", "reading", "errors", "results"},
    "sources": {"sources", "io", "reading", "errors"},
    "engines": {
        "engines",
        "runs",
        "reading",
        "kernels",
        "sources",
        "io",
        "errors",
        "results",
        "codesets",
        "trajectories",
        "hierarchy",
        "release",
    },
    "released_in_database": {"errors", "results", "io", "release_folder", "tabular"},
    "privacy": {"privacy", "errors", "results"},
    "utility": {"utility", "errors", "results"},
    "risk": {"risk", "errors", "results", "kernels", "privacy"},
    "evidence": {"evidence", "errors", "hierarchy", "io", "reading", "risk"},
    "tabular": {
        "tabular",
        "risk",
        "codebook",
        "checker",
        "reading",
        "manifest",
        "masking",
        "settings",
        "errors",
        "results",
        "io",
        "hierarchy",
        "privacy",
        "utility",
        "search",
        "kernels",
        "release",
        "release_folder",
        "report_figures",
    },
    "codesets": {
        "codesets",
        "runs",
        "codebook",
        "checker",
        "reading",
        "manifest",
        "masking",
        "settings",
        "sources",
        "errors",
        "results",
        "io",
        "hierarchy",
        "utility",
        "kernels",
        "release",
        "release_folder",
        "report_figures",
    },
    "trajectories": {
        "trajectories",
        "runs",
        "codebook",
        "checker",
        "reading",
        "manifest",
        "masking",
        "settings",
        "sources",
        "errors",
        "results",
        "io",
        "hierarchy",
        "utility",
        "kernels",
        "release",
        "release_folder",
        "report_figures",
    },
    "claims": {
        "claims",
        "evidence",
        "codebook",
        "checker",
        "reading",
        "manifest",
        "masking",
        "settings",
        "sources",
        "typed_toml",
        "errors",
        "results",
        "io",
        "hierarchy",
        "privacy",
        "utility",
        "search",
        "kernels",
        "release",
        "release_folder",
        "report_figures",
    },
    "release": {"errors", "results", "io", "manifest", "manifests", "report", "report_figures", "release_folder"},
    "report_figures": {"io", "masking", "risk"},
    "codebook": {"io"},
    "release_folder": {"version", "errors", "results", "io", "manifest", "manifests"},
    "table_with_codes": {
        "table_with_codes",
        "codebook",
        "checker",
        "manifest",
        "errors",
        "results",
        "io",
        "hierarchy",
        "privacy",
        "kernels",
        "release",
        "release_folder",
        "report_figures",
        "tabular",
        "codesets",
    },
    "manifest": {"manifest", "errors", "results"},
    "typed_toml": {"errors"},
    "settings": {"settings", "io", "errors"},
    "registry": {"settings"},  # types
    "compiling": {"kernels"},
    "shape": {"compiling", "hierarchy", "jobs", "manifests", "registry", "release", "results", "search", "settings"},
    "jobs": {
        "evidence",
        "jobs",
        "registry",
        "reading",
        "settings",
        "version",
        "typed_toml",
        "errors",
        "results",
        "io",
        "hierarchy",
        "risk",
        "report",
        "release",
        "release_folder",
        "manifest",
        "manifests",
        "sources",
        "engines",
        "codesets",
        "tabular",
        "trajectories",
        "claims",
    },
    "manifests": {"errors", "results", "manifest", "registry", *SHAPES},
    "checker": {
        *(
            "errors",
            "reading",
            "results",
            "io",
            "hierarchy",
            "manifest",
            "manifests",
            "release_folder",
            "report",
            "report_figures",
        )
    },
    "attacks": {
        *("attacks", "errors", "results", "io", "hierarchy", "manifests", "release", "release_folder"),
        *("checker", "manifest", "registry", "runs", "shape", "sources", "reading"),
        *SHAPES,
    },
    "verification": {
        "checker",
        "reading",
        "manifests",
        "errors",
        "results",
        "hierarchy",
        "privacy",
        "release_folder",
        "released_in_database",
        "registry",
        "jobs",
        *SHAPES,
    },
    "pipeline": {
        "evidence",
        "recipients",
        *(
            "pipeline",
            "engines",
            "errors",
            "results",
            "io",
            "release",
            "release_folder",
            "report",
            "report_figures",
            "risk",
            "search",
        ),
        *("attacks", "exploration", "hierarchy", "jobs", "checker", "privacy", "verification", "registry", "settings"),
        *("manifest", "manifests", "reading", "shape", "sources", "version"),
        *SHAPES,
    },
    "recipients": {
        "codebook",
        *("recipients", "errors", "results", "io", "hierarchy", "utility", "manifest", "manifests", "release_folder"),
        *("registry", "codesets", "tabular", "trajectories"),  # types of manifests
    },
    "web": {
        "evidence",
        *("web", "errors", "results", "version", "reading", "settings", "typed_toml", "io", "sources", "hierarchy"),
        *("privacy", "risk", "search", "jobs", "pipeline", "registry", "shape", "exploration", "report", "manifest"),
        *("manifests", "release_folder", "verification", "recipients", *SHAPES),
    },
    "exploration": {
        *("exploration", "version", "errors", "results", "io", "manifests", "report", "release", "release_folder"),
        *("jobs", "registry", *SHAPES),
    },
}
"""Rooms, and those that they may import from."""

SEEN_BY_CLI = {
    "cli",
    "",
    "version",
    "errors",
    "results",
    "pipeline",
    "api",
    "release",
    "io",
    "hierarchy",
    "privacy",
    "utility",
}
SEEN_BY_CLI |= {
    "compiling",
    *SHAPES,
    "release_folder",
    "evidence",
    "risk",
    "search",
    "testing",
    "verification",
    "manifests",
    "jobs",
}
SEEN_BY_CLI |= {
    "compiling",
    "manifest",
    "manifests",
    "shape",
    "registry",
    "checker",
    "attacks",
    "exploration",
    "typed_toml",
    "sources",
    "engines",
    "report",
    "settings",
    "reading",
    "recipients",
    "web",
}


def room(path):
    """The room of a file: its folder, or its own name where it stands in the package itself."""
    return path.relative_to(ROOT).with_suffix("").parts[0]


def files_of(*rooms):
    """Files of these rooms."""
    return [path for path in FILES if room(path) in rooms]


@for_all(files_of(*ALLOWED))
def test_a_room_imports_only_from_rooms_below_it(path):
    """A file imports from the rooms that its own room may use, and no others."""
    assert rooms_imported(path) - ALLOWED[room(path)] == set()


@for_all(files_of("cli"))
def test_the_command_line_parses_calls_and_prints(path):
    """The command line uses no kernels: it calls the pipeline and the API, and prints what they found in words."""
    assert rooms_imported(path) - SEEN_BY_CLI == set()
    searches = {name for name in rooms_imported(path) if name == "search"}
    assert not searches or place(path) == "cli/output.py"


@for_all([path for path in FILES if room(path) not in ("cli", "__main__")])
def test_nobody_imports_the_command_line(path):
    """Only the command line knows that there is one."""
    assert "cli" not in rooms_imported(path)


@for_all([path for path in FILES if room(path) != "web" and place(path) != "cli/ui.py"])
def test_nobody_imports_the_application(path):
    """Only its command knows that there is one."""
    assert "web" not in rooms_imported(path)


@for_all(files_of("engines"))
def test_engines_know_no_shapes(path):
    """What counts tables knows SQL and columns; parts of other shapes are handed to Spark's workers only."""
    assert place(path).startswith("engines/spark/") or not rooms_imported(path) & {
        *SHAPES,
        "release",
        "hierarchy",
        "kernels",
    }


@for_all([path for path in FILES if room(path) in SHAPES])
def test_shapes_do_not_import_each_other(path):
    """A shape stands by itself, unless it is made of others."""
    assert rooms_imported(path) & SHAPES - COMPOSED.get(room(path), {room(path)}) == set()


@for_all([path for path in FILES if place(path).startswith("codesets/")])
def test_what_methods_for_code_sets_share_knows_their_forms_only(path):
    """What stands in the room itself imports of a method no more than its forms, and methods not each other."""
    inside = {name for name in modules_imported(path) if name.startswith("cloister.codesets.") and name.count(".") > 2}
    own = place(path).split("/")[1] if place(path).count("/") > 1 else None

    assert {name for name in inside if name.split(".")[2] != own and name.split(".")[3] != "data"} == set()


@for_all([path for path in FILES if room(path) not in ("cli", "web", "pipeline", "api", "registry", "__init__")])
def test_flow_and_verbs_stand_on_top(path):
    """Nothing below the pipeline imports it or the API; only the registry knows where a shape is to be loaded."""
    assert rooms_imported(path) & {"pipeline", "api"} == set()


def test_the_verifier_loads_nothing_of_what_it_checks():
    """Importing the verifier loads, directly or not, no search, no kernel and no part of protection."""
    loaded = modules_loaded("cloister.tabular.verify")

    assert "cloister.io" in loaded
    assert {name for name in loaded if name.startswith(("cloister.search", "cloister.kernels"))} == set()
    assert loaded & {"cloister.tabular.protect", "cloister.tabular.encode"} == set()
    assert {name for name in loaded if name.startswith("cloister.pipeline")} == set()


def test_the_verifier_of_code_sets_loads_nothing_of_what_it_checks():
    """Importing it loads, directly or not, no kernel and nothing that protects or reconstructs."""
    loaded = modules_loaded("cloister.codesets.disassociation.verify")
    protecting = ("protect", "release", "canonical")

    assert {name for name in loaded if name.startswith(("cloister.search", "cloister.kernels"))} == set()
    assert loaded & {f"cloister.codesets.disassociation.{name}" for name in protecting} == set()
    assert {f"cloister.codesets.disassociation.{name}" for name in protecting} <= MODULES.keys()


def test_the_verifier_of_generalized_code_sets_loads_nothing_of_what_it_checks():
    """Importing it loads, directly or not, no kernel and nothing that protects or works out its figures."""
    room = "cloister.codesets.generalization"
    loaded = modules_loaded(f"{room}.verify")
    protecting = ("terms", "privacy_policy", "losses", "protect")

    assert "cloister.codesets.data" in loaded
    assert {name for name in loaded if name.startswith(("cloister.search", "cloister.kernels"))} == set()
    assert loaded & {f"{room}.{name}" for name in protecting} == set()
    assert {f"{room}.{name}" for name in protecting} <= MODULES.keys()


def test_the_verifier_of_trajectories_loads_nothing_of_what_it_checks():
    """Importing it loads, directly or not, no kernel and nothing that protects or works out its figures."""
    loaded = modules_loaded("cloister.trajectories.verify")
    protecting = ("problem", "figures", "release", "protect")

    assert {"cloister.trajectories.verify", "cloister.trajectories.data"} <= loaded
    assert {name for name in loaded if name.startswith(("cloister.search", "cloister.kernels"))} == set()
    assert loaded & {f"cloister.trajectories.{name}" for name in protecting} == set()
    assert {f"cloister.trajectories.{name}" for name in protecting} <= MODULES.keys()


def test_the_verifier_of_claims_loads_nothing_of_what_it_checks():
    """Importing it loads, directly or not, no kernel and nothing that protects or works out its figures."""
    loaded = modules_loaded("cloister.claims.verify")
    protecting = ("knowledge", "risk", "choice", "suppression", "encode", "release", "figures", "protect")
    protecting += ("losses", "label_suppression", "joint_choice", "keeping")

    assert {"cloister.claims.verify_original", "cloister.claims.verify_simulation"} <= loaded
    assert {name for name in loaded if name.startswith(("cloister.search", "cloister.kernels"))} == set()
    assert loaded & {f"cloister.claims.{name}" for name in protecting} == set()
    assert {f"cloister.claims.{name}" for name in protecting} <= MODULES.keys()


def test_the_verifier_of_jobs_reads_spellings_by_itself():
    """Checking parts of a job loads nothing of what reads columns as two systems spell them, nor formats of dates."""
    loaded = modules_loaded("cloister.jobs.recheck_spelling")

    assert (
        loaded & {f"cloister.{name}" for name in ("jobs.spelling", "reading", "io.read", "risk.row_numbers")} == set()
    )
    assert "cloister.jobs.recheck_spelling" in modules_loaded("cloister.jobs.recheck")
    assert "cloister.jobs.spelling" not in modules_loaded("cloister.jobs.recheck")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "module",
    [
        "cloister.claims.verify",
        "cloister.tabular.verify",
        "cloister.codesets.disassociation.verify",
        "cloister.codesets.generalization.verify",
        "cloister.table_with_codes.verify",
        "cloister.trajectories.verify",
        "cloister.verification",
        "cloister.api.attack",
    ],
)
def test_the_verifier_really_loads_nothing_of_what_it_checks(module):
    """In a fresh interpreter the verifier, all of ``cloister verify`` and attacks load no Numba, search or kernels."""
    of_codes = ("codesets.disassociation.protect", "codesets.disassociation.release")
    of_codes += ("codesets.generalization.protect", "codesets.generalization.privacy_policy")
    protecting = (
        "tabular.protect",
        "tabular.encode",
        "table_with_codes.protect",
        "trajectories.protect",
        "claims.protect",
        *of_codes,
    )
    never = ("cloister.search", "cloister.kernels", *(f"cloister.{name}" for name in protecting))
    program = (
        f"import sys, {module}\nprint([m for m in sys.modules if m.split('.')[0] == 'numba' or m.startswith({never})])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == "[]"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("course", "never"),
    [
        ("tables", "cloister.codesets"),
        ("codes", ("cloister.tabular", "cloister.codesets.generalization")),
        ("generalized_codes", ("cloister.tabular", "cloister.codesets.disassociation")),
        ("trajectories", ("cloister.tabular", "cloister.codesets")),
        ("claims", ("cloister.tabular", "cloister.codesets", "cloister.trajectories")),
    ],
)
def test_a_course_loads_nothing_of_other_shapes(course, never):
    """In a fresh interpreter the course of a shape loads no module of another, nor the courses beside it."""
    program = f"import sys, cloister.pipeline.{course}\nprint(*(m for m in sys.modules if m.startswith('cloister.')))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())

    assert f"cloister.pipeline.{course}" in loaded
    assert {name for name in loaded if name.startswith(never)} == set()
    own = {"stages", course} | ({"table_refusals"} if course == "tables" else set())
    assert {name for name in loaded if name.startswith("cloister.pipeline.")} == {
        f"cloister.pipeline.{it}" for it in own
    }


def test_a_help_page_loads_no_dataframes_and_no_compiler():
    """What Ctrl-C could meet before it is heeded is short: options are declared in modules that load nothing."""
    heavy = ("polars", "numpy", "numba", "scipy", "duckdb", "pydantic")
    program = f"import sys, cloister.cli.main\nprint([name for name in {heavy} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == "[]"


def test_the_command_line_loads_no_linear_algebra():
    """Numba takes what SciPy has for products of matrices with it, unless it is told that kernels need none."""
    program = "import sys, cloister.compiling as c\nc.compiles_only_ours()\nimport cloister.kernels._numba as j"
    program += "\nimport numba.np.arraymath, numba\nprint('scipy.linalg' in sys.modules, j.BLAS in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert run.stdout.split() == ["False", "False"]


def test_the_front_door_loads_nothing():
    """``import cloister`` loads no other module of ours until something is used."""
    outside_checking = [node for node in tree(MODULES["cloister"]).body if isinstance(node, ast.ImportFrom)]
    assert {node.module for node in outside_checking} == {"importlib", "typing"}


BY_NAME = {"compiling.py", "io/databases.py", "cli/commands.py", "web/app.py", "registry.py"}
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
