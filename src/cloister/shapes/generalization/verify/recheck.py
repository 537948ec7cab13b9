"""Verification of a release folder of generalized code sets, from its files only, or with the original and policies.

A release names its policies and does not hold them: their sets may be those of patients, and may name codes that are
suppressed. They are as the user gives them, or made anew: codes by level and the diseases of genome-wide studies follow
from the terms alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from cloister.errors import InputError, Message, setting
from cloister.io.attributes import lacking as lacking_attributes
from cloister.release.folder import read_tables
from cloister.release.head import MANIFEST
from cloister.results import Verdict
from cloister.shapes.codes.data import CODES, CodeSets, GivenCodes, occurrence, plain_code
from cloister.shapes.codes.manifest import CodeRecords, count_suppressed
from cloister.shapes.codes.policy import CLASSIFICATIONS, GIVEN, GWAS, UtilityPolicy, parse_policy, policy_words
from cloister.shapes.generalization.format.data import (
    RECORDS,
    Generalization,
    Integers,
    PrivacySets,
    Sets,
    Uncovered,
    VisitsFile,
    sets_in,
    sets_of_records,
    size_in,
)
from cloister.shapes.generalization.format.manifest import (
    GeneralizationManifest,
    GeneralizationSettings,
    evidence_is_possible,
)
from cloister.shapes.generalization.format.released import DerivedTerms, data_frame, read_released, texts_in_file
from cloister.verification.codes_original import CodesOriginal, read_original
from cloister.verification.driver import Checker, ReleaseUnderCheck, Request, origins

from .verify import NO_SETS, GeneralizationGuarantee, GeneralizationSecret, verify

LEVEL, OF_ALL = "level", ("sim:", "sup:")
"""Utility policies by level and `GWAS` follow from the terms; those that begin like the others, from the original."""


def known_policy(
    manifest: GeneralizationManifest,
    released: Generalization,
    given: "str | Path | UtilityPolicy | None",
    codes: CodeSets | None,
) -> UtilityPolicy | None:
    """Return the utility policy of a release; one without sets if there is none, None if it is not known.

    Use the ``given`` policy, or its words; ``codes`` are the original.
    """
    asked = manifest.settings
    if asked.policy is None:
        return NO_SETS
    if isinstance(given, UtilityPolicy):
        return given
    if given is not None and not isinstance(given, str | Path):
        raise InputError(
            f"A utility policy is a UtilityPolicy, or words as on the command line, not {type(given).__name__}."
        )
    present = CodeSets.of_all(released.vocabulary, repeats=released.repeats) if codes is None else codes
    promised, wanted = policy_words(asked.policy), None if given is None else policy_words(str(given))
    if given is not None and (wanted is None or not wanted.fits(promised)):
        if codes is None and str(given).startswith(OF_ALL):
            raise InputError(
                f"The sets of the policy {given} are made of the codes of all patients, and it is not the one that "
                "the release names. Give the original with ",
                setting("original"),
            )
        return parse_policy(str(given), present)
    if promised is None or (codes is None and promised.kind not in (GWAS, LEVEL)):
        return None
    words = asked.policy
    if words.startswith(f"{LEVEL}:") and "/" not in words and asked.code_hierarchy in CLASSIFICATIONS:
        words = f"{words}/{asked.code_hierarchy}"
    try:
        return parse_policy(words, present)
    except InputError:
        # The codes that it was made of may all be suppressed.
        if codes is None and manifest.utility.suppressed_codes > 0:
            return NO_SETS
        raise


@dataclass(frozen=True, eq=False, repr=False)
class KnownPrivacy:
    """Privacy policies that a release is checked against."""

    promised: PrivacySets | None  # the one that it promises to keep to; None where sets of up to m codes are meant
    further: PrivacySets | None  # another one that was given
    m: int | None  # sets of up to so many codes are expected to be safe
    is_lacking: bool  # whether it promises to keep to one that is not known


def known_privacy(asked: GeneralizationSettings, request: Request, codes: CodeSets | None) -> KnownPrivacy:
    """Return the privacy policies that are known: the promised one first, by its name, and what else was given.

    The records are at hand where the original is, whatever else is given. A policy that was made of lists has no name,
    so that any may be it.
    """
    further, m = _given_privacy(request, asked, codes)
    promised = None
    if asked.m is None and asked.privacy == RECORDS and codes is not None:
        promised = sets_of_records(codes)
        further = None if further is None or further.spec == RECORDS else further
    elif asked.m is None and further is not None and asked.privacy in (further.spec, GIVEN):
        promised, further = further, None
    return KnownPrivacy(promised, further, m, promised is None and asked.m is None)


def _why_unknown(asked: GeneralizationSettings, privacy: KnownPrivacy) -> str:
    """Return why the promised privacy policy cannot be checked; empty where it is known."""
    if not privacy.is_lacking:
        return ""
    known = "the original" if asked.privacy == RECORDS else "it, under the name that the release says,"
    other = ""
    if privacy.further is not None:
        other = f". The one that was given, {privacy.further.spec}, is another; its sets hold"
    elif privacy.m is not None:
        other = f". Sets of up to {privacy.m} terms hold, but that is not what is promised"
    return (
        f"the privacy policy that the release promises to keep to, {asked.privacy}, is not part of it, since it lists "
        f"sets of codes of patients; whoever has {known} can check it{other}"
    )


def _given_privacy(
    request: Request, settings: GeneralizationSettings, codes: CodeSets | None
) -> tuple[PrivacySets | None, int | None]:
    """The privacy policy that the user gives, and m where that is meant."""
    given, m = request.privacy, request.m
    if given is None:
        return None, m
    if isinstance(given, PrivacySets):
        return (given, m) if given.m is None else (None, max(given.m, m or 1))
    if not isinstance(given, str | Path):
        raise InputError(
            f"A privacy policy is a PrivacyPolicy, or words as on the command line, not {type(given).__name__}."
        )
    size = size_in(str(given))
    if size is None:
        # A file of visits has the columns that the original has.
        words, columns = request.words, settings.input_columns
        visits = VisitsFile(request.visit, columns.codes, columns.code, words)
        return sets_in(str(given), codes, visits), m
    if m is not None:
        raise InputError(
            setting("m"),
            " and ",
            setting("privacy", str(given)),
            " both say which sets of codes are protected. Give one of them.",
        )
    return None, size


@dataclass(frozen=True)
class GeneralizedFile:
    """The data file, and what it says."""

    name: str
    frame: pl.DataFrame
    released: Generalization
    attributes: pl.DataFrame | None  # auxiliary attributes, in the order of the file


ReleaseFolder = ReleaseUnderCheck[GeneralizationManifest, GeneralizedFile, CodesOriginal]


class GeneralizationChecker(Checker[GeneralizationManifest, GeneralizedFile, CodesOriginal]):
    """The checker of generalized code sets."""

    def read_files(self, folder: Path, manifest: GeneralizationManifest) -> GeneralizedFile:
        """Read the data file and its terms."""
        ((name, typed),) = read_tables(folder, manifest).items()
        frame = typed.cast(pl.String)
        settings, auxiliary = manifest.settings, [] if manifest.attributes is None else [*manifest.attributes.columns]
        released = read_released(frame[CODES], settings.k, settings.m, repeats=settings.repeats)
        if not len(released.terms):
            raise InputError(f"{name} has no codes.")
        return GeneralizedFile(name, frame, released, frame.select(auxiliary) if auxiliary else None)

    def read_original(
        self, request: Request, manifest: GeneralizationManifest, _files: GeneralizedFile
    ) -> CodesOriginal | None:
        """Read the custodian's data."""
        original = read_original(request, manifest.settings)
        if manifest.attributes is not None and original is not None and original.given.attributes is None:
            raise lacking_attributes()
        return original

    def verify(self, release: ReleaseFolder) -> Verdict:
        """Recompute the guarantee."""
        manifest, file, original = release.manifest, release.files, release.original
        failures: list[str] = [] if _is_as_written(manifest, file) else ["the data file is not written as a release is"]
        if original is not None:
            failures += _consistency_errors(file.released, original.given, manifest)
        if failures:
            return Verdict(f"{file.name} was read", (), tuple(failures))
        released, (privacy, guarantee) = _read_release(release), _read_promise(release)
        codes = None if original is None else original.given.codes
        policy = known_policy(manifest, released, release.request.policy, codes)
        if not evidence_is_possible(manifest, released, policy):
            failures = [f"utility in {MANIFEST} does not follow from the data file"]
        guarantee = replace(guarantee, utility=policy if manifest.settings.by_sets else None)
        counted, secret = tuple(_count_sets(privacy, released, codes)), None
        if original is not None:
            places = origins(original.crosswalk, original.given.original_ids(), released.n_records)
            # of each released record, which has its line in the file
            origin = None if places is None else places[np.argsort(texts_in_file(released)[1])]
            secret = GeneralizationSecret(original.given.codes, origin)
            if not _attributes_fit(released, file, original.given, places):
                failures.append("auxiliary attributes are not those of the patients with these terms in the original")
        verdict = verify(released, guarantee, secret, release.findings())
        failures += verdict.failures
        return Verdict(verdict.how, (*verdict.checks, *counted), tuple(failures), verdict.unchecked)

    def derive(self, release: ReleaseFolder) -> DerivedTerms:
        """Return the parts that follow from the data file."""
        stated, attributes = release.manifest, release.files.attributes
        return DerivedTerms(release.files.released, stated.settings, stated.records.suppressed, attributes)

    def unmet_expectations(self, release: ReleaseFolder) -> list[str]:
        """Check the recipient's own k and m, and another privacy policy."""
        privacy, guarantee = _read_promise(release)
        released, failures = _read_release(release), list[str]()
        k, m = release.request.k or released.k, privacy.m or released.m
        if k > released.k or (m is not None and (released.m is None or m > released.m)):
            words = f"k = {k}" if m is None else f"k = {k} and m = {m}"
            verdict = verify(replace(released, k=k, m=m), guarantee)
            failures += [Message(f"as asked, with {words}: ", failure) for failure in verdict.failures]
        if (further := privacy.further) is not None:
            verdict = verify(replace(released, k=max(k, released.k), m=None), replace(guarantee, privacy=further))
            failures += [f"by the privacy policy {further.spec}: {failure}" for failure in verdict.failures]
        return failures


