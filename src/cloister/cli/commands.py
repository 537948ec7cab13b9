"""The commands: each has a record of options, a function that does the work, a help text and an example.

A command's options are the settings of a record; the typed words become that record.
"""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from string import ascii_letters
from typing import TYPE_CHECKING, Annotated, ForwardRef, TypeVar, get_args

import typer
from typer import Argument, Option

from cloister.cli.help_groups import CommandGroups, GroupedCommand
from cloister.cli.wording import use_option_names
from cloister.errors import InputError, join_parts, setting
from cloister.settings.constraints import OneOf
from cloister.settings.declaration import ColumnAssignments, Keywords, Setting, settings_of
from cloister.shapes.registry import SHAPES, load

if TYPE_CHECKING:
    from cloister.io.query import Query

Options = TypeVar("Options")
CALLED = "the database"
OF_FILES = ("encoding", "delimiter", "bad_lines", "row_index")


def with_signature(
    function: Callable[..., None], parameters: Iterable[inspect.Parameter], text: str
) -> Callable[..., None]:
    """Give a function the parameters and help text that Typer reads."""
    signature = inspect.Signature([*parameters])
    vars(function)["__signature__"] = signature
    function.__annotations__ = {one.name: one.annotation for one in signature.parameters.values()}
    function.__doc__ = text
    return function


def parameter(one: Setting, *, needed: bool = True) -> inspect.Parameter:
    """Return the command parameter of a setting; one without a default is required where it is needed."""
    assert one.help is not None
    kind, default = one.typed, one.default
    words = one.constraint.words if isinstance(one.constraint, OneOf) else ()
    offered = one.help.offers or words
    shown: Keywords = {"metavar": one.help.metavar or "|".join(words) or None, "help": one.help.text}
    if offered:

        def complete(incomplete: str) -> list[str]:
            return [word for word in offered if word.startswith(incomplete)]

        shown = {**shown, "autocompletion": complete}
    if one.help.shown is not None:
        shown = {**shown, "show_default": one.help.shown}
    if isinstance(kind, ForwardRef):  # a place, of which a query is made later
        kind = Path
    if one.is_list or one.by_column:
        kind = list[Path] if Path in get_args(kind) else list[str]
        if default is not MISSING:
            kind, default = kind | None, None
    if default is MISSING:
        kind, default = (kind, inspect.Parameter.empty) if needed else (kind | None, None)
    if one.option.startswith("-"):
        info = Option(*one.option.split(), **shown)
    else:
        info = Argument(**{**shown, "metavar": one.option}, parser=data_word if one.name == "data" else None)
    return inspect.Parameter(
        one.word, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
    )


def record(options: type[Options], words: Keywords) -> Options:
    """Convert typed values to the record that declares them; DATA and its query become one value."""
    made = {}
    for one in settings_of(options):
        if one.word in words:
            typed = words[one.word]
            if one.by_column or one.is_list:
                typed = (ColumnAssignments(tuple(typed)) if one.by_column else tuple(typed)) if typed else one.default
            made[one.name] = typed
    if "data" in made:
        usual = {one.name: one.default for one in settings_of(options)}
        of_files = [name for name in OF_FILES if name in made and made[name] != usual[name]]
        made["data"] = data_of(made["data"], made.pop("query", None), of_files)
    return options(**made)


class Address(str):
    """The address of a database, as typed: a path would lose a slash of ``//``."""

    __slots__ = ()


def data_word(text: str) -> Path | Address:
    """Return DATA as an address or as a path, by its notation."""
    from cloister.io.query import is_address  # loaded once a command runs

    return Address(text) if is_address(text) else Path(text)


def data_of(data: Path | Address, query: str | None, of_files: Iterable[str]) -> "Path | Query":
    """Return the file, or the query to the database."""
    if not isinstance(data, Address):
        if query is not None:
            raise InputError("--query is for databases, but DATA is a file. Leave it out, or name a database.")
        return data
    if query is None:
        raise InputError("DATA is the address of a database. Name what to read with --query.")
    if stated := [setting(name) for name in of_files]:
        raise InputError("DATA is in a database. Leave out ", join_parts(" and ", stated), ", which is for files.")
    from cloister.io.query import Query, is_file_of_sql, query_text

    return Query(data, query_text(query), Path(query).stem if is_file_of_sql(query) else CALLED)


