"""A release folder of generalized code sets, checked again from its files alone, or with the original and policies."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from cloister.checker import Checker, Facts, Opened, Request
from cloister.codesets.data import CODES, CodeSets
from cloister.codesets.encode import plain_code
from cloister.codesets.manifest import CodeRecords, left_out_of
from cloister.codesets.original import expectation_of, read_original
from cloister.codesets.request import CodesOriginal, GivenCodes
from cloister.errors import InputError
from cloister.io import as_text
from cloister.manifest.head import DATA
from cloister.release_folder import MANIFEST, read_data
from cloister.results import Verdict

from .data import Generalization, Integers, PrivacySets, Sets, Uncovered
from .facts import evidence_is_possible, facts_of
from .manifest import GeneralizationManifest
from .release import codebook, data_frame, read_released, shown_of, texts_in_file
from .stated_policies import KnownPrivacy, known_policy, known_privacy, lacking, sets_named
from .verify import GeneralizationGuarantee, GeneralizationSecret, verify

NO_FIGURES = "utility in release.json does not follow from the data file"
NO_COUNTS = "records are not those of the original"


@dataclass(frozen=True)
class GeneralizedFile:
    """The data file, and what it says."""

    name: str
    frame: pl.DataFrame
    released: Generalization


ReleaseFolder = Opened[GeneralizationManifest, GeneralizedFile, CodesOriginal]


class GeneralizationChecker(Checker[GeneralizationManifest, GeneralizedFile, CodesOriginal]):
    """Checks generalized code sets."""

    def read_files(self, folder: Path, manifest: GeneralizationManifest) -> GeneralizedFile:
        """Read the data file and its terms."""
        name, settings = next(name for name in DATA if name in manifest.files), manifest.settings
        frame = read_data(folder / name, settings.delimiter)
        if frame.columns != list(manifest.columns.published()):
            raise InputError(f"{name} does not have the columns that {MANIFEST} declares.")
        frame = frame.cast(pl.String)
        released = read_released(frame[CODES], settings.k, settings.m, repeats=settings.repeats)
        if not len(released.terms):
            raise InputError(f"{name} has no codes.")
        return GeneralizedFile(name, frame, released)

    def read_original(
        self, request: Request, manifest: GeneralizationManifest, _files: GeneralizedFile
    ) -> CodesOriginal | None:
        """Read what the custodian has."""
        return read_original(request, manifest.settings)

    def verify(self, release: ReleaseFolder) -> Verdict:
        """Recompute the promise."""
        stated, file, original = release.manifest, release.files, release.original
        failures = _contradictions(stated, file)
        if original is not None:
            failures += _misfits(file.released, original.given, stated)
        if failures:
            return Verdict(False, f"{file.name} was read", (), tuple(failures))
        released, privacy = _released(release), _privacy(release)
        codes = None if original is None else original.given.codes
        policy = known_policy(stated, released, release.request.policy, codes)
        possible = evidence_is_possible(stated.utility, stated.settings, released, policy)
        promise = replace(_promise(stated, privacy), utility=policy if stated.settings.by_sets else None)
        counted = tuple(_counted(privacy, released, codes))
        secret = None if original is None else GeneralizationSecret(original.given.codes, _origin(original, released))
        verdict = verify(released, promise, secret)
        failures = [*([] if possible else [NO_FIGURES]), *verdict.failures]
        return Verdict(not failures, verdict.how, (*verdict.checks, *counted), tuple(failures))

    def facts(self, release: ReleaseFolder) -> Facts:
        """Compare the manifest with what follows from the files."""
        listed = codebook(release.files.released, numbered=release.manifest.columns.id is not None)
        return Facts([], listed, shown_of(_released(release)))

    def unexpected(self, release: ReleaseFolder) -> list[str]:
        """Compare with what the recipient expects."""
        privacy = _privacy(release)
        promise = _promise(release.manifest, privacy)
        failures = _unexpected(_released(release), release.request.k, privacy, promise)
        if privacy.is_lacking and not failures:
            raise lacking(release.manifest.settings, privacy)
        return failures


def _released(release: ReleaseFolder) -> Generalization:
    """The release; where the original is given, with the codes of that which are in no term."""
    released, original = release.files.released, release.original
    if original is None:
        return released
    # The vocabulary of the original, of which the codes of no term are suppressed.
    codes = original.given.codes
    number = {code: place for place, code in enumerate(codes.vocabulary)}
    place = np.array([number[code] for code in released.vocabulary], dtype=np.int32)
    gone = np.setdiff1d(np.arange(codes.n_codes, dtype=np.int32), place)
    terms = Sets(released.terms.offsets, place[released.terms.items])
    return replace(released, vocabulary=codes.vocabulary, terms=terms, suppressed=gone)


def _privacy(release: ReleaseFolder) -> KnownPrivacy:
    settings, original = release.manifest.settings, release.original
    expected = expectation_of(release.request, settings)
    return known_privacy(settings, expected, None if original is None else original.given.codes)


def _promise(stated: GeneralizationManifest, privacy: KnownPrivacy) -> GeneralizationGuarantee:
    """What the release promises of the privacy policy, if that is known."""
    # Without its privacy policy the rest of a release can be checked all the same.
    promised = PrivacySets((), Sets.of([])) if privacy.is_lacking else privacy.promised
    return GeneralizationGuarantee(promised, None, stated.settings.uncovered is not Uncovered.SUPPRESS)


def _counted(privacy: KnownPrivacy, released: Generalization, codes: CodeSets | None) -> Iterator[str]:
    """How many sets of the privacy policies have codes of the release."""
    for policy in (privacy.promised, privacy.further):
        if policy is not None:
            named, sets = sets_named(policy, released, codes), len(policy.sets)
            beside = "" if policy is privacy.promised else f" {policy.spec}, which is checked beside the promised one,"
            have = "set has" if sets == 1 else "sets have"
            yield f"of the privacy policy{beside} {named:,} of {sets:,} {have} codes of the release"


def _contradictions(stated: GeneralizationManifest, file: GeneralizedFile) -> list[str]:
    """What the manifest says that the data file does not, and how that is not written as it must be."""
    released, numbered = file.released, stated.columns.id is not None
    differing = facts_of(released, stated.settings).differing(stated)
    failures = [f"{part} in {MANIFEST} does not follow from the data file" for part in differing]
    is_written = file.frame.equals(data_frame(released, numbered=numbered).cast(pl.String))
    return failures if is_written else [*failures, "the data file is not written as a release is"]


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
    released: Generalization, k: int | None, privacy: KnownPrivacy, promise: GeneralizationGuarantee
) -> list[str]:
    """What, beside what is known, does not hold of the recipient's own k and m, and of another privacy policy."""
    failures, k = [], k or released.k
    m = privacy.m or released.m
    if k > released.k or (m is not None and (released.m is None or m > released.m)):
        words = f"k = {k}" if m is None else f"k = {k} and m = {m}"
        verdict = verify(replace(released, k=k, m=m), promise)
        failures += [f"as asked, with {words}: {failure}" for failure in verdict.failures]
    if privacy.further is not None:
        verdict = verify(replace(released, k=max(k, released.k), m=None), replace(promise, privacy=privacy.further))
        spec = privacy.further.spec
        failures += [f"by the privacy policy {spec}: {failure}" for failure in verdict.failures]
    return failures
