"""What the screen says of a release of a table."""

from typing import Any

from rich.table import Table

from cloister.cli.output import grid
from cloister.release_folder import TABLE, WITH_CODES
from cloister.results import Manifest
from cloister.shape import Rows

FULL_DOMAIN = "full-domain"


def table_rows(manifest: Manifest) -> Rows:
    """Return what was released of a table, under which guarantee, at what loss."""
    records = manifest["records"]
    return [
        ("source", manifest["settings"]["source"]),
        (
            "records",
            f"{_count(records['released'])} of {_count(records['in'])} released, "
            f"{_count(records['suppressed'])} suppressed",
        ),
        *([("protected table", f"{manifest[TABLE]['name']}, in the database")] if TABLE in manifest else []),
        ("guarantee", f"{'; '.join(manifest['guarantee']['sentences'])} (verified)"),
        *_codes(manifest),
        ("highest risk", f"{manifest['risk']['highest']:.4f} (average {manifest['risk']['average']:.4f})"),
        ("loss", f"{_loss(manifest['utility'])} ({manifest['settings']['loss']}; 0 nothing lost, 1 everything)"),
        *_method(manifest),
        ("time", f"{manifest['seconds']['total']:.2f} s, of which search {manifest['seconds']['search']:.2f} s"),
    ]


def _codes(manifest: Manifest) -> list[tuple[str, str]]:
    """What is promised of a column of codes, and how much of it can be counted."""
    if WITH_CODES not in manifest:
        return []
    codes = manifest[WITH_CODES]
    hidden = f"{codes['utility']['occurrences_in_item_chunks']:.2%}"
    return [
        ("and of codes", f"{'; '.join(codes['guarantee']['sentences'])} (verified)"),
        ("counts not told", f"at most {hidden} of the occurrences of codes"),
    ]


def _count(number: int | str) -> str:
    return f"{number:,}" if isinstance(number, int) else number


def _loss(utility: dict[str, Any]) -> str:
    return f"{utility['loss']:.6f}" if utility["exact"] else f"about {utility['loss']:.2f}"


def _method(manifest: Manifest) -> list[tuple[str, str]]:
    """The method, where it is not the common one, and the search, where there was one."""
    rows, method, settings = [], manifest["method"], manifest["settings"]
    if method != FULL_DOMAIN:
        rows.append(("method", f"{method}: levels differ between classes"))
    if "search" in manifest:
        merged = settings["merge_bound"] is not None
        found = (
            "a policy, whose classes were then merged" if merged else _search(manifest["search"], settings["search"])
        )
        rows.append(("search", found))
    averaged = [f"{column} ({how})" for column, how in settings["microaggregate"].items()]
    return [*rows, ("averaged", f"{', '.join(averaged)}: not truthful there")] if averaged else rows


def _search(search: dict[str, Any], name: str) -> str:
    if name == "fixed":
        return "none: the levels were fixed"
    if search["optimal"]:
        return f"proven optimal among {search['lattice']:,} policies"
    ended = "not proven optimal" if name != "optimal" else "stopped by the time limit"
    if not search["bound"]:
        return ended
    return f"{ended}; no policy loses less than {search['bound']:.6f} (gap {search['gap']:.2%})"


def table_columns(manifest: Manifest) -> Table:
    """Return role, level and loss of each column."""
    rows = []
    for column, described in manifest["columns"].items():
        lost = manifest["utility"]["columns"].get(column)
        if WITH_CODES in manifest and column == manifest[WITH_CODES]["column"]:
            rows.append([column, "codes", "", ""])
            continue
        level = "" if lost is None else f"{_levels(described)} of {lost['top']}"
        rows.append([column, described["role"], level, "" if lost is None else f"{lost['loss']:.3f}"])
    return grid("Columns", ["column", "role", "level", "loss"], rows)


def _levels(described: dict[str, Any]) -> str:
    """The level of a column; where it differs between classes, the lowest and the highest."""
    if described["level"] is not None:
        return str(described["level"])
    return f"{described['levels'][0]}-{described['levels'][-1]}"
