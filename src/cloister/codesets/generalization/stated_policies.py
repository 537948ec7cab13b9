"""The policies that the manifest of generalized code sets names: as the user gives them, or made anew.

A release names its policies and does not hold them: their sets may be those of patients, and may name codes that are
suppressed. Codes by level and the diseases of genome-wide studies follow from the terms alone.

Privacy policies are read as they are stated; nothing is reduced here. The verifier reads them with this
file, so that it imports no kernels.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from cloister.codesets.data import CodeSets
from cloister.codesets.encode import encode, occurrence, plain_code
from cloister.codesets.policy import (
    CLASSIFICATIONS,
    GIVEN,
    GWAS,
    UtilityPolicy,
    parse_policy,
    policy_words,
    read_policy_file,
)
from cloister.codesets.request import CodesExpectation, VisitsFile
from cloister.errors import InputError, setting
from cloister.io import Source, as_text, read_table
from cloister.io.code_lists import CodeColumns, code_lists
from cloister.io.columns import CODE_NAMES, CODES_NAMES, ID_NAMES

from .data import ALL, RECORDS, VISITS, Generalization, PrivacySets, Sets
from .manifest import GeneralizationManifest, GeneralizationSettings
from .verify import NO_SETS

DIGITS = 10
"""Digits of a number of codes that nobody knows."""

LEVEL, OF_ALL = "level", ("sim:", "sup:")
"""Utility policies by level and `GWAS` follow from the terms; those that begin like the others, from the original."""


def known_policy(
    stated: GeneralizationManifest,
    released: Generalization,
    given: "str | Path | UtilityPolicy | None",
    codes: CodeSets | None,
) -> UtilityPolicy | None:
    """Return the utility policy of a release; one without sets if there is none, None if it is not known.

    A policy that is ``given``, or its words, is taken; ``codes`` are the original.
    """
    asked = stated.settings
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
                f"The sets of the policy {given} are made of the codes of all patients, and it is not the one that the "
                f"release names. Give the original with {setting('original')}."
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
        if codes is None and stated.utility.suppressed_codes > 0:
            return NO_SETS
        raise


def sets_named(privacy: PrivacySets, released: Generalization, codes: CodeSets | None) -> int:
    """Return how many sets of a privacy policy have a code of the release, or of the original."""
    present = set(released.vocabulary) | (set() if codes is None else set(codes.vocabulary))
    names = privacy.vocabulary
    if released.repeats:
        present = {plain_code(code, repeats=True) for code in present}
        names = tuple((occurrence(name) or (name, 1))[0] for name in names)
    sets, known = privacy.sets, np.array([name in present for name in names], dtype=np.bool_)
    found = len(set(sets.owners()[known[sets.items]].tolist()))
    if not found:
        raise InputError(
            f"None of the {len(sets)} sets of the privacy policy {privacy.spec} has a code of the release, so nothing "
            "was checked. Give the policy that the release names, with codes as the data write them, or the original "
            f"with {setting('original')}."
        )
    return found


@dataclass(frozen=True, eq=False, repr=False)
class KnownPrivacy:
    """Privacy policies that a release is checked against.

    Attributes
    ----------
    promised : the one that it promises to keep to; None where sets of up to m codes are meant, and where it is lacking
    further : another one that was given
    m : sets of up to so many codes are expected to be safe
    """

    promised: PrivacySets | None
    further: PrivacySets | None
    m: int | None
    is_lacking: bool


def known_privacy(asked: GeneralizationSettings, expectation: CodesExpectation, codes: CodeSets | None) -> KnownPrivacy:
    """Return the privacy policies that are known: the promised one first, by its name, and what else was given.

    The records are at hand where the original is, whatever else is given. A policy that was made of lists has no name,
    so that any may be it.
    """
    given, m = _given_privacy(expectation, codes), expectation.m
    if isinstance(given, int):
        given, m = None, given
    if asked.m is not None:
        return KnownPrivacy(None, given, m, False)
    if asked.privacy == RECORDS and codes is not None:
        further = None if given is None or given.spec == RECORDS else given
        return KnownPrivacy(sets_of_records(codes), further, m, False)
    if given is not None and asked.privacy in (given.spec, GIVEN):
        return KnownPrivacy(given, None, m, False)
    return KnownPrivacy(None, given, m, True)


def lacking(asked: GeneralizationSettings, privacy: KnownPrivacy) -> InputError:
    """Return what is said of a release that is in order, but whose privacy policy is not known."""
    give = (
        f"Give the original with {setting('original')}."
        if asked.privacy == RECORDS
        else f"Give it with {setting('privacy')}, by the name that the release says."
    )
    other = ""
    if privacy.further is not None:
        other = f" The one that was given, {privacy.further.spec}, is another; its sets hold."
    elif privacy.m is not None:
        other = f" Sets of up to {privacy.m} terms hold, but that is not what is promised."
    return InputError(
        f"The files are in order, but the privacy policy that the release promises to keep to, {asked.privacy}, is not "
        f"among them, since it tells sets of codes of patients.{other} {give}"
    )


def _given_privacy(expectation: CodesExpectation, codes: CodeSets | None) -> PrivacySets | int | None:
    """The privacy policy that the user gives, or m where that is meant."""
    given = expectation.privacy
    if given is None:
        return None
    if isinstance(given, PrivacySets):
        return given if given.m is None else max(given.m, expectation.m or 1)
    if not isinstance(given, str | Path):
        raise InputError(
            f"A privacy policy is a PrivacyPolicy, or words as on the command line, not {type(given).__name__}."
        )
    words = str(given)
    kind, colon, rest = words.partition(":")
    if colon and kind == ALL:
        if not (rest.isascii() and rest.isdigit() and 0 < len(rest) < DIGITS) or int(rest) < 1:
            raise InputError(
                f"The privacy policy {words!r} needs a whole number from 1 on after the colon, as in all:2."
            )
        if expectation.m is not None:
            raise InputError(
                f"{setting('m')} stands for all sets of so many codes, as {setting('privacy', words)} does. "
                "Give one of them."
            )
        return int(rest)
    if words != RECORDS:
        return sets_of_visits(rest, expectation.visits) if colon and kind == VISITS else sets_of_json(words)
    if codes is None:
        raise InputError(
            "The privacy policy records is all codes of each patient, which only the original has. Give it with "
            f"{setting('original')}."
        )
    return sets_of_records(codes)


VISIT_NAMES = ("visit_id", "visit", "encounter_id", "visit_occurrence_id")
"""Names that a column telling visits apart is looked for by, the likeliest first."""

VISIT = "visit of each line"


def sets_of(given: Iterable[Iterable[str]], spec: str) -> PrivacySets:
    """Return sets of codes; codes that do not occur in the data are allowed."""
    sets = [set(codes) for codes in given]
    if not sets or not all(sets):
        empty = sum(not codes for codes in sets)
        raise InputError(
            f"A privacy policy needs sets of codes, but {empty} of {len(sets)} have none. Leave them out."
            if sets
            else "A privacy policy needs at least one set of codes."
        )
    vocabulary = tuple(sorted(set().union(*sets)))
    number = {code: place for place, code in enumerate(vocabulary)}
    return PrivacySets(vocabulary, Sets.of([number[code] for code in codes] for codes in sets), spec)


def sets_of_json(path: str | Path) -> PrivacySets:
    """Read a policy: a list of lists of codes."""
    path = Path(path)
    return sets_of(read_policy_file(path, "privacy"), path.name or str(path))


def sets_of_visits(path: str | Path, read_as: VisitsFile | None = None) -> PrivacySets:
    """Read codes that were recorded together: one visit a line, or one code a line.

    Patients' ids are not looked at where each visit is a line.
    """
    asked = read_as or VisitsFile()
    if str(path) in ("", "."):
        raise InputError("The privacy policy visits: names no file, as in visits:visits.csv.")
    source = read_table(path, encoding=asked.encoding, delimiter=asked.delimiter, missing=asked.missing)
    columns = _columns(source, asked)
    if columns.codes is not None:
        source = replace(source, frame=_lines(source, columns.codes, asked.visit))
    found = encode(code_lists(source, columns, asked.missing), drop_empty=True)
    return PrivacySets(found.vocabulary, Sets(found.offsets, found.items), f"{VISITS}:{source.name}")


def sets_of_records(codes: CodeSets) -> PrivacySets:
    """All the codes of each patient."""
    return PrivacySets(codes.vocabulary, Sets(codes.offsets, codes.items), RECORDS)


def _lines(source: Source, codes: str, visit: str | None) -> pl.DataFrame:
    if visit is None or source.frame[codes].dtype.is_float():
        return source.frame.select(codes)
    ids = as_text(source.frame[visit])
    absent = int((ids.is_null() | (ids == "")).sum())
    if absent:
        lines = "line has" if absent == 1 else "lines have"
        raise InputError(
            f"{absent} {lines} no {visit!r} in {source.name}, so that it cannot be told which visit they are of. Write "
            "one on each.",
            file=source.name,
            column=visit,
        )
    frame = pl.DataFrame({VISIT: ids, codes: as_text(source.frame[codes])})
    return frame.group_by(VISIT, maintain_order=True).agg(pl.col(codes).str.join(" ")).select(codes)


def _columns(source: Source, asked: VisitsFile) -> CodeColumns:
    """Which column holds codes, and where each has a line which one tells visits apart."""
    present, name = source.frame.columns, source.name
    if asked.visit is not None and asked.visit not in present:
        message = f"Column {asked.visit!r} was asked for with {setting('visit')}, but {name} has no such column."
        raise InputError(message, file=name, column=asked.visit)
    named = [(asked.codes, True), (asked.code, False)]
    usual = [*((column, True) for column in CODES_NAMES), *((column, False) for column in CODE_NAMES)]
    column, is_wide = next(((column, wide) for column, wide in (*named, *usual) if column in present), (None, False))
    if column is None:
        raise InputError(
            f"{name} has no column of codes: none is called {', '.join((*CODES_NAMES, *CODE_NAMES))}, or as in the "
            "data. Rename it.",
            file=name,
        )
    if is_wide:
        return CodeColumns(codes=column)
    visit = asked.visit or next((one for one in (*VISIT_NAMES, *ID_NAMES) if one in present), None)
    if visit is None:
        raise InputError(
            f"{name} has one code a line, so a column must tell visits apart, but it has none of "
            f"{', '.join((*VISIT_NAMES, *ID_NAMES))}. Name it with {setting('visit')}.",
            file=name,
        )
    return CodeColumns(id=visit, code=column)
