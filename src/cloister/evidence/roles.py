"""Suggest the role of a column by content, name and label; undecided if none of them gives evidence.

A quasi-identifier needs evidence that outsiders may know it. A column is dropped where it identifies, and sensitive
where it holds diagnoses or treatments. The rest is undecided: nobody has looked at it yet.
"""

import re

import numpy as np

from cloister.hierarchy import parse_hierarchy
from cloister.risk.column_names import (
    BIRTH,
    CLINICAL,
    DATE_PART,
    FLAG_OF_SEX,
    PLACE,
    STAFF,
    is_about,
    is_named_age,
    is_named_birth_year,
    is_named_ethnicity,
    is_named_sex,
    is_named_survey_weight,
    is_named_zip,
    words_of,
)
from cloister.risk.identifiers import CLASSES, is_named_number, what_a_name_says

from . import hierarchies
from .column import DATE, FEW, MANY_KINDS, NEARLY_ALL, UNIQUE_SHARE, Column, Guess, Sureness, are_codes
from .suspicions import OF_NAMES_AND_PLACES, suspicion

ID, PATIENT, QUASI, SENSITIVE, DROP, UNDECIDED = (
    "id", "patient", "quasi-identifier", "sensitive", "drop", "undecided",
)  # fmt: skip
MOST = 0.8  # share of the records that decides what a column holds whose name says it, too
OLDEST_AGE = 130
FREE = 0.5  # share of the records with a text of several words that no other has

YEAR = r"(18|19|20)[0-9]{2}(\.0)?"
AGE_BAND = (
    r"[\[(]?\s*[0-9]{1,3}\s*(-|–|—|to|_|,)\s*[0-9]{1,3}\s*[\])]?(\s*(y|yr|yrs|years))?"
    r"|[<>≥≤]=?\s*[0-9]{1,3}|[0-9]{1,3}\s*(\+|plus|and (over|older|above|under|more)|or (over|older|more))"
    r"|(under|over)\s*[0-9]{1,3}"
)
FORMS_OF_DATES = {
    "dd.mm.yyyy": r"\d{1,2}\.\d{1,2}\.\d{2,4}",
    "dd/mm/yyyy or mm/dd/yyyy": r"\d{1,2}/\d{1,2}/\d{2,4}",
    "dd-mm-yyyy": r"\d{1,2}-\d{1,2}-\d{4}",
    "dd-Mon-yyyy": r"\d{1,2}[- ][A-Za-z]{3}[- ]\d{2,4}",
    "yyyy/mm/dd": r"\d{4}/\d{1,2}/\d{1,2}",
    "mm/yyyy": r"(0?[1-9]|1[0-2])[/.-](18|19|20)\d{2}",
    "yyyy-mm": r"(18|19|20)\d{2}[/-](0[1-9]|1[0-2])",
}
DATES = (rf"{DATE}|{YEAR}", DATE, *(rf"{pattern}( .*)?" for pattern in FORMS_OF_DATES.values()))
TWO_WORDS = r"\S+\s+\S.*"
FORMS_OF_TEXT = (AGE_BAND, *DATES, TWO_WORDS, *OF_NAMES_AND_PLACES)
"""What nearly every column that has no numbers is asked for."""

SEXES = frozenset(
    ("m", "f", "w", "d", "x", "h", "male", "female", "man", "woman", "men", "women", "boy", "girl", "divers", "diverse",
     "männlich", "weiblich", "mann", "frau", "homme", "femme", "hombre", "mujer", "vrouw", "maschio", "femmina",
     "other", "unknown")
)  # fmt: skip
"""What sexes are called, whatever their column is."""

