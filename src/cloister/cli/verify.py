"""``cloister verify``."""

from cloister.cli.declared import command
from cloister.cli.folder_options import VerifyOptions

EXAMPLE = "Example: cloister verify release --original patients.csv -k 5 --qi age --qi sex"


def _verify(options: VerifyOptions) -> None:
    from cloister.cli.verify_job import run_verify  # frames are loaded only when needed

    run_verify(options)


verify = command(
    VerifyOptions, _verify, "Check a release again, from its files alone; exit code 1 if it does not hold."
)
