"""``cloister attack``."""

from typer import Exit

from cloister.cli.declared import command
from cloister.cli.folder_options import AttackOptions

EXAMPLE = "Example: cloister attack release --original patients.csv --crosswalk crosswalk.csv"


def _attack(options: AttackOptions) -> None:
    from cloister.cli.attack_job import run_attack  # frames are loaded only when needed

    if not run_attack(options):
        raise Exit(1)


attack = command(
    AttackOptions,
    _attack,
    """Look for patients of the original in a release, as adversaries who know more and more of them.

    Exit code 1 if somebody whom the guarantee covers matches at least one released patient but fewer than k.
    """,
)