def _read_release(release: ReleaseFolder) -> Generalization:
    """The release; where the original is given, with the codes of that which are in no term: they are suppressed."""
    released, original = release.files.released, release.original
    if original is None:
        return released
    codes = original.given.codes
    number = {code: place for place, code in enumerate(codes.vocabulary)}
    place = np.array([number[code] for code in released.vocabulary], dtype=np.int32)
    gone = np.setdiff1d(np.arange(codes.n_codes, dtype=np.int32), place)
    terms = Sets(released.terms.offsets, place[released.terms.items])
    return replace(released, vocabulary=codes.vocabulary, terms=terms, suppressed=gone)


def _read_promise(release: ReleaseFolder) -> tuple[KnownPrivacy, GeneralizationGuarantee]:
    """The privacy policies that are known, and what the release promises of them."""
    settings, original = release.manifest.settings, release.original
    privacy = known_privacy(settings, release.request, None if original is None else original.given.codes)
    together = settings.uncovered is not Uncovered.SUPPRESS
    # Without its privacy policy the rest of a release can be checked all the same.
    return privacy, GeneralizationGuarantee(privacy.promised, None, together, _why_unknown(settings, privacy))


def _count_sets(privacy: KnownPrivacy, released: Generalization, codes: CodeSets | None) -> Iterator[str]:
    """How many sets of the privacy policies have codes of the release, or of the original."""
    present = set(released.vocabulary) | (set() if codes is None else set(codes.vocabulary))
    if released.repeats:
        present = {plain_code(code, repeats=True) for code in present}
    for policy in (privacy.promised, privacy.further):
        if policy is None:
            continue
        sets, names = policy.sets, policy.vocabulary
        if released.repeats:
            names = tuple((occurrence(name) or (name, 1))[0] for name in names)
        known = np.array([name in present for name in names], dtype=np.bool_)
        named = np.unique(sets.owners()[known[sets.items]]).size
        if not named:
            raise InputError(
                f"None of the {len(sets)} sets of the privacy policy {policy.spec} has a code of the release, so "
                "nothing was checked. Give the policy that the release names, with codes as the data write them, or "
                "the original with ",
                setting("original"),
            )
        which = (
            "" if policy is privacy.promised else f" {policy.spec}, which is checked in addition to the promised one,"
        )
        have = "set has" if len(sets) == 1 else "sets have"
        yield f"of the privacy policy{which} {named:,} of {len(sets):,} {have} codes of the release"


