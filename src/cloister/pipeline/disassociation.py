"""Protection of code sets by disassociation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import polars as pl

from cloister.io.foreign import interruptible
from cloister.release.release import CustodianFiles, Release
from cloister.results import Manifest, Verdict
from cloister.shapes.codes.data import GivenCodes
from cloister.shapes.codes.manifest import count_suppressed, data_frame, describe_code_sets
from cloister.shapes.codes.policy import as_published
from cloister.shapes.codes.request import check_codes
from cloister.shapes.disassociation.format.data import DisassociationRequest, ProtectedCodes
from cloister.shapes.disassociation.format.facts import DerivedChunks, count_sets
from cloister.shapes.disassociation.format.manifest import NO_SETS, settings_of
from cloister.shapes.disassociation.method.protect import disassociate
from cloister.shapes.disassociation.method.release import CodesRelease, crosswalk, exact_figures, reconstruct
from cloister.shapes.disassociation.verify.verify import DisassociationSecret, verify
from cloister.shapes.protocol import Run

from .codes import CodesProtection
from .protecting import complete_manifest


@dataclass(frozen=True, eq=False, repr=False)
class ChunkedCodes:
    """Code sets in chunks, with what only the custodian and the verifier may see."""

    protected: ProtectedCodes
    secret: DisassociationSecret | None  # what the verifier may know of the original; None if the records are elsewhere
    crosswalk: pl.DataFrame | None
    exact: Mapping[str, object] = field(default_factory=dict)  # further figures for the custodian


class DisassociationProtection(CodesProtection[GivenCodes, ChunkedCodes]):
    """Code sets that become chunks."""

    kernels = "disassociation"
    request: DisassociationRequest

    def encode(self) -> GivenCodes:
        """Return the code sets, if they can be used."""
        check_codes(self.given.codes)
        return self.given

    def protect(self, given: GivenCodes, _run: Run) -> ChunkedCodes:
        """Disassociate the code sets."""
        request = self.request
        protected = interruptible(lambda: disassociate(given.codes, request))
        secret = DisassociationSecret(given.codes, protected.cluster_of, request.diversity)
        return ChunkedCodes(protected, secret, crosswalk(given, protected))

    def describe(self, given: GivenCodes, chunked: ChunkedCodes) -> CodesRelease:
        """Draw the reconstruction, and describe the release."""
        request, protected = self.request, chunked.protected
        exact = exact_figures(given, request, protected, self.seed) | dict(chunked.exact)
        stated, derived = describe_disassociation(given, request, protected)
        return CodesRelease(
            manifest=complete_manifest(
                stated, derived, source=given.name, seed=self.seed, written=("csv", given.delimiter)
            ),
            derived=derived,
            custody=CustodianFiles(exact, chunked.crosswalk),
            clusters=protected.released,
            frame=data_frame(reconstruct(protected.released, self.seed), numbered=request.numbered),
            delimiter=given.delimiter,
            _check=partial(verify, secret=chunked.secret, diversity=request.diversity),
        )

    def verify(self, release: Release) -> Verdict:
        """Return the verdict on the clusters."""
        return interruptible(release.recheck)


def describe_disassociation(
    given: GivenCodes, request: DisassociationRequest, protected: ProtectedCodes
) -> tuple[Manifest, DerivedChunks]:
    """Return the stated parts of the manifest of disassociated code sets, and the parts derived from the clusters."""
    released, policy = protected.released, request.policy
    settings = settings_of(given, request, None if policy is None else as_published(policy, given.codes).spec)
    sets = NO_SETS if policy is None else count_sets(released, policy.item_numbers(given.codes))
    suppressed = count_suppressed(given.n_empty, settings.k)
    return describe_code_sets(given, settings, "disassociation"), DerivedChunks(released, settings, sets, suppressed)
