"""Utility policies: how they are built, and what is refused."""

import json

import pytest

import cloister as cl
from cloister import CodeSets, UtilityPolicy
from cloister.errors import InputError
from cloister.shapes.codes.policy import known_codes, least_support, parse_policy

CODES = CodeSets.from_records([["250.00", "250.01", "401.9", "V58.66"], ["250.00", "251.0", "E936.1", "made-up"]])


def sets(policy):
    """The constraints as sorted lists."""
    return sorted(sorted(constraint) for constraint in policy.constraints)


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        (1, [["250.00", "250.01"], ["251.0"], ["401.9"], ["E936.1"], ["V58.66"]]),
        (2, [["250.00", "250.01", "251.0"], ["401.9"], ["E936.1"], ["V58.66"]]),
        (3, [["250.00", "250.01", "251.0"], ["401.9"], ["E936.1"], ["V58.66"]]),
    ],
)
def test_by_level(level, expected):
    """Codes are together that share category, section or chapter; codes of no category are in no set."""
    policy = UtilityPolicy.by_level(CODES, level)

    assert expected == sets(policy)
    assert policy.n_uncovered(CODES) == 1


def test_sections_are_not_digits():
    """Sections come from the tables: 250 and 251 share one that no common prefix of two digits bounds."""
    codes = CodeSets.from_records([["249.00", "250.00", "259.9", "260"]])

    assert sets(UtilityPolicy.by_level(codes, 2)) == [["249.00", "250.00", "259.9"], ["260"]]


def test_icd10_is_recognized():
    """The classification that knows more of the codes is taken, unless one is named."""
    codes = CodeSets.from_records([["E11.9", "E11.65", "I10", "J44.9"]])

    assert sets(UtilityPolicy.by_level(codes, 1)) == [["E11.65", "E11.9"], ["I10"], ["J44.9"]]
    assert sets(parse_policy("level:1/icd10", codes)) == [["E11.65", "E11.9"], ["I10"], ["J44.9"]]
    assert parse_policy("level:1/icd10", codes).spec == "level:1/icd10"
    assert parse_policy("sim:2/icd10", codes).spec == "sim:2/icd10"
    with pytest.raises(InputError, match="No code of the data belongs to icd9"):
        parse_policy("level:1/icd9", codes)


def test_similar_codes():
    """Blocks of neighbours in the order of the classification; the last may be short."""
    expected = [["250.00", "250.01"], ["251.0", "401.9"], ["E936.1", "V58.66"]]

    assert expected == sets(UtilityPolicy.similar(CODES, 2))
    assert sets(UtilityPolicy.similar(CODES, 4)) == [["250.00", "250.01", "251.0", "401.9"], ["E936.1", "V58.66"]]


def test_frequent_codes():
    """Maximal sets, the most frequent first; codes used are left out of later ones, and single codes are no set."""
    records = [["a", "b", "c"]] * 4 + [["c", "d"]] * 5 + [["e", "f"]] * 1
    codes = CodeSets.from_records(records)

    assert sets(UtilityPolicy.frequent(codes, 40)) == [["a", "b"], ["c", "d"]]
    assert sets(UtilityPolicy.frequent(codes, 50)) == [["c", "d"]]
    assert sets(UtilityPolicy.frequent(codes, 60)) == []


def test_frequent_sets_need_more_patients_than_k():
    """Sets that k patients or fewer may have are refused, and the smallest percentage is named and taken."""
    codes = CodeSets.from_records([["a", "b"]] * 7 + [["c", "d"]] * 26)
    with pytest.raises(InputError, match=r"sets that 3 of 33 patients have, .* Ask for sup:12\.1213 or more"):
        parse_policy("sup:9", codes, 3)
    assert sets(parse_policy("sup:12.1213", codes, 3)) == [["a", "b"], ["c", "d"]]
    with pytest.raises(InputError, match="No percentage will do"):
        parse_policy("sup:100", codes, 33)
    with pytest.raises(InputError, match=r"Ask for sup:18\.1819 or more"):
        cl.protect_codes(codes, k=5, policy=UtilityPolicy.frequent(codes, 9))