def _is_as_written(manifest: GeneralizationManifest, file: GeneralizedFile) -> bool:
    """Return whether the data file is in canonical form."""
    plain = data_frame(file.released, numbered=manifest.columns.id is not None).cast(pl.String)
    # Records whose terms are equal are in the order of their attributes.
    content = file.frame.select(CODES, *(() if file.attributes is None else file.attributes.columns))
    return file.frame.select(plain.columns).equals(plain) and content.equals(content.sort(content.columns))


def _consistency_errors(released: Generalization, given: GivenCodes, manifest: GeneralizationManifest) -> list[str]:
    """Codes of terms that the original does not have; other numbers of codes and records than there are."""
    codes, terms = given.codes, set(released.vocabulary)
    suppressed = count_suppressed(given.n_empty, released.k, codes.n_records - released.n_records)
    fits = manifest.records == CodeRecords.of(released.n_records, suppressed)
    counts = [] if fits else ["records are not those of the original"]
    if more := len(terms - set(codes.vocabulary)):
        have = "code is" if more == 1 else "codes are"
        return [f"{more} {have} in the data file, but not in the original", *counts]
    plain = {code: plain_code(code, repeats=codes.repeats) for code in codes.vocabulary}
    if len({plain[code] for code in plain.keys() - terms}) != manifest.utility.suppressed_codes:
        return ["utility.suppressed_codes are not those codes of the original that are in no term", *counts]
    if len(set(plain.values())) != manifest.utility.codes:
        return ["utility.codes are not those of the original", *counts]
    return counts


def _attributes_fit(
    released: Generalization, file: GeneralizedFile, original: GivenCodes, places: Integers | None
) -> bool:
    """Whether each record has its patient's attributes; without a crosswalk, some patient's with its terms.

    ``released``: over the codes of the original; ``places``: the record of the original behind each line, if known
    """
    attributes, given, codes = file.attributes, original.attributes, original.codes
    if attributes is None or given is None or attributes.columns != given.frame.columns:
        return attributes is None and given is None
    if places is not None:
        return attributes.equals(given.frame[places])
    own = np.split(released.term_of()[codes.items], codes.offsets[1:-1])
    recoded = replace(released, records=Sets.of(np.unique(terms[terms >= 0]).tolist() for terms in own))
    texts = pl.Series(CODES, [text or None for text in texts_in_file(recoded)[0]], dtype=pl.String)
    here, there = file.frame.select(CODES, *attributes.columns), given.frame.with_columns(texts)
    counts = there.group_by(here.columns).len("there")
    both = here.group_by(here.columns).len("here").join(counts, on=here.columns, how="left", nulls_equal=True)
    return bool((both["here"] <= both["there"].fill_null(0)).all())
