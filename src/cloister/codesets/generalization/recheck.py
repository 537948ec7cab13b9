"""A release folder of generalized code sets, checked again from its files alone, or with the original and policies."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from cloister.codesets.data import CODES
from cloister.codesets.encode import plain_code
from cloister.codesets.manifest import CodeRecords, left_out_of
from cloister.codesets.request import CodesExpectation, CodesOriginal, GivenCodes
from cloister.errors import InputError
from cloister.io import as_text
from cloister.release_folder import CODEBOOK, MANIFEST, check_files, data_file, read_data
from cloister.report_figures import report_failures
from cloister.results import Manifest, Verdict

from .data import Generalization, Integers, PrivacySets, Sets, Uncovered
from .facts import evidence_is_possible, facts_of
from .manifest import GeneralizationManifest
from .release import codebook, data_frame, read_released, shown_of, texts_in_file
from .stated_policies import KnownPrivacy, known_policy, known_privacy, lacking, sets_named
from .verify import GeneralizationGuarantee, GeneralizationSecret, verify

CHECKED = (
    "files are as they were released, and no others are there",
    "the data file is written in the one way there is",
    "the manifest has the types that it must have, and says of the data file what it says",
    "the codebook lists what was released, and nothing else",
)
NO_FIGURES = "utility in release.json does not follow from the data file"
NO_COUNTS = "records are not those of the original"


def recheck_generalized(
    folder: Path, manifest: Manifest, expectation: CodesExpectation, original: CodesOriginal | None = None
) -> Verdict:
    """Check hashes, form, promise, codebook and figures of a release folder."""
    failures = check_files(folder, manifest)
    name = data_file(manifest)
    if failures or name is None or not os.path.isfile(folder / CODEBOOK):
        return Verdict(False, "the files were looked for", (), tuple(failures))
    try:
        stated = GeneralizationManifest.of(manifest)
        asked, numbered = stated.settings, stated.columns.id is not None
        frame = read_data(folder / name, asked.delimiter)
        if frame.columns != list(stated.columns.published()):
            raise InputError(f"{name} does not have the columns that {MANIFEST} declares.")
        frame = frame.cast(pl.String)
        released = read_released(frame[CODES], asked.k, asked.m, repeats=asked.repeats)
        listed = read_data(folder / CODEBOOK, ",")
    except InputError as error:
        return Verdict(False, f"{name} was read", (), (error.text.rstrip("."),))
    if not len(released.terms):
        return Verdict(False, f"{name} was read", (), (f"{name} has no codes",))
    differing = facts_of(released, asked).differing(stated)
    failures = [f"{part} in {MANIFEST} does not follow from the data file" for part in differing]
    if not frame.equals(data_frame(released, numbered=numbered).cast(pl.String)):
        failures.append("the data file is not written as a release is")
    if not listed.equals(codebook(released, numbered=numbered)):
        failures.append(f"{CODEBOOK} does not say what the data file says")
    codes = None if original is None else original.given.codes
    if original is not None:
        failures += _misfits(released, original.given, stated)
    if failures:
        return Verdict(False, f"{name} was read", (), tuple(failures))
    if codes is not None:
        # The vocabulary of the original, of which the codes of no term are suppressed.
        number = {code: place for place, code in enumerate(codes.vocabulary)}
        place = np.array([number[code] for code in released.vocabulary], dtype=np.int32)
        gone = np.setdiff1d(np.arange(codes.n_codes, dtype=np.int32), place)
        terms = Sets(released.terms.offsets, place[released.terms.items])
        released = replace(released, vocabulary=codes.vocabulary, terms=terms, suppressed=gone)
    policy = known_policy(stated, released, expectation.policy, codes)
    privacy = known_privacy(asked, expectation, codes)
    failures += [] if evidence_is_possible(stated.utility, asked, released, policy) else [NO_FIGURES]
    failures += report_failures(folder, manifest, shown_of(released))
    # Without its privacy policy the rest of a release can be checked all the same.
    promised = PrivacySets((), Sets.of([])) if privacy.is_lacking else privacy.promised
    promise = GeneralizationGuarantee(
        promised, policy if asked.by_sets else None, asked.uncovered is not Uncovered.SUPPRESS
    )
    counted = []
    for known, beside in ((privacy.promised, ""), (privacy.further, "which is checked beside the promised one,")):
        if known is not None:
            named, sets = sets_named(known, released, codes), len(known.sets)
            which = f" {known.spec}, {beside}" if beside else ""
            have = "set has" if sets == 1 else "sets have"
            counted.append(f"of the privacy policy{which} {named:,} of {sets:,} {have} codes of the release")
    secret = None if original is None else GeneralizationSecret(original.given.codes, _origin(original, released))
    verdict = verify(released, promise, secret)
    failures += [*verdict.failures, *_unexpected(released, expectation.k, privacy, promise, verdict.failures)]
    if privacy.is_lacking and not failures:
        raise lacking(asked, privacy)
    return Verdict(not failures, verdict.how, (*verdict.checks, *counted, *CHECKED), tuple(failures))


def _misfits(released: Generalization, given: GivenCodes, stated: GeneralizationManifest) -> list[str]:
    """Codes of terms that the original does not have; other numbers of codes and records than there are."""
    codes, k = given.codes, released.k
    more = len(set(released.vocabulary) - set(codes.vocabulary))
    left_out = left_out_of(given.n_empty, k, codes.n_records - released.n_records)
    counts = [] if stated.records == CodeRecords.of(released.n_records, left_out) else [NO_COUNTS]
    if more:
        have = "code is" if more == 1 else "codes are"
        return [f"{more} {have} in the data file, but not in the original", *counts]
    plain = {code: plain_code(code, repeats=codes.repeats) for code in codes.vocabulary}
    gone = {plain[code] for code in plain.keys() - set(released.vocabulary)}
    if len(gone) != stated.utility.suppressed_codes:
        return ["utility.suppressed_codes are not those codes of the original that are in no term", *counts]
    if len(set(plain.values())) != stated.utility.codes:
        return ["utility.codes are not those of the original", *counts]
    return counts


def _origin(original: CodesOriginal, released: Generalization) -> Integers | None:
    """The record of the original behind each released one; None without a crosswalk."""
    frame, codes = original.crosswalk, original.given.codes
    if frame is None:
        return None
    if frame.columns != ["released", "original"]:
        raise InputError("The crosswalk does not have the columns released and original, as one of such a release has.")
    known = pl.DataFrame({"original": as_text(original.given.original_ids()), "record": np.arange(codes.n_records)})
    rows = pl.DataFrame({"row": np.arange(1, released.n_records + 1)})
    row = as_text(frame["released"]).cast(pl.Int64, strict=False).alias("row")
    told = pl.DataFrame([as_text(frame["original"]), row])
    joined = rows.join(told, on="row", how="left", maintain_order="left")
    joined = joined.join(known, on="original", how="left", maintain_order="left")
    if joined.height != released.n_records or joined["record"].null_count() or frame.height != released.n_records:
        raise InputError("The crosswalk does not map each record of the release to one patient of the original.")
    origin = np.empty(released.n_records, dtype=np.int64)
    origin[texts_in_file(released)[1]] = joined["record"].to_numpy()
    return origin


def _unexpected(
    released: Generalization,
    k: int | None,
    privacy: KnownPrivacy,
    promise: GeneralizationGuarantee,
    known: Sequence[str],
) -> list[str]:
    """What, beside what is known, does not hold of the recipient's own k and m, and of another privacy policy."""
    failures, k, asked = [], k or released.k, replace(promise, utility=None)
    m = privacy.m or released.m
    if k > released.k or (m is not None and (released.m is None or m > released.m)):
        words = f"k = {k}" if m is None else f"k = {k} and m = {m}"
        verdict = verify(replace(released, k=k, m=m), asked)
        failures += [f"as asked, with {words}: {failure}" for failure in verdict.failures if failure not in known]
    if privacy.further is not None:
        verdict = verify(replace(released, k=max(k, released.k), m=None), replace(asked, privacy=privacy.further))
        spec = privacy.further.spec
        failures += [f"by the privacy policy {spec}: {failure}" for failure in verdict.failures if failure not in known]
    return failures
