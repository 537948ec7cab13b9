"""A release folder of code sets, checked again from its files alone, and against the original if that is given.

Its settings are checked for what they may say, and for what the clusters say of them.
"""

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

from cloister.codesets.data import CODES, ID, CodeSets
from cloister.codesets.encode import plain_code
from cloister.codesets.manifest import columns_of, one_row, records_agree
from cloister.codesets.policy_words import is_made_of_codes, is_support, made_anew
from cloister.codesets.recheck import INPUT, CodesExpectation, CodesOriginal, input_agreements
from cloister.errors import InputError
from cloister.io import as_text, sha256
from cloister.release_folder import CLUSTERS, CODEBOOK, DATA, MANIFEST, check_files, read_data, same, stated
from cloister.report_figures import report_failures
from cloister.results import Manifest, Verdict

from .clusters_file import cluster_lines, read_clusters
from .data import LARGEST, Disassociation, Refine, Safe
from .manifest import METHOD, clusters_of, codebook, rules_of, sentences_of, shown_of
from .places import codes_counted_exactly, supports_told
from .verify import DisassociationSecret, verify
from .verify_figures import constraints_told, item_chunk_share, ties_in, ties_of_repeats

SETTINGS = INPUT | {"k", "m", "max_cluster_size", "policy", "refine", "safe", "safe_threshold", "sensitive"}
SETTINGS |= {"diversity"}
SUPPORT = re.compile(r"sup:[0-9.]+(e[+-]?[0-9]+)?")
CONSTRAINTS = ("constraints", "constraints_satisfied", "constraints_preserved")


def setting_agreements(settings: Mapping[str, Any], released: Disassociation) -> dict[str, bool]:
    """Return sentences about the settings of a release of code sets, each with whether it is false.

    Raises
    ------
    AttributeError, KeyError, TypeError, ValueError
        A setting is missing, or has something else in its place.
    """
    sensitive, diversity = settings["sensitive"], settings["diversity"]
    return {
        "settings has unknown or missing keys": settings.keys() == SETTINGS,
        **input_agreements(settings),
        **method_agreements(settings, released),
        "settings.repeats does not fit the clusters": settings["repeats"] is released.repeats,
        "settings.sensitive are not those of the clusters": isinstance(sensitive, list)
        and sorted(sensitive)
        == sorted(
            {plain_code(released.vocabulary[item], repeats=released.repeats) for item in released.sensitive.tolist()}
        ),
        "settings.diversity is there without sensitive codes, or is no number": _is_whole(diversity, 1)
        if released.sensitive.size
        else diversity is None,
    }


def method_agreements(settings: Mapping[str, Any], released: Disassociation) -> dict[str, bool]:
    """Return sentences about the settings of the method, each with whether it is false.

    Raises
    ------
    KeyError, TypeError
        A setting is missing, or has something else in its place.
    """
    threshold, policy = settings["safe_threshold"], settings["policy"]
    return {
        "settings.k or settings.m are not those of the clusters": _is_whole(settings["k"], 1)
        and _is_whole(settings["m"], 1)
        and (settings["k"], settings["m"]) == (released.k, released.m),
        "settings.max_cluster_size is no number above k": _is_whole(settings["max_cluster_size"], released.k + 1),
        "settings.refine is unknown, or does not fit the clusters": settings["refine"] in {*Refine}
        and (settings["refine"] != Refine.OFF or not released.n_joints),
        "settings.safe or settings.safe_threshold are unknown": settings["safe"] in {*Safe}
        and type(threshold) in (int, float)
        and 0 < threshold <= 1,
        "settings.policy is unknown": policy is None or (isinstance(policy, str) and _is_policy(policy, released)),
    }


