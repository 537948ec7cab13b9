"""One run of ``protect trajectories``: from options to a release folder and a summary."""

from contextlib import ExitStack
from pathlib import Path
from typing import Literal

from rich.console import Console

from cloister.cli.declared import check_threads, check_words
from cloister.cli.output import facts, note
from cloister.cli.places import custody_of
from cloister.cli.prepared import Original, Prepared, Work, with_attack
from cloister.cli.progress import working
from cloister.codesets.policy import UtilityPolicy
from cloister.engines.choice import check_memory_or_spark
from cloister.errors import InputError
from cloister.flow.trajectories import protect_trajectories
from cloister.hierarchy import parse_hierarchy
from cloister.io import EventColumns
from cloister.release import Release
from cloister.release_folder import REPORT, SIDE
from cloister.report.sentences import guarantee_sentences
from cloister.results import Manifest
from cloister.settings import asked, stated
from cloister.stopwatch import Stopwatch
from cloister.trajectories.data import Diversity, TrajectoriesRequest, weights_of
from cloister.trajectories.domain import USUAL_AGES, Unknown, fitted, usual_codes
from cloister.trajectories.options import UNITS, TrajectoriesOptions
from cloister.trajectories.protect import load_kernels, must_compile
from cloister.trajectories.request import (
    GivenTrajectories,
    ReleaseSettings,
    check_known,
    check_trajectories,
    read_given,
    side_of,
)
from cloister.verbs.trajectories import clustering_on, constraints_of, diversity_of, parse_constraints


def prepare_trajectories(
    options: TrajectoriesOptions, watch: Stopwatch, _engines: ExitStack, read: GivenTrajectories | None
) -> Prepared:
    """Return what is about to be done with trajectories: those that were read, else those that are read now."""
    with watch.stage("read"):
        given = read_trajectories(options) if read is None else read
    with watch.stage("encode"):
        policy = None if options.policy is None else parse_constraints(options.policy, given.trajectories)
        request = _request(options, given, policy)
        told = None if policy is None else policy.spec
        settings = ReleaseSettings(Unknown(options.on_unknown_code), options.workload, told)
    quiet = options.quiet or options.as_json
    original = Original(given, {"code": request.code_hierarchy, "age": request.age_hierarchy})

    def protect() -> Release:
        if must_compile():
            note("Compiling the method for this machine, once (about 60 s).", quiet=quiet)
        said = f"aligning the trajectories of {given.trajectories.n_patients:,} patients"
        with working(said, quiet=quiet), clustering_on(options.engine) as cluster:
            release = protect_trajectories(
                given,
                request,
                settings,
                seed=options.seed,
                threads=options.threads,
                watch=watch,
                custody=custody_of(options.data, options.internal),
                load=load_kernels,
                cluster=cluster,
            )
        return with_attack(release, options, original)

    return Prepared(
        protect,
        lambda: _check(given, request, settings),
        lambda _, manifest: notes_on(options, given, manifest),
        _asked(options, given, request),
        original,
        () if given.side is None else tuple(given.side.frame.columns),
    )


def _check(given: GivenTrajectories, request: TrajectoriesRequest, settings: ReleaseSettings) -> None:
    """Raise what protecting would raise before anything is aligned."""
    check_trajectories(given.trajectories)
    check_known(given, request.code_hierarchy, settings.unknown)
    domain = fitted(given.trajectories, request.code_hierarchy, request.age_hierarchy, settings.unknown)
    column = None if request.diversity is None else request.diversity.column
    side_of(given.side, domain.trajectories.n_patients, column)


def _asked(
    options: TrajectoriesOptions, given: GivenTrajectories, request: TrajectoriesRequest
) -> list[tuple[str, str]]:
    """What would be done, in words."""
    return [
        ("patients", f"{given.trajectories.n_patients:,} with {given.trajectories.codes.size:,} pairs"),
        ("method", options.method),
        ("rules", f"k = {options.k}"),
        ("hierarchies", f"codes {request.code_hierarchy.spec}, ages {request.age_hierarchy.spec}"),
        ("released as recorded", "nothing" if given.side is None else ", ".join(given.side.frame.columns)),
    ]


def check_trajectories_words(options: TrajectoriesOptions) -> None:
    """Refuse words that no option has."""
    check_memory_or_spark(options.engine)
    check_words(options, "method", "cost", "on_unknown_code", "age_unit")
    if options.ids != "number":
        raise InputError(
            "--ids can be number alone for trajectories in this version: the number holds the pairs of a patient "
            "together, so that it cannot be dropped, and it follows from what is released, so that it links nothing."
        )
    if options.seed < 0:
        raise InputError(f"The seed is {options.seed}, but must be a whole number from 0 on.")
    check_threads(options.threads)
    if options.diversity is not None and options.sensitive is None and options.sensitive_codes is None:
        raise InputError("--diversity is about something sensitive. Name it with --sensitive or --sensitive-codes.")
    if len(options.sensitive or ()) > 1:
        raise InputError("One sensitive column can be named in this version. Leave out the others.")