APPEARS = "The release is verified independently before it is saved. If anything fails, nothing is written."


@dataclass(frozen=True)
class Command:
    """The declaration of a command."""

    words: str  # what it is called by, one or two
    work: str  # the function that does it, as ``module.function``, called with ``first`` and the record of its options
    options: str  # that record, as ``module:name``
    text: str = ""  # text, example: its help; of what protects a shape the record says both
    example: str = ""
    first: tuple[object, ...] = ()

    def add(self, group: typer.Typer) -> None:
        """Add the command to a group."""
        options = load(self.options)

        def run(**words: object) -> None:
            use_option_names(options)
            _do(self.work, *self.first, record(options, words))

        text = self.text or f"{inspect.getdoc(options)} {APPEARS}"
        made = with_signature(run, map(parameter, settings_of(options)), text)
        epilog = f"Example: {self.example or options.examples[0]}"
        group.command(self.words.split()[-1], cls=GroupedCommand, epilog=epilog)(made)

    def add_name(self, group: typer.Typer) -> None:
        """Add only the command's name and help."""
        group.command(self.words.split()[-1])(with_signature(lambda: None, (), self.text))


def _do(place: str, *words: object) -> None:
    """Do the work of a verb, whose module is loaded when it is called: help loads no frames and no kernels."""
    module, name = place.split(".")
    getattr(import_module(f"cloister.cli.{module}"), name)(*words)


OF_A_RELEASE = {"query", "table", "engine", "out", "overwrite", "custodian_dir", "crosswalk", "unmatched_values", "ids"}
OF_A_RELEASE |= {"attack"}
"""Options of ``protect`` about where a release goes, of which there is none here, and about databases."""


def _add_explore(shape: str, group: typer.Typer) -> None:
    """Add the command that explores a shape: its parameters are the options of ``protect`` and those of exploring."""
    from cloister.cli.options import ExploreOptions

    settings = [one for one in settings_of(SHAPES[shape].options) if one.name not in OF_A_RELEASE]
    own = [parameter(one) for one in settings_of(ExploreOptions)]

    def run(**words: object) -> None:
        if isinstance(words.get("data"), Address):
            raise InputError("Comparing settings needs a file. Save the result of the query as CSV or Parquet first.")
        asked = record(ExploreOptions, {one.name: words.pop(one.name) for one in own})
        options: object = record(SHAPES[shape].options, {**words, "k": words.get("k") or 0, "out": asked.out})
        _do("explore.run_explore", shape, options, asked, words)

    made = with_signature(
        run,
        [*(parameter(one, needed=one.name != "k") for one in settings), *own],
        "Compare settings: protect, verify and measure each combination of a grid, and recommend one.\n\n"
        "Nothing is released. The results in DIR are confidential. After an interruption the same command continues.",
    )
    group.command(shape, cls=GroupedCommand, epilog=f"Example: {SHAPES[shape].options.examples[1]}")(made)


OF_COMMANDS = "cloister.cli.options"
AS_THEY_ARE = "in original or released data. The results are confidential."
ASSESS_TABLE = "cloister assess table patients.csv --qi age --qi sex --qi zip --sampling-fraction 0.01"
PREVIEW = "cloister hierarchy preview interval:5,10,20/top=90 patients.csv --column age"

