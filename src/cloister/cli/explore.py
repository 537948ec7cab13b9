"""``cloister explore``: for each shape the options of ``protect``, and those of exploring."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from cloister.cli.data_argument import Address
from cloister.cli.declared import described, parameter
from cloister.errors import InputError
from cloister.jobs.sections import SHAPES
from cloister.settings import settings_of

EXAMPLE = (
    "Example: cloister explore table patients.csv --id mrn --qi age=interval:5,10 --qi sex --default-role drop "
    "--grid k=2,5,11 --grid suppression=0,0.05 --out exploration"
)
EXAMPLES = {
    "table": EXAMPLE,
    "codes": "Example: cloister explore codes diagnoses.csv --grid k=3,5 --grid m=1,2 --out exploration",
    "trajectories": "Example: cloister explore trajectories visits.csv --grid k=2,5,11 --out exploration",
    "claims": (
        "Example: cloister explore claims patients.csv claims.csv --plan plan.toml --grid risk.threshold=0.05,0.1 "
        "--out exploration"
    ),
}
OF_A_RELEASE = {
    "query",
    "table",
    "engine",
    "out",
    "overwrite",
    "custodian_dir",
    "crosswalk",
    "unmatched_values",
    "ids",
    "attack",
}
"""Options of ``protect`` about where a release goes, of which there is none here, and about databases."""

app = typer.Typer(
    help="Try many settings: risk against loss, the frontier and a recommendation.",
    epilog=EXAMPLE,
    no_args_is_help=True,
    rich_markup_mode=None,
)


def _own(
    grid: Annotated[
        list[str],
        Option(
            "--grid",
            metavar="KEY=VALUE,...",
            help="Values of an option by its key in a job, as k=2,5,11 or weight.age=1,2; apart by ; where they have "
            "commas. Of claims a key of the plan. All combinations are tried. Repeatable.",
        ),
    ],
    out: Annotated[Path, Option("--out", metavar="DIR", help="Folder for what is found; the same command goes on.")],
    recommend: Annotated[str, Option(metavar="knee|best-utility", help="The rule by which one is taken.")] = "knee",
    risk_limit: Annotated[
        float | None, Option(metavar="RISK", help="Settings of a higher risk are not recommended, as 0.09.")
    ] = None,
    keep_releases: Annotated[
        bool, Option("--keep-releases", help="Write each release to DIR/releases; none is kept otherwise.")
    ] = False,
) -> None:
    """What exploring can be told beside the options of ``protect``."""


def _exploring(shape: str) -> Callable[..., None]:
    """The command of a shape: its parameters are the options of ``protect`` and those of exploring."""

    def explore(**told: Any) -> None:
        from cloister.cli.explore_job import Typed, run_explore  # frames and kernels are loaded only when needed

        if isinstance(told.get("data"), Address):
            raise InputError("Exploring reads files alone. Write what the query gives to a CSV or Parquet file first.")
        own = {name: told.pop(name) for name in inspect.signature(_own).parameters}
        run_explore(shape, told, Typed(**own))

    settings = [one for one in settings_of(SHAPES[shape].options) if one.name not in OF_A_RELEASE]
    own = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in inspect.signature(_own).parameters.values()]
    return described(
        explore,
        [*(parameter(one, needed=one.name != "k") for one in settings), *own],
        "Protect, verify and measure under every setting of a grid, and say which of them no other beats.\n\n"
        "No release is written. What is found is for the custodian alone, and stands in DIR one line a setting, as it "
        "comes: after an interruption the same command goes on.",
    )


for _shape, _example in EXAMPLES.items():
    app.command(_shape, epilog=_example)(_exploring(_shape))