def constraints_agree(utility: Mapping[str, Any], policy: str | None, released: Disassociation) -> bool:
    """Return whether what became of the sets of a policy follows from the clusters, as far as the sets are known.

    Nothing is told without a policy, or of frequent sets. Those of a policy that is made of the codes alone are made
    and counted anew. Those of a file are not known: each number may then count some of those before.

    Raises
    ------
    KeyError, TypeError
        A figure is missing, or has something else in its place.
    """
    told = [utility[name] for name in CONSTRAINTS]
    if policy is None or is_support(policy):
        return told == [None] * len(CONSTRAINTS)
    if not all(_is_whole(number, 0) for number in told):
        return False
    if not is_made_of_codes(policy):
        n_codes = len({plain_code(code, repeats=released.repeats) for code in released.vocabulary})
        return bool(n_codes >= told[0] >= told[1] >= told[2])
    made = made_anew(policy, released.vocabulary, repeats=released.repeats)
    position: dict[str, list[int]] = {}
    for item, code in enumerate(released.vocabulary):
        position.setdefault(plain_code(code, repeats=released.repeats), []).append(item)
    sets = [] if made is None else [[item for code in each for item in position[code]] for each in made.constraints]
    return made is not None and tuple(told) == constraints_told(released, sets)


def _is_policy(policy: str, released: Disassociation) -> bool:
    """Whether words can be those of a policy; what is not made of the codes is called as its file is."""
    if is_support(policy):
        return SUPPORT.fullmatch(policy) is not None and 0 < float(policy.partition(":")[2]) <= 100
    return not is_made_of_codes(policy) or made_anew(policy, released.vocabulary, repeats=released.repeats) is not None


def _is_whole(value: Any, least: int) -> bool:
    return type(value) is int and least <= value <= LARGEST


T = TypeVar("T")

AGREEMENT = 1e-9
"""How far a figure may be from the one recomputed."""


def recheck_codes(
    folder: Path, manifest: Manifest, expectation: CodesExpectation, original: CodesOriginal | None = None
) -> Verdict:
    """Check hashes, promise, reconstruction, codebook and figures of a release folder."""
    failures = check_files(folder, manifest)
    if not all(os.path.isfile(folder / name) for name in (CLUSTERS, DATA[0], CODEBOOK)):
        return Verdict(False, "the files were looked for", (), tuple(failures))
    try:
        released = read_clusters(folder / CLUSTERS)
    except InputError as error:
        return Verdict(False, f"{CLUSTERS} was read", (), (*failures, error.message.rstrip(".")))
    diversity = _stated(lambda: manifest["settings"]["diversity"]) if released.sensitive.size else 1
    if isinstance(diversity, bool) or not isinstance(diversity, int) or diversity < 1:
        return Verdict(False, f"{MANIFEST} was read", (), (*failures, f"{MANIFEST} states no bound on sensitive codes"))
    secret = None if original is None else _secret(original, released, diversity)
    verdict = verify(released, secret, diversity)
    failures += verdict.failures
    if verdict.holds:
        failures += _stated(lambda: _contradictions(folder, manifest, released))
        failures += _stated(lambda: _reconstruction_failures(folder, manifest, released))
        failures += report_failures(folder, manifest, shown_of(released))
        failures += expectation_failures(released, expectation)
    checks = verdict.checks if failures else (*verdict.checks, *CHECKED)
    return Verdict(not failures, verdict.how, checks, tuple(failures))


CHECKED = (
    "files are as they were released, and no others are there",
    f"{CLUSTERS} is written in the one way there is",
    "the manifest does not contradict itself or the clusters; its figures were counted anew",
    "the codebook lists what was released, and nothing else",
    "data.csv has as many records, and as often each code, as the clusters allow",
)


def _stated(read: Callable[[], T]) -> T:
    return stated(read, "a release of code sets")


