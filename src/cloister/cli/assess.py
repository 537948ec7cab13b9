"""``cloister assess``: how likely patients are to be found in data as they are."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rich.console import Console

from cloister.api import assess as verb
from cloister.claims.data import Claims
from cloister.claims.plan import ClaimsPlan
from cloister.cli.options import (
    AssessClaimsOptions,
    AssessCodesOptions,
    AssessEventsOptions,
    AssessOptions,
    AssessTableOptions,
    AssessTrajectoriesOptions,
)
from cloister.cli.output import console, facts, grid, note, print_json
from cloister.codesets.data import read_given
from cloister.codesets.request import check_seed
from cloister.errors import InputError
from cloister.io import CodeColumns, EventColumns, Query, write_private
from cloister.io.columns import check_header
from cloister.pipeline.table_words import split_wanted
from cloister.reading import how_read
from cloister.release_folder import MANIFEST
from cloister.results import Figures
from cloister.risk.assessment import Attackers
from cloister.shape import Run
from cloister.sources import read_claim_tables, read_code_events, read_table
from cloister.trajectories.options import UNITS

from .output import Screen

SHOWN = 3
"""Combinations of columns of each size that stand on the screen."""

EXPLAINED = (
    "found: records with so many codes that no other record has, or fewer than {k} have",
    "chance: the mean share of a record's sets of so many codes that tell as much",
    "sets: the share of all distinct sets of so many codes; ± what was sampled, 95 %",
)

OF_HISTORIES = (
    "most telling: share of the patients with some of so many that fewer than {k} patients have",
    "any: the mean share of a patient's sets of so many that fewer than {k} have; ± what was sampled, 95 %",
    "--json tells who is found alone, too.",
)
EVENTS = {"trajectories": "pairs of a code and an age", "claims": "claims"}
WITH_PATIENT = "patient"
FOR_THE_CUSTODIAN = "For the custodian alone: small counts are shown as they are."


def assess_table(options: AssessTableOptions) -> None:
    """Assess a table."""
    if options.population is not None and options.sampling_fraction is not None:
        raise InputError("--population and --sampling-fraction were given. One of them says what is needed.")
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
        largest_unique=options.largest_unique,
        census=options.zip_census,
        threads=options.threads,
        name=source.name,
        population_name="" if people is None else people.name,
    )
    notes = [*source.notes, *([] if people is None else people.notes)]
    if not wanted:
        notes.append("there are no quasi-identifiers, so only identifiers were looked for; name them with --qi")
    _tell(options, source.name, found.summary(), notes, print_table_risk)


def assess_codes(options: AssessCodesOptions) -> None:
    """Assess code sets."""
    attackers = _attackers(options)
    columns = CodeColumns(options.id, options.codes, options.code)
    given = read_given(
        options.data, columns, repeats=options.repeats, drop_empty=options.drop_empty, **how_read(options)
    )
    _announce(options)
    found = verb.assess_codes(given.codes, attackers.known, attackers.k, attackers.seed)
    notes = [note for note in given.notes if not note.startswith("columns not released")]
    if given.n_empty:
        notes.append(f"patients without a code are left out: {given.n_empty:,}")
    _tell(options, given.name, found.summary(), notes, print_codes_risk)


def assess_trajectories(options: AssessTrajectoriesOptions) -> None:
    """Assess trajectories."""
    if options.released and options.date is not None:
        raise InputError("A release has no dates. Leave out --date, or --released.")
    unit = next((unit for unit in UNITS if unit == options.age_unit), None)
    if unit is None:
        raise InputError(f"--age-unit can be {', '.join(UNITS)}, not {options.age_unit!r}.")
    _check_whether_released(options.data, released=options.released)
    columns = EventColumns(options.id, options.code, options.age, options.date, options.anchor, unit)
    source = read_code_events(options.data, columns=columns, labels=options.released, **how_read(options))
    _announce(options)
    found = verb.assess_events(source, _attackers(options))
    notes = [note for note in source.notes if not note.startswith("columns not released")]
    _tell(options, source.name, found.summary(), notes, print_histories_risk)


def assess_claims(options: AssessClaimsOptions) -> None:
    """Assess patients and their claims, as they are or after the steps of their plan."""
    attackers, plan = _attackers(options), ClaimsPlan.read(options.plan)
    _check_whether_released(options.patients, released=options.released)
    _announce(options)
    if options.released:
        patients, claims = read_claim_tables(options.patients, options.claims, **how_read(options))
        notes = [*patients.notes, *claims.notes]
        found = verb.assess_released_claims(patients, claims, plan, attackers)
    else:
        given = Claims.read(options.patients, options.claims, plan, **how_read(options))
        notes = [*given.notes, "patients whom the steps of the plan leave out are not counted"]
        found = verb.assess_claims(given, attackers)
    _tell(options, f"{options.patients.name}, {options.claims.name}", found.summary(), notes, print_histories_risk)


def _attackers(options: AssessEventsOptions) -> Attackers:
    """What attackers may know, as typed: whole numbers with commas between."""
    words = [word.strip() for text in options.m for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and len(word) < 10 for word in words):
        raise InputError("-m takes whole numbers with commas between, as in -m 1,2,3,5.")
    known = sorted({int(word) for word in words})
    return Attackers(known or verb.USUAL_KNOWN, options.k, check_seed(options.seed), options.repeats)


def _check_whether_released(path: Path | Query, *, released: bool) -> None:
    """Refuse files of a release that are taken for data as recorded."""
    if isinstance(path, Path) and not released and (path.parent / MANIFEST).exists():
        raise InputError(f"{path.name} lies in the folder of a release. Add --released to look at it as it is.")


def _announce(options: AssessOptions) -> None:
    """Say beforehand where the first run on a machine takes longer."""
    Run(voice=Screen(quiet=options.as_json or options.quiet)).compiling("risk", "the counting")


def _tell(
    options: AssessOptions, source: str, found: Figures, notes: Sequence[str], show: Callable[[Console, Figures], None]
) -> None:
    """Write the numbers where asked, and print them as a table or as one JSON object."""
    summary = {"source": source} | found | {"notes": list(notes)}
    if options.out is not None:
        write_private(options.out, (json.dumps(summary, ensure_ascii=False, indent=1) + "\n").encode())
    if options.as_json:
        print_json(summary)
        return
    for line in notes:
        note(f"Note: {line}.", quiet=options.quiet)
    if not options.quiet:
        screen = console()
        show(screen, summary)
        screen.print(FOR_THE_CUSTODIAN, soft_wrap=True)


def print_table_risk(screen: Console, summary: Figures) -> None:
    """Print the risk of a table."""
    screen.print(facts("Risk", list(_facts(summary))))
    if "attributes" in summary:
        bands = [[band, f"{count:,}"] for band, count in summary["prosecutor"]["histogram"].items() if count]
        screen.print(grid("Records by size of their class", ["class size", "records"], bands))
        head = ["columns", "classes", "distinction", "separation", "unique"]
        screen.print(grid("What tells records apart", head, _columns(summary["attributes"])))
    findings = [
        [f["column"], f"({f['letter']}) {f['what']}", f"{f['records']:,}", f["confidence"]]
        for f in summary["safe_harbor"]["findings"]
    ]
    if findings:
        screen.print(grid("Safe Harbor: columns to look at", ["column", "what was found", "records", "sure"], findings))
    else:
        screen.print("Safe Harbor: no sign of an identifier was found, which proves little.", soft_wrap=True)


def _facts(summary: Figures) -> Iterator[tuple[str, str]]:
    yield "source", summary["source"]
    if "prosecutor" not in summary:
        yield "records", f"{summary['records']:,}"
        return
    risk = summary["prosecutor"]
    above = f"above {risk['threshold']:g}"
    known = ", ".join(summary["quasi_identifiers"])
    yield "records", f"{summary['records']:,} in {risk['classes']:,} classes by {known}"
    yield "prosecutor", f"{_levels(risk)}; {above}: {risk['share_above_threshold']:.1%} of the records"
    journalist = summary["journalist"]
    if journalist is None:
        yield "journalist", "not known without --population or --sampling-fraction; marketer the same"
    else:
        share = f"{journalist['share_above_threshold']:.1%} of the records"
        how = f"{journalist['how']} among {journalist['people']:,} people"
        yield "journalist", f"{_levels(journalist)}; {above}: {share} ({how})"
        yield "marketer", f"{summary['marketer']['average']:.4f} of the records would be linked rightly"
    alone = summary["uniqueness"]["sample"]
    yield "sample uniques", f"{alone['records']:,} ({alone['share']:.1%} of the records)"
    if summary["uniqueness"]["population"] is not None:
        yield "population uniques", _population_uniques(summary["uniqueness"]["population"])
    special = summary["special_uniques"]
    sizes = ", ".join(f"{count:,} of {size}" for size, count in special["by_size"].items())
    yield (
        "special uniques",
        f"{special['records']:,} records; minimal sample uniques by number of columns: {sizes}",
    )
    if special["records"]:
        held = sorted(special["contributions"].items(), key=lambda item: (-item[1], item[0]))
        yield "what makes unique", ", ".join(f"{column} {share:.0%}" for column, share in held) + " of the scores"
        rows = ", ".join(str(row["record"]) for row in special["riskiest_records"])
        yield "highest scores", f"{special['highest_score']:,} and less, records number {rows}"


def _levels(risk: Figures) -> str:
    return f"highest {risk['highest']:.4f}, average {risk['average']:.4f}"


def _population_uniques(uniqueness: Figures) -> str:
    chosen = uniqueness["chosen"]
    share = f"{uniqueness['shares'][chosen]:.2%} of the records"
    if chosen == "counted":
        return f"{share}, counted"
    others = ", ".join(f"{name} {value:.2%}" for name, value in uniqueness["shares"].items() if name != chosen)
    stands_in = ", which has no solution here: zayatz stands in" if chosen in uniqueness["without_solution"] else ""
    return f"{share} estimated by {chosen}, as Dankar's rule chooses{stands_in} ({others})"


def _columns(separations: list[Figures]) -> list[list[str]]:
    rows, shown = [], dict[int, int]()
    for separation in separations:
        size = len(separation["columns"])
        shown[size] = shown.get(size, 0) + 1
        if size == 1 or shown[size] <= SHOWN:
            told = [f"{separation['distinction']:.2%}", f"{separation['separation']:.2%}", f"{separation['uniques']:,}"]
            rows.append([" + ".join(separation["columns"]), f"{separation['classes']:,}", *told])
    return rows


def print_codes_risk(screen: Console, summary: Figures) -> None:
    """Print the risk of code sets."""
    k = summary["k"]
    records = f"{summary['records']:,} with {summary['codes']:,} codes"
    screen.print(facts("Risk", [("source", summary["source"]), ("records", records)]))
    head = ["known", "found", f"below {k}", "chance", f"below {k}", "sets", f"below {k}"]
    names = [f"{what}_{which}" for what in ("records", "chance", "sets") for which in ("unique", "below_k")]
    rows = [[str(risk["m"]), *(_share(risk[name]) for name in names)] for risk in summary["partial_knowledge"]]
    screen.print(grid("What codes known of a patient find", head, rows))
    for line in EXPLAINED:
        screen.print(line.format(k=k), soft_wrap=True)


def print_histories_risk(screen: Console, summary: Figures) -> None:
    """Print the risk of trajectories, or of patients with their claims."""
    k, alone = summary["k"], summary["of_patients"]
    lines = [
        ("source", summary["source"]),
        ("patients", f"{summary['patients']:,} with {summary['events']:,} {EVENTS[summary['shape']]}"),
    ]
    if alone is not None:
        columns = ", ".join(alone["quasi_identifiers"])
        lines.append((WITH_PATIENT, f"{columns}: {_levels(alone['prosecutor'])}; {alone['alone']:,} alone"))
    screen.print(facts("Risk", lines))
    known = summary["partial_knowledge"]
    head = ["known", *(str(risk["m"]) for risk in known[0]["risks"])]
    for title, name in (("By the most telling", "records_below_k"), ("By any", "chance_below_k")):
        rows = [
            [f"{WITH_PATIENT} + " * one["with_patient"] + one["what"], *(_share(risk[name]) for risk in one["risks"])]
            for one in known
        ]
        screen.print(grid(title, head, rows))
    for line in OF_HISTORIES:
        screen.print(line.format(k=k), soft_wrap=True)


def _share(share: Figures | None) -> str:
    if share is None:
        return "-"
    if share["low"] == share["high"]:
        return f"{share['value']:.1%}"
    half = max(share["value"] - share["low"], share["high"] - share["value"])
    return f"{100 * share['value']:.1f}±{100 * half:.1f}%"
