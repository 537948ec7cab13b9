"""The groups in which help lists the commands, and the options of a command that has many."""

from gettext import gettext
from typing import TYPE_CHECKING

from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter

GROUPS: dict[str, tuple[str, ...]] = {
    "Data": (
        *("query", "missing", "delimiter", "encoding", "date_format", "decimal", "numbers", "dates", "bad_lines"),
        *("duplicates", "row_index", "missing_as", "unmatched_values", "on_unknown_code", "separator", "drop_empty"),
        *("drop_empty_pairs", "age_unit", "anchor", "repeats"),
    ),
    "Columns": (
        *("qi", "hierarchies", "id", "patient", "sensitive", "keep", "drop", "undecided", "accept", "codes", "code"),
        *("age", "date", "detail", "attributes", "visit", "code_hierarchy", "age_hierarchy", "detail_hierarchy"),
        "plan",
    ),
    "Guarantee": (
        *("k", "m", "rule", "suppression", "privacy", "uncovered", "sensitive_codes", "diversity", "inference_check"),
        *("inference_threshold", "resist_downcoding", "attack", "accept_empty", "max_loss"),
    ),
    "Method": (
        *("purpose", "method", "strata", "labels", "target", "loss", "weight", "code_weights", "search"),
        *("store", "time_limit"),
        *("levels", "levels_from", "local_recoding", "microaggregate", "codes_method", "policy", "max_cluster_size"),
        *("merge_classes", "refine", "workload", "cost", "block", "weights", "seed", "threads", "grid"),
        *("recommend", "risk_limit"),
    ),
    "Output": (
        *("out", "overwrite", "ids", "crosswalk", "custodian_dir", "keep_suppressed", "escape_formulas", "as_json"),
        *("keep_releases", "quiet", "verbose", "help"),
    ),
    "Database": ("engine", "table"),
}
"""By title the options, by their names in a job or on the command line."""

FEW = 16
"""Options that one list of them still shows at a glance."""


COMMANDS: dict[str, tuple[str, ...]] = {
    "Start": ("ui", "demo", "init"),
    "Protect": ("assess", "hierarchy", "explore", "protect", "run"),
    "Check a release": ("verify", "attack", "compare", "replicate"),
    "Use a release": ("query", "impute", "export"),
}
"""By title the commands, in the order in which ``cloister --help`` lists them."""


class GroupedCommand(TyperCommand):
    """A command whose help lists its options in groups, if it has many."""

    def sections(self, ctx: "Context") -> dict[str, list[tuple[str, str]]]:
        """Return by title what help says of the arguments, then of each group that has an option of this command."""
        params = [(one, one.get_help_record(ctx)) for one in self.get_params(ctx)]
        group_of = {name: title for title, names in GROUPS.items() for name in names}
        options = [one for one, shown in params if shown is not None and one.param_type_name == "option"]
        titles = ["Options"] if len(options) <= FEW else [*GROUPS, "Options"]
        found: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Arguments", *titles)}
        for one, shown in params:
            title = "Arguments" if one.param_type_name == "argument" else group_of.get(one.name or "", "Options")
            if shown is not None:
                found[title if title in found else "Options"].append(shown)
        return {title: rows for title, rows in found.items() if rows}

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write each section."""
        for title, rows in self.sections(ctx).items():
            with formatter.section(gettext(title)):
                formatter.write_dl(rows)


class CommandGroups(TyperGroup):
    """All commands; help lists them in groups, each with its first sentences in full."""

    def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:  # noqa: ARG002  (Typer calls it)
        """Write each group."""
        for title, names in COMMANDS.items():
            found = [(name, self.commands[name]) for name in names if name in self.commands]
            with formatter.section(gettext(title)):
                formatter.write_dl([(name, (one.help or "").split("\n\n")[0]) for name, one in found])
