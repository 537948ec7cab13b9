"""One run of ``protect claims``: from options to a release folder and a summary."""

import os
import time

from cloister.claims.data import Claims
from cloister.claims.plan import ClaimsPlan
from cloister.claims.warm import load_kernels, must_compile
from cloister.cli.attacking import with_attack
from cloister.cli.claims_options import ClaimsOptions
from cloister.cli.claims_summary import notes_on, print_claims_summary
from cloister.cli.clock import STARTED
from cloister.cli.ending import tell, write
from cloister.cli.output import note
from cloister.cli.places import check_places, custody_of
from cloister.cli.progress import working
from cloister.errors import InputError
from cloister.flow.claims import protect_claims
from cloister.stopwatch import Stopwatch


def run_claims(options: ClaimsOptions) -> None:
    """Read, protect, write, and say what was done."""
    watch = Stopwatch({"start": time.perf_counter() - STARTED})
    if options.seed is not None and not 0 <= options.seed < 2**32:
        raise InputError(f"The seed is {options.seed}, but must be a whole number from 0 to below 2^32.")
    if options.threads is not None and options.threads < 1:
        raise InputError(f"{options.threads} threads were asked for, but at least 1 is needed.")
    check_places(options.out, overwrite=options.overwrite, internal=options.internal, crosswalk=options.crosswalk)
    with watch.stage("read"):
        claims = Claims.read(
            options.patients,
            options.claims,
            ClaimsPlan.read(options.plan),
            encoding=options.encoding,
            delimiter=options.delimiter,
            missing=tuple(options.missing or ()),
        )
    quiet = options.quiet or options.as_json
    if must_compile():
        note("Compiling the method for this machine, once (about 20 s).", quiet=quiet)
    with working(f"protecting {claims.n_patients:,} patients with {claims.n_claims:,} claims", quiet=quiet):
        release = protect_claims(
            claims,
            seed=options.seed,
            threads=options.threads or os.cpu_count() or 1,
            watch=watch,
            custody=_custody(options),
            load=load_kernels,
        )
    manifest = write(with_attack(release, options, claims), options)
    tell(manifest, notes_on(claims, release), options, print_claims_summary)


def _custody(options: ClaimsOptions) -> dict[str, object]:
    """What only the custodian may see of the three files."""
    files = {"patients": options.patients, "claims": options.claims, "plan": options.plan}
    return {name: found for name, path in files.items() if (found := custody_of(path, options.internal))}
