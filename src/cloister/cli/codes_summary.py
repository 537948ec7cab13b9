"""The summary of a release of code sets on the screen."""

from pathlib import Path
from typing import Any

from rich.console import Console

from cloister.cli.output import facts
from cloister.codesets.data import CodeSets
from cloister.codesets.options import DISASSOCIATION, CodesOptions
from cloister.codesets.policy import UtilityPolicy
from cloister.codesets.request import GivenCodes
from cloister.release_folder import REPORT
from cloister.report.sentences import guarantee_sentences
from cloister.results import Manifest


def print_codes_summary(screen: Console, manifest: Manifest, out: Path) -> None:
    """Print what was released, under which guarantee, at what loss."""
    screen.print(facts("Release", _rows(manifest)))
    screen.print(f"Report: {out / REPORT}", soft_wrap=True)


def print_generalized_summary(screen: Console, manifest: Manifest, out: Path) -> None:
    """Print what was released by generalization, under which guarantee, at what loss."""
    screen.print(facts("Release", _generalized_rows(manifest)))
    screen.print(f"Report: {out / REPORT}", soft_wrap=True)


def _generalized_rows(manifest: Manifest) -> list[tuple[str, str]]:
    utility, settings = manifest["utility"], manifest["settings"]
    rows = [
        ("source", settings["source"]),
        ("records", _records(manifest["records"], "left out, without codes or among few without terms")),
        ("guarantee", f"{'; '.join(guarantee_sentences(manifest))} (verified)"),
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
        ("guarantee", f"{'; '.join(guarantee_sentences(manifest))} (verified)"),
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


def notes_on(options: CodesOptions, given: GivenCodes, policy: UtilityPolicy | None, manifest: Manifest) -> list[str]:
    """Return what was taken for granted, and what is not said."""
    notes = [*given.notes, *_left_out(manifest), *([] if policy is None else _uncovered(policy, given.codes))]
    if options.workload is not None and options.internal is None:
        notes.append("the errors of a workload are told to the custodian alone, in the folder that --internal names")
    return notes


def _left_out(manifest: Manifest) -> list[str]:
    """A note on patients without codes, who are counted as the manifest counts them."""
    count = manifest["records"]["suppressed"]
    if count == 0:
        return []
    what = "no code" if manifest["method"] == DISASSOCIATION else "no code that is released"
    if count == 1:
        return [f"1 record has {what} and is left out"]
    how_many = f"fewer than {count[1:]}" if isinstance(count, str) else f"{count:,}"
    return [f"{how_many} records have {what} and are left out"]


def _uncovered(policy: UtilityPolicy, codes: CodeSets) -> list[str]:
    """A note on codes that are in no constraint; how many are in no frequent set is not for a log."""
    left = 0 if policy.support is not None else policy.n_uncovered(codes)
    codes_are = "code is" if left == 1 else "codes are"
    return [f"{left} {codes_are} in no set of the utility policy"] if left else []


def asked_of_codes(options: CodesOptions, given: GivenCodes) -> list[tuple[str, str]]:
    """Return what would be done with code sets, in words."""
    known = f"m = {2 if options.m is None else options.m}" if options.privacy is None else "the sets of a policy"
    return [
        ("patients", f"{given.codes.n_records:,} with {given.codes.n_codes:,} codes"),
        ("method", options.method),
        ("rules", f"k = {options.k}, {known}"),
        ("policy", "none" if options.policy is None else policy_word(options.policy)),
    ]


def policy_word(words: str) -> str:
    """How a policy is called: the words of a builder, or the name of its file without its folder."""
    return words.rpartition("/")[2]
