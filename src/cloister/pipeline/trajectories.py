"""The pipeline of trajectories."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import polars as pl

from cloister.errors import InternalError
from cloister.io.foreign import interruptible
from cloister.recipients.pairs import ReleasedPairs, average_relative_error
from cloister.release.release import CustodianFiles
from cloister.results import Stopwatch
from cloister.shapes.trajectories.format.data import (
    AGE,
    CODE,
    Attributes,
    Integers,
    Trajectories,
    TrajectoriesRequest,
    percent_of,
)
from cloister.shapes.trajectories.format.domain import FittedTrajectories, fit_hierarchies
from cloister.shapes.trajectories.format.facts import DerivedTrajectories
from cloister.shapes.trajectories.format.manifest import Clustering, columns_of, settings_of
from cloister.shapes.trajectories.format.request import (
    GivenTrajectories,
    attributes_of,
    check_known,
    check_trajectories,
)
from cloister.shapes.trajectories.method.figures import exact_figures, frequent_pairs, utility_of
from cloister.shapes.trajectories.method.protect import ClusterBlocks, anonymize, load_kernels
from cloister.shapes.trajectories.method.release import TrajectoriesRelease, crosswalk, order_of, write_patients
from cloister.shapes.trajectories.verify.statements import ExpectedGuarantee
from cloister.shapes.trajectories.verify.verify import Secret, losses_agree, verify

from .provenance import add_provenance, check_useful, require_verified


def fit_to_each_other(given: GivenTrajectories, request: TrajectoriesRequest) -> tuple[FittedTrajectories, Attributes]:
    """Return trajectories with matching hierarchies, and the auxiliary columns as the methods see them."""
    check_trajectories(given.trajectories)
    check_known(given, request)
    domain = fit_hierarchies(given.trajectories, request.code_hierarchy, request.age_hierarchy, request.on_unknown_code)
    column = None if request.diversity is None else request.diversity.column
    return domain, attributes_of(given.attributes, domain.trajectories.n_patients, column)


def without_left_out(
    domain: FittedTrajectories, given: GivenTrajectories, kept: Integers | None
) -> tuple[FittedTrajectories, GivenTrajectories, int]:
    """Return the input reduced to the released patients, and the number of suppressed patients."""
    if kept is None:
        return domain, given, 0
    beside, everybody = given.attributes, given.trajectories
    beside = None if beside is None else beside.of(kept)
    left = replace(given, trajectories=everybody.only(kept), attributes=beside)
    fitting = replace(domain, trajectories=domain.trajectories.only(kept))
    return fitting, left, everybody.n_patients - kept.size


def protect_trajectories(
    given: GivenTrajectories,
    request: TrajectoriesRequest,
    *,
    seed: int = 0,
    threads: int | None = None,
    watch: Stopwatch | None = None,
    custody: Mapping[str, object] | None = None,
    cluster: ClusterBlocks | None = None,
) -> TrajectoriesRelease:
    """Protect trajectories, and return the verified release."""
    watch = watch or Stopwatch()
    with watch.stage("start"):
        interruptible(load_kernels)
    with watch.stage("encode"):
        domain, attributes = fit_to_each_other(given, request)
        fit = replace(request, code_hierarchy=domain.codes, age_hierarchy=domain.ages)
    with watch.stage("protect"):
        protected = interruptible(
            lambda: anonymize(domain.trajectories, fit, attributes, threads=threads, cluster=cluster)
        )
    with watch.stage("verify"):
        domain, given, n_left_out = without_left_out(domain, given, protected.kept)
        order = order_of(protected.released, protected.alignment, given.attributes)
        files = write_patients(protected.released, protected.alignment, given.attributes, order)
        beside = None if given.attributes is None else given.attributes.frame
        secret = Secret(
            domain.trajectories, domain.codes, domain.ages, beside, order, protected.alignment.position, n_left_out
        )
        promise = ExpectedGuarantee(request.k, request.drop_empty_pairs, request.diversity)
        check = partial(verify, guarantee=promise, secret=secret)
        require_verified(check(files))
    with watch.stage("measure"):
        exact = exact_figures(given, domain, protected)
        asked, columns = settings_of(given, request), columns_of(request)
        derived = DerivedTrajectories(files, asked, columns, n_left_out)
        utility = utility_of(derived.counts, protected, request.policy)
        loss = derived.records.loss_of_all((utility.ilm_exact + utility.alm_exact) / 2)
        check_useful(loss, accept_empty=request.accept_empty)
        if not losses_agree(utility, files, secret, request.k):
            raise InternalError("The losses of the release are not as they were worked out again.")
        has_ids = given.columns.id is not None or given.trajectories.ids is not None
        stated = {
            "shape": "trajectories",
            "method": str(request.method),
            "settings": asked.as_json(),
            "columns": columns.as_json(),
            "guarantee": {"verified": True, "one_row_per_patient": "ids" if has_ids else "assumed"},
            "utility": utility.as_json(),
            "clustering": Clustering(blocks=protected.blocks).as_json(),
        }
        if request.workload is not None:
            exact["accuracy"] = _accuracy(
                request.workload, request, domain.trajectories, files.frame, derived.codebook()
            )
    return TrajectoriesRelease(
        manifest=add_provenance(
            stated, derived, source=given.name, seed=seed, watch=watch, written=(given.format, given.delimiter)
        ),
        derived=derived,
        custody=CustodianFiles(exact | dict(custody or {}), crosswalk(given, order)),
        frame=files.frame,
        format=given.format,
        delimiter=given.delimiter,
        anonymized=protected.released,
        attributes=files.attributes,
        _check=check,
    )


def _accuracy(
    workload: str, request: TrajectoriesRequest, original: Trajectories, released: pl.DataFrame, book: pl.DataFrame
) -> dict[str, object]:
    """Return the error of answers from the release, computed as its recipients compute them."""
    asked = frequent_pairs(original, percent_of(workload))
    pairs = ReleasedPairs.of(released, book, {CODE: request.code_hierarchy, AGE: request.age_hierarchy})
    error = average_relative_error(pairs, asked, original.vocabulary, original.age_values)
    return {"workload": workload, "queries": len(asked.queries), "average_relative_error": error}
