"""The summary of a release on the screen, by its form."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from cloister.cli.output import facts, grid
from cloister.manifests import codes_of, typed
from cloister.release_folder import REPORT
from cloister.report.sentences import accepted_words, codes_sentences, guarantee_sentences, table_sentences
from cloister.results import Manifest
from cloister.shape import Rows
from cloister.tabular.manifest import ASSUMED, QuasiIdentifierColumn, TableManifest
from cloister.tabular.options import FULL_DOMAIN

if TYPE_CHECKING:  # a release of one shape loads no other
    from cloister.claims.manifest import ClaimsManifest
    from cloister.codesets.disassociation.manifest import DisassociationManifest
    from cloister.codesets.generalization.manifest import GeneralizationManifest
    from cloister.codesets.manifest import CodeRecords
    from cloister.trajectories.manifest import TrajectoriesManifest


def print_summary(screen: Console, manifest: Manifest, out: Path) -> None:
    """Print what was released, under which guarantee, at what loss."""
    read = typed(manifest)
    source, took = read.settings.source, f"{read.seconds.total:.2f} s"
    if read.form in ("table", "table_with_codes") and read.search is not None:
        took = f"{took}, of which search {read.seconds.search:.2f} s"
    if read.form == "claims":
        source = f"{source} and {read.settings.claims}"
    screen.print(facts("Release", [("source", source), *ROWS[read.form](read), ("time", took)]))
    if read.form in ("table", "table_with_codes"):
        screen.print(table_columns(read))
    if read.form == "claims":
        screen.print(claims_columns(read))
    screen.print(f"Report: {out / REPORT}", soft_wrap=True)


def _count(number: int | str) -> str:
    return f"{number:,}" if isinstance(number, int) else number


def _verified(sentences: list[str]) -> str:
    return f"{'; '.join(sentences)} (verified)"


def table_rows(read: TableManifest) -> Rows:
    """Return what was released of a table, under which guarantee, at what loss."""
    records, utility, settings = read.records, read.utility, read.settings
    released = f"{_count(records.released)} of {_count(records.in_)} released, {_count(records.suppressed)} suppressed"
    rows = [("records", released)]
    if read.guarantee.one_row_per_patient == ASSUMED:
        rows.append(("patients", "one record each, which is assumed: no column was named that tells them apart"))
    rows += [("accepted", accepted_words(one)) for one in read.guarantee.accepted]
    if read.table is not None:
        rows.append(("protected table", f"{read.table.name}, in the database"))
    rows.append(("guarantee", _verified(table_sentences(read))))
    if (codes := codes_of(read)) is not None:
        rows.append(("and of codes", _verified(codes_sentences(read))))
        hidden = f"{codes.utility.occurrences_in_item_chunks:.2%}"
        rows.append(("counts not told", f"at most {hidden} of the occurrences of codes"))
    loss = f"{utility.loss:.6f}" if utility.exact else f"about {utility.loss:.2f}"
    rows.append(("highest risk", f"{read.risk.highest:.4f} (average {read.risk.average:.4f})"))
    rows.append(("loss", f"{loss} ({settings.loss}; 0 nothing lost, 1 everything)"))
    if read.empty:
        rows.append(("says nothing", ", ".join(read.empty)))
    if settings.weights:
        rows.append(("weights", ", ".join(f"{column} {weight:g}" for column, weight in settings.weights.items())))
    if settings.target is not None:
        rows.append(("target", f"{settings.target}: what says most about it is kept best"))
    if read.method != FULL_DOMAIN:
        rows.append(("method", f"{read.method}: levels differ between classes (not with --purpose one-coding)"))
    if read.search is not None:
        is_merged = settings.merge_bound is not None
        rows.append(("search", "a transformation, whose classes were then merged" if is_merged else _search(read)))
    averaged = [f"{column} ({how})" for column, how in settings.microaggregate.items()]
    return [*rows, ("averaged", f"{', '.join(averaged)}: not truthful there")] if averaged else rows


def _search(read: TableManifest) -> str:
    search = read.search
    assert search is not None
    if read.settings.search == "fixed":
        return "none: the levels were fixed"
    if search.optimal:
        return f"proven optimal among {search.lattice:,} transformations"
    ended = "not proven optimal" if read.settings.search != "optimal" else "stopped by the time limit"
    if not search.bound:
        return ended
    return f"{ended}; no transformation loses less than {search.bound:.6f} (gap {search.gap:.2%})"


def table_columns(read: TableManifest) -> Table:
    """Return role, level and loss of each column; of a level that differs between classes, the lowest and highest."""
    rows, codes = [], codes_of(read)
    for name, column in read.columns.items():
        if codes is not None and name == codes.column:
            rows.append([name, "codes", "", ""])
        elif isinstance(column, QuasiIdentifierColumn) and name in read.utility.columns:
            lost, levels = read.utility.columns[name], column.used_levels
            level = str(column.level) if column.level is not None else f"{levels[0]}-{levels[-1]}"
            rows.append([name, column.role, f"{level} of {lost.top}", f"{lost.loss:.3f}"])
        else:
            rows.append([name, column.role, "", ""])
    return grid("Columns", ["column", "role", "level", "loss"], rows)


def generalized_rows(read: "GeneralizationManifest") -> Rows:
    """Return what was released of generalized code sets."""
    utility = read.utility
    loss = f"{utility.ilm_terms:.6g} by terms (ILM); with suppressed codes only --custodian-dir has it"
    return [
        ("records", _left_out(read.records, "left out, without codes or among few without terms")),
        ("guarantee", _verified(guarantee_sentences(read))),
        ("codes", f"{utility.codes:,}, {utility.suppressed_codes:,} of them suppressed"),
        (
            "terms",
            f"{utility.terms:,}, {utility.terms_of_several_codes:,} of them of several codes "
            f"({utility.generalized_codes:,} in all, at most {utility.largest_term:,} in one)",
        ),
        ("loss", loss if utility.ilm is None else f"{utility.ilm:.6g} (ILM; 0 nothing lost)"),
        *_requested_of_codes(read, "kept apart from others", "of which nothing is suppressed"),
    ]


def chunks_rows(read: "DisassociationManifest") -> Rows:
    """Return what was released of disassociated code sets."""
    utility, parts, pairs = read.utility, read.clusters, read.risk.tied_pairs
    rows = [
        ("records", _left_out(read.records, "without codes left out")),
        ("guarantee", _verified(guarantee_sentences(read))),
        ("codes", f"{utility.codes:,}, of which {utility.codes_counted_exactly:,} are counted exactly"),
        ("not counted", f"at most {utility.occurrences_in_item_chunks:.2%} of all occurrences of codes"),
        ("clusters", f"{parts.clusters:,} of {parts.smallest} to {parts.largest} records"),
        ("shared chunks", f"{parts.shared_chunks:,} in {parts.joint_clusters:,} joint clusters"),
        *_requested_of_codes(read, "with exact counts of each code", "also of patients with any code"),
    ]
    if pairs is not None:
        rows.append(("codes that give others away", f"{pairs:,} {'pair' if pairs == 1 else 'pairs'} in a chunk"))
    return rows


def _left_out(records: "CodeRecords", which: str) -> str:
    return f"{_count(records.released)} of {_count(records.in_)} released, {_count(records.suppressed)} {which}"


def _requested_of_codes(
    read: "DisassociationManifest | GeneralizationManifest", satisfied: str, preserved: str
) -> Rows:
    """What became of the utility policy and the workload, where they were asked for."""
    utility, settings, rows = read.utility, read.settings, []
    if settings.policy is not None and utility.constraints is None:
        rows.append(("policy", f"{settings.policy}: only --custodian-dir says what became of its sets"))
    elif settings.policy is not None:
        kept = f"{utility.constraints_satisfied:,} of {utility.constraints:,} sets {satisfied}"
        rows.append(("policy", f"{settings.policy}: {kept}, {utility.constraints_preserved:,} {preserved}"))
    if settings.workload is not None:
        rows.append(("case counts", f"errors of {settings.workload} are in --custodian-dir only"))
    return rows


def trajectories_rows(read: "TrajectoriesManifest") -> Rows:
    """Return what was released of trajectories, under which guarantee, at what loss."""
    records, utility, risk, policy = read.records, read.utility, read.risk, read.settings.policy
    alike = f"{utility.trajectories:,} different ones, each of {risk.smallest:,} to {risk.largest:,} patients"
    rows = [
        ("patients", f"{records.released:,} of {records.in_:,} released"),
        ("guarantee", _verified(guarantee_sentences(read))),
        ("trajectories", alike),
        ("pairs", f"{utility.pairs:,}"),
        ("loss of codes", _exact_loss(utility.ilm_exact, utility.ilm)),
        ("loss of ages", _exact_loss(utility.alm_exact, utility.alm)),
    ]
    if utility.constraints is not None:
        kept = f"{utility.constraints_kept:,} of {utility.constraints:,} sets kept apart from others"
        rows.append(("policy", f"{policy}: {kept}"))
    elif policy is not None:
        rows.append(("policy", policy))
    if utility.patients_untold:
        rows.append(("all suppressed", f"{utility.patients_untold:,} patients, each one row of *"))
    if read.clustering.blocks > 1:
        rows.append(("blocks", f"{read.clustering.blocks:,}, compared within"))
    return rows


def _exact_loss(exact: float, paper: float | None) -> str:
    counted = "as the paper counts: not told" if paper is None else f"{paper:.3f} as the paper counts"
    return f"{exact:.3f} (0 nothing, 1 all; {counted})"


def claims_rows(read: "ClaimsManifest") -> Rows:
    """Return what was released of claims, at which measured risk."""
    records, risk, choice, likeliest = read.records, read.risk, read.choice, read.risk.likeliest
    (low, high), (lowest, highest) = risk.interval, likeliest.interval
    above = ": ABOVE the threshold, not limited" if highest > risk.threshold else ""
    picked = f"{likeliest.mean:.4f} for who picks the likeliest ({lowest:.4f} to {highest:.4f}; {likeliest.limit})"
    return [
        ("patients", f"{records.released:,} released (in the source: {_count(records.in_)})"),
        ("claims", f"{records.claims:,} released"),
        ("risk", f"{risk.mean:.4f} in the mean ({low:.4f} to {high:.4f}; at most {risk.threshold:g}; verified)"),
        ("flagged", f"{risk.flag_rate:.4f} of attacks leave fewer than {risk.k} candidates"),
        ("flags believed", f"{risk.tolerant.highest:.4f} at most ({risk.tolerant.limit})"),
        ("likeliest", f"{picked}{above}"),
        ("truncation", f"{choice.truncation} (percentile of claims)"),
        *([] if choice.optimal else [("search", "ended by its bound: the best levels found by then")]),
        ("loss", f"about {read.utility.loss:.2f} (0 nothing lost, 1 everything)"),
    ]


def claims_columns(read: "ClaimsManifest") -> Table:
    """Return the level of each quasi-identifier."""
    rows = [
        [name, table, f"{column.level} of {column.top}", column.hierarchy or ""]
        for table, columns in (("patients", read.columns.patients), ("claims", read.columns.claims))
        for name, column in columns.items()
        if column.level is not None
    ]
    return grid("Quasi-identifiers", ["column", "file", "level", "hierarchy"], rows)


ROWS: dict[str, Callable[[Any], Rows]] = {
    "table": table_rows,
    "table_with_codes": table_rows,
    "disassociation": chunks_rows,
    "generalization": generalized_rows,
    "trajectories": trajectories_rows,
    "claims": claims_rows,
}
"""What is said between source and time."""
