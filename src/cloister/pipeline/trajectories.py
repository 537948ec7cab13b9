"""Protection of trajectories: align them, in this process or on Spark, and describe what is released."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import polars as pl

from cloister.engines.choice import check_memory_or_spark, is_spark
from cloister.errors import InternalError
from cloister.io.foreign import interruptible
from cloister.jobs.linked_columns import RecordedValues
from cloister.recipients.pairs import ReleasedPairs, average_relative_error
from cloister.release.manifest import AnyManifest
from cloister.release.release import CustodianFiles, Release
from cloister.results import Manifest
from cloister.shapes.protocol import Original, Run
from cloister.shapes.trajectories.format.data import (
    AGE,
    CODE,
    DETAIL,
    Attributes,
    Integers,
    Trajectories,
    TrajectoriesRequest,
    WrittenTrajectories,
    percent_of,
)
from cloister.shapes.trajectories.format.domain import FittedTrajectories, fit_hierarchies
from cloister.shapes.trajectories.format.facts import DerivedTrajectories
from cloister.shapes.trajectories.format.manifest import Clustering, TrajectoriesUtility, columns_of, settings_of
from cloister.shapes.trajectories.format.request import (
    GivenTrajectories,
    attributes_of,
    check_known,
    check_trajectories,
)
from cloister.shapes.trajectories.method.figures import exact_figures, frequent_pairs, utility_of
from cloister.shapes.trajectories.method.problem import ProtectedTrajectories
from cloister.shapes.trajectories.method.protect import ClusterBlocks, anonymize
from cloister.shapes.trajectories.method.release import TrajectoriesRelease, crosswalk, order_of, write_patients
from cloister.shapes.trajectories.verify.statements import ExpectedGuarantee
from cloister.shapes.trajectories.verify.verify import Secret, losses_agree, verify

from .protecting import StagedProtection, check_useful, complete_manifest


@dataclass(frozen=True, eq=False, repr=False)
class FittedPatients:
    """Trajectories with matching hierarchies, and the auxiliary columns as the method sees them."""

    domain: FittedTrajectories
    attributes: Attributes


@dataclass(frozen=True, eq=False, repr=False)
class AlignedPatients:
    """The released patients: as they were given, as they are written, and what links both."""

    domain: FittedTrajectories
    given: GivenTrajectories
    protected: ProtectedTrajectories
    files: WrittenTrajectories
    order: Integers  # the place in ``given`` of each written patient
    secret: Secret


class TrajectoriesProtection(StagedProtection[FittedPatients, AlignedPatients]):
    """Trajectories, and what is asked of them."""

    kernels = "trajectories"

    def __init__(
        self,
        given: GivenTrajectories,
        request: TrajectoriesRequest,
        *,
        seed: int = 0,
        threads: int | None = None,
        engine: str = "memory",
    ) -> None:
        self.given, self.request, self.seed, self.threads, self.engine = given, request, seed, threads, engine
        self.doing = f"aligning the trajectories of {given.trajectories.n_patients:,} patients"
        self.how_read = self.assumptions = given.notes
        hierarchies = {CODE: request.code_hierarchy, AGE: request.age_hierarchy, DETAIL: request.detail_hierarchy}
        self.original = Original(given, {name: one for name, one in hierarchies.items() if one is not None})
        self.recorded = () if given.attributes is None else tuple(given.attributes.frame.columns)

    def encode(self) -> FittedPatients:
        """Fit the hierarchies to the trajectories."""
        given, request = self.given, self.request
        check_trajectories(given.trajectories)
        check_known(given, request)
        hierarchies = request.code_hierarchy, request.age_hierarchy, request.on_unknown_code, request.detail_hierarchy
        domain = fit_hierarchies(given.trajectories, *hierarchies)
        column = None if request.diversity is None else request.diversity.column
        return FittedPatients(domain, attributes_of(given.attributes, domain.trajectories.n_patients, column))

    def protect(self, fitted: FittedPatients, _run: Run) -> AlignedPatients:
        """Align the trajectories, in this process or on Spark."""
        domain, request = fitted.domain, self.request
        fit = replace(request, code_hierarchy=domain.codes, age_hierarchy=domain.ages)
        with clustering_on(self.engine) as cluster:
            protected = interruptible(
                lambda: anonymize(domain.trajectories, fit, fitted.attributes, threads=self.threads, cluster=cluster)
            )
        return lay_out(domain, self.given, protected)

    def describe(self, _encoded: FittedPatients, aligned: AlignedPatients) -> TrajectoriesRelease:
        """Measure what was lost, and describe the release."""
        request, files, secret, given = self.request, aligned.files, aligned.secret, aligned.given
        exact = exact_figures(given, aligned.domain, aligned.protected)
        derived = DerivedTrajectories(files, settings_of(given, request), columns_of(request), secret.n_suppressed)
        utility = utility_of(derived.counts, aligned.protected, request.policy)
        loss = derived.records.loss_of_all(sum(utility.exact) / len(utility.exact))
        check_useful(loss, accept_empty=request.accept_empty)
        if not losses_agree(utility, files, secret, request.k):
            raise InternalError("The losses of the release are not as they were worked out again.")
        if request.workload is not None:
            exact["accuracy"] = _accuracy(request, aligned.domain.trajectories, files.frame, derived.codebook())
        has_details = request.detail_hierarchy is not None
        promise = ExpectedGuarantee(request.k, request.drop_empty_pairs, request.diversity, has_details)
        stated = state_trajectories(given, request, utility, aligned.protected.blocks)
        return TrajectoriesRelease(
            manifest=complete_manifest(
                stated, derived, source=given.name, seed=self.seed, written=(given.format, given.delimiter)
            ),
            derived=derived,
            custody=CustodianFiles(exact, crosswalk(given, aligned.order)),
            frame=files.frame,
            format=given.format,
            delimiter=given.delimiter,
            anonymized=aligned.protected.released,
            attributes=files.attributes,
            _check=partial(verify, guarantee=promise, secret=secret),
        )

    def notes(self, _release: Release, _manifest: AnyManifest) -> Sequence[str]:
        """Return assumptions made while reading, and other notes for the user."""
        notes, request = [*self.assumptions], self.request
        if request.on_unknown_code == "drop":
            notes.append("lines with codes that are not in the hierarchy are dropped, as requested")
        sensitive = frozenset() if request.diversity is None else request.diversity.codes
        absent = sensitive - {*self.given.trajectories.vocabulary}
        if absent:
            notes.append(
                f"{len(absent)} of {len(sensitive)} sensitive codes do not occur in the data: see that they are "
                "spelled right"
            )
        return notes

    def recorded_values(self) -> RecordedValues | None:
        """Return the auxiliary attributes, which are released as recorded."""
        return RecordedValues.of_attributes(self.given.attributes, self.given.trajectories.ids, self.request.k)


def lay_out(domain: FittedTrajectories, given: GivenTrajectories, protected: ProtectedTrajectories) -> AlignedPatients:
    """Return the files of the released patients, and what the verifier may know of the original."""
    n_suppressed = 0
    if (kept := protected.kept) is not None:
        n_suppressed = given.trajectories.n_patients - kept.size
        attributes = None if given.attributes is None else given.attributes.of(kept)
        given = replace(given, trajectories=given.trajectories.only(kept), attributes=attributes)
        domain = replace(domain, trajectories=domain.trajectories.only(kept))
    order = order_of(protected.released, protected.alignment, given.attributes)
    files = write_patients(protected.released, protected.alignment, given.attributes, order)
    recorded = None if given.attributes is None else given.attributes.frame
    place = order, protected.alignment.position, n_suppressed
    secret = Secret(domain.trajectories, domain.codes, domain.ages, recorded, *place, domain.details)
    return AlignedPatients(domain, given, protected, files, order, secret)


def state_trajectories(
    given: GivenTrajectories, request: TrajectoriesRequest, utility: TrajectoriesUtility, blocks: int
) -> Manifest:
    """Return the parts of the manifest that do not follow from the released files."""
    has_ids = given.columns.id is not None or given.trajectories.ids is not None
    return {
        "shape": "trajectories",
        "method": str(request.method),
        "settings": settings_of(given, request).as_json(),
        "columns": columns_of(request).as_json(),
        "guarantee": {"verified": True, "one_row_per_patient": "ids" if has_ids else "assumed"},
        "utility": utility.as_json(),
        "clustering": Clustering(blocks=blocks).as_json(),
    }


@contextmanager
def clustering_on(engine: str) -> Iterator[ClusterBlocks | None]:
    """Yield the function that clusters blocks on the workers of Spark; None for threads of this process."""
    check_memory_or_spark(engine)
    if not is_spark(engine):
        yield None
        return
    from cloister.engines.spark.session import spark_session
    from cloister.engines.spark.trajectories import cluster_on

    with spark_session(engine) as session:
        yield cluster_on(session)


def _accuracy(
    request: TrajectoriesRequest, original: Trajectories, released: pl.DataFrame, book: pl.DataFrame
) -> dict[str, object]:
    """Return the error of answers from the release, computed as its recipients compute them."""
    assert request.workload is not None
    asked = frequent_pairs(original, percent_of(request.workload))
    pairs = ReleasedPairs.of(released, book, {CODE: request.code_hierarchy, AGE: request.age_hierarchy})
    error = average_relative_error(pairs, asked, original.vocabulary, original.age_values)
    return {"workload": request.workload, "queries": len(asked.queries), "average_relative_error": error}
