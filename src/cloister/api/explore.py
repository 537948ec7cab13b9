"""Python interface for exploring many settings of one function, and for comparing releases."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from cloister.errors import InputError
from cloister.exploration.comparison import Comparison, compare_manifests, manifests_in
from cloister.exploration.figures import exact_figures_of
from cloister.exploration.results import RISK_LIMIT, RULES, Exploration, outcome_of, rule_named, summed_up
from cloister.exploration.running import ExploreRequest, explore_settings
from cloister.exploration.setting_keys import FRONTIER, settings_in
from cloister.jobs.running import of_part, options_of, without_keys
from cloister.release.release import Release
from cloister.settings.checking import check_arguments
from cloister.settings.constraints import Described, OneOf
from cloister.settings.declaration import Given, Keywords
from cloister.shapes.claims.format.data import Claims
from cloister.shapes.claims.format.plan import change_plan

from .run_job import job_run

THE_PLAN = "the plan"
VERB_OR_JOB = Described("a verb, as protect_table, or a job")
GRID = Described('a list of values for each setting, or "frontier"')


@check_arguments
def explore(
    protect: Annotated[Callable[..., Release] | str | Path | Mapping[str, object], VERB_OR_JOB],
    data: object = None,
    *,
    grid: Annotated[Mapping[str, Sequence[object]] | Literal["frontier"], GRID],
    part: str | None = None,
    out: str | Path | None = None,
    recommend: Annotated[str, OneOf(*RULES)] = "knee",
    risk_limit: Annotated[float | None, RISK_LIMIT] = None,
    **settings: object,
) -> Exploration:
    """Protect, verify and measure the data under every setting of a grid, for the custodian of the data.

    Parameters
    ----------
    protect : a verb, as `protect_table`, `protect_codes`, `protect_trajectories` or `protect_claims`; or a job, as of
        `run_job`
    data : what the verb takes; not of a job, which says what is read
    grid : values of each of the verb's parameters that changes; of claims keys of the plan as well, as
        ``"risk.threshold"``; of a job values of the keys of its part, as ``{"k": [2, 5], "weight.age": [1, 2]}``, or
        of a table ``"frontier"``: the transformations that no other beats in risk and loss, nothing suppressed
    part : of a job of several parts: which one
    out : of a job: folder for what is found, which ``cloister explore`` would write; the same call goes on there
    recommend : ``"knee"``: of the settings that no other beats, the one furthest below the line between the ends;
        ``"best-utility"``: the least loss under ``risk_limit``
    risk_limit : settings of a higher risk are not recommended, above 0 and at most 1
    **settings : the other parameters of the verb

    Returns
    -------
    Exploration
        Every setting with its figures or the reason why it has no safe release; no release is kept. What many settings
        suppress tells more, together, than one release may: do not hand it on.

    Notes
    -----
    *Guarantee*: each release was verified as any other; an exploration promises nothing itself. Cost: that of the verb
    for each setting.

    Examples
    --------
    >>> import cloister as cl
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": [31, 34, 38, 39, 52, 57], "sex": ["F", "F", "M", "M", "M", "M"]})
    >>> found = cl.explore(cl.protect_table, people, grid={"k": [2, 4]},
    ...                    qi={"age": cl.intervals(10, 50), "sex": "suppress"}, accept_empty=True)
    >>> [(one.figures.risk, round(one.figures.loss, 2)) for one in found.outcomes]
    [(0.5, 0.05), (0.16666666666666666, 1.0)]
    """
    if not callable(protect):
        if data is not None or settings:
            raise InputError("A job names its data and settings. Leave out data and settings.")
        return _of_job(protect, part, ExploreRequest(grid, None if out is None else Path(out), recommend, risk_limit))
    if part is not None or out is not None:
        raise InputError("part and out are for jobs. Leave them out.")
    if grid == FRONTIER:
        raise InputError("The frontier of transformations is explored of a job. Name one in place of the verb.")
    rule = rule_named(recommend, risk_limit)
    outcomes = []
    for setting in settings_in({key: list(values) for key, values in grid.items()}):
        given, of_verb = _with_plan(data, setting)
        attempt = partial(protect, given, **settings, **of_verb)
        outcomes.append(outcome_of(setting, partial(lambda made: exact_figures_of(made()), attempt)))
    return summed_up(outcomes, rule, risk_limit)


def _of_job(job: str | Path | Keywords, part: str | None, asked: ExploreRequest) -> Exploration:
    """Explore a part of a job; values of the grid replace those of the job."""
    run = job_run(job)
    name = next(iter(run.job.parts)) if part is None and len(run.job.parts) == 1 else part
    if name is None or name not in run.job.parts:
        raise InputError(f"Name the part of the job that is explored: {', '.join(run.job.parts)}.")
    asked = replace(asked, out=None if asked.out is None else asked.out.absolute())
    one = run.job.parts[name]
    given = without_keys(one, [] if asked.grid == FRONTIER else asked.grid)
    run = replace(run, job=replace(run.job, parts={**run.job.parts, name: given}))
    with chdir(run.path.parent), of_part(run.job, name):
        return explore_settings(one.shape, options_of(run, name), asked).exploration


def _with_plan(data: object, setting: Keywords) -> tuple[object, Given]:
    """Return the claims with the plan's keys of a setting applied, and the other keys of the setting."""
    of_plan = {key: value for key, value in setting.items() if "." in key}
    of_verb = {key: value for key, value in setting.items() if "." not in key}
    if not of_plan:
        return data, of_verb
    if not isinstance(data, Claims):
        raise InputError(f"{next(iter(of_plan))} is a key of a plan, which only claims have.")
    return replace(data, plan=change_plan(data.plan, of_plan, THE_PLAN, Path())), of_verb


@check_arguments
def compare(*releases: Release | str | Path) -> Comparison:
    """Compare releases: their guarantees, risk and information loss, and the settings that differ.

    Parameters
    ----------
    releases : folders of releases, or of jobs, of which each part is taken; or releases, called 1, 2 and so on

    Examples
    --------
    >>> import cloister as cl
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": [31, 34, 38, 52, 57], "sex": ["F", "F", "F", "M", "M"]})
    >>> fine, coarse = (cl.protect_table(people, k=k, qi={"age": cl.intervals(10, 50)}, undecided="drop",
    ...                                  accept_empty=True) for k in (2, 3))
    >>> differing = cl.compare(fine, coarse).settings
    >>> differing["k"]
    {'1': '2', '2': '3'}
    """
    folders = [Path(one) for one in releases if not isinstance(one, Release)]
    found = manifests_in(folders)
    for number, one in enumerate(releases, start=1):
        if isinstance(one, Release):
            found[str(number)] = one.manifest
    return compare_manifests(found)
