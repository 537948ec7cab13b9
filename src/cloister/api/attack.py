"""Python interface for attacking releases: which patients adversaries of growing knowledge find."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Unpack

from cloister.attacks.adversary import Attack
from cloister.attacks.attack_parts import check_targets, open_release
from cloister.attacks.linkage import add_linkage
from cloister.attacks.simulation import BUDGET, simulate
from cloister.hierarchy import Hierarchy
from cloister.jobs.manifest import only_part
from cloister.release.release import Release
from cloister.settings.checking import check_arguments
from cloister.settings.constraints import HIERARCHIES
from cloister.settings.reading import HowRead, ReadingWords
from cloister.verification.driver import Request


@check_arguments
def attack(
    release: Release | str | Path,
    original: object,
    *,
    hierarchies: Annotated[Mapping[str, Hierarchy] | None, HIERARCHIES] = None,
    crosswalk: object = None,
    plan: str | Path | None = None,
    attributes: str | Path | None = None,
    privacy: object = None,
    visit: str | None = None,
    summaries: object = None,
    register: object = None,
    targets: int = BUDGET,
    seed: int = 0,
    **how: Unpack[HowRead],
) -> Attack:
    """Search a release for patients of the original, as adversaries who know more and more about them.

    Parameters
    ----------
    release : a release, or the folder of one, or of a job with one part; what is looked through is what is in
        its files
    original : what it was made from: a dataframe, `CodeSets`, `Trajectories` or `Claims`, or the file, of claims the
        two files
    hierarchies : by column (of trajectories ``code``, ``age`` and ``detail``), those that came from files
    crosswalk : the secret map that was written with the release, as a table or its file: whose each record is; a
        release that was not written has its own
    plan : of claims given as files, the plan that the release was made by
    attributes : of trajectories given as a file, the file of auxiliary attributes
    privacy : of generalized code sets, the privacy policy, where the release names one that is not in it
    visit : of a privacy policy that is a file of visits, the column that distinguishes them
    summaries : of trajectories, a dataframe or file with one row for each patient of the original: id and the
        demographics in discharge summaries
    register : with summaries, a public register of the same columns, or some, with one row a person; without it, the
        patients are the register
    targets : patients looked for; a random sample where there are more
    seed : of the sample, and of what is known of each patient
    how : how files are read; see `cloister.settings.reading.ReadingWords`

    Returns
    -------
    Attack
        ``holds`` says whether everybody whom the guarantee covers matches no record, or k or more; for the custodian,
        as counts are exact.

    Raises
    ------
    InputError
        The release cannot be read, or what is given does not fit it.

    Examples
    --------
    >>> import polars as pl, cloister as cl
    >>> frame = pl.DataFrame({"age": [39, 39, 40, 41], "sex": ["F", "F", "M", "M"]})
    >>> release = cl.protect_table(frame, qi={"age": cl.intervals(2), "sex": cl.suppress()},
    ...                        rule=[cl.KAnonymity(2)])
    >>> found = cl.attack(release, frame)
    >>> found.holds, found.levels[-1].original.alone, found.levels[-1].released.alone
    (True, 2, 0)
    """
    check_targets(targets, seed)
    known = Request(
        hierarchies=hierarchies or {},
        crosswalk=crosswalk,
        plan=plan,
        attributes=attributes,
        privacy=privacy,
        visit=visit,
        words=ReadingWords(**how),
    )
    place = release if isinstance(release, Release) else only_part(Path(release))
    opened = add_linkage(open_release(place, original, known, seed), summaries, register, known.words)
    return simulate(opened, budget=targets, seed=seed)
