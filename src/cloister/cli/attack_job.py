"""One run of ``attack``: from options to what adversaries found."""

import json
import os
from collections.abc import Mapping
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cloister.attacks.figures import Attack
from cloister.attacks.parts import PartsAttack
from cloister.attacks.simulation import simulate
from cloister.cli.attack_summary import print_attack, print_links
from cloister.cli.job_parts import Run, prepare_part, secrets_of
from cloister.cli.output import console, print_json
from cloister.cli.places import tidy_beside
from cloister.cli.prepared import Original
from cloister.cli.release_at import release_at
from cloister.cli.run_job import of_part
from cloister.cli.table_request import hierarchy_files, split_wanted
from cloister.errors import InputError
from cloister.hierarchy import Hierarchy, hierarchy_file, parse_hierarchy
from cloister.jobs.folder import is_job, part_names
from cloister.jobs.job_file import read_job
from cloister.originals import Words
from cloister.release_folder import MANIFEST
from cloister.verbs.attack import Known, Part, attack_parts, check_targets, open_release


@dataclass(frozen=True)
class AttackOptions:
    """The options of ``attack``, as typed; see its help."""

    folder: Path
    original: list[str] | None
    job: Path | None
    claims: Path | None
    plan: Path | None
    crosswalk: list[str] | None
    targets: int
    seed: int
    qi: list[str] | None
    hierarchies: Path | None
    privacy: str | None
    visit: str | None
    side: Path | None
    code_hierarchy: str | None
    age_hierarchy: str | None
    missing: list[str] | None
    missing_as: str | None
    delimiter: str | None
    encoding: str | None
    as_json: bool
    quiet: bool
    verbose: bool


def run_attack(options: AttackOptions) -> bool:
    """Attack, say what was found, and return whether the guarantee held."""
    check_targets(options.targets, options.seed)
    tidy_beside(options.folder)
    if not options.folder.is_dir():
        raise InputError(f"There is no folder {options.folder.name}.", file=options.folder.name)
    folders = parts_of(options.folder)
    if folders is None:
        if len(options.original or ()) != 1 or len(options.crosswalk or ()) > 1 or options.job is not None:
            raise InputError("One release has one original and one crosswalk. Give --original INPUT once.")
        crosswalk = options.crosswalk[0] if options.crosswalk else None
        found = _alone(options, crosswalk)
        _say(found, options, lambda: print_attack(console(), options.folder.name, found))
        return found.holds
    together = attack_parts(_parts(options, folders), targets=options.targets, seed=options.seed)
    _say(together, options, lambda: print_links(console(), together))
    return together.holds


def parts_of(folder: Path) -> dict[str, Path] | None:
    """Return the folders of the parts of a job, by name; None where the folder is no job's.

    Raises
    ------
    InputError
        It is one, but does not say which parts it has.
    """
    try:
        told = json.loads((folder / MANIFEST).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(told, dict) or not is_job(told):
        return None
    names = part_names(told)
    if not names:
        raise InputError(f"{MANIFEST} of {folder.name} does not name its parts.", file=MANIFEST)
    return {name: folder / name for name in names}


def _parts(options: AttackOptions, folders: Mapping[str, Path]) -> list[Part]:
    crosswalks = _named(options.crosswalk or [], folders)
    if options.job is not None:
        if options.original:
            raise InputError("The job says what each part was made from. Give --job or --original.")
        return parts_of_job(options.job, folders, crosswalks)
    originals = _named(options.original or [], folders)
    missing = sorted(folders.keys() - originals.keys())
    if missing:
        raise InputError(f"The part {missing[0]} has no original. Give --original {missing[0]}=INPUT, or --job.")
    return [
        Part(name, place, originals[name], _known(options, place, originals[name], crosswalks.get(name)))
        for name, place in folders.items()
    ]


def parts_of_job(path: Path, folders: Mapping[str, Path], crosswalks: Mapping[str, str]) -> list[Part]:
    """The parts as the job reads them, with the maps that it wrote where these are still there."""
    job = read_job(path)
    for name in folders:
        if name not in job.parts:
            raise InputError(f"{job.file} has no part {name}, which the release has. Give the job that it is of.")
    run = Run(job, path.absolute(), path.absolute().parent / job.output, quiet=True)
    found, places = [], {name: folder.absolute() for name, folder in folders.items()}
    given = {name: os.path.abspath(file) for name, file in crosswalks.items()}
    with chdir(run.path.parent):
        for name, place in places.items():
            with of_part(job, name):
                original = prepare_part(run, name, job.parts[name]).original
            written, _ = secrets_of(job.parts[name])
            usual = written.absolute() if written is not None and written.exists() else None
            found.append(part_of(name, place, original, given.get(name, usual)))
    return found


def part_of(name: str, folder: Path, original: Original, crosswalk: str | Path | None) -> Part:
    """Return a part of a job with what it was made from."""
    words = Words(original.missing)
    known = Known(original.hierarchies, crosswalk, privacy=original.privacy, words=words)
    return Part(name, folder, original.data, known)


def _alone(options: AttackOptions, crosswalk: str | None) -> Attack:
    assert options.original is not None
    original: Any = options.original[0]
    if options.claims is not None:
        original = (original, options.claims)
    known = _known(options, options.folder, options.original[0], crosswalk)
    opened = open_release(options.folder, original, known, options.seed)
    return simulate(opened, budget=options.targets, seed=options.seed)


def _named(texts: list[str], parts: Mapping[str, Path]) -> dict[str, str]:
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


def _known(options: AttackOptions, folder: Path, original: str, crosswalk: str | None) -> Known:
    manifest = release_at(folder)
    is_table = manifest.get("shape") == "table"
    words = {"code": options.code_hierarchy, "age": options.age_hierarchy}
    files = {column: parse_hierarchy(word) for column, word in words.items() if word is not None}
    return Known(
        hierarchies=_of_columns(options, manifest, original) if is_table else files,
        crosswalk=crosswalk,
        plan=options.plan,
        side=options.side,
        privacy=options.privacy,
        visit=options.visit,
        words=Words(tuple(options.missing or ()), options.encoding, options.delimiter),
    )


def _of_columns(options: AttackOptions, manifest: dict[str, Any], original: str) -> dict[str, Hierarchy]:
    """The hierarchies of a table that are files."""
    columns = manifest.get("columns")
    named = dict(split_wanted(text, list(columns) if isinstance(columns, dict) else []) for text in options.qi or [])
    found = {column: parse_hierarchy(spec, missing_as=options.missing_as) for column, spec in named.items() if spec}
    if options.hierarchies is None:
        return found
    files = hierarchy_files(options.hierarchies, Path(original))
    return {c: hierarchy_file(path, missing_as=options.missing_as) for c, path in files.items()} | found


def _say(found: Attack | PartsAttack, options: AttackOptions, show: Any) -> None:
    if options.as_json:
        print_json(found.summary())
    elif not options.quiet:
        show()
