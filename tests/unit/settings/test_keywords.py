"""Keywords of Python: whatever is given of whatever type is taken, or refused without a value of it."""

import inspect
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import get_args

import numpy as np
import polars as pl
import pytest

import cloister as cl
from cloister.api.claims import WITHOUT as OF_CLAIMS
from cloister.api.codes import WITHOUT as OF_CODES
from cloister.api.codes import CodesKeywords
from cloister.api.keywords import keywords_of
from cloister.api.tables import WITHOUT as OF_TABLES
from cloister.api.tables import TableKeywords
from cloister.api.trajectories import WITHOUT as OF_TRAJECTORIES
from cloister.settings.checking import check_kind
from cloister.settings.constraints import WordsOr
from cloister.shapes.claims.format.options import ClaimsOptions
from cloister.shapes.trajectories.format.options import TrajectoriesOptions

RECORDS = {
    "table": (TableKeywords, OF_TABLES),
    "codes": (CodesKeywords, OF_CODES),
    "trajectories": (TrajectoriesOptions, OF_TRAJECTORIES),
    "claims": (ClaimsOptions, OF_CLAIMS),
}
SETTINGS = [(shape, name, one) for shape, given in RECORDS.items() for name, one in keywords_of(*given).items()]
PATIENTS = pl.DataFrame({"age": [38, 41], "dx": ["PATIENT-1", "PATIENT-2"]})


class Foreign:
    """A class of its own, which prints a value."""

    def __repr__(self):
        return "PATIENT-3"


NEVER = [PATIENTS, Foreign(), Foreign, Path("PATIENT-4"), b"PATIENT-5", 1j, {1: "PATIENT-6"}, lambda: 0, [PATIENTS]]