def read_trajectories(options: TrajectoriesOptions) -> GivenTrajectories:
    """Read the trajectories as the options ask."""
    unit = next(unit for unit in UNITS if unit == options.age_unit)
    return read_given(
        options.data,
        EventColumns(options.id, options.code, options.age, options.date, options.anchor, unit),
        options.side,
        encoding=options.encoding,
        delimiter=options.delimiter,
        missing=options.missing,
    )


def _request(
    options: TrajectoriesOptions, given: GivenTrajectories, policy: UtilityPolicy | None
) -> TrajectoriesRequest:
    codes, ages, weights = options.code_hierarchy, options.age_hierarchy, options.weights
    return asked(
        TrajectoriesRequest,
        stated(options),
        code_hierarchy=usual_codes(given.trajectories) if codes is None else parse_hierarchy(codes),
        age_hierarchy=USUAL_AGES if ages is None else parse_hierarchy(ages),
        weights=weights_of(*(weights.split(",") if isinstance(weights, str) else weights)),
        block=_block(options.block),
        drop_empty=options.drop_empty_pairs,
        diversity=_diversity(options),
        constraints=() if policy is None else constraints_of(policy),
    )


def _diversity(options: TrajectoriesOptions) -> Diversity | None:
    column = options.sensitive[0] if options.sensitive else None
    codes = None
    if options.sensitive_codes is not None:
        codes = [word for text in options.sensitive_codes for word in text.split(",") if word.strip()]
    return diversity_of(column, codes, options.diversity)


def _block(text: str | int) -> int | Literal["auto", "off"]:
    if isinstance(text, int):
        return text
    if text in ("auto", "off"):
        return "auto" if text == "auto" else "off"
    if not text.isascii() or not text.isdigit():
        raise InputError(f"--block can be auto, off or a number of patients, not {text!r}.")
    return int(text)


def notes_on(options: TrajectoriesOptions, given: GivenTrajectories, manifest: Manifest) -> list[str]:
    """Return what was taken for granted, and what a user should know."""
    notes, settings = list(given.notes), manifest["settings"]
    if settings["on_unknown_code"] == "drop":
        notes.append("lines with codes that the hierarchy does not have are left out, as asked")
    if given.side is not None:
        notes.append(
            f"the columns of {SIDE} ({', '.join(given.side.frame.columns)}) are released as they are: whoever knows a "
            "patient's values there may find the patient by them"
        )
    absent = {*(settings["sensitive_codes"] or ())} - {*given.trajectories.vocabulary}
    if absent:
        count = len(settings["sensitive_codes"])
        notes.append(
            f"{len(absent)} of {count} sensitive codes do not occur in the data: see that they are spelled right"
        )
    if options.workload is not None and options.internal is None:
        notes.append("the errors of a workload are told to the custodian alone, in the folder that --internal names")
    return notes


def print_trajectories_summary(screen: Console, manifest: Manifest, out: Path) -> None:
    """Print what was released, under which guarantee, at what loss."""
    screen.print(facts("Release", _rows(manifest)))
    screen.print(f"Report: {out / REPORT}", soft_wrap=True)


def _rows(manifest: Manifest) -> list[tuple[str, str]]:
    records, utility, risk = manifest["records"], manifest["utility"], manifest["risk"]
    rows = [
        ("source", manifest["settings"]["source"]),
        ("patients", f"{records['released']:,} of {records['in']:,} released"),
        ("guarantee", f"{'; '.join(guarantee_sentences(manifest))} (verified)"),
        (
            "trajectories",
            f"{utility['trajectories']:,} different ones, each of {risk['smallest']:,} to {risk['largest']:,} patients",
        ),
        ("pairs", f"{utility['pairs']:,}"),
        ("loss of codes", _loss(utility["ilm_exact"], utility["ilm"])),
        ("loss of ages", _loss(utility["alm_exact"], utility["alm"])),
    ]
    if utility["constraints"] is not None:
        kept = f"{utility['constraints_kept']:,} of {utility['constraints']:,} sets kept apart from others"
        rows.append(("policy", f"{manifest['settings']['policy']}: {kept}"))
    elif manifest["settings"]["policy"] is not None:
        rows.append(("policy", manifest["settings"]["policy"]))
    if utility["patients_untold"]:
        rows.append(("nothing told", f"of {utility['patients_untold']:,} patients, who are one row of * each"))
    if manifest["clustering"]["blocks"] > 1:
        rows.append(("blocks", f"{manifest['clustering']['blocks']:,}, compared within"))
    return [*rows, ("time", f"{manifest['seconds']['total']:.2f} s")]


def _loss(exact: float, paper: float | None) -> str:
    counted = "as the paper counts: not told" if paper is None else f"{paper:.3f} as the paper counts"
    return f"{exact:.3f} (0 nothing, 1 all; {counted})"


TRAJECTORIES = Work(
    check_trajectories_words,
    read_trajectories,
    prepare_trajectories,
    print_trajectories_summary,
    ("code", "age", "date", "anchor", "age_unit", "side"),
)
