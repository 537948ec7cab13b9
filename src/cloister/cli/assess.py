"""``cloister assess``: assess the re-identification risk of original data."""

import json
from collections.abc import Sequence
from pathlib import Path

from cloister.api import assess as verb
from cloister.cli.options import (
    AssessClaimsOptions,
    AssessCodesOptions,
    AssessEventsOptions,
    AssessOptions,
    AssessTableOptions,
    AssessTrajectoriesOptions,
)
from cloister.cli.output import Screen, note, print_json, show
from cloister.errors import InputError, Message
from cloister.io import CodeColumns, EventColumns, Query, write_private
from cloister.io.codes import note_not_released
from cloister.io.columns import check_header
from cloister.pipeline.table_request import split_wanted
from cloister.release.head import MANIFEST
from cloister.results import Figures
from cloister.risk.assessment import Attackers
from cloister.settings.constraints import OneOf, check_value
from cloister.settings.reading import how_read
from cloister.shapes.claims.format.data import Claims
from cloister.shapes.claims.format.plan import ClaimsPlan
from cloister.shapes.codes.data import read_given
from cloister.shapes.codes.request import check_seed
from cloister.shapes.protocol import Run
from cloister.shapes.trajectories.format.options import UNITS
from cloister.sources import read_claim_tables, read_code_events, read_table

SHOWN = 3
"""Combinations of columns of each size that stand on the screen."""


def assess_table(options: AssessTableOptions) -> None:
    """Assess a table."""
    source = read_table(options.data, **how_read(options))
    if source.format == "csv":
        check_header(source.frame, source.name)
    wanted = [split_wanted(text, source.frame.columns) for text in options.qi]
    if any(spec for _, spec in wanted):
        raise InputError(
            "Risk is that of the values as they are, so a quasi-identifier takes no hierarchy: --qi COLUMN."
        )
    people = None if options.population is None else read_table(options.population, **how_read(options))
    _announce(options)
    found = verb.assess_frame(
        source.frame,
        [column for column, _ in wanted],
        threshold=options.threshold,
        population=None if people is None else people.frame,
        fraction=options.sampling_fraction,
        weights=options.sampling_weights,
        largest_unique=options.largest_unique,
        census=options.zip_census,
        threads=options.threads,
        name=source.name,
        population_name="" if people is None else people.name,
    )
    notes = [*source.notes, *([] if people is None else people.notes)]
    if not wanted:
        notes.append("there are no quasi-identifiers, so only identifiers were looked for; name them with --qi")
    _print_risks(options, source.name, found.summary(), notes)


def assess_codes(options: AssessCodesOptions) -> None:
    """Assess code sets."""
    attackers = _attackers(options)
    columns = CodeColumns(options.id, options.codes, options.code)
    given = read_given(
        options.data, columns, repeats=options.repeats, drop_empty=options.drop_empty, **how_read(options)
    )
    _announce(options)
    found = verb.assess_codes(given.codes, attackers.known, attackers.k, attackers.seed)
    notes = [note for note in given.notes if note != note_not_released(given.not_released)]
    if given.n_empty:
        notes.append(f"patients without a code are omitted: {given.n_empty:,}")
    _print_risks(options, given.name, found.summary(), notes)


def assess_trajectories(options: AssessTrajectoriesOptions) -> None:
    """Assess trajectories."""
    if options.released and options.date is not None:
        raise InputError("A release has no dates. Leave out --date, or --released.")
    check_value("age_unit", options.age_unit, OneOf(*UNITS))
    unit = next(unit for unit in UNITS if unit == options.age_unit)
    _check_whether_released(options.data, released=options.released)
    columns = EventColumns(options.id, options.code, options.age, options.date, options.anchor, unit)
    source = read_code_events(options.data, columns=columns, labels=options.released, **how_read(options))
    _announce(options)
    found = verb.assess_events(source, _attackers(options))
    notes = [note for note in source.notes if note != note_not_released(source.not_released)]
    _print_risks(options, source.name, found.summary(), notes)


def assess_claims(options: AssessClaimsOptions) -> None:
    """Assess patients and their claims, as recorded or after the preprocessing of their plan."""
    attackers, plan = _attackers(options), ClaimsPlan.read(options.plan)
    _check_whether_released(options.patients, released=options.released)
    _announce(options)
    if options.released:
        patients, claims = read_claim_tables(options.patients, options.claims, **how_read(options))
        notes = [*patients.notes, *claims.notes]
        found = verb.assess_released_claims(patients, claims, plan, attackers)
    else:
        given = Claims.read(options.patients, options.claims, plan, **how_read(options))
        notes = [*given.notes, "patients removed by the steps of the plan are not counted"]
        found = verb.assess_claims(given, attackers)
    _print_risks(options, f"{options.patients.name}, {options.claims.name}", found.summary(), notes)


def _attackers(options: AssessEventsOptions) -> Attackers:
    """What attackers may know, as typed: whole numbers with commas between."""
    words = [word.strip() for text in options.m for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and len(word) < 10 for word in words):
        raise InputError("-m takes whole numbers with commas between, as in -m 1,2,3,5.")
    known = sorted({int(word) for word in words})
    return Attackers(known or verb.USUAL_KNOWN, options.k, check_seed(options.seed), options.repeats)


def _check_whether_released(path: Path | Query, *, released: bool) -> None:
    """Reject files of a release that the user assesses as original data."""
    if isinstance(path, Path) and not released and (path.parent / MANIFEST).exists():
        raise InputError(f"{path.name} is in the folder of a release. Add --released to assess it as it is.")


def _announce(options: AssessOptions) -> None:
    """Say beforehand where the first run on a machine takes longer."""
    Run(voice=Screen(quiet=options.as_json or options.quiet)).compiling("risk", "the counting")


def _print_risks(options: AssessOptions, source: str, risk: Figures, notes: Sequence[str]) -> None:
    """Write the numbers where asked, and print them as tables or as one JSON object."""
    summary = {"source": source} | risk | {"notes": list(notes)}
    if options.out is not None:
        write_private(options.out, (json.dumps(summary, ensure_ascii=False, indent=1) + "\n").encode())
    if options.as_json:
        print_json(summary)
        return
    for line in notes:
        note(Message("Note: ", line, "."), quiet=options.quiet)
    if not options.quiet:
        sets = risk.get("attributes", [])
        sizes = [len(one["columns"]) for one in sets]
        shown = [one for n, one in enumerate(sets) if sizes[n] == 1 or sizes[:n].count(sizes[n]) < SHOWN]
        show("assess", s=summary, told_apart=shown)