COMMANDS = (
    *(Command(f"protect {name}", "protect.run_protect", one.settings, first=(name,)) for name, one in SHAPES.items()),
    Command(
        "assess table",
        "assess.assess_table",
        f"{OF_COMMANDS}:AssessTableOptions",
        "Assess re-identification risk of an original or released table. The results are confidential.",
        ASSESS_TABLE,
    ),
    Command(
        "assess codes",
        "assess.assess_codes",
        f"{OF_COMMANDS}:AssessCodesOptions",
        f"Assess how many patients can be identified by some of their codes, {AS_THEY_ARE}",
        "cloister assess codes codes.csv -m 1,2,3,5 -k 5",
    ),
    Command(
        "assess trajectories",
        "assess.assess_trajectories",
        f"{OF_COMMANDS}:AssessTrajectoriesOptions",
        f"Assess how many patients can be identified by some of their codes and ages, {AS_THEY_ARE}\n\n"
        "Adversaries know pairs of a code and an age, codes only, or ages only.",
        "cloister assess trajectories visits.csv -m 1,2,3 -k 5",
    ),
    Command(
        "assess claims",
        "assess.assess_claims",
        f"{OF_COMMANDS}:AssessClaimsOptions",
        f"Assess how many patients can be identified by some of their claims, {AS_THEY_ARE}\n\n"
        "Adversaries know complete claims, or values of one column, with or without quasi-identifiers of the patient. "
        "Original data are first prepared by the steps of the plan that precede generalization.",
        "cloister assess claims patients.csv claims.csv --plan plan.toml",
    ),
    Command(
        "attack",
        "attack.run_attack",
        f"{OF_COMMANDS}:AttackOptions",
        "Simulate attacks on a release by adversaries with growing knowledge.\n\n"
        "They search for patients of the original. Exit code 1 if a patient covered by the guarantee matches at least "
        "one released patient but fewer than k.",
        "cloister attack release --original patients.csv --crosswalk crosswalk.csv",
    ),
    Command(
        "compare",
        "explore.run_compare",
        f"{OF_COMMANDS}:CompareOptions",
        "Compare releases by guarantee, risk, loss and settings.\n\n"
        "The figures come from the manifests; cloister verify checks a release.",
        "cloister compare release-k5 release-k11 --out compared.html",
    ),
    Command(
        "export",
        "verify.run_export",
        f"{OF_COMMANDS}:ExportOptions",
        "Write a verified table, with labels, for Excel, Stata or SPSS.",
        "cloister export release --out patients.dta",
    ),
    Command(
        "verify",
        "verify.run_verify",
        f"{OF_COMMANDS}:VerifyOptions",
        "Verify a release from its files. Exit code 1 if a check fails or was not possible.",
        "cloister verify release --original patients.csv -k 5 --qi age --qi sex",
    ),
    Command(
        "query",
        "query.run_query",
        f"{OF_COMMANDS}:QueryOptions",
        "Count patients of a release by codes or conditions, with bounds.\n\n"
        "Every data set consistent with the release is within the bounds. The release is verified first.",
        "cloister query release --codes 401.9,250.00",
    ),
    Command(
        "impute",
        "impute.run_impute",
        f"{OF_COMMANDS}:ImputeOptions",
        "Write complete tables of a release, each cell drawn inside its label, for mice or Stata.\n\n"
        "They are computed from the release and a seed alone. The release is verified first. Tables and trajectories "
        "become one file, claims one of patients and one of claims.",
        "cloister impute release -n 20 --seed 0 --out imputed",
    ),
    Command(
        "replicate",
        "replicate.run_replicate",
        f"{OF_COMMANDS}:ReplicateOptions",
        "Compare what researchers' analyses find in the original and in a release.\n\n"
        "Each is fitted to the original, to the labels and to imputed tables. The results of the original follow from "
        "unprotected records: they are for the custodian.",
        'cloister replicate release --original patients.csv --analysis "logistic: died ~ age + sex"',
    ),
    Command(
        "run",
        "run.run_job",
        f"{OF_COMMANDS}:RunJobOptions",
        "Run a job: several sources and parts in one release.\n\n"
        "Parts cannot be linked. File names in the job are relative to its folder. All parts are verified before they "
        "are saved. If anything fails, nothing is written.",
        "cloister run job.toml --dry-run",
    ),
    Command(
        "ui",
        "ui.run_ui",
        f"{OF_COMMANDS}:UiOptions",
        "Start the browser application, to protect data and check releases.\n\n"
        "It serves this machine only. Every page shows the equivalent job file and command.",
        "cloister ui my-folder",
    ),
    Command(
        "init claims",
        "init.init_claims",
        f"{OF_COMMANDS}:InitClaimsOptions",
        "Suggest a plan for patients and their claims, from names and contents of their columns.",
        "cloister init claims patients.csv claims.csv",
    ),
    *(
        Command(
            f"init {shape}",
            "init.init_shape",
            f"{OF_COMMANDS}:{options}",
            text,
            f"cloister init {shape} {file}.csv",
            (shape,),
        )
        for shape, options, file, text in (
            (
                "table",
                "InitJobOptions",
                "patients",
                "Suggest a job for a table, from names and contents of its columns.",
            ),
            ("codes", "InitCodesOptions", "diagnoses", "Suggest a job for sets of codes."),
            (
                "trajectories",
                "InitTrajectoriesOptions",
                "visits",
                "Suggest a job for codes with ages. Columns that are not named are detected.",
            ),
        )
    ),
    Command(
        "hierarchy check",
        "hierarchy.check_hierarchy",
        f"{OF_COMMANDS}:CheckOptions",
        "Check that a hierarchy is valid and contains all values of a column. Exit code 2 if not.",
        "cloister hierarchy check patients_hierarchy_zip.csv patients.csv --column zip",
    ),
    Command(
        "hierarchy preview",
        "hierarchy.preview_hierarchy",
        f"{OF_COMMANDS}:PreviewOptions",
        "Show the levels of a hierarchy with the number and sizes of their groups.",
        PREVIEW,
    ),
    Command(
        "hierarchy build",
        "hierarchy.build_hierarchy",
        f"{OF_COMMANDS}:BuildOptions",
        "Write the hierarchy of the values of a column as a file in the format of ARX.",
        "cloister hierarchy build prefix:5 patients.csv --column zip --out zip.csv",
    ),
    Command(
        "demo",
        "run.run_demo",
        f"{OF_COMMANDS}:DemoOptions",
        "Create an example hospital, protect it and show the release.",
        "cloister demo my-demo --patients 5000",
    ),
)
GROUPS = {
    "protect": ("Protect data and write a release.", ""),
    "assess": ("Assess re-identification risk of the original data.", ASSESS_TABLE),
    "explore": ("Compare many settings by risk and loss, and recommend one.", ""),
    "init": ("Suggest roles and hierarchies, and write a first job or plan.", "cloister init patients.csv"),
    "hierarchy": ("Check, preview and build hierarchies.", PREVIEW),
}
"""Verbs that a second word follows, their help, and an example; of ``protect`` and ``explore`` that of tables."""

