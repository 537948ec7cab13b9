"""``cloister attack``: from options to what adversaries found; exit code 1 if the guarantee does not hold."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from typer import Exit

from cloister.attacks.adversary import Attack
from cloister.attacks.opening import Link, OpenedPart, PartsAttack, attack_parts, check_targets, open_release
from cloister.attacks.simulation import simulate
from cloister.checker import Request
from cloister.cli.assess import FOR_THE_CUSTODIAN
from cloister.cli.options import AttackOptions
from cloister.cli.output import console, facts, grid, print_json
from cloister.cli.verify import hierarchies_named, typed_or_none
from cloister.errors import CloisterError, InputError
from cloister.jobs.job_file import read_job
from cloister.jobs.manifest import is_job, part_names
from cloister.pipeline.jobs import JobRun, parts_as_read
from cloister.pipeline.places import release_at, tidy_beside
from cloister.reading import reading_of
from cloister.release_folder import MANIFEST, any_manifest

from .output import Screen


def run_attack(options: AttackOptions) -> None:
    """Attack, and say what was found."""
    check_targets(options.targets, options.seed)
    tidy_beside(options.folder, Screen(quiet=True))
    folders = parts_of(options.folder)
    if folders is None:
        if len(options.original) != 1 or len(options.crosswalk) > 1 or options.job is not None:
            raise InputError("One release has one original and one crosswalk. Give --original INPUT once.")
        crosswalk = options.crosswalk[0] if options.crosswalk else None
        original = options.original[0] if options.claims is None else (options.original[0], options.claims)
        known = _known(options, options.folder, options.original[0], crosswalk)
        opened = open_release(options.folder, original, known, options.seed)
        found = simulate(opened, budget=options.targets, seed=options.seed)
        _say(found, options, lambda: print_attack(console(), options.folder.name, found))
        return
    together = attack_parts(_parts(options, folders), targets=options.targets, seed=options.seed)
    _say(together, options, lambda: print_links(console(), together))


def parts_of(folder: Path) -> dict[str, Path] | None:
    """Return the folders of the parts of a job, by name; None where the folder is no job's."""
    try:
        manifest = any_manifest(folder)
    except CloisterError:
        return None
    if not is_job(manifest):
        return None
    names = part_names(manifest)
    if not names:
        raise InputError(f"{MANIFEST} of {folder.name} does not name its parts.", file=MANIFEST)
    return {name: folder / name for name in names}


def _parts(options: AttackOptions, folders: Mapping[str, Path]) -> list[OpenedPart]:
    crosswalks = _named(options.crosswalk, folders)
    if options.job is not None:
        if options.original:
            raise InputError("The job says what each part was made from. Give --job or --original.")
        path = options.job.absolute()
        job = read_job(options.job)
        return parts_as_read(JobRun(job, path, path.parent / job.output), folders, crosswalks)
    originals = _named(options.original, folders)
    missing = sorted(folders.keys() - originals.keys())
    if missing:
        raise InputError(f"The part {missing[0]} has no original. Give --original {missing[0]}=INPUT, or --job.")
    return [
        OpenedPart(name, place, originals[name], _known(options, place, originals[name], crosswalks.get(name)))
        for name, place in folders.items()
    ]


def _named(texts: Sequence[str], parts: Mapping[str, Path]) -> dict[str, str]:
    """What is given for parts, by their names."""
    found = {}
    for text in texts:
        name, equals, file = text.partition("=")
        if not equals or name not in parts:
            raise InputError(
                f"Of a job, --original and --crosswalk are given as PART=FILE. Its parts are: {', '.join(parts)}."
            )
        found[name] = file
    return found


def _known(options: AttackOptions, folder: Path, original: str, crosswalk: str | None) -> Request:
    return Request(
        hierarchies=hierarchies_named(options, typed_or_none(release_at(folder)), [Path(original)]),
        crosswalk=crosswalk,
        plan=options.plan,
        attributes=options.attributes,
        privacy=options.privacy,
        visit=options.visit,
        words=reading_of(options),
    )