KINDS_OF_PEOPLE = frozenset(
    ("marital", "married", "language", "religion", "region", "country", "nationality", "state", "education",
     "educational", "occupation", "profession", "job", "employment", "work", "insurance", "payer", "smoke", "smokes",
     "smoker", "smoking", "citizenship", "residence", "home", "urban", "rural", "province", "canton", "workclass",
     "veteran", "familienstand", "nationalitat", "nationalitaet", "staatsangehorigkeit", "staatsangehoerigkeit",
     "bundesland", "land", "beruf", "bildung", "krankenkasse", "versicherung", "ridreth", "dmdeduc", "dmdmartl",
     "educa", "professione", "profesion", "profissao", "zawod")
)  # fmt: skip
OF_THE_BODY = frozenset(
    ("height", "weight", "bmi", "waist", "income", "salary", "poverty", "wage", "gewicht", "groesse", "grosse", "poids",
     "taille", "peso", "einkommen", "gehalt", "bmxwt", "bmxht", "bmxbmi", "indfmpir")
)  # fmt: skip
OF_NAMES = frozenset(
    ("patient", "patients", "person", "subject", "participant", "code", "codes", "cd", "desc", "description",
     "name", "group", "category", "cat", "status", "type", "level", "class", "of", "at", "in", "the", "is",
     "has", "ever", "now", "current", "native", "home", "origin", "birth", "first", "main", "primary", "usual", "own",
     "background", "standing", "self", "reported", "recode", "recoded", "ssa", "fips", "year", "years", "yrs", "cm",
     "kg", "lbs", "inch", "household", "hh", "annual", "monthly", "family", "work", "n", "num", "number", "1", "2", "3",
     "4", "5", "100", "highest", "completed", "attained")
)  # fmt: skip
"""Words that do not change what a name is about: `residence_type`, `Race1`, `country of birth`."""

MOST_SETS = 1_000  # values that are looked through for sets of codes
ROW_NAMES = re.compile(r"(?i)\.?row[._ ]?names?")  # as R writes them
CODED_NAMES = re.compile(r"[a-z](age|sex|gender)")  # as surveys write them: `iage`, `isex`
PARTS_OF_BIRTHS = DATE_PART - {"year", "yr", "jahr", "annee", "ano"} | {"m", "d"}
AGE_AT = re.compile(r"age(?:at|entry|enrol|start|base|diag|dx|onset|death|mth|month|yr|year)[a-z]*")
"""Names of ages as registers write them: `ageentry`, `agemth`."""


def suggest_role(column: Column) -> Guess:
    """Suggest the role of a column that distinguishes no patients."""
    if not column.n_values:
        return Guess(column.name, DROP, "sure", "it is empty")
    found = (
        _age(column) or _birth(column) or _date(column) or _sex(column) or _postal(column) or _of_a_person(column)
        or _code_sets(column) or _identifying(column) or _clinical(column)
    )  # fmt: skip
    if found is None and column.numbers_rows:
        return Guess(column.name, DROP, "likely", "it numbers the rows: each whole number of a range occurs once")
    if found is None and column.is_key and ROW_NAMES.fullmatch(column.name):
        return Guess(column.name, DROP, "likely", "it names the rows: by its name, and each value occurs once")
    if found is None and column.is_key and not column.is_measured and is_named_number(column.name):
        return Guess(column.name, DROP, "likely", "a number or code by its name, and each value occurs once")
    return found or Guess(column.name, UNDECIDED, "not sure", suspicion(column))


def build(column: Column, why: str, words: str, sureness: Sureness = "sure") -> Guess:
    """Suggest a quasi-identifier with a hierarchy; a few values that the hierarchy does not cover are read as missing.

    A column whose hierarchy fails all the same is dropped, with the reason.
    """
    values = column.values.to_list()
    odd = parse_hierarchy(words).outside(values)
    if odd and column.share(~column.values.is_in(odd).to_numpy()) >= MOST:
        values = [value for value in values if value not in {*odd}]
        n = int(column.records[column.values.is_in(odd).to_numpy()].sum())
        what = "number" if words.startswith(hierarchies.INTERVAL) else "date"
        why = f"{why}; {n:,} records have no {what} there and are read as missing"
    if hierarchies.covers(words, column.name, values):
        return Guess(column.name, QUASI, sureness, why, words)
    return Guess(
        column.name, DROP, "likely", f"{why}, but {len(odd)} of its values are not: correct them, or name them missing"
    )


def _age(column: Column) -> Guess | None:
    coded = CODED_NAMES.fullmatch(column.name)
    is_coded = coded[1] == "age" if coded else column.are_numbers and AGE_AT.fullmatch(column.name) is not None
    is_named = column.speaks_of(is_named_age) or is_coded
    if not is_named:
        is_few = not column.are_numbers and 3 <= column.n_values <= MANY_KINDS
        is_band = is_few and column.share_like(AGE_BAND) >= 0.9
        return Guess(column.name, QUASI, "likely", "ranges of ages, by content", "suppress") if is_band else None
    open_ended, plausible = hierarchies.ages(column), column.share_between(0, OLDEST_AGE)
    if plausible >= MOST and _are_groups(column):
        return Guess(column.name, QUASI, "sure", "groups of ages, by name and few whole numbers", "suppress")
    n_read = column.share(~column.values.is_in(parse_hierarchy(open_ended).outside(column.values.to_list())).to_numpy())
    if plausible >= MOST or (n_read >= MOST and plausible > 0.5):
        return build(column, "ages, by name and content", open_ended, "likely" if is_coded else "sure")
    if column.share_like(AGE_BAND) >= MOST or column.are_kinds:
        return Guess(column.name, QUASI, "sure", "groups of ages, by name and content", "suppress")
    return Guess(column.name, DROP, "likely", "ages by its name, and its values cannot be generalized")


