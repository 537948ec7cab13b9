"""``cloister verify`` and ``export``: verify a release of any shape or of a job, or export it as a file."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from cloister.api.open import export
from cloister.cli.hierarchy import columns_named, hierarchies_named
from cloister.cli.options import ExportOptions, VerifyOptions
from cloister.cli.output import Screen, note, print_json, say
from cloister.errors import InputError, NotChecked, name_few
from cloister.io import Source, Tally
from cloister.io.batches import is_large, read_tally
from cloister.io.other_files import program_of
from cloister.io.query import is_address
from cloister.jobs.manifest import JOB, only_part, part_names, promises_of_folder
from cloister.pipeline.output_paths import release_at
from cloister.release.head import UNBOUND_REPORT, WITH_CODES
from cloister.release.manifest import AnyManifest, codes_of, outline_of, parse_manifest, rules_of
from cloister.results import Caveat, Manifest, Verdict
from cloister.settings.declaration import settings_of
from cloister.settings.reading import KEYS, how_read, reading_of
from cloister.shapes.registry import SHAPES
from cloister.shapes.table.format.manifest import TableManifest
from cloister.sources import read_table
from cloister.verification.folder import verify_folder

OF_ALL = {"folder", "k", "original", *KEYS, "missing_as", "engine", "accept_unchecked"}
OF_OUTPUT = {"as_json", "quiet", "verbose"}


def run_verify(options: VerifyOptions) -> None:
    """Verify a folder by its shape, and print the checks."""
    release_at(options.folder, Screen(quiet=True))
    manifest = release_at(only_part(options.folder))
    _check_fitting(options, manifest)
    stated = typed_or_none(manifest)
    usual = None if stated is None else stated.settings.delimiter
    read, path = partial(read_table, usual_delimiter=usual, **how_read(options)), options.original
    is_file = path is None or str(outline_of(manifest).shape) in {*SHAPES} - {"table"}
    original = path if is_file else _original(options, stated, read)
    compared = [*([] if options.original is None else [options.original]), *options.population]
    verdict = verify_folder(
        options.folder,
        original=original if options.claims is None else (original, options.claims),
        hierarchies=hierarchies_named(options, stated, compared),
        populations={path.name: read(path).frame for path in options.population},
        k=options.k,
        qi=tuple(columns_named(options, stated)),
        m=options.m,
        crosswalk=options.crosswalk,
        privacy=options.privacy,
        policy=options.policy,
        visit=options.visit,
        attributes=options.attributes,
        plan=options.plan,
        engine=options.engine,
        accept_unchecked=options.accept_unchecked,
        **how_read(options),
    )
    if options.as_json and verdict.holds:
        print_json(_as_json(verdict))
    elif not options.quiet and not options.as_json:
        found = "holds" if verdict.holds else "was not checked in full"
        say(f"{options.folder.absolute().name} {found} ({verdict.how}):")
        for line in verdict.checks if options.verbose else _in_short(options.folder, verdict):
            say(f"  {line}")
    if not verdict.holds:
        raise _not_checked(options, stated, verdict)


def _as_json(verdict: Verdict) -> dict[str, object]:
    unchecked = [{"name": name, "why": why} for name, why in verdict.unchecked]
    return {"holds": verdict.holds, "how": verdict.how, "checks": list(verdict.checks), "unchecked": unchecked}


def _in_short(folder: Path, verdict: Verdict) -> Iterator[str]:
    """Yield a line for each guarantee that holds, one for each thing that was not checked, and one for the rest."""
    if verdict.holds:
        yield from (f"{sentence}." for sentence in promises_of_folder(folder))
    caveats = [check for check in verdict.checks if isinstance(check, Caveat)]
    yield from caveats
    parts, checks = len(part_names(release_at(folder))), len(verdict.checks) - len(caveats)
    of_parts = f"{parts} parts, " if parts > 1 else ""
    yield f"{of_parts}{checks} checks{': all hold' if verdict.holds else ' passed'}; -v lists them."


def _not_checked(options: VerifyOptions, stated: "AnyManifest | None", verdict: Verdict) -> NotChecked:
    """Say what was not checked, why, and what to do."""
    names = list(dict.fromkeys(name for name, _ in verdict.unchecked))
    rules = [] if stated is None else rules_of(stated)
    of_population = {rule["model"] for rule in rules if isinstance(rule.get("population"), str)}
    needs_population = not of_population.isdisjoint(names)
    accepted = " ".join(f"--accept-unchecked {name}" for name in names)
    compare = "" if options.original is not None else " Compare with the original (--original), or"
    if "privacy" in names and any(rule.get("privacy", "records") != "records" for rule in rules):
        compare = " Give the policy (--privacy), or"
    if needs_population or names == [UNBOUND_REPORT[0]]:
        compare = " Give the population (--population), or" if needs_population and not options.population else ""
    return NotChecked(
        f"{options.folder.name} was not checked in full: {verdict.problem()}.{compare or ' If you do not need it,'} "
        f"accept that: {accepted}.",
        verdict=_as_json(verdict),
    )


def _check_fitting(options: VerifyOptions, manifest: Manifest) -> None:
    """Refuse options that mean nothing for such a release."""
    shape = str(outline_of(manifest).shape)
    of_shape = SHAPES[shape if shape in SHAPES else "table"]
    fitting = {"folder", "engine", "accept_unchecked"} if shape == JOB else OF_ALL | {*of_shape.verified_by}
    fitting |= OF_OUTPUT | ({"m"} if WITH_CODES in manifest else set())
    strange = [
        one.option
        for one in settings_of(VerifyOptions)
        if one.name not in fitting and getattr(options, one.name) != one.default
    ]
    if strange and shape == JOB:
        raise InputError(
            f"{options.folder.name} is of a job, and is checked as a whole. Compare or expect something of a part, as "
            f"in cloister verify {options.folder.name}/PART."
        )
    if strange:
        known = [one.option for one in settings_of(VerifyOptions) if one.name in fitting - OF_OUTPUT - {"folder"}]
        raise InputError(f"{of_shape.title.capitalize()} have {', '.join(known)}. Leave out {', '.join(strange)}.")
    if options.visit is not None and not (options.privacy or "").startswith("visits:"):
        raise InputError("--visit names a column of a file of visits. Give --privacy visits:FILE, or leave it out.")
    if shape == "claims" and (options.original is None) is not (options.claims is None):
        raise InputError("The original of claims is two files: --original PATIENTS CLAIMS.")


def typed_or_none(manifest: Manifest) -> "AnyManifest | None":
    """Return the manifest of a release; if it is invalid, leave the error to the verification."""
    with suppress(InputError):
        return parse_manifest(manifest)
    return None


def _original(options: VerifyOptions, stated: "AnyManifest | None", read: Callable[[Path], Source]) -> Tally:
    """The original of a table; of a large file only the released columns, unless patients have several records."""
    path = options.original
    assert path is not None
    if is_address(str(path)):
        raise InputError("The original is given as a file. Write what the query gives to a CSV or Parquet file first.")
    table = stated if isinstance(stated, TableManifest) and codes_of(stated) is None else None
    is_small = not path.is_file() or reading_of(options).cleaning or not is_large(path)
    if is_small or table is None or table.guarantee.patients is not None:
        return Tally(read(path).frame)
    released = [name for name, column in table.columns.items() if getattr(column, "ids", None) != "number"]
    words = {"missing": options.missing, "delimiter": options.delimiter, "encoding": options.encoding}
    return read_tally(path, released, **words)  # type: ignore[arg-type]


def run_export(options: ExportOptions) -> None:
    """Verify a release, write the file, and print a confirmation."""
    renamed = export(options.folder, options.out)
    if options.as_json:
        print_json({"out": options.out.name, "release": options.folder.name, "renamed": renamed})
        return
    if renamed:
        program, words = program_of(options.out), [f"{name} is {other}" for name, other in renamed.items()]
        text = f"some columns have names that {program} does not allow: in {options.out.name}, {name_few(words)}"
        note(text, quiet=options.quiet)
    if not options.quiet:
        say(f"{options.out.name} was written from {options.folder.name}, in which no check failed.")