def _contradictions(folder: Path, manifest: Manifest, released: Disassociation) -> list[str]:
    """What the manifest says that the clusters do not."""
    settings, guarantee, utility = manifest["settings"], manifest["guarantee"], manifest["utility"]
    diversity = settings["diversity"] if released.sensitive.size else 2
    agreements = {
        "method is not one that this version can check": manifest["method"] == METHOD,
        **setting_agreements(settings, released),
        "guarantee.rules are not those of the clusters": same(guarantee["rules"], rules_of(released, diversity)),
        "guarantee.sentences do not say what the rules promise": guarantee["sentences"]
        == sentences_of(released, diversity),
        "guarantee.verified is not true": guarantee["verified"] is True,
        "guarantee.one_row_per_patient does not fit settings.input_columns": guarantee["one_row_per_patient"]
        in {one_row(settings["input_columns"]["id"], has_ids) for has_ids in (False, True)},
        "columns are not those of a release of code sets": same(
            manifest["columns"], columns_of(settings["ids"] == "number")
        ),
        "records do not add up, or tell a number that must be kept back": records_agree(
            manifest, released.n_records, released.k
        ),
        "clusters are not counted as they are": same(manifest["clusters"], clusters_of(released)),
        "utility does not follow from the clusters": utility_agrees(utility, settings, released),
        "risk is not that of the clusters, or not what settings.safe asks": ties_agree(
            manifest["risk"], settings, released
        ),
        f"{CODEBOOK} does not say what the clusters say": _codebook_agrees(folder, manifest, released),
        f"{CLUSTERS} is not written as a release is": is_as_written(folder, released),
    }
    return [failure for failure, holds in agreements.items() if not holds]


def is_as_written(folder: Path, released: Disassociation) -> bool:
    """Return whether the clusters of a folder are written in the one way there is."""
    found = hashlib.sha256()
    for line in cluster_lines(released):
        found.update(line)
    return found.hexdigest() == sha256(folder / CLUSTERS)


def utility_agrees(utility: dict[str, Any], settings: dict[str, Any], released: Disassociation) -> bool:
    """Return whether figures are as counted anew from the clusters, and none is there that does not follow."""
    counts = {
        "suppressed_codes": 0,
        "codes": len(released.vocabulary),
        "codes_counted_exactly": int(codes_counted_exactly(released).sum()),
        "occurrences_told": int(supports_told(released).sum()),
    }
    share = utility["occurrences_in_item_chunks"]
    follows = type(share) in (int, float) and abs(share - item_chunk_share(released)) <= AGREEMENT
    counted = all(type(utility[name]) is int and utility[name] == count for name, count in counts.items())
    known = utility.keys() == {*counts, "occurrences_in_item_chunks", *CONSTRAINTS, "are"}
    return (
        follows
        and counted
        and known
        and utility["are"] is None
        and constraints_agree(utility, settings["policy"], released)
    )


def ties_agree(risk: dict[str, Any], settings: dict[str, Any], released: Disassociation) -> bool:
    """Return whether as many codes as stated give others away; where none may, only occurrences of one code do."""
    safe, threshold = Safe(settings["safe"]), settings["safe_threshold"]
    if safe is Safe.OFF:
        return risk == {"tied_pairs": None, "tied_codes": None}
    if type(threshold) not in (int, float) or not 0 < threshold <= 1:
        return False
    found = ties_in(released, threshold)
    is_kept = safe is Safe.REPORT or found.pairs == ties_of_repeats(released, threshold)
    whole = all(type(count) is int for count in risk.values())
    return is_kept and whole and risk == {"tied_pairs": found.pairs, "tied_codes": found.codes}


def _codebook_agrees(folder: Path, manifest: Manifest, released: Disassociation) -> bool:
    try:
        listed = read_data(folder / CODEBOOK, ",")
    except InputError:
        return False
    return listed.equals(codebook(released, numbered=manifest["settings"]["ids"] == "number"))


def _reconstruction_failures(folder: Path, manifest: Manifest, released: Disassociation) -> list[str]:
    """What of the data file cannot be a reconstruction of the clusters, in counts."""
    delimiter = manifest["settings"].get("delimiter")
    try:
        frame = read_data(folder / DATA[0], delimiter if isinstance(delimiter, str) else None)
    except InputError as error:
        return [error.message.rstrip(".")]
    if frame.columns != list(manifest["columns"]):
        return [f"{DATA[0]} does not have the columns that release.json declares"]
    text = frame[CODES]
    failures = []
    if frame.height != released.n_records:
        records = "record" if frame.height == 1 else "records"
        failures.append(f"{DATA[0]} has {frame.height} {records}, but the clusters have {released.n_records}")
    if text.null_count() or not text.is_sorted():
        failures.append(f"the records of {DATA[0]} are not sorted by their codes, or some have none")
    if ID in frame.columns and frame[ID].to_list() != [str(number) for number in range(1, frame.height + 1)]:
        failures.append(f"the ids of {DATA[0]} are not the numbers of its records")
    return failures + _count_failures(text, released)


