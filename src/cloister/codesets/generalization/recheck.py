"""A release folder of generalized code sets, checked again from its files alone, or with the original and policies."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from cloister.codesets.data import CODES, ID, CodeSets
from cloister.codesets.encode import plain_code
from cloister.codesets.manifest import columns_of, one_row
from cloister.codesets.policy import is_built
from cloister.codesets.policy_words import policy_words
from cloister.codesets.recheck import INPUT, CodesExpectation, CodesOriginal, input_agreements
from cloister.errors import InputError
from cloister.io import as_text
from cloister.release_folder import (
    CODEBOOK,
    MANIFEST,
    check_files,
    data_file,
    read_data,
    same,
    stated,
)
from cloister.report_figures import report_failures
from cloister.results import Manifest, Verdict

from .data import Generalization, Integers, Sets
from .manifest import counts_agree, counts_of, rules_of, sentences_of
from .privacy_files import ALL, StatedSets
from .recheck_settings import (
    KnownPrivacy,
    StatedSettings,
    known_policy,
    known_privacy,
    lacking,
    read_stated,
    sets_named,
)
from .release import codebook, data_frame, order_in_file, read_released, record_texts, shown_of
from .verify import GeneralizationGuarantee, GeneralizationSecret, verify
from .verify_figures import figures_agree, rarity_of

CHECKED = (
    "files are as they were released, and no others are there",
    "the data file is written in the one way there is",
    "the manifest does not contradict itself or the data file; its figures were counted anew",
    "the codebook lists what was released, and nothing else",
)


def recheck_generalized(
    folder: Path, manifest: Manifest, expectation: CodesExpectation, original: CodesOriginal | None = None
) -> Verdict:
    """Check hashes, form, promise, codebook and figures of a release folder.

    Raises
    ------
    InputError
        The folder cannot be read as a release of generalized code sets, the crosswalk does not fit the original, or
        all is well but the privacy policy, which is not part of a release, is not given.
    """
    failures = check_files(folder, manifest)
    name = data_file(manifest)
    if failures or name is None or not os.path.isfile(folder / CODEBOOK):
        return Verdict(False, "the files were looked for", (), tuple(failures))
    asked = read_stated(manifest)
    try:
        frame = _read(folder / name, manifest)
        released = read_released(frame[CODES], asked.k, asked.m, repeats=asked.repeats)
    except InputError as error:
        return Verdict(False, f"{name} was read", (), (error.message.rstrip("."),))
    if not len(released.terms):
        return Verdict(False, f"{name} was read", (), (f"{name} has no codes",))
    codes = None if original is None else original.given.codes
    n_empty = 0 if original is None else original.given.n_empty
    failures = _contradictions(folder, manifest, asked, released, frame)
    if codes is not None:
        failures += _misfits(released, codes, asked)
        told = counts_of(released.n_records, n_empty, codes.n_records - released.n_records, released.k)
        failures += [] if same(manifest["records"], told) else [NO_COUNTS]
    if failures:
        return Verdict(False, f"{name} was read", (), tuple(failures))
    if codes is not None:
        released = _with_suppressed(released, codes)
    policy = known_policy(asked, released, expectation.policy, codes)
    privacy = known_privacy(asked, expectation, codes)
    failures += [] if figures_agree(manifest["utility"], asked, released, policy) else [NO_FIGURES]
    failures += report_failures(folder, manifest, shown_of(released))
    promised = NOTHING_KNOWN if privacy.is_lacking else privacy.promised
    promise = GeneralizationGuarantee(promised, policy if asked.by_sets else None, asked.uncovered_together)
    counted = tuple(_counted(privacy, released, codes))
    secret = None if original is None else GeneralizationSecret(original.given.codes, _origin(original, released))
    verdict = verify(released, promise, secret)
    failures += [*verdict.failures, *_unexpected(released, expectation.k, privacy, promise, verdict.failures)]
    if privacy.is_lacking and not failures:
        raise lacking(asked, privacy)
    return Verdict(not failures, verdict.how, (*verdict.checks, *counted, *CHECKED), tuple(failures))


SETTINGS = INPUT | {"k", "m", "privacy", "policy", "uncovered", "loss", "code_hierarchy"}
NO_FIGURES = "utility does not follow from the data file"
NO_COUNTS = "records are not those of the original"


NOTHING_KNOWN = StatedSets((), Sets.of([]), "")
"""Stands for a privacy policy that is not known."""


def _counted(privacy: KnownPrivacy, released: Generalization, codes: CodeSets | None) -> Iterator[str]:
    """How many sets of the privacy policies have codes of the release."""
    for policy in (privacy.promised, privacy.further):
        if policy is not None:
            named, sets = sets_named(policy, released, codes), len(policy.sets)
            beside = "" if policy is privacy.promised else f" {policy.spec}, which is checked beside the promised one,"
            have = "set has" if sets == 1 else "sets have"
            yield f"of the privacy policy{beside} {named:,} of {sets:,} {have} codes of the release"


def _read(path: Path, manifest: Manifest) -> pl.DataFrame:
    """The data file, with the columns that the manifest declares."""
    delimiter = manifest["settings"].get("delimiter")
    delimiter = delimiter if isinstance(delimiter, str) else None
    frame = read_data(path, delimiter)
    if frame.columns != list(manifest["columns"]) or CODES not in frame.columns:
        raise InputError(f"{path.name} does not have the columns that {MANIFEST} declares.")
    return frame.cast(pl.String)


def _contradictions(
    folder: Path, manifest: Manifest, asked: StatedSettings, released: Generalization, frame: pl.DataFrame
) -> list[str]:
    """What the manifest or the codebook says that the data file does not, and how that is not written as it must be."""

    def found() -> list[str]:
        guarantee, settings = manifest["guarantee"], manifest["settings"]
        agreements = {
            "settings has unknown or missing keys": settings.keys() | {"delimiter"} == SETTINGS,
            **input_agreements(settings | {"delimiter": settings.get("delimiter", ",")}),
            "the data file is not written as a release is": frame.equals(
                data_frame(released, numbered=ID in frame.columns).cast(pl.String)
            ),
            "columns are not those of a release of code sets": manifest["columns"] == columns_of(asked.numbered),
            "guarantee.rules are not those of the settings": guarantee["rules"] == rules_of(released, asked.privacy),
            "guarantee.sentences do not say what the rules promise": guarantee["sentences"]
            == sentences_of(released, asked.privacy),
            "settings.privacy does not fit settings.m": (asked.privacy == f"{ALL}:{asked.m}") is (asked.m is not None),
            "settings.policy names no policy that there is": not is_built(str(asked.policy))
            or policy_words(str(asked.policy)) is not None,
            "guarantee.verified is not true": guarantee["verified"] is True,
            "guarantee.one_row_per_patient does not fit settings.input_columns": guarantee["one_row_per_patient"]
            in {one_row(manifest["settings"]["input_columns"]["id"], has_ids) for has_ids in (False, True)},
            "records do not add up, or tell a number that must be kept back": counts_agree(manifest, released),
            "risk is not that of the data file": manifest["risk"] == rarity_of(released),
            f"{CODEBOOK} does not say what the data file says": _codebook_agrees(folder, asked, released),
        }
        return [failure for failure, holds in agreements.items() if not holds]

    return stated(found, "a release of generalized code sets")


def _codebook_agrees(folder: Path, asked: StatedSettings, released: Generalization) -> bool:
    try:
        listed = read_data(folder / CODEBOOK, ",")
    except InputError:
        return False
    return listed.equals(codebook(released, numbered=asked.numbered))


def _misfits(released: Generalization, codes: CodeSets, asked: StatedSettings) -> list[str]:
    """Codes of terms that the original does not have, and another number of suppressed codes than there are."""
    more = len(set(released.vocabulary) - set(codes.vocabulary))
    if more:
        have = "code is" if more == 1 else "codes are"
        return [f"{more} {have} in the data file, but not in the original"]
    plain = {code: plain_code(code, repeats=codes.repeats) for code in codes.vocabulary}
    gone = {plain[code] for code in plain.keys() - set(released.vocabulary)}
    if len(gone) != asked.suppressed:
        return ["utility.suppressed_codes are not those codes of the original that are in no term"]
    if len(set(plain.values())) != asked.codes:
        return ["utility.codes are not those of the original"]
    return []


def _with_suppressed(released: Generalization, codes: CodeSets) -> Generalization:
    """The same with the vocabulary of the original, and the codes of no term suppressed."""
    number = {code: place for place, code in enumerate(codes.vocabulary)}
    place = np.array([number[code] for code in released.vocabulary], dtype=np.int32)
    gone = np.setdiff1d(np.arange(codes.n_codes, dtype=np.int32), place)
    terms = Sets(released.terms.offsets, place[released.terms.items])
    return replace(released, vocabulary=codes.vocabulary, terms=terms, suppressed=gone)


def _origin(original: CodesOriginal, released: Generalization) -> Integers | None:
    """The record of the original behind each released one; None without a crosswalk."""
    frame, codes = original.crosswalk, original.given.codes
    if frame is None:
        return None
    if frame.columns != ["released", "original"]:
        raise InputError("The crosswalk does not have the columns released and original, as one of such a release has.")
    lines = np.arange(codes.n_records) if original.given.lines is None else original.given.lines
    ids = pl.Series(lines + 1).cast(pl.String) if codes.ids is None else as_text(codes.ids)
    known = pl.DataFrame({"original": ids, "record": np.arange(codes.n_records)})
    rows = pl.DataFrame({"row": np.arange(1, released.n_records + 1)})
    row = as_text(frame["released"]).cast(pl.Int64, strict=False).alias("row")
    told = pl.DataFrame([as_text(frame["original"]), row])
    joined = rows.join(told, on="row", how="left", maintain_order="left")
    joined = joined.join(known, on="original", how="left", maintain_order="left")
    if joined.height != released.n_records or joined["record"].null_count() or frame.height != released.n_records:
        raise InputError("The crosswalk does not map each record of the release to one patient of the original.")
    origin = np.empty(released.n_records, dtype=np.int64)
    origin[order_in_file(record_texts(released))] = joined["record"].to_numpy()
    return origin


def _unexpected(
    released: Generalization,
    k: int | None,
    privacy: KnownPrivacy,
    promise: GeneralizationGuarantee,
    known: Sequence[str],
) -> list[str]:
    """What does not hold of the recipient's own k and m, and of a privacy policy that is not the promised one.

    Parameters
    ----------
    known : what does not hold anyway
    """
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