def test_support_is_a_percentage():
    """At least that share of the patients, in whole patients."""
    assert [
        least_support(0.001, 100),
        least_support(0.625, 71_517),
        least_support(7, 100),
        least_support(100, 100),
    ] == [1, 447, 7, 100]


def test_repeated_codes_stand_for_all_occurrences():
    """Where diagnoses repeat, a policy names codes, and means every occurrence of them."""
    codes = CodeSets.from_records([["250.00", "250.00", "250.01"], ["401.9"]], repeats=True)
    policy = UtilityPolicy.by_level(codes, 1)

    assert sets(policy) == [["250.00", "250.01"], ["401.9"]]
    assert sorted(policy.item_numbers(codes)) == [(0, 1, 2), (3,)]
    assert sets(UtilityPolicy.frequent(CodeSets.from_records([["a", "a"]], repeats=True), 100)) == []


def test_from_json(tmp_path):
    """An object from name to list of codes."""
    path = tmp_path / "policy.json"
    path.write_text(json.dumps({"diabetes": ["250.00", "250.01"], "other": ["401.9"]}))
    policy = parse_policy(str(path), CODES)

    assert sets(policy) == [["250.00", "250.01"], ["401.9"]]
    assert policy.names == ("diabetes", "other")
    assert policy.spec == "policy.json"


REFUSED = {
    "not JSON": ("{", "is not JSON"),
    "twice": ('{"a": ["250.00"], "a": ["401.9"]}', "names a set twice"),
    "a list": ('["250.00"]', "is not an object"),
    "no lists": ('{"a": "250.00"}', "is not an object from name to list"),
    "numbers": ('{"a": [250.00]}', "not text"),
    "empty": ('{"a": []}', "'a' has none"),
    "overlap": ('{"a": ["250.00", "401.9"], "b": ["401.9"]}', "'401.9' stands in more than one"),
    "unknown": ('{"a": ["250.00", "999.9", "998.9"]}', "'998.9', '999.9' of the utility policy do not occur"),
}


@pytest.mark.parametrize(("content", "words"), REFUSED.values(), ids=REFUSED)
def test_refused_files(tmp_path, content, words):
    """A policy that cannot be used is refused, with the codes of the policy where they are at fault."""
    path = tmp_path / "policy.json"
    path.write_text(content)
    with pytest.raises(InputError, match=words):
        parse_policy(str(path), CODES).on(CODES)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("level:4", "level 1, 2 or 3"),
        ("level:x", "needs a number"),
        ("level:1.5", "needs a number"),
        ("level:nan", "needs a number"),
        ("level:1/icd8", "icd9 or icd10"),
        ("sim:0", "from 1 on"),
        ("sup:60/icd9", "names a classification"),
        (".", "The utility policy . is a folder"),
        ("sup:0", "above 0"),
        ("sup:101", "up to 100"),
        ("nowhere.json", "is not there; a policy is"),
        ("nothing:1", "is not there; a policy is"),
    ],
)
def test_refused_words(spec, words):
    """Words that are no policy say what would be one."""
    with pytest.raises(InputError, match=words):
        parse_policy(spec, CODES)


def test_many_unknown_codes_are_not_all_listed():
    """A message names a few codes and counts the rest."""
    policy = UtilityPolicy.of({"a": [f"x{number}" for number in range(9)]})
    with pytest.raises(InputError, match="and 4 more of the utility policy"):
        policy.on(CODES)


def test_sensitive_codes_must_occur():
    """Other lists of the user's are checked in the same way."""
    assert known_codes(["401.9", "401.9"], CODES, "sensitive codes") == ("401.9",)
    with pytest.raises(InputError, match="'4019' of the sensitive codes"):
        known_codes(["4019"], CODES, "sensitive codes")


def test_a_policy_shows_its_size():
    """A policy in a log shows how many sets it has."""
    assert repr(UtilityPolicy.by_level(CODES, 1)) == "UtilityPolicy('level:1', 5 sets of codes)"
