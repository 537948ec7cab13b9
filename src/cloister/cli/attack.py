"""``cloister attack``: simulate adversaries and print their results; exit code 1 if the guarantee does not hold."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from typer import Exit

from cloister.attacks.adversary import Attack
from cloister.attacks.attack_parts import OpenedPart, PartsAttack, attack_parts, check_targets, open_release
from cloister.attacks.linkage import add_linkage
from cloister.attacks.simulation import simulate
from cloister.cli.hierarchy import hierarchies_named
from cloister.cli.options import AttackOptions
from cloister.cli.output import Screen, print_json, show
from cloister.cli.verify import typed_or_none
from cloister.errors import CloisterError, InputError
from cloister.jobs.job_file import read_job
from cloister.jobs.manifest import is_job, part_names
from cloister.jobs.running import JobRun, parts_as_read
from cloister.pipeline.output_paths import release_at, remove_remains
from cloister.release.folder import read_manifest
from cloister.release.head import MANIFEST
from cloister.settings.reading import reading_of
from cloister.verification.driver import Request


def run_attack(options: AttackOptions) -> None:
    """Simulate an attack, and print the results."""
    check_targets(options.targets, options.seed)
    places = _folders(options)
    for folder in places:
        remove_remains(folder, Screen(quiet=True))
    if len(places) == 1:
        folders = parts_of(options.folder)
        if folders is None and (len(options.original) != 1 or len(options.crosswalk) > 1 or options.job is not None):
            raise InputError("One release has one original and one crosswalk. Give --original INPUT once.")
        parts = _parts(options, folders or {options.folder.name: options.folder})
    else:
        parts = _parts_of_releases(options, places)
    if len(parts) == 1:
        (one,) = parts
        opened = open_release(one.release, one.original, one.known, options.seed)
        opened = add_linkage(opened, options.summaries, options.register, one.known.words)
        found = simulate(opened, budget=options.targets, seed=options.seed)
        _say(found, ((one.name, found),), options)
        return
    if options.summaries is not None or options.register is not None:
        raise InputError("Linkage by discharge summaries is simulated for one release. Name the folder of one part.")
    together = attack_parts(parts, targets=options.targets, seed=options.seed)
    _say(together, together.parts, options)


def _folders(options: AttackOptions) -> tuple[Path, ...]:
    """The folder, and the second one where two releases are named."""
    other = options.claims
    if other is not None and not other.exists():
        raise InputError(f"{other} is neither the folder of a second release nor a file of claims: it does not exist.")
    return (options.folder,) if other is None or not other.is_dir() else (options.folder, other)


def _parts_of_releases(options: AttackOptions, places: Sequence[Path]) -> list[OpenedPart]:
    """Return two releases of the same patients; one original may be that of both."""
    if options.job is not None:
        raise InputError("--job names the originals of one job. For two releases, give --original.")
    folders = {}
    for place in places:
        inner = parts_of(place) or {place.name: place}
        if len(inner) > 1:
            raise InputError(f"{place.name} has {len(inner)} parts. Name the folder of one part.")
        folders[place.name if place.name not in folders else str(place)] = next(iter(inner.values()))
    original = options.original
    if len(original) == 1 and original[0].partition("=")[0] not in folders:
        original = tuple(f"{name}={original[0]}" for name in folders)
    return _parts(replace(options, original=original, claims=None), folders)


def parts_of(folder: Path) -> dict[str, Path] | None:
    """Return the folders of a job's parts by name; None if the folder is not a release of a job."""
    try:
        manifest = read_manifest(folder)
    except CloisterError:
        return None
    if not is_job(manifest):
        return None
    names = part_names(manifest)
    if not names:
        raise InputError(f"{MANIFEST} of {folder.name} does not name its parts.", file=MANIFEST)
    return {name: folder / name for name in names}


def _parts(options: AttackOptions, folders: Mapping[str, Path]) -> list[OpenedPart]:
    crosswalks = _split_by_part(options.crosswalk, folders)
    if options.job is not None:
        if options.original:
            raise InputError("The job names the original of each part. Give either --job or --original.")
        path = options.job.absolute()
        job = read_job(options.job)
        return parts_as_read(JobRun(job, path, path.parent / job.output), folders, crosswalks)
    originals = _split_by_part(options.original, folders)
    missing = sorted(folders.keys() - originals.keys())
    if missing:
        raise InputError(f"The part {missing[0]} has no original. Give --original {missing[0]}=INPUT, or --job.")
    return [
        OpenedPart(
            name,
            place,
            originals[name] if options.claims is None else (originals[name], options.claims),
            _known_of(options, place, originals[name], crosswalks.get(name)),
        )
        for name, place in folders.items()
    ]


def _split_by_part(texts: Sequence[str], parts: Mapping[str, Path]) -> dict[str, str]:
    """What is given for parts, by their names; where there is one part, it needs no name."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, file = text.partition("=")
        if len(parts) == 1 and name not in parts:
            (name,), equals, file = parts, "=", text
        if not equals or name not in parts or name in found:
            raise InputError(
                "Give --original and --crosswalk once for each part, as PART=FILE if there are several. The parts are: "
                f"{', '.join(parts)}."
            )
        found[name] = file
    return found


def _known_of(options: AttackOptions, folder: Path, original: str, crosswalk: str | None) -> Request:
    return Request(
        hierarchies=hierarchies_named(options, typed_or_none(release_at(folder)), [Path(original)]),
        crosswalk=crosswalk,
        plan=options.plan,
        attributes=options.attributes,
        privacy=options.privacy,
        visit=options.visit,
        words=reading_of(options),
    )


def _say(found: Attack | PartsAttack, parts: Sequence[tuple[str, Attack]], options: AttackOptions) -> None:
    if options.as_json:
        print_json(found.summary())
    elif not options.quiet:
        for name, part in parts:
            show("attack_found", name=name, a=part)
        if isinstance(found, PartsAttack):
            show("attack_links", found=found)
    if not found.holds:
        raise Exit(1)
