"""Privacy policies as they are stated: sets of codes in a file, or of each patient; nothing is reduced here.

The verifier reads policies with this file, so that it imports no kernels.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cloister.codesets.data import CodeSets
from cloister.codesets.encode import encode
from cloister.errors import InputError
from cloister.io.code_lists import CODES_NAMES, CodeColumns, code_lists
from cloister.io.read import Source, read_table

from .sets import Sets

VISIT_NAMES = ("visit_id", "visit", "encounter_id", "visit_occurrence_id")
"""Names that a column telling visits apart is looked for by, the likeliest first."""

RECORDS, VISITS, ALL = "records", "visits", "all"
"""Words that a policy begins with where it is no JSON file."""


@dataclass(frozen=True, eq=False, repr=False)
class StatedSets:
    """Sets of codes as a policy states them.

    Attributes
    ----------
    vocabulary : the codes that are named, in the order of their UTF-8 bytes
    sets : positions in the vocabulary, in the order in which the policy has them
    spec : where they came from, as on the command line
    m : None; sets of all m codes are not stated one by one
    """

    vocabulary: tuple[str, ...]
    sets: Sets
    spec: str
    m: int | None = None

    def __repr__(self) -> str:
        return f"StatedSets({self.spec!r}, {len(self.sets)} sets)"


def sets_of(given: Iterable[Iterable[str]], spec: str) -> StatedSets:
    """Return sets of codes; codes that do not occur in the data are allowed.

    Raises
    ------
    InputError
        There is no set, or one is empty.
    """
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
    return StatedSets(vocabulary, Sets.of([number[code] for code in codes] for codes in sets), spec)


def sets_of_json(path: str | Path) -> StatedSets:
    """Read a policy: a list of lists of codes.

    Raises
    ------
    InputError
        The file is not that.
    """
    path = Path(path)
    name = path.name or str(path)
    content = _content(path, name)
    problem = None
    if not isinstance(content, list) or not all(isinstance(codes, list) for codes in content):
        problem = "is not a list of lists of codes"
    elif not all(isinstance(code, str) for codes in content for code in codes):
        problem = "has codes that are not text; write them in quotes"
    if problem is not None:
        message = f'The privacy policy {name} {problem}, as in [["401.0", "480.1"], ["296.00"]].'
        raise InputError(message, file=name)
    return sets_of(content, name)


def sets_of_visits(path: str | Path) -> StatedSets:
    """Read codes that were recorded together: one visit a line, or one code a line.

    Raises
    ------
    InputError
        The file cannot be read, or no visit has a code.
    """
    return _visits(read_table(path))


def sets_of_records(codes: CodeSets) -> StatedSets:
    """All the codes of each patient."""
    return StatedSets(codes.vocabulary, Sets(codes.offsets, codes.items), RECORDS)


def _visits(source: Source) -> StatedSets:
    """Visits of a file; patients' ids are not looked at where each visit is a line."""
    present = source.frame.columns
    wide = [column for column in CODES_NAMES if column in present]
    visit = next((column for column in VISIT_NAMES if column in present), None)
    if wide:
        source = replace(source, frame=source.frame.select(wide[:1]))
    found = encode(code_lists(source, CodeColumns(id=None if wide else visit)), drop_empty=True)
    return StatedSets(found.vocabulary, Sets(found.offsets, found.items), f"{VISITS}:{source.name}")


def _content(path: Path, name: str) -> Any:
    reason = "cannot be read"
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        reason = "is not there; a policy is a JSON file, all:2, visits:FILE or records"
    except IsADirectoryError:
        reason = "is a folder; a policy is a JSON file, all:2, visits:FILE or records"
    except OSError:
        pass
    except (ValueError, RecursionError):
        reason = "is not JSON"
    raise InputError(f"The privacy policy {name} {reason}.", file=name)