def _are_groups(column: Column) -> bool:
    """Whether an age is coded: few small whole numbers, in a column whose name says more than `age`."""
    known = column.numbers[~np.isnan(column.numbers)]
    is_coded = column.is_whole and column.n_values <= FEW and known.max(initial=0) <= 20
    return is_coded and not column.words <= {"age", "ages", "years", "yrs", "alter", "edad", "eta", "idade"}


def _birth(column: Column) -> Guess | None:
    is_birth = column.speaks_of(is_named_birth_year) or not BIRTH.isdisjoint(column.words)
    if not is_birth:
        return None
    if column.are_numbers and not PARTS_OF_BIRTHS.isdisjoint(column.words):
        return Guess(column.name, DROP, "likely", "part of a date of birth, by name and numbers")
    if column.mostly(YEAR):
        return build(column, "years of birth, by name and content", hierarchies.birth_years(column))
    if column.mostly(DATE):
        return build(column, "dates of birth, by name and content", hierarchies.births(column))
    return None


def _date(column: Column) -> Guess | None:
    if column.are_numbers:
        return _birth_without_form(column)
    dates_or_years, dates, *others = column.shares_like(DATES)
    if dates_or_years >= NEARLY_ALL and dates > UNIQUE_SHARE:
        suggested = what_a_name_says(column.name)
        sureness: Sureness = "sure" if suggested is not None and suggested.letter == "C" else "likely"
        return build(column, "dates, by content", hierarchies.DATES, sureness)
    for form, share in zip(FORMS_OF_DATES, others, strict=True):
        if share >= NEARLY_ALL:
            why = f"dates as {form}: name the format with date_format, or write them YYYY-MM-DD"
            return Guess(column.name, DROP, "likely", why)
    return _birth_without_form(column)


def _birth_without_form(column: Column) -> Guess | None:
    if BIRTH.isdisjoint(column.words) or column.are_kinds:
        return None
    return Guess(column.name, DROP, "likely", "births by its name, and its values cannot be generalized")


def _sex(column: Column) -> Guess | None:
    coded = CODED_NAMES.fullmatch(column.name)
    if column.speaks_of(is_named_sex) and column.n_values <= FEW:
        return Guess(column.name, QUASI, "sure", "sexes, by name and few values", "suppress")
    is_flag = column.n_values <= 4 and column.speaks_of(lambda name: is_about(name, FLAG_OF_SEX))
    if is_flag or (coded is not None and coded[1] != "age" and column.n_values <= 3):
        return Guess(column.name, QUASI, "likely", "sexes, by name and few values", "suppress")
    if 2 <= column.n_values <= FEW // 2 and all(one.strip().casefold() in SEXES for one in column.values):
        return Guess(column.name, QUASI, "likely", "sexes, by content", "suppress")
    return None


def _postal(column: Column) -> Guess | None:
    if not column.speaks_of(is_named_zip):
        return None
    if column.mostly(r"[0-9]{3,5}(-?[0-9]{4})?") and column.share_like(r"[0-9]{5}(-?[0-9]{4})?") >= 0.5:
        return build(column, "postal codes, by name and content", hierarchies.postal(column))
    return Guess(column.name, DROP, "likely", f"may identify patients: {CLASSES['B']}")


def _of_a_person(column: Column) -> Guess | None:
    """What acquaintances, employers and insurers know: ethnicity, occupation, income and the like."""
    if column.speaks_of(is_named_survey_weight):
        return None
    is_body = _is_only_about(column, OF_THE_BODY)
    if is_body and (words := hierarchies.widths(column)) is not None:
        return build(column, "numbers that others may know, by name", words, "likely")
    is_kind = column.speaks_of(is_named_ethnicity) or _is_only_about(column, KINDS_OF_PEOPLE) or is_body
    if column.are_kinds and is_kind:
        sureness: Sureness = "sure" if column.n_values <= FEW else "likely"
        return Guess(column.name, QUASI, sureness, "kinds of people, by name and few values", "suppress")
    if is_body:
        return Guess(column.name, DROP, "likely", "outsiders know it by its name, and it cannot be generalized")
    return None


