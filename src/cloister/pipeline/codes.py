"""Protection of code sets, whatever the method: notes for the user, and the attributes that are released."""

from collections.abc import Sequence

from cloister.jobs.linked_columns import RecordedValues
from cloister.release.manifest import AnyManifest
from cloister.release.release import Release
from cloister.shapes.codes.data import GivenCodes
from cloister.shapes.codes.request import CodesRequest
from cloister.shapes.protocol import Original

from .protecting import Encoded, Protected, StagedProtection


class CodesProtection(StagedProtection[Encoded, Protected]):
    """Code sets, and what is asked of them."""

    def __init__(self, given: GivenCodes, request: CodesRequest, *, seed: int = 0) -> None:
        self.given, self.request, self.seed = given, request, seed
        self.how_read = self.assumptions = given.notes
        self.original = Original(given)

    def recorded_values(self) -> RecordedValues | None:
        """Return the auxiliary attributes, which are released as recorded."""
        return RecordedValues.of_attributes(self.given.attributes, self.given.codes.ids, self.request.k)

    def notes(self, _release: Release, manifest: AnyManifest) -> Sequence[str]:
        """Return notes for the user; they name no code that the utility policy omits, as logs may keep them."""
        notes, count, policy = [*self.assumptions], manifest.records.suppressed, self.request.policy
        if count != 0:
            what = "no code" if manifest.form == "disassociation" else "no code that is released"
            how_many = f"fewer than {count[1:]}" if isinstance(count, str) else f"{count:,}"
            notes.append(f"{how_many} records have {what} and are suppressed")  # of fewer than k no number is given
        left = 0 if policy is None or policy.support is not None else policy.n_uncovered(self.given.codes)
        if left:
            notes.append(f"{left} {'code is' if left == 1 else 'codes are'} in no set of the utility policy")
        return notes
