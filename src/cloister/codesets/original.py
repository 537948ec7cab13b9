"""What a release of code sets is compared with, read again as it was read then."""

from pathlib import Path

from cloister.checker import Request
from cloister.errors import InputError
from cloister.io import CodeColumns

from .data import CodeSets
from .manifest import SharedCodesSettings
from .request import CodesExpectation, CodesOriginal, GivenCodes, VisitsFile, read_given


def read_original(request: Request, settings: SharedCodesSettings) -> CodesOriginal | None:
    """Return the original and its crosswalk; the original may have been read before."""
    given, words = request.original, request.words
    if given is None:
        return None
    if isinstance(given, CodeSets):
        given = GivenCodes(given)
    if not isinstance(given, GivenCodes):
        if not isinstance(given, str | Path):
            raise InputError("The original of code sets is given as the file that they were read from.")
        given = read_given(
            given,
            CodeColumns(**settings.input_columns.model_dump()),
            repeats=settings.repeats,
            drop_empty=settings.drop_empty,
            encoding=words.encoding,
            delimiter=words.delimiter,
            missing=words.missing,
            usual_delimiter=settings.delimiter,
        )
    return CodesOriginal(given, request.secret())


def expectation_of(request: Request, settings: SharedCodesSettings) -> CodesExpectation:
    """Return what is expected of code sets; a file of visits has the columns that the original has."""
    words, columns = request.words, settings.input_columns
    visits = VisitsFile(
        request.visit, columns.codes, columns.code, words.encoding, words.delimiter, tuple(words.missing)
    )
    return CodesExpectation(request.k, request.m, request.privacy, request.policy, visits)
