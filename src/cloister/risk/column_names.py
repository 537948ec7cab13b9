"""Recognize the subject of a column by its name or label: ages, sexes, places, dates, people, in several languages.

A name is split into words in lower case without accents, so that `età`, `ETA` and `patientEta` have a word in
common. The lists are short on purpose: content decides first, and columns without evidence stay undecided.
"""

import re
import unicodedata
from functools import lru_cache

_PARTS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")


@lru_cache(maxsize=10_000)
def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a column's name, in lower case and without accents.

    Examples
    --------
    >>> words_of("patientLastName"), words_of("ZIP_code"), words_of("dob2"), words_of("età")
    (('patient', 'last', 'name'), ('zip', 'code'), ('dob', '2'), ('eta',))
    """
    plain = "".join(one for one in unicodedata.normalize("NFKD", name) if not unicodedata.combining(one))
    return tuple(word.casefold() for word in re.findall(r"[^\W\d_]+|\d+", _PARTS.sub(" ", plain)))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


AGE = _words(
    "age ages aged ageyr ageyrs alter lebensalter leeftijd edad idade eta wiek alder ika vek vozrast возраст ηλικια "
    "yas varsta eletkor ridageyr 年龄 年齢 나이 عمر"
)
_AGE_COMPOUND = re.compile(
    r"(age|alter|edad|idade|leeftijd)"
    r"(at|on|in|band|bands|group|groups|grp|gp|gr|cat|category|class|klasse|range|y|yr|yrs|year|years|mo|months)\w*"
)
SEX = _words(
    "sex sexes gender geschlecht sexe sexo sesso genere geslacht kon kjonn kjønn sukupuoli plec płec płeć pohlavi spol "
    "cinsiyet пол 性别 性別 성별 sexvar riagendr"
)
FLAG_OF_SEX = _words("male female man woman maschio femmina masculino feminino femenino homme femme hombre mujer")
ETHNICITY = _words(
    "race racial ethnic ethnicity ethn eth ethrace raceeth racethn hispanic hisp latino latina raza rasse raca ethnie "
    "etnia etnicidad etniciteit ancestry tribe caste indigenous aboriginal ridreth black white asian"
)
_ETHNIC_COMPOUND = re.compile(r"(ethnic|ethrac|raceth|hispan)\w*")
POSTAL = _words("zip zipcode postal postcode plz postleitzahl cap postnummer postnr")
PLACE = POSTAL | _words(
    "town hometown village birthplace community municipality commune comuna comune gemeinde kommune kommun gemeente "
    "landkreis district departement departamento provincia distrito borough suburb locality neighborhood neighbourhood "
    "barrio quartier lsoa msoa lga nuts fips insee ibge county city parish tract ort wohnort ville ciudad cidade citta"
)
STAFF = _words("physician doctor surgeon nurse clinician consultant arzt medecin medico dokter lakare")
BIRTH = _words(
    "birth dob birthday birthdate yob geburt geburtsdatum geburtsjahr naissance nascita nacimiento nascimento "
    "geboortedatum fodelsedatum urodzenia"
)
DATE = _words(
    "date dt dte dat dato datum fecha data day days dob admit admitted admission discharge discharged died onset begin "
    "end start visit timestamp"
)
DATE_PART = _words("year yr month mo mon mth day dy da weekday jahr monat tag annee mois jour ano mes dia")
CLINICAL = _words(
    "diagnosis diagnoses diagnose diagnosi diagnostico diagnostic dx disease diseases comorbidity comorbidities "
    "krankheit maladie malattia enfermedad procedure treatment therapy medication drug therapie behandlung traitement "
    "tratamiento"
)
PEOPLE = _words(
    "employer kin maiden title job occupation profession spouse mother father contact guardian relative employee beruf "
    "professione profesion profissao zawod practice gp"
)
_BODY = _words("weight weights peso gewicht poids")
_OF_SURVEYS = _words("wt wgt pond ponderation ponderacion pweight fweight fnlwgt finalwt finalwgt sampwt sampleweight")
_SAMPLING = _words("sample sampling survey final design probability expansion")


def is_about(name: str, words: frozenset[str]) -> bool:
    """Whether a word of the name is one of these."""
    return not words.isdisjoint(words_of(name))


def is_named_age(name: str) -> bool:
    """Whether the name of a column refers to an age.

    Examples
    --------
    >>> is_named_age("età"), is_named_age("agegroup_5y"), is_named_age("dosage")
    (True, True, False)
    """
    return any(word in AGE or _AGE_COMPOUND.fullmatch(word) for word in words_of(name))


def is_named_sex(name: str) -> bool:
    """Whether the name of a column refers to sex or gender."""
    return is_about(name, SEX)


def is_named_ethnicity(name: str) -> bool:
    """Whether the name of a column refers to ethnicity, race or descent.

    Examples
    --------
    >>> is_named_ethnicity("ethrace2a"), is_named_ethnicity("race1"), is_named_ethnicity("ethanol")
    (True, True, False)
    """
    return any(word in ETHNICITY or _ETHNIC_COMPOUND.fullmatch(word) for word in words_of(name))


def is_named_zip(name: str) -> bool:
    """Whether the name of a column refers to a ZIP code or another postal code."""
    return is_about(name, POSTAL)


def is_named_birth_year(name: str) -> bool:
    """Whether the name of a column refers to a year of birth."""
    words = set(words_of(name))
    return bool({"yob", "birthyear", "geburtsjahr"} & words) or ("year" in words and bool({"birth", "born"} & words))


def is_named_survey_weight(name: str) -> bool:
    """Whether the name of a column refers to the weight of a record in a survey.

    Examples
    --------
    >>> is_named_survey_weight("_FINALWT"), is_named_survey_weight("sample weight"), is_named_survey_weight("weight_kg")
    (True, True, False)
    """
    return is_about(name, _OF_SURVEYS) or (is_about(name, _SAMPLING) and is_about(name, _BODY))