def _count_failures(text: pl.Series, released: Disassociation) -> list[str]:
    """Codes that stand in the data file more or less often than the clusters allow.

    A code of an item chunk is given to one record, and otherwise to records that would have no code: it is alone there.
    """
    names = [plain_code(code, repeats=released.repeats) for code in released.vocabulary]
    lowest, highest = _occurrences_allowed(released)
    allowed = pl.DataFrame({"code": names, "lowest": lowest, "highest": highest}).group_by("code").sum()
    found = text.drop_nulls().str.split(" ").explode().alias("code").value_counts(name="found")
    alone = text.alias("code").value_counts(name="alone")
    both = found.join(allowed, on="code", how="full", coalesce=True).join(alone, on="code", how="left")
    spare = both["lowest"] + both["alone"].fill_null(0)
    fits = both["found"].is_between(both["lowest"], pl.select(pl.min_horizontal(both["highest"], spare)).to_series())
    fits = fits.fill_null(False)
    wrong = both.height - int(fits.sum())
    stand = "code stands" if wrong == 1 else "codes stand"
    return [f"{wrong} {stand} in {DATA[0]} more or less often than the clusters allow"] if wrong else []


def _occurrences_allowed(released: Disassociation) -> tuple[Any, Any]:
    """How often each code may occur: as the chunks tell, and for each item chunk in one to all records of a cluster."""
    n_codes, told = len(released.vocabulary), supports_told(released)
    cluster = np.repeat(np.arange(released.n_clusters), np.diff(released.item_offsets))
    least = np.bincount(released.item_chunks, minlength=n_codes)
    most = np.bincount(released.item_chunks, weights=released.sizes[cluster], minlength=n_codes).astype(np.int64)
    return told + least, np.where(codes_counted_exactly(released), told, told + most)


def expectation_failures(released: Disassociation, expectation: CodesExpectation) -> list[str]:
    """Return what of the recipient's own k and m does not hold."""
    k, m = expectation.k or released.k, expectation.m or released.m
    if k <= released.k and m <= released.m:
        return []
    verdict = verify(replace(released, k=k, m=m), None)
    return [f"as asked, with k = {k} and m = {m}: {failure}" for failure in verdict.failures]


def _secret(original: CodesOriginal, released: Disassociation, diversity: int) -> DisassociationSecret:
    """The original in the numbers of the release, and the cluster of each of its records."""
    codes = original.given.codes
    if codes.vocabulary != released.vocabulary:
        raise InputError(
            "The original does not have the codes of the release. Read it as it was read for the release: texts that "
            "stood for a missing code are named with --missing."
        )
    return DisassociationSecret(codes, _cluster_of(original, codes), diversity)


def _cluster_of(original: CodesOriginal, codes: CodeSets) -> Any:
    """The cluster of each record of the original, in its order."""
    frame = original.crosswalk
    if frame is None:
        raise InputError("To compare code sets with the original, the crosswalk written with the release is needed.")
    if frame.columns != ["original", "cluster"]:
        raise InputError("The crosswalk does not have the columns original and cluster, as one of code sets has.")
    lines = original.given.lines
    numbers = np.arange(codes.n_records) if lines is None else lines
    ids = pl.Series(numbers + 1).cast(pl.String) if codes.ids is None else as_text(codes.ids)
    known = frame.with_columns(as_text(frame["original"]), as_text(frame["cluster"]).cast(pl.Int64, strict=False))
    joined = ids.to_frame("original").join(known, on="original", how="left", maintain_order="left")
    if joined.height != codes.n_records or joined["cluster"].null_count() or frame.height != codes.n_records:
        raise InputError("The crosswalk does not map each patient of the original to one cluster.")
    return joined["cluster"].to_numpy().astype(np.int32)