def _is_only_about(column: Column, words: frozenset[str]) -> bool:
    """Whether the name, or the label, is about one of these words, and about nothing else."""
    each = (frozenset(words_of(text)) for text in (column.name, column.label) if text)
    return any(found & words and found <= words | OF_NAMES for found in each)


def _identifying(column: Column) -> Guess | None:
    """Direct identifiers, by the checks of Safe Harbor; content that cannot be one clears the name."""
    suggested = what_a_name_says(column.name)
    by_name = suggested if suggested is not None and suggested.strong and _may_be(column, suggested.letter) else None
    signs = [one for one in column.findings if _may_be(column, one.letter) and not _is_only_unique(column, one.letter)]
    sure = [one for one in signs if one.confidence in ("certain", "likely")]
    if sure or by_name:
        letter = sure[0].letter if sure else by_name.letter if by_name else "R"
        return Guess(column.name, DROP, "sure", f"identifies patients: {CLASSES[letter]}")
    # few numbers that many share, as of `discharge_disposition_id`, are kinds, not numbers of anybody
    is_kind = column.n_values <= MANY_KINDS and column.alone <= UNIQUE_SHARE
    if signs and not column.is_measured and not (is_kind and all(one.letter == "R" for one in signs)):
        return Guess(column.name, DROP, "likely", f"may identify patients: {CLASSES[signs[0].letter]}")
    is_longitude = words_of(column.name) == ("long",) and not column.is_whole
    is_longitude = is_longitude and column.share_between(-180, 360) >= NEARLY_ALL
    if is_longitude or (not _is_flag(column) and column.speaks_of(lambda name: is_about(name, PLACE))):
        return Guess(column.name, DROP, "likely", f"may identify patients: {CLASSES['B']}")
    if column.speaks_of(lambda name: is_about(name, STAFF)) and not column.mostly(r"[0-9]{1,3}"):
        return Guess(column.name, DROP, "likely", "may identify patients, and others: who treated them")
    if column.are_numbers or column.holds_codes:
        return None
    if column.share_like(TWO_WORDS) > FREE and column.alone > UNIQUE_SHARE:
        return Guess(column.name, DROP, "likely", "texts that one record has alone")
    if column.alone > FREE:
        return Guess(column.name, DROP, "likely", "most of its values occur in one record alone")
    return None


def _may_be(column: Column, letter: str) -> bool:
    """Whether content allows that a column is of a class of identifiers: a flag is none, a count is no date."""
    if _is_flag(column):
        return False
    if letter != "C":
        return True
    is_dated = any(one.letter == "C" and one.what != "the name of the column" for one in column.findings)
    return is_dated or not column.are_numbers


def _is_only_unique(column: Column, letter: str) -> bool:
    """Whether numbers hardly repeat, and the name speaks of no number of anybody: a time or a measurement may be so."""
    return letter == "R" and column.are_numbers and what_a_name_says(column.name) is None


def _is_flag(column: Column) -> bool:
    """Whether it has two values at most, numbers or words of yes and no."""
    flags = {"0", "1", "2", "yes", "no", "y", "n", "true", "false", "ja", "nein", "oui", "non", "si", "unknown"}
    return column.n_values <= 3 and all(one.strip().casefold() in flags for one in column.values)


def _code_sets(column: Column) -> Guess | None:
    """Sets of codes, by content: each is nearly unique, so this comes before what is unique."""
    several = [value.split() for value in column.values.head(MOST_SETS).to_list() if " " in value.strip()]
    if not several or not are_codes([code for codes in several for code in codes]):
        return None
    why = (
        f'sets of codes; the setting codes = "{column.name}" protects them inside equivalence classes, as chunks or, '
        'with codes_method = "cba", as terms'
    )
    return Guess(column.name, DROP, "likely", why)


def _clinical(column: Column) -> Guess | None:
    """What is about the illness, and nobody outside is to learn: codes of diagnoses, treatments."""
    if column.holds_codes:
        return Guess(column.name, SENSITIVE, "sure", "codes of diagnoses, by name and content")
    if not CLINICAL.isdisjoint(column.words) and column.are_kinds and not column.are_numbers:
        return Guess(column.name, SENSITIVE, "likely", "diagnoses or treatments, by its name")
    return None
