"""The summary of a release on the screen, by its shape; of any other shape what every manifest has."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from cloister.cli.output import facts, grid
from cloister.codesets.options import DISASSOCIATION
from cloister.release_folder import REPORT, TABLE, WITH_CODES
from cloister.report.sentences import codes_sentences, guarantee_sentences, table_sentences
from cloister.results import Manifest
from cloister.shape import Rows
from cloister.tabular.options import FULL_DOMAIN


def print_summary(screen: Console, manifest: Manifest, out: Path) -> None:
    """Print what was released, under which guarantee, at what loss."""
    shape, settings, seconds = manifest["shape"], manifest["settings"], manifest["seconds"]
    source, time = settings["source"], f"{seconds['total']:.2f} s"
    if shape == "claims":
        source = f"{source} and {settings['claims']}"
    if shape == "table":
        time = f"{time}, of which search {seconds['search']:.2f} s"
    rows = ROWS[shape](manifest) if shape in ROWS else [("records", ", ".join(_counts(manifest["records"])))]
    screen.print(facts("Release", [("source", source), *rows, ("time", time)]))
    if shape in COLUMNS:
        screen.print(COLUMNS[shape](manifest))
    screen.print(f"Report: {out / REPORT}", soft_wrap=True)


def _counts(records: Mapping[str, Any]) -> list[str]:
    """Numbers of records by their names; text where a small count is masked."""
    return [f"{name} {f'{count:,}' if isinstance(count, int) else count}" for name, count in records.items()]


def table_rows(manifest: Manifest) -> Rows:
    """Return what was released of a table, under which guarantee, at what loss."""
    utility = manifest["utility"]
    loss = f"{utility['loss']:.6f}" if utility["exact"] else f"about {utility['loss']:.2f}"
    return [
        ("records", _counted(manifest["records"], "suppressed")),
        *([("protected table", f"{manifest[TABLE]['name']}, in the database")] if TABLE in manifest else []),
        ("guarantee", f"{'; '.join(table_sentences(manifest))} (verified)"),
        *_table_codes(manifest),
        ("highest risk", f"{manifest['risk']['highest']:.4f} (average {manifest['risk']['average']:.4f})"),
        ("loss", f"{loss} ({manifest['settings']['loss']}; 0 nothing lost, 1 everything)"),
        *_table_method(manifest),
    ]


def _table_codes(manifest: Manifest) -> list[tuple[str, str]]:
    """What is promised of a column of codes, and how much of it can be counted."""
    if WITH_CODES not in manifest:
        return []
    codes = manifest[WITH_CODES]
    hidden = f"{codes['utility']['occurrences_in_item_chunks']:.2%}"
    return [
        ("and of codes", f"{'; '.join(codes_sentences(manifest))} (verified)"),
        ("counts not told", f"at most {hidden} of the occurrences of codes"),
    ]


def _table_method(manifest: Manifest) -> list[tuple[str, str]]:
    """The method, where it is not the common one, and the search, where there was one."""
    rows, method, settings = [], manifest["method"], manifest["settings"]
    if method != FULL_DOMAIN:
        rows.append(("method", f"{method}: levels differ between classes"))
    if "search" in manifest:
        merged = settings["merge_bound"] is not None
        found = _table_search(manifest["search"], settings["search"])
        rows.append(("search", "a policy, whose classes were then merged" if merged else found))
    averaged = [f"{column} ({how})" for column, how in settings["microaggregate"].items()]
    return [*rows, ("averaged", f"{', '.join(averaged)}: not truthful there")] if averaged else rows


def _table_search(search: dict[str, Any], name: str) -> str:
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
        level = ""
        if lost is not None:  # the lowest and the highest where it differs between classes
            one, several = described["level"], described.get("levels")
            level = f"{one if one is not None else f'{several[0]}-{several[-1]}'} of {lost['top']}"
        rows.append([column, described["role"], level, "" if lost is None else f"{lost['loss']:.3f}"])
    return grid("Columns", ["column", "role", "level", "loss"], rows)


def codes_rows(manifest: Manifest) -> Rows:
    """Return what was released of code sets, under which guarantee, at what loss."""
    return _chunks_rows(manifest) if manifest["method"] == DISASSOCIATION else _generalized_rows(manifest)


def _generalized_rows(manifest: Manifest) -> list[tuple[str, str]]:
    utility, settings = manifest["utility"], manifest["settings"]
    loss = f"{utility['ilm_terms']:.6g} by terms (ILM); with suppressed codes it is told in --custodian-dir alone"
    if utility["ilm"] is not None:
        loss = f"{utility['ilm']:.6g} (ILM; 0 nothing lost)"
    rows = [
        ("records", _counted(manifest["records"], "left out, without codes or among few without terms")),
        ("guarantee", f"{'; '.join(guarantee_sentences(manifest))} (verified)"),
        ("codes", f"{utility['codes']:,}, {utility['suppressed_codes']:,} of them suppressed"),
        (
            "terms",
            f"{utility['terms']:,}, {utility['terms_of_several_codes']:,} of them of several codes "
            f"({utility['generalized_codes']:,} in all, at most {utility['largest_term']:,} in one)",
        ),
        ("loss", loss),
    ]
    if settings["policy"] is not None:
        rows.append(("policy", _policy_row(manifest, "kept apart from others", "of which nothing is suppressed")))
    if settings["workload"] is not None:
        rows.append(("case counts", f"errors of {settings['workload']} are told in --custodian-dir alone"))
    return rows


def _chunks_rows(manifest: Manifest) -> list[tuple[str, str]]:
    records, utility, parts = manifest["records"], manifest["utility"], manifest["clusters"]
    rows = [
        ("records", _counted(records, "without codes left out")),
        ("guarantee", f"{'; '.join(guarantee_sentences(manifest))} (verified)"),
        ("codes", f"{utility['codes']:,}, of which {utility['codes_counted_exactly']:,} are counted exactly"),
        ("not counted", f"at most {utility['occurrences_in_item_chunks']:.2%} of all occurrences of codes"),
        ("clusters", f"{parts['clusters']:,} of {parts['smallest']} to {parts['largest']} records"),
        ("shared chunks", f"{parts['shared_chunks']:,} in {parts['joint_clusters']:,} joint clusters"),
    ]
    if manifest["settings"]["policy"] is not None:
        rows.append(
            ("policy", _policy_row(manifest, "with exact counts of each code", "also of patients with any code"))
        )
    if manifest["settings"]["workload"] is not None:
        rows.append(("case counts", f"errors of {manifest['settings']['workload']} are told in --custodian-dir alone"))
    if manifest["risk"]["tied_pairs"] is not None:
        pairs = manifest["risk"]["tied_pairs"]
        rows.append(("codes that give others away", f"{pairs:,} {'pair' if pairs == 1 else 'pairs'} in a chunk"))
    return rows


def _counted(records: dict[str, Any], which: str) -> str:
    counts = {name: f"{count:,}" if isinstance(count, int) else count for name, count in records.items()}
    return f"{counts['released']} of {counts['in']} released, {counts['suppressed']} {which}"


def _policy_row(manifest: Manifest, satisfied: str, preserved: str) -> str:
    utility = manifest["utility"]
    if utility["constraints"] is None:
        return f"{manifest['settings']['policy']}: what became of its sets is told in --custodian-dir alone"
    return (
        f"{manifest['settings']['policy']}: {utility['constraints_satisfied']:,} of {utility['constraints']:,} sets "
        f"{satisfied}, {utility['constraints_preserved']:,} {preserved}"
    )


def trajectories_rows(manifest: Manifest) -> Rows:
    """Return what was released of trajectories, under which guarantee, at what loss."""
    records, utility, risk = manifest["records"], manifest["utility"], manifest["risk"]
    rows = [
        ("patients", f"{records['released']:,} of {records['in']:,} released"),
        ("guarantee", f"{'; '.join(guarantee_sentences(manifest))} (verified)"),
        (
            "trajectories",
            f"{utility['trajectories']:,} different ones, each of {risk['smallest']:,} to {risk['largest']:,} patients",
        ),
        ("pairs", f"{utility['pairs']:,}"),
        ("loss of codes", _exact_loss(utility["ilm_exact"], utility["ilm"])),
        ("loss of ages", _exact_loss(utility["alm_exact"], utility["alm"])),
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
    return rows


def _exact_loss(exact: float, paper: float | None) -> str:
    counted = "as the paper counts: not told" if paper is None else f"{paper:.3f} as the paper counts"
    return f"{exact:.3f} (0 nothing, 1 all; {counted})"


def claims_rows(manifest: Manifest) -> Rows:
    """Return what was released of claims, at which measured risk."""
    records, risk, choice = manifest["records"], manifest["risk"], manifest["choice"]
    there = records["in"] if isinstance(records["in"], str) else f"{records['in']:,}"
    low, high = risk["interval"]
    likeliest = risk["likeliest"]  # of who picks the likeliest of those who fit, which no threshold limits
    least, most = likeliest["interval"]
    above = ": ABOVE the threshold, not limited" if most > risk["threshold"] else ""
    likely = f"{likeliest['mean']:.4f} for who picks the likeliest ({least:.4f} to {most:.4f}; {likeliest['limit']})"
    return [
        ("patients", f"{records['released']:,} released (in the source: {there})"),
        ("claims", f"{records['claims']:,} released"),
        ("risk", f"{risk['mean']:.4f} in the mean ({low:.4f} to {high:.4f}; at most {risk['threshold']:g}; verified)"),
        ("flagged", f"{risk['flag_rate']:.4f} of attacks leave fewer than {risk['k']} candidates"),
        ("flags believed", f"{risk['tolerant']['highest']:.4f} at most ({risk['tolerant']['limit']})"),
        ("likeliest", f"{likely}{above}"),
        ("truncation", f"{choice['truncation']} (percentile of claims)"),
        *([] if choice["optimal"] else [("search", "ended by its bound: the best levels found by then")]),
        ("loss", f"about {manifest['utility']['loss']:.2f} (0 nothing lost, 1 everything)"),
    ]


def claims_columns(manifest: Manifest) -> Table:
    """Return the level of each quasi-identifier."""
    rows = [
        [name, table, f"{column['level']} of {column['top']}", column["hierarchy"]]
        for table in ("patients", "claims")
        for name, column in manifest["columns"][table].items()
        if "level" in column
    ]
    return grid("Quasi-identifiers", ["column", "file", "level", "hierarchy"], rows)


ROWS: dict[str, Callable[[Manifest], Rows]] = {
    "table": table_rows,
    "codes": codes_rows,
    "trajectories": trajectories_rows,
    "claims": claims_rows,
}
COLUMNS: dict[str, Callable[[Manifest], Table]] = {"table": table_columns, "claims": claims_columns}
