"""The original of a release of code sets, read again with the same settings for verification."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from cloister.errors import InputError
from cloister.io import CodeColumns
from cloister.settings.reading import how_read
from cloister.shapes.codes.data import CodeSets, GivenCodes, read_given
from cloister.shapes.codes.manifest import SharedCodesSettings
from cloister.verification.driver import Request


@dataclass(frozen=True)
class CodesOriginal:
    """The original for verification, which only the custodian has: code sets, and the crosswalk if it was given."""

    given: GivenCodes
    crosswalk: pl.DataFrame | None


def read_original(request: Request, settings: SharedCodesSettings) -> CodesOriginal | None:
    """Return the original code sets and the crosswalk; None if the request names no original."""
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
            attributes=request.attributes,
            **how_read(words),
            usual_delimiter=settings.delimiter,
        )
    return CodesOriginal(given, request.secret())
