"""What a release of code sets is compared with, read again as it was read then."""

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
    """What only the custodian has: the code sets, and the crosswalk written with the release, if it is given."""

    given: GivenCodes
    crosswalk: pl.DataFrame | None


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
            attributes=request.attributes,
            **how_read(words),
            usual_delimiter=settings.delimiter,
        )
    return CodesOriginal(given, request.secret())