EXAMPLE = "cloister protect table patients.csv --qi age=interval:5,10 --qi sex --drop name -k 5 --out DIR"
HELP = ["-h", "--help"]


def _group(verb: str) -> typer.Typer:
    text, example = GROUPS[verb]
    example = example or SHAPES["table"].options.examples[verb == "explore"]
    return typer.Typer(help=text, epilog=f"Example: {example}", no_args_is_help=True, rich_markup_mode=None)


def command_tree(*typed: str) -> typer.Typer:
    """Return the typed command, its group if the second word is not a command, or else all, which takes a while.

    Where the root's help or no command is typed, names will do: of groups, and of commands without their options.
    """
    adding: dict[str, Callable[[typer.Typer], None]] = {one.words: one.add for one in COMMANDS}
    adding |= {f"explore {shape}": partial(_add_explore, shape) for shape in SHAPES}
    named = [words for words in adding if words in (" ".join(typed[:1]), " ".join(typed[:2]))]
    named = named or [words for words in adding if words.split()[0] in typed[:1]]
    is_root = not named and bool(typed) and typed[0].startswith((*HELP, *ascii_letters))
    adding = {one.words: one.add_name for one in COMMANDS} if is_root else adding
    named = named or list(adding)
    app = typer.Typer(
        name="cloister",
        cls=CommandGroups,
        help="Release patient-level health data with a guarantee that can be proved and the least possible loss.",
        epilog=f"Example: {EXAMPLE}",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": HELP},
    )
    groups = {verb: _group(verb) for verb in GROUPS if is_root or any(words.startswith(f"{verb} ") for words in named)}
    for verb, group in groups.items():
        app.add_typer(group, name=verb)
    for words in named:
        adding[words](groups.get(words.split()[0], app))
    return app
