"""Suggested roles of the columns of code lists and of coded events."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from cloister.errors import InputError, setting
from cloister.evidence.column import WORDS_OF_CODES, Guess, are_codes, is_id_by_name, may_be_id_by_name, plain_name
from cloister.hierarchy import icd9, icd10
from cloister.io import as_text
from cloister.io.codes import check_layout, split_at
from cloister.io.columns import AGE_NAMES, CODE_NAMES, CODES_NAMES, ID_NAMES, Header, check_once
from cloister.shapes.claims.method.first_plan import LOOKED_AT, are_dates

ID, CODE, CODES, AGE, DATE, ANCHOR, NOT_RELEASED = "id", "code", "codes", "age", "date", "anchor", "not released"
NUMBER = re.compile(r"[0-9]{1,3}(\.[0-9]+)?")
FEW_ROWS = 20  # in so few, codes may all be different
MOSTLY = 0.5
"""A column is one of codes by its content if so many of its values are codes of diagnoses."""


@dataclass(frozen=True, kw_only=True)
class NamedColumns:
    """The columns that a user named, by role; one that is None is guessed."""

    id: str | None = None
    codes: str | None = None
    code: str | None = None
    age: str | None = None
    date: str | None = None

    def check(self, frame: pl.DataFrame, file: str, example: str) -> None:
        """Refuse names of columns that the file does not have, and names that contradict each other."""
        asked = [name for name in vars(self).values() if name is not None]
        usual = (*ID_NAMES, *CODES_NAMES, *CODE_NAMES, *AGE_NAMES)
        header = Header(file, frame.columns, (*usual, *asked), example)
        header.check(*asked)
        self.check_roles(file)

    def check_roles(self, file: str | None = None) -> None:
        """Refuse names that contradict each other."""
        check_once([*vars(self).values()], file)
        check_layout(self.codes, self.code)
        if self.age is not None and self.date is not None:
            raise InputError("Give ", setting(AGE), " or ", setting(DATE), ", not both.", file=file)


NONE_NAMED = NamedColumns()


def guess_codes(frame: pl.DataFrame, file: str, named: NamedColumns = NONE_NAMED) -> list[Guess]:
    """Suggest roles for the columns of a file of code sets: codes, and an id if there is one."""
    named.check(frame, file, "id,codes")
    found: dict[str, Guess] = {}
    identifier = named.id or _first(frame, _is_id) or _first(frame, _repeats_for_a_patient)
    if identifier is not None:
        found[identifier] = Guess(identifier, ID, "sure", "as asked" if named.id else "by its name")
    rest = [name for name in frame.columns if name not in found]
    wanted = named.codes or named.code
    codes = _codes(frame, rest) if wanted is None else Guess(wanted, CODES, "sure", "as asked")
    if codes is None:
        raise InputError(
            f"No column of {file} was recognised as codes. Name it with ",
            setting("codes"),
            " (all codes of a patient) or ",
            setting("code"),
            " (one code a line).",
            file=file,
        )
    if identifier is None and (identifier := _only_id(frame, codes.column)) is not None:
        found[identifier] = Guess(identifier, ID, "likely", "the only column whose values repeat like ids")
    repeats = identifier is not None and frame[identifier].n_unique() < frame.height
    found[codes.column] = Guess(codes.column, CODE if repeats else CODES, codes.sureness, codes.why)
    return _all(frame, found)


def guess_events(frame: pl.DataFrame, file: str, named: NamedColumns = NONE_NAMED) -> list[Guess]:
    """Suggest roles for the columns of a file of coded events: id, code, and age or date."""
    named.check(frame, file, "id,code,age")
    identifier = named.id or _first(frame, _is_id) or _first(frame, _repeats_for_a_patient)
    rest = [name for name in frame.columns if name not in (identifier, *vars(named).values())]
    ages = frame.select(name for name in rest if "age" in plain_name(name).split("_"))
    age = named.age or _first(ages, lambda column: all(map(NUMBER.fullmatch, _values(column))))
    dates = [name for name in rest if name != age and are_dates(_values(frame[name]))]
    codes = _codes(frame, [name for name in rest if name != age and name not in dates])
    codes = Guess(named.code, CODE, "sure", "as asked") if named.code else codes
    times = _of_times(named, age, dates)
    lacking = [what for what, one in ((ID, identifier), (CODE, codes), (AGE, times)) if not one]
    if identifier is None or codes is None or lacking:
        options = [part for what in lacking for part in (" and ", setting(what))][1:]
        instead = (" (or ", setting(DATE), ", instead of an age)") if AGE in lacking else ()
        what = f"No column of {file} was recognised as {' or as '.join(lacking)}. Name it with "
        raise InputError(what, *options, *instead, ".", file=file)
    found = {identifier: Guess(identifier, ID, "sure", "as asked" if named.id else "by its name")}
    found[codes.column] = Guess(codes.column, CODE, codes.sureness, codes.why)
    return _all(frame, found | times)


def _of_times(named: NamedColumns, age: str | None, dates: Sequence[str]) -> dict[str, Guess]:
    """Return the column of ages, else those of event dates and of the reference date if there is one."""
    if age is not None and not named.date:
        return {age: Guess(age, AGE, "sure", "as asked" if named.age else "by name and content")}
    birth = next((name for name in dates if re.search(r"birth|(^|_)dob($|_)", plain_name(name))), None)
    events = [named.date] if named.date else [name for name in dates if name != birth] or list(dates)
    if not events:
        return {}
    found = {
        events[0]: Guess(events[0], DATE, *(("sure", "as asked") if named.date else ("likely", "dates, by content")))
    }
    if birth is not None and birth != events[0]:
        found[birth] = Guess(birth, ANCHOR, "sure", "dates of birth, by name and content")
    return found


def unknown_codes(texts: Sequence[str]) -> float:
    """Return the share of codes that ICD-9-CM or ICD-10-CM does not contain, for the one that contains more."""
    return min(len(each.outside(list(texts))) for each in (icd9(), icd10())) / max(1, len(texts))


def _unknown_to_both(texts: list[str]) -> float:
    """Return the share of codes that neither ICD-9-CM nor ICD-10-CM contains."""
    return len({*icd9().outside(texts)} & {*icd10().outside(texts)}) / max(1, len(texts))


def _all(frame: pl.DataFrame, found: dict[str, Guess]) -> list[Guess]:
    return [found.get(name) or Guess(name, NOT_RELEASED, "sure", "no part of this shape") for name in frame.columns]


def _codes(frame: pl.DataFrame, names: Sequence[str]) -> Guess | None:
    """Return the column of codes: by name and content, else by one of them; a number unique in each row is no code."""
    numbered = [name for name in names if _numbers_rows(frame[name])]
    names = [name for name in names if name not in numbered] or names
    by_name = [name for name in names if WORDS_OF_CODES.search(plain_name(name))]
    cells = {name: split_at(pl.Series(_values(frame[name]), dtype=pl.String), None) for name in names}
    words = {name: sorted({word for value in cells[name] for word in value.split()}) for name in names}
    by_content = [
        name
        for name, held in words.items()
        if held and (are_codes(held) or _unknown_to_both(held) < MOSTLY) and not are_dates(held)
    ]
    both = sorted(
        (name for name in by_name if name in by_content), key=lambda name: -_share_spelled_as_codes(words[name])
    )
    if both:
        return Guess(both[0], CODES, "sure", "by name and content")
    if by_name or by_content:
        return Guess((by_name or by_content)[0], CODES, "likely", "by its name" if by_name else "by its content")
    return Guess(names[0], CODES, "not sure", "the only column there is") if len(names) == 1 else None


def _values(column: pl.Series) -> list[str]:
    # sorted, so that the order of the rows plays no part
    return as_text(column).drop_nulls().unique().sort().head(LOOKED_AT).to_list()


def _share_spelled_as_codes(words: Sequence[str]) -> float:
    """Return the share of texts with a letter or a decimal point, as in codes but not in plain numbers."""
    return sum(re.search(r"[A-Za-z.]", word) is not None for word in words) / max(1, len(words))


def _repeats_for_a_patient(column: pl.Series) -> bool:
    """Return whether values repeat in a column with a name such as patient_id."""
    return may_be_id_by_name(column.name) and 1 < column.n_unique() < column.len()


def _only_id(frame: pl.DataFrame, codes: str) -> str | None:
    """Return the only column with more values than rows of each, where each row has one code; None if there is none."""
    if split_at(as_text(frame[codes]), None).str.contains(r"\S\s+\S").any():
        return None
    distinct = {name: frame[name].n_unique() for name in frame.columns if name != codes}
    repeated = [name for name, count in distinct.items() if count < frame.height < count * count]
    return repeated[0] if len(repeated) == 1 else None


def _numbers_rows(column: pl.Series) -> bool:
    """Return whether a column consists of unique numbers, in a table of many rows."""
    text = as_text(column)
    is_number = text.str.contains(r"^[0-9]+$").all()
    return column.len() > FEW_ROWS and bool(is_number) and text.n_unique() == text.len()


def _first(frame: pl.DataFrame, holds: Callable[[pl.Series], bool]) -> str | None:
    return next((name for name in frame.columns if holds(frame[name])), None)


def _is_id(column: pl.Series) -> bool:
    return is_id_by_name(column.name)
