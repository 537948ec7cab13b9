"""The course of trajectories."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from cloister.errors import InternalError
from cloister.release import Custody
from cloister.stopwatch import Stopwatch
from cloister.trajectories.codebook import codebook
from cloister.trajectories.data import TrajectoriesRequest
from cloister.trajectories.domain import Domain, fitted
from cloister.trajectories.figures import crosswalk, work_out
from cloister.trajectories.manifest import describe
from cloister.trajectories.protect import ClusterBlocks, anonymize
from cloister.trajectories.release import TrajectoriesRelease
from cloister.trajectories.request import GivenTrajectories, ReleaseSettings, check_known, check_trajectories
from cloister.trajectories.shown import shown_of
from cloister.trajectories.side import side_of
from cloister.trajectories.verify import Promise, verify
from cloister.trajectories.verify_figures import figures_agree
from cloister.trajectories.verify_original import Secret
from cloister.trajectories.written import order_of, written

from .stages import completed, interruptible, passed


def protect_trajectories(
    given: GivenTrajectories,
    request: TrajectoriesRequest,
    settings: ReleaseSettings | None = None,
    *,
    seed: int = 0,
    threads: int | None = None,
    watch: Stopwatch | None = None,
    custody: Mapping[str, Any] | None = None,
    load: Callable[[], None] | None = None,
    cluster: ClusterBlocks | None = None,
) -> TrajectoriesRelease:
    """Take trajectories through the stages.

    Parameters
    ----------
    given : the trajectories as read and numbered, and what rides along
    seed : written down; nothing that protects is random
    threads : all cores unless given; never changes what is released
    watch : a stopwatch that already holds the time spent on starting and reading
    custody : what else only the custodian may see
    load : loads what is compiled
    cluster : clusters blocks elsewhere: see `cloister.trajectories.protect`
    """
    settings, watch = settings or ReleaseSettings(), watch or Stopwatch()
    check_trajectories(given.trajectories)
    if load is not None:
        with watch.stage("start"):
            load()
    with watch.stage("encode"):
        domain = _fitted(given, request, settings)
        fit = replace(request, code_hierarchy=domain.codes, age_hierarchy=domain.ages)
        diversity = request.diversity
        column = None if diversity is None else diversity.column
        side = side_of(given.side, domain.trajectories.n_patients, column)
    with watch.stage("protect"):
        protected = interruptible(lambda: anonymize(domain.trajectories, fit, side, threads=threads, cluster=cluster))
    with watch.stage("verify"):
        order = order_of(protected.released, protected.alignment, given.side)
        files = written(protected.released, protected.alignment, given.side, order)
        beside = None if given.side is None else given.side.frame
        secret = Secret(domain.trajectories, domain.codes, domain.ages, beside, order, protected.alignment.position)
        promise = Promise.of(request.k, diversity, drop_empty=request.drop_empty)
        verdict = passed(verify(files, promise, secret))
    with watch.stage("measure"):
        figures = work_out(given, settings, domain, protected, files)
        if not figures_agree(figures.told["utility"], files, secret, settings.policy, request.k):
            raise InternalError("The figures of the release are not as they were counted anew.")
        manifest = describe(given, request, settings, verdict, figures.told)
        book = codebook(files, request.code_hierarchy.kind, request.age_hierarchy.kind)
    return TrajectoriesRelease(
        codebook=book,
        manifest=completed(manifest, source=given.name, seed=seed, watch=watch),
        custody=Custody(figures.exact | dict(custody or {}), crosswalk(given, order)),
        shown=lambda: shown_of(files, request.k),
        frame=files.frame,
        format=given.format,
        delimiter=given.delimiter,
        anonymized=protected.released,
        side=files.side,
        _check=lambda found: verify(found, promise, secret),
    )


def _fitted(given: GivenTrajectories, request: TrajectoriesRequest, settings: ReleaseSettings) -> Domain:
    """Codes and ages, and hierarchies that have them all."""
    check_known(given, request.code_hierarchy, settings.unknown)
    return fitted(given.trajectories, request.code_hierarchy, request.age_hierarchy, settings.unknown)
