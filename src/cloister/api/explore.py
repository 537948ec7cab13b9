"""Python interface for exploring many settings of one function, and for comparing releases."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import chdir
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from cloister.engines.choice import is_spark_frame
from cloister.errors import InputError, did_you_mean
from cloister.exploration.comparison import Comparison, compare_manifests, manifests_in
from cloister.exploration.figures import Figures, exact_figures_of
from cloister.exploration.results import RISK_LIMIT, RULES, Exploration, outcome_of, rule_named, summed_up
from cloister.exploration.running import ExploreRequest, explore_settings, name_setting
from cloister.exploration.setting_keys import FRONTIER, candidates, settings_in
from cloister.io import from_native
from cloister.jobs.running import of_part, options_of, without_keys
from cloister.release.release import Release
from cloister.settings.checking import check_arguments, check_kind
from cloister.settings.constraints import Described, OneOf, holds_list
from cloister.settings.declaration import Given, Keywords
from cloister.shapes.claims.format.data import Claims
from cloister.shapes.claims.format.plan import change_plan
from cloister.shapes.codes.data import CodeSets
from cloister.shapes.protocol import shape_of
from cloister.shapes.registry import SHAPES
from cloister.shapes.trajectories.format.data import Trajectories

from .claims import protect_claims
from .codes import protect_codes
from .run_job import job_run
from .tables import protect_table
from .trajectories import protect_trajectories

Verb = Callable[..., Release]
THE_PLAN = "the plan"
DATA = Described("data, a job, or a verb as protect_table")
GRID = Described('a list of values for each setting, or "frontier"')
VERBS: Mapping[type, Verb] = {CodeSets: protect_codes, Trajectories: protect_trajectories, Claims: protect_claims}
"""What protects data that are no table."""


@check_arguments
def explore(
    data: Annotated[object, DATA],
    of_verb: object = None,
    *,
    grid: Annotated[Mapping[str, Sequence[object]] | Literal["frontier"] | None, GRID] = None,
    part: str | None = None,
    out: str | Path | None = None,
    recommend: Annotated[str, OneOf(*RULES)] = "knee",
    risk_limit: Annotated[float | None, RISK_LIMIT] = None,
    **settings: object,
) -> Exploration:
    """Protect, verify and measure the data under every combination of settings, for the custodian of the data.

    Parameters
    ----------
    data : a dataframe, `CodeSets`, `Trajectories` or `Claims`; or a job, as of `run_job`; or a verb, such as
        `protect_codes`, followed by its data
    of_verb : the data of a verb
    grid : values by key, as on the command line: ``{"k": [2, 5], "weight.age": [1, 2]}``; of claims keys of the plan,
        as ``"risk.threshold"``; of a table in a job also ``"frontier"``: the transformations that no other beats in
        risk and loss, nothing suppressed. Without any values those of the command line: of a table each purpose
    part : of a job of several parts: which one
    out : of a job: folder for what is found, which ``cloister explore`` would write; the same call goes on there
    recommend : ``"knee"``: of the settings that no other beats, the one furthest below the line between the ends;
        ``"best-utility"``: the least loss under ``risk_limit``
    risk_limit : settings of a higher risk are not recommended, above 0 and at most 1
    **settings : keywords of the verb. A list for a setting that takes one value adds to the grid: ``k=[3, 5, 11]``, or
        ``qi={"age": ["interval:5", "interval:10"]}``. A list for a setting that takes several is one value: ``drop``

    Returns
    -------
    Exploration
        Every setting with its figures or the reason why it has no safe release; no release is kept. Confidential: the
        suppressed records of many settings together reveal more than one release may.

    Notes
    -----
    *Guarantee*: each release was verified as any other; an exploration promises nothing itself. Cost: that of the verb
    for each setting.

    Examples
    --------
    >>> import cloister as cl
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": [31, 34, 38, 39, 52, 57], "sex": ["F", "F", "M", "M", "M", "M"]})
    >>> found = cl.explore(people, k=[2, 4], qi={"age": "interval:10,50", "sex": "suppress"}, accept_empty=True)
    >>> [(one.figures.risk, round(one.figures.loss, 2)) for one in found.outcomes]
    [(0.5, 0.05), (0.16666666666666666, 1.0)]
    """
    if isinstance(data, str | Path | Mapping):
        if of_verb is not None or settings:
            raise InputError("A job names its data and settings. Vary them by grid, or read the data into a dataframe.")
        asked = ExploreRequest(grid or {}, None if out is None else Path(out), recommend, risk_limit)
        return _of_job(data, part, asked)
    if part is not None or out is not None:
        raise InputError("part and out are for jobs. Leave them out.")
    if grid == FRONTIER:
        raise InputError("The frontier of transformations is explored of a job. Name one in place of the data.")
    verb, data = (data, of_verb) if callable(data) else (VERBS.get(type(data), protect_table), data)
    if verb is protect_table and not is_spark_frame(data):
        data = from_native(data).frame  # read once for all settings
    fixed, varied = split_values(verb, settings)
    values = grid or ({} if varied else usual_values(verb, settings))
    if twice := [key for key in values if key in settings or key in varied]:
        raise InputError(f"{twice[0]} is a keyword and in the grid as well. Leave one of them out.")
    compared = {**varied, **{key: [*several] for key, several in values.items()}}
    if not compared or not all(compared.values()):
        raise InputError("Give values to compare, as in k=[2, 5, 11].")
    rule, outcomes = rule_named(recommend, risk_limit), []
    for setting in settings_in(compared):
        with name_setting(setting):
            outcomes.append(outcome_of(setting, partial(_protect_setting, verb, data, fixed, setting)))
    return summed_up(outcomes, rule, risk_limit)


def split_values(verb: Verb, settings: Keywords) -> tuple[Given, dict[str, list[object]]]:
    """Split keywords of a verb: those of one value, and lists of values to compare, by their keys in a grid."""
    fixed, known = dict(settings), getattr(verb, "settings", {})
    varied: dict[str, list[object]] = {}
    for name, value in settings.items():
        one, is_several = known.get(name), isinstance(value, list | tuple | range)
        if one is None and known and is_several:
            raise InputError(f"{verb.__name__} has no setting {name}.{did_you_mean(name, known)}")
        if one is not None and one.by_column and isinstance(value, Mapping):
            lists = {column: part for column, part in value.items() if isinstance(part, list)}
            fixed[name] = {**value, **dict.fromkeys(lists)}  # each in its place
            varied |= {f"{name}.{column}": part for column, part in lists.items()}
        elif one is not None and is_several and not (one.by_column or holds_list(one.kind)):
            for each in value:
                check_kind(one, each)
            varied[name] = [*fixed.pop(name)]
    return fixed, varied


def usual_values(verb: Verb, given: Collection[str]) -> dict[str, list[object]]:
    """Return what ``cloister explore`` compares where no grid is given, but for settings that are given."""
    shape = getattr(verb, "__name__", "").removeprefix("protect_")
    usual = shape_of(shape).usual_grid if shape in SHAPES else {}
    return {key: [next(candidates(word)) for word in words] for key, words in usual.items() if key not in given}


def _protect_setting(verb: Verb, data: object, fixed: Keywords, setting: Keywords) -> Figures:
    """Protect the data under one setting of a grid; a key with a column, or of a plan, changes one value."""
    given, of_plan = dict(fixed), {}
    for key, value in setting.items():
        name, _, column = key.partition(".")
        if column and isinstance(data, Claims):
            of_plan[key] = value
        elif column:
            columns = given.get(name) or {}
            given[name] = {**(columns if isinstance(columns, Mapping) else dict.fromkeys(columns)), column: value}
        else:
            given[name] = value
    if isinstance(data, Claims) and of_plan:
        data = replace(data, plan=change_plan(data.plan, of_plan, THE_PLAN, Path()))
    return exact_figures_of(verb(data, **given))


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


@check_arguments
def compare(*releases: Release | str | Path) -> Comparison:
    """Compare releases: their guarantees, risk and information loss, and the settings that differ.

    Parameters
    ----------
    releases : folders of releases or jobs, of a job each part; or releases, named 1, 2 and so on

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
