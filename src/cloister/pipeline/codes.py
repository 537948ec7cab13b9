"""The pipeline of code sets, by disassociation."""

from collections.abc import Mapping
from functools import partial

import polars as pl

from cloister.io.foreign import interruptible
from cloister.release.release import CustodianFiles
from cloister.results import Manifest, Stopwatch
from cloister.shapes.codes.data import GivenCodes
from cloister.shapes.codes.manifest import data_frame, describe_code_sets, left_out_of
from cloister.shapes.codes.policy import as_published
from cloister.shapes.codes.request import check_codes
from cloister.shapes.disassociation.format.data import DisassociationRequest, ProtectedCodes
from cloister.shapes.disassociation.format.facts import DerivedChunks, count_sets
from cloister.shapes.disassociation.format.manifest import NO_SETS, settings_of
from cloister.shapes.disassociation.method.protect import disassociate, load_kernels
from cloister.shapes.disassociation.method.release import CodesRelease, crosswalk, exact_figures, reconstruct
from cloister.shapes.disassociation.verify.verify import DisassociationSecret, verify

from .provenance import add_provenance, require_verified


def protect_codes(
    given: GivenCodes,
    request: DisassociationRequest,
    *,
    seed: int = 0,
    watch: Stopwatch | None = None,
    custody: Mapping[str, object] | None = None,
) -> CodesRelease:
    """Protect code sets by disassociation, and return the verified release."""
    watch = watch or Stopwatch()
    with watch.stage("start"):
        interruptible(load_kernels)
    with watch.stage("protect"):
        protected = interruptible(lambda: disassociate(check_codes(given.codes), request))
    secret = DisassociationSecret(given.codes, protected.cluster_of, request.diversity)
    return verified_codes(given, request, protected, secret, crosswalk(given, protected), seed, watch, custody or {})


def verified_codes(
    given: GivenCodes,
    request: DisassociationRequest,
    protected: ProtectedCodes,
    secret: DisassociationSecret | None,
    crosswalk: pl.DataFrame | None,
    seed: int,
    watch: Stopwatch,
    custody: Mapping[str, object],
) -> CodesRelease:
    """Verify and measure disassociated code sets, and return their release."""
    released, check = protected.released, partial(verify, secret=secret, diversity=request.diversity)
    with watch.stage("verify"):
        require_verified(interruptible(lambda: check(released)))
    with watch.stage("measure"):
        exact = exact_figures(given, request, protected, seed)
        stated, derived = describe_disassociation(given, request, protected)
        frame = data_frame(reconstruct(released, seed), numbered=request.numbered)
    return CodesRelease(
        manifest=add_provenance(
            stated, derived, source=given.name, seed=seed, watch=watch, written=("csv", given.delimiter)
        ),
        derived=derived,
        custody=CustodianFiles(exact | dict(custody), crosswalk),
        clusters=released,
        frame=frame,
        delimiter=given.delimiter,
        _check=check,
    )


def describe_disassociation(
    given: GivenCodes, request: DisassociationRequest, protected: ProtectedCodes
) -> tuple[Manifest, DerivedChunks]:
    """Return the stated parts of the manifest of disassociated code sets, and the parts derived from the clusters."""
    released, policy = protected.released, request.policy
    settings = settings_of(given, request, None if policy is None else as_published(policy, given.codes).spec)
    sets = NO_SETS if policy is None else count_sets(released, policy.item_numbers(given.codes))
    left_out = left_out_of(given.n_empty, settings.k)
    return describe_code_sets(given, settings, "disassociation"), DerivedChunks(released, settings, sets, left_out)
