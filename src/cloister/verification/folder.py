"""Verification of any release folder from its files: `verify_folder`. Loads neither the search nor the kernels."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Unpack

from cloister.errors import GuaranteeViolation, InputError, Message, join_parts, setting
from cloister.hierarchy import Hierarchy
from cloister.jobs.manifest import is_job, part_names
from cloister.jobs.recheck import recheck_job
from cloister.privacy import KAnonymity
from cloister.release.folder import TABLE, read_manifest
from cloister.release.head import WITH_CODES
from cloister.release.manifest import form_of, outline_of
from cloister.results import Manifest, Verdict
from cloister.settings.checking import check_arguments
from cloister.settings.constraints import COLUMNS, HIERARCHIES, Interval
from cloister.settings.reading import HowRead, ReadingWords
from cloister.settings.run_options import K
from cloister.shapes.registry import FORMS, SHAPES, load
from cloister.verification.driver import Request, check_folder


@check_arguments
def verify_folder(
    folder: str | Path,
    *,
    original: object = None,
    hierarchies: Annotated[Mapping[str, Hierarchy] | None, HIERARCHIES] = None,
    populations: Mapping[str, object] | None = None,
    k: Annotated[int | None, K] = None,
    qi: Annotated[str | Sequence[str], COLUMNS] = (),
    m: Annotated[int | None, Interval(int, 1)] = None,
    crosswalk: str | Path | None = None,
    privacy: object = None,
    policy: object = None,
    visit: str | None = None,
    attributes: str | Path | None = None,
    plan: str | Path | None = None,
    engine: str | None = None,
    accept_unchecked: str | Sequence[str] = (),
    **how: Unpack[HowRead],
) -> Verdict:
    """Return the verdict on a release folder, from its files alone or compared with the original.

    A release holds if everything was checked. What is promised and could not be checked, for example because only the
    original says it, is in ``unchecked`` of the verdict, which then does not hold.

    Parameters
    ----------
    folder : a release, or the release of a job, whose parts are all checked; of several parts nothing of what follows
        can be asked but ``engine`` and ``accept_unchecked``
    original : what it was made from: a dataframe; of code sets and trajectories, the file; of claims, the files of
        patients and of claims
    hierarchies : by column (of trajectories ``code``, ``age`` and ``detail``), those that came from files; needed with
        ``original`` and ``populations``
    populations : dataframes of the population tables that rules compare with, by the name that the rules call them
    k, qi : what the recipient expects, whatever the manifest says; k is at least 2
    m : of code sets and tables with codes, how many codes the recipient expects to be safe to know
    crosswalk : of code sets and trajectories, the secret map that was written with the release; needed with
        ``original`` of chunks
    privacy, policy : of generalized code sets, the policies that the release names, which are not in it: as objects,
        or in words
    visit : of a privacy policy that is a file of visits, the column that distinguishes them
    how : how the original and a file of visits are read, where they are files; see
        `cloister.settings.reading.ReadingWords`. A delimiter that cannot be detected is that of the release;
        ``missing`` is of all but tables without codes
    plan : of claims, the plan that the release was made by; needed with ``original``
    attributes : of trajectories, the file of auxiliary attributes; needed with ``original`` if the release has some
    engine : of a table that was protected inside a database, the address of that, without a password; of any other
        table, the Spark that checks the promises a second time (``spark``, ``local[2]``, ``sc://HOST:PORT``)
    accept_unchecked : names of what need not be checked, as ``unchecked`` of the verdict has them

    Raises
    ------
    InputError
        The folder is not a release that this version can check.
    GuaranteeViolation
        A check failed; says which, in counts.
    """
    place = Path(folder).absolute()  # messages name the folder, which may be "."
    request = Request(
        original=original,
        hierarchies=hierarchies or {},
        populations=populations or {},
        k=k,
        quasi_identifiers=(qi,) if isinstance(qi, str) else tuple(qi),
        m=m,
        crosswalk=crosswalk,
        privacy=privacy,
        policy=policy,
        visit=visit,
        attributes=attributes,
        plan=plan,
        engine=engine,
        words=ReadingWords(**how),
    )
    if isinstance(accept_unchecked, str):
        accept_unchecked = (accept_unchecked,)
    verdict = _without_failures(place, request)
    unknown = sorted({*accept_unchecked} - {name for name, _ in verdict.unchecked})
    if unknown:
        names = ", ".join(sorted({name for name, _ in verdict.unchecked})) or "nothing"
        raise InputError(
            f"{place.name} has nothing unchecked of the name {unknown[0]}. Not checked was: {names}. Leave it out of ",
            setting("accept_unchecked"),
        )
    return verdict.accepting(accept_unchecked)


def _without_failures(place: Path, request: Request) -> Verdict:
    """Return the verdict on a release or a job; raise `GuaranteeViolation` if a check fails."""
    manifest = read_manifest(place)
    verdict = _of_job(place, manifest, request) if is_job(manifest) else _of_release(place, manifest, request)
    if verdict.failures:
        # Nothing published says how the original was read: markers of missing values may be a patient's.
        again = Message(" The original must be read as it was then: name ", setting("missing"), " and the like again.")
        compared = "" if request.original is None else again
        raise GuaranteeViolation(f"{place.name} does not hold: ", join_parts("; ", verdict.failures), ".", compared)
    return verdict


def _of_job(place: Path, manifest: Manifest, request: Request) -> Verdict:
    """Return the verdict on all parts of a job; expectations are possible only for a job with one part."""
    if len(part_names(manifest)) > 1 and request.is_particular:
        raise InputError(
            f"{place.name} belongs to a job, which is checked as a whole. Compare or set expectations for one part: "
            f"{place.name}/PART."
        )

    def verify_part(part: Path) -> Verdict:  # some may be in a database
        engine = request.engine if TABLE in read_manifest(part) else None
        return _without_failures(part, replace(request, engine=engine))

    return recheck_job(place, manifest, verify_part)


def _of_release(place: Path, manifest: Manifest, request: Request) -> Verdict:
    """Return the verdict on a release."""
    form = FORMS.get(form_of(manifest))
    if form is None:
        raise InputError(f"{place.name} is not a release of a shape that this version can check: {', '.join(SHAPES)}.")
    shape = SHAPES[str(outline_of(manifest).shape)]
    looked_at = {*shape.verified_by} | ({"m"} if WITH_CODES in manifest else set())
    expected = {"m": request.m is not None, "qi": bool(request.quasi_identifiers)}
    strange = [setting(name) for name, is_asked in expected.items() if is_asked and name not in looked_at]
    if strange:
        raise InputError(join_parts(" and ", strange), f": not for {shape.title}. Leave it out.")
    if request.engine is not None and form_of(manifest) != TABLE:
        raise InputError(setting("engine"), " is for tables without codes. Leave it out.")
    if request.k is not None:
        KAnonymity(request.k)  # refuses what no release can promise
    return check_folder(place, manifest, load(form.checker)(), request)