@pytest.mark.parametrize("value", NEVER, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(("shape", "name", "one"), SETTINGS, ids=lambda part: part if isinstance(part, str) else "")
def test_what_no_setting_can_be_is_refused(shape, name, one, value):
    """A dataframe in the place of a number, say, is refused by its type, and no cell of it is printed."""
    with pytest.raises(cl.InputError) as refusal:
        check_kind(one, value)

    assert name in str(refusal.value)
    assert "PATIENT" not in str(refusal.value)


def test_objects_stand_for_words_where_the_setting_says_so():
    """A hierarchy where a hierarchy is meant, a policy where a policy is, and not the other way round."""
    codes = cl.CodeSets.from_records([["250.00", "401.9"]] * 3)
    objects = {
        "Hierarchy": cl.icd9(), "UtilityPolicy": cl.UtilityPolicy.gwas(codes),
        "PrivacyPolicy": cl.PrivacyPolicy.all_combinations(codes, 2), "PrivacyRule": cl.KAnonymity(2),
    }  # fmt: skip
    for _, _, one in SETTINGS:
        if isinstance(one.constraint, WordsOr):
            wanted = one.constraint.place.rpartition(":")[2]
            for kind, value in objects.items():
                assert one.constraint.accepts(value) is (kind == wanted), (one.name, kind)


@pytest.mark.parametrize("number", [np.float32(0.25), Decimal("0.25"), Fraction(1, 4), np.float64(0.25)])
def test_numbers_of_every_kind_are_numbers(number):
    """A share, a loss or a time is taken from NumPy, decimals and fractions as from Python."""
    for _, _, one in SETTINGS:
        if float in get_args(one.kind):
            check_kind(one, number)


def test_a_switch_of_numpy_and_a_list_of_any_kind_are_taken():
    """What pandas and NumPy compute is as good as what is typed."""
    frame = pl.DataFrame({"age": [31, 34] * 3, "dx": ["a", "b"] * 3})
    given = {"k": np.int64(2), "qi": {"age": "interval:10"}, "keep_suppressed": np.True_}
    for columns in (["dx"], ("dx",), {"dx"}, np.array(["dx"]), pl.Series(["dx"])):
        assert cl.protect_table(frame, sensitive=columns, **given).data.columns == ["age", "dx"]
    with pytest.raises(cl.InputError, match="level_bounds takes"):
        cl.protect_table(frame, sensitive=["dx"], **given, level_bounds=["age"])


def test_sets_that_are_known_are_asked_for_in_one_way():
    """A number of codes is never passed over for a privacy policy, in words or as an object."""
    codes = cl.CodeSets.from_records([["250.00", "401.9"]] * 3)
    for privacy in ("all:1", cl.PrivacyPolicy.all_combinations(codes, 1)):
        with pytest.raises(cl.InputError, match="Give one of them"):
            cl.protect_codes(codes, k=3, method="generalization", privacy=privacy, m=2)


def test_a_key_of_ids_is_for_keyed_ids():
    """A key that nothing uses is refused, and never noted as used."""
    frame = pl.DataFrame({"id": ["a", "b"], "age": [31, 34]})
    for given in ({"id": "id"}, {"id": "id", "ids": "drop"}, {"drop": ["id"]}):
        with pytest.raises(cl.InputError, match="id_key is for ids"):
            cl.protect_table(frame, k=2, qi={"age": "interval:10"}, id_key=b"k" * 32, **given)


def functions_with_own_keywords():
    """The functions whose keywords are declared by their signatures, and what they need besides."""
    release = Path("no release")
    return {
        "assess": (cl.assess, (PATIENTS,), {}),
        "explore": (cl.explore, (cl.protect_table, PATIENTS), {"grid": {"k": [2]}}),
        "verify_folder": (cl.verify_folder, (release,), {}),
        "open": (cl.open, (release,), {}),
        "attack": (cl.attack, (release, PATIENTS), {}),
        "compare": (cl.compare, (release,), {}),
    }


ODD = [Foreign(), Foreign, b"PATIENT-5", 1j, {1: "PATIENT-6"}, [PATIENTS], -1, 1.5, float("nan"), True, "", "x", (), {}]


@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("name", functions_with_own_keywords())
def test_odd_values_are_refused_by_every_function(name, value):
    """Whatever is given for a keyword, or in the place of a release, is taken or refused, and never a TypeError."""
    verb, given, needed = functions_with_own_keywords()[name]
    parameters = inspect.signature(verb).parameters.values()
    for one in (one.name for one in parameters if one.kind is one.KEYWORD_ONLY):
        with suppress(cl.CloisterError):
            verb(*given, **needed | {one: value})
    if name in ("verify_folder", "open", "compare"):
        with pytest.raises(cl.CloisterError):
            verb(value)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: cl.assess(PATIENTS, qi=["age"], threads=0), "threads must be a whole number from 1, not 0."),
        (lambda: cl.assess(PATIENTS, qi=5), "qi must be a list of columns, not 5."),
        (lambda: cl.verify_folder("x", k=1), "k must be a whole number from 2, not 1."),
        (lambda: cl.verify_folder("x", decimal=";"), "decimal must be '.' or ',', not ';'."),
        (lambda: cl.verify_folder("x", populatoins={}), "no setting populatoins. Did you mean populations?"),
        (lambda: cl.open("x", hierarchies={"age": 5}), "hierarchies must be a hierarchy for each column, not"),
        (lambda: cl.explore(cl.protect_table, PATIENTS, grid={"k": 2}), "grid must be a list of values for each"),
        (lambda: cl.compare(5), "releases must be"),
    ],
)  # fmt: skip
def test_a_signature_says_what_a_keyword_may_be(call, expected):
    """Types and constraints of a signature are checked, and an unknown keyword gets the nearest name."""
    with pytest.raises(cl.InputError) as refused:
        call()
    assert expected in str(refused.value)


def test_keyed_ids_need_a_column_of_ids():
    """Without one there is nothing to hash, and the release would have no ids."""
    frame = pl.DataFrame({"age": [31, 34], "sex": ["F", "F"]})
    with pytest.raises(cl.InputError, match='ids="hmac" replaces the ids of a column'):
        cl.protect_table(frame, k=2, qi=["sex"], drop=["age"], ids="hmac", id_key=b"k" * 32)
