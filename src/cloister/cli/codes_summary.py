"""What the screen says of a release of code sets."""

from typing import Any

from cloister.codesets.options import DISASSOCIATION
from cloister.results import Manifest
from cloister.shape import Rows


def codes_rows(manifest: Manifest) -> Rows:
    """Return what was released of code sets, under which guarantee, at what loss."""
    return _rows(manifest) if manifest["method"] == DISASSOCIATION else _generalized_rows(manifest)


def _generalized_rows(manifest: Manifest) -> list[tuple[str, str]]:
    utility, settings = manifest["utility"], manifest["settings"]
    rows = [
        ("source", settings["source"]),
        ("records", _records(manifest["records"], "left out, without codes or among few without terms")),
        ("guarantee", f"{'; '.join(manifest['guarantee']['sentences'])} (verified)"),
        ("codes", f"{utility['codes']:,}, {utility['suppressed_codes']:,} of them suppressed"),
        (
            "terms",
            f"{utility['terms']:,}, {utility['terms_of_several_codes']:,} of them of several codes "
            f"({utility['generalized_codes']:,} in all, at most {utility['largest_term']:,} in one)",
        ),
        ("loss", _loss(utility)),
    ]
    if settings["policy"] is not None:
        rows.append(("policy", _policy(manifest, "kept apart from others", "of which nothing is suppressed")))
    if settings["workload"] is not None:
        rows.append(("case counts", f"errors of {settings['workload']} are told in --internal alone"))
    return [*rows, ("time", f"{manifest['seconds']['total']:.2f} s")]


def _loss(utility: dict[str, Any]) -> str:
    if utility["ilm"] is not None:
        return f"{utility['ilm']:.6g} (ILM; 0 nothing lost)"
    return f"{utility['ilm_terms']:.6g} by terms (ILM); with suppressed codes it is told in --internal alone"


def _rows(manifest: Manifest) -> list[tuple[str, str]]:
    records, utility, parts = manifest["records"], manifest["utility"], manifest["clusters"]
    rows = [
        ("source", manifest["settings"]["source"]),
        ("records", _records(records, "without codes left out")),
        ("guarantee", f"{'; '.join(manifest['guarantee']['sentences'])} (verified)"),
        ("codes", f"{utility['codes']:,}, of which {utility['codes_counted_exactly']:,} are counted exactly"),
        ("not counted", f"at most {utility['occurrences_in_item_chunks']:.2%} of all occurrences of codes"),
        ("clusters", f"{parts['clusters']:,} of {parts['smallest']} to {parts['largest']} records"),
        ("shared chunks", f"{parts['shared_chunks']:,} in {parts['joint_clusters']:,} joint clusters"),
    ]
    if manifest["settings"]["policy"] is not None:
        rows.append(("policy", _policy(manifest, "with exact counts of each code", "also of patients with any code")))
    if manifest["settings"]["workload"] is not None:
        rows.append(("case counts", f"errors of {manifest['settings']['workload']} are told in --internal alone"))
    if manifest["risk"]["tied_pairs"] is not None:
        pairs = manifest["risk"]["tied_pairs"]
        rows.append(("codes that give others away", f"{pairs:,} {'pair' if pairs == 1 else 'pairs'} in a chunk"))
    return [*rows, ("time", f"{manifest['seconds']['total']:.2f} s")]


def _records(records: dict[str, Any], which: str) -> str:
    counts = {name: f"{count:,}" if isinstance(count, int) else count for name, count in records.items()}
    return f"{counts['released']} of {counts['in']} released, {counts['suppressed']} {which}"


def _policy(manifest: Manifest, satisfied: str, preserved: str) -> str:
    utility = manifest["utility"]
    if utility["constraints"] is None:
        return f"{manifest['settings']['policy']}: what became of its sets is told in --internal alone"
    return (
        f"{manifest['settings']['policy']}: {utility['constraints_satisfied']:,} of {utility['constraints']:,} sets "
        f"{satisfied}, {utility['constraints_preserved']:,} {preserved}"
    )