def _say(found: Attack | PartsAttack, options: AttackOptions, show: Callable[[], None]) -> None:
    if options.as_json:
        print_json(found.summary())
    elif not options.quiet:
        show()
    if not found.holds:
        raise Exit(1)


HEAD = ["known", "targets", "none", "<k", "least", "right", "raw alone"]
EXPLAINED = (
    "none, <k: targets who match no released patient, or at least one but fewer than k",
    "least: the fewest matches; right: the mean chance to point at the right one",
    "raw alone: targets who match one patient only in the original",
)
NOT_COVERED = " (*)"


def print_attack(screen: Console, name: str, found: Attack) -> None:
    """Print what was found in one release."""
    screen.print(facts(f"Attack on {name}", list(_facts(found))))
    levels = []
    for level in found.levels:
        counts = (level.released.targets, level.released.none, level.released.fewer, level.released.least)
        shown = [f"{count:,}" for count in counts]
        known = level.known + ("" if level.is_covered else NOT_COVERED)
        levels.append([known, *shown, f"{level.released.rate:.4f}", f"{level.original.alone:,}"])
    screen.print(grid("What adversaries find", HEAD, levels))
    if found.inferences:
        head = ["guessed", "targets", "right", "without looking", "gain", "certain"]
        rows = [
            [each.column, f"{each.targets:,}"]
            + [f"{share:.1%}" for share in (each.accuracy, each.baseline, each.gain, each.certain)]
            for each in found.inferences
        ]
        screen.print(grid("What they learn", head, rows))
    for line in (*EXPLAINED, *_notes(found), FOR_THE_CUSTODIAN):
        screen.print(line, soft_wrap=True)


def print_links(screen: Console, found: PartsAttack) -> None:
    """Print what was found in each part of a job, and between them."""
    for name, part in found.parts:
        print_attack(screen, name, part)
    if found.links:
        head = ["parts", "targets", "<k left", "joined", "same number", "linkable"]
        screen.print(grid("What leads from one part to another", head, [_link(link) for link in found.links]))
    for first, second in found.not_compared:
        screen.print(
            f"{first} and {second} are not compared: one of them has no ids, or releases no records.",
            soft_wrap=True,
        )


def _facts(found: Attack) -> Iterator[tuple[str, str]]:
    criteria, k = found.criteria, found.k
    yield "release", f"{found.shape}, {found.method}, {found.records:,} patients, k = {k}"
    if found.holds and any(level.limit is not None for level in found.levels):
        yield "guarantee", "holds on average, for what the plan expects to be known"
    elif found.holds:
        yield "guarantee", f"holds: every target that it covers matches no released patient, or {k} or more"
    else:
        targets = "target" if found.broken == 1 else "targets"
        yield "guarantee", f"does NOT hold for {found.broken:,} {targets} that it covers"
    yield "guessing", f"{found.guess:.4f} right without knowing anything"
    yield "singling out", f"{criteria.singling_out:.4f} of the targets are found alone, at most"
    released = "" if found.is_known_who else ", if all of them are released"
    yield "linkability", f"{criteria.linkability:.4f} of the targets are linked rightly, at most{released}"
    told = (
        "nothing to guess is declared" if criteria.inference is None else f"{criteria.inference:.4f} more guessed right"
    )
    yield "inference", told


def _notes(found: Attack) -> Iterator[str]:
    if not all(level.is_covered for level in found.levels):
        yield "(*) the guarantee is not about this, or not for all of these targets"
    limits = {level.limit for level in found.levels if level.limit is not None}
    for limit in sorted(limits):
        yield f"the guarantee is about the average: rate and share below k at most {limit:g} as the plan expects"


def _link(link: Link) -> list[str]:
    same = "not known" if link.same_numbers is None else f"{link.same_numbers:.1%}"
    parts = f"{link.first} + {link.second}"
    looked = [f"{link.targets:,}", f"{link.fewer:,}"] if link.targets else ["-", "-"]
    return [parts, *looked, f"{link.joined:,}", same, "no" if link.holds else "YES"]
