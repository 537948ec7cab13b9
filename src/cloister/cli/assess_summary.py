"""What an assessment found, on the screen."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from cloister.cli.output import console, facts, grid, note, print_json
from cloister.errors import InputError
from cloister.io import Query, write_private
from cloister.release_folder import MANIFEST

if TYPE_CHECKING:
    from cloister.risk.assessment import Attackers

Summary = dict[str, Any]

SHOWN = 3
"""Combinations of columns of each size that stand on the screen."""

EXPLAINED = (
    "found: records with so many codes that no other record has, or fewer than {k} have",
    "chance: the mean share of a record's sets of so many codes that tell as much",
    "sets: the share of all distinct sets of so many codes; ± what was sampled, 95 %",
)

HISTORY_GRIDS = (
    ("By the most telling", "records_below_k"),
    ("By any", "chance_below_k"),
)
OF_HISTORIES = (
    "most telling: share of the patients with some of so many that fewer than {k} patients have",
    "any: the mean share of a patient's sets of so many that fewer than {k} have; ± what was sampled, 95 %",
    "--json tells who is found alone, too.",
)
FOUND = ("records_unique", "records_below_k")
CHANCE = ("chance_unique", "chance_below_k")
EVENTS = {"trajectories": "pairs of a code and an age", "claims": "claims"}
WITH_PATIENT = "patient"


def whole_numbers(texts: Sequence[str], option: str) -> list[int]:
    """Return whole numbers that were given with commas between."""
    words = [word.strip() for text in texts for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and len(word) < 10 for word in words):
        raise InputError(f"{option} takes whole numbers with commas between, as in {option} 1,2,3,5.")
    return sorted({int(word) for word in words})


def print_table_risk(screen: Console, summary: Summary) -> None:
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


def _facts(summary: Summary) -> Iterator[tuple[str, str]]:
    yield "source", summary["source"]
    if "prosecutor" not in summary:
        yield "records", f"{summary['records']:,}"
        return
    risk = summary["prosecutor"]
    above = f"above {risk['threshold']:g}"
    known = ", ".join(summary["quasi_identifiers"])
    yield "records", f"{summary['records']:,} in {risk['classes']:,} classes by {known}"
    yield "prosecutor", f"{_levels(risk)}; {above}: {risk['share_above_threshold']:.1%} of the records"
    yield from _against_population(summary, above)
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


def _levels(risk: Summary) -> str:
    return f"highest {risk['highest']:.4f}, average {risk['average']:.4f}"


def _against_population(summary: Summary, above: str) -> Iterator[tuple[str, str]]:
    risk = summary["journalist"]
    if risk is None:
        yield "journalist", "not known without --population or --sampling-fraction; marketer the same"
        return
    how = f"{risk['how']} among {risk['people']:,} people"
    yield "journalist", f"{_levels(risk)}; {above}: {risk['share_above_threshold']:.1%} of the records ({how})"
    yield "marketer", f"{summary['marketer']['average']:.4f} of the records would be linked rightly"


def _population_uniques(found: Summary) -> str:
    chosen = found["chosen"]
    share = f"{found['shares'][chosen]:.2%} of the records"
    if chosen == "counted":
        return f"{share}, counted"
    others = ", ".join(f"{name} {value:.2%}" for name, value in found["shares"].items() if name != chosen)
    stands_in = ", which has no solution here: zayatz stands in" if chosen in found["without_solution"] else ""
    return f"{share} estimated by {chosen}, as Dankar's rule chooses{stands_in} ({others})"


def _columns(separations: list[Summary]) -> list[list[str]]:
    rows, shown = [], dict[int, int]()
    for found in separations:
        size = len(found["columns"])
        shown[size] = shown.get(size, 0) + 1
        if size == 1 or shown[size] <= SHOWN:
            told = [f"{found['distinction']:.2%}", f"{found['separation']:.2%}", f"{found['uniques']:,}"]
            rows.append([" + ".join(found["columns"]), f"{found['classes']:,}", *told])
    return rows


def print_codes_risk(screen: Console, summary: Summary) -> None:
    """Print the risk of code sets."""
    k = summary["k"]
    screen.print(
        facts(
            "Risk",
            [("source", summary["source"]), ("records", f"{summary['records']:,} with {summary['codes']:,} codes")],
        )
    )
    head = ["known", "found", f"below {k}", "chance", f"below {k}", "sets", f"below {k}"]
    names = (*FOUND, *CHANCE, "sets_unique", "sets_below_k")
    rows = [[str(risk["m"]), *(_share(risk[name]) for name in names)] for risk in summary["partial_knowledge"]]
    screen.print(grid("What codes known of a patient find", head, rows))
    for line in EXPLAINED:
        screen.print(line.format(k=k), soft_wrap=True)


def print_histories_risk(screen: Console, summary: Summary) -> None:
    """Print the risk of trajectories, or of patients with their claims."""
    k, alone = summary["k"], summary["of_patients"]
    lines = [
        ("source", summary["source"]),
        ("patients", f"{summary['patients']:,} with {summary['events']:,} {EVENTS[summary['shape']]}"),
    ]
    if alone is not None:
        known = ", ".join(alone["quasi_identifiers"])
        lines.append((WITH_PATIENT, f"{known}: {_levels(alone['prosecutor'])}; {alone['alone']:,} alone"))
    screen.print(facts("Risk", lines))
    for title, name in HISTORY_GRIDS:
        screen.print(grid(title, *_by_number(summary["partial_knowledge"], name)))
    for line in OF_HISTORIES:
        screen.print(line.format(k=k), soft_wrap=True)


def _by_number(known: list[Summary], name: str) -> tuple[list[str], list[list[str]]]:
    """A line for what is known, a column for how many."""
    head = ["known", *(str(risk["m"]) for risk in known[0]["risks"])]
    return head, [[_words(one), *(_share(risk[name]) for risk in one["risks"])] for one in known]


def _words(known: Summary) -> str:
    return f"{WITH_PATIENT} + {known['what']}" if known["with_patient"] else str(known["what"])


def _share(share: Summary | None) -> str:
    if share is None:
        return "-"
    if share["low"] == share["high"]:
        return f"{share['value']:.1%}"
    half = max(share["value"] - share["low"], share["high"] - share["value"])
    return f"{100 * share['value']:.1f}±{100 * half:.1f}%"


COMPILING = "Compiling the counting for this machine, once (some ten seconds)."
FOR_THE_CUSTODIAN = "For the custodian alone: small counts are shown as they are."


def announce(*, as_json: bool, quiet: bool) -> None:
    """Say beforehand where the first run on a machine takes longer."""
    from cloister.risk.assessment import must_compile

    if must_compile():
        note(COMPILING, quiet=as_json or quiet)


def check_whether_released(path: Path | Query, *, released: bool) -> None:
    """Refuse files of a release that are taken for data as recorded."""
    if isinstance(path, Path) and not released and (path.parent / MANIFEST).exists():
        raise InputError(f"{path.name} lies in the folder of a release. Add --released to look at it as it is.")


def attackers_of(m: Sequence[str] | None, k: int, seed: int, *, repeats: bool) -> "Attackers":
    """Return what attackers may know, as typed."""
    from cloister.codesets.request import check_seed
    from cloister.risk.assessment import Attackers
    from cloister.verbs.assess import USUAL_KNOWN

    return Attackers(whole_numbers(m, "-m") if m else USUAL_KNOWN, k, check_seed(seed), repeats)


def tell(
    summary: Summary, out: Path | None, show: Callable[[Console, Summary], None], *, as_json: bool, quiet: bool
) -> None:
    """Write the numbers where asked, and print them as a table or as one JSON object."""
    if out is not None:
        write_private(out, (json.dumps(summary, ensure_ascii=False, indent=1) + "\n").encode())
    if as_json:
        print_json(summary)
        return
    for line in summary["notes"]:
        note(f"Note: {line}.", quiet=quiet)
    if not quiet:
        screen = console()
        show(screen, summary)
        screen.print(FOR_THE_CUSTODIAN, soft_wrap=True)
