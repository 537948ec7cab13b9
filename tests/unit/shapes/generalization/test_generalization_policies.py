"""Privacy policies from files and lists, and the utility policy of genome-wide studies."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from cloister import CodeSets, InputError, UtilityPolicy
from cloister.shapes.codes.policy import gwas_diseases
from cloister.shapes.generalization.format.data import GeneralizationMethod, GeneralizationRequest, Status, name_sets
from cloister.shapes.generalization.format.privacy_policy import PrivacyPolicy, constraints_on, parse_privacy
from cloister.shapes.generalization.method.losses import icd_tree
from cloister.shapes.generalization.method.protect import generalize, statuses

RECORDS = [["250.01", "401.9", "V51"], ["250.01", "401.9"], ["401.9"], ["493.00"]]


@pytest.fixture
def codes():
    """Four patients."""
    return CodeSets.from_records(RECORDS)


def sets_of(policy):
    """The sets of a policy by name."""
    return name_sets(policy.sets, policy.vocabulary)


def test_a_policy_keeps_its_maximal_sets():
    """Sets in others are left out, in whatever order they come."""
    policy = PrivacyPolicy.of([["b"], ["a", "b"], ["c"], ["b", "a"]])

    assert sets_of(policy) == [("a", "b"), ("c",)]


def test_sets_that_occur_only_in_part_are_protected_in_part():
    """Of a and b, which nobody has together, each is protected, although the set with both was the larger one."""
    codes = CodeSets.from_records([["a"], ["b"], ["b"], ["c"], ["c"]])
    policy = PrivacyPolicy.of([["a"], ["a", "b"]])

    assert name_sets(constraints_on(policy, codes).required, codes.vocabulary) == [("a",), ("b",)]
    assert name_sets(constraints_on(policy, codes).apart, codes.vocabulary) == [("a", "b")]


def test_each_set_has_its_status():
    """Satisfied, of codes that occur nowhere, or protected by suppression."""
    codes = CodeSets.from_records([["401.9"], ["401.9"], ["493.00"]])
    policy = PrivacyPolicy.of([["401.9"], ["493.00"], ["V51", "V52"]])
    utility = UtilityPolicy.of({"hypertension": ["401.9"], "asthma": ["493.00"]})
    found = generalize(codes, GeneralizationRequest(2, policy, policy=utility))

    expected = {Status.SATISFIED: 1, Status.VACUOUS: 1, Status.SUPPRESSED: 1, Status.VIOLATED: 0}
    assert expected == found.figures.statuses


def test_a_set_below_k_is_told_as_violated():
    """Whole or in part, should a release ever hold it."""
    codes = CodeSets.from_records([["a", "b"], ["a", "b"], ["a", "c"], ["b"], ["c"]])
    policy = PrivacyPolicy.of([["a", "b"], ["a", "c"], ["a", "b", "c"], ["b", "c"]])
    asis = generalize(codes, GeneralizationRequest(1, policy)).released
    given = constraints_on(policy, codes)

    told = {Status.SATISFIED: 0, Status.VACUOUS: 0, Status.SUPPRESSED: 0, Status.VIOLATED: 1}
    assert statuses(given, replace(asis, k=2)) == told
    pairs = constraints_on(PrivacyPolicy.of([["a", "b"], ["a", "c"], ["b", "c"]]), codes)
    assert statuses(pairs, replace(asis, k=2)) == told | {Status.SATISFIED: 2}


def test_policies_have_words(codes, tmp_path):
    """all:m, records, visits:FILE and a JSON file."""
    (tmp_path / "visits.csv").write_text("patient_id,codes\n7,250.01 401.9\n7,V51\n8,401.9\n")
    (tmp_path / "policy.json").write_text('[["V51", "401.9"], ["493.00"]]')
    visits = parse_privacy(f"visits:{tmp_path}/visits.csv", codes)

    assert sets_of(parse_privacy("all:2", codes)) == [
        ("250.01", "401.9"),
        ("250.01", "V51"),
        ("401.9", "V51"),
        ("493.00",),
    ]
    assert sets_of(parse_privacy("records", codes)) == [("250.01", "401.9", "V51"), ("493.00",)]
    assert (visits.spec, sets_of(visits)) == ("visits:visits.csv", [("250.01", "401.9"), ("V51",)])
    assert sets_of(parse_privacy(str(tmp_path / "policy.json"), codes)) == [("401.9", "V51"), ("493.00",)]


def test_visits_may_have_one_code_a_line(tmp_path):
    """Codes of one visit belong together; without a column of visits, those of one patient do."""
    frame = pl.DataFrame({"patient_id": ["7", "7", "7"], "visit_id": ["1", "1", "2"], "code": ["a", "b", "c"]})
    frame.write_csv(tmp_path / "visits.csv")
    frame.drop("visit_id").write_csv(tmp_path / "patients.csv")

    assert sets_of(PrivacyPolicy.visits(tmp_path / "visits.csv")) == [("a", "b"), ("c",)]
    assert sets_of(PrivacyPolicy.visits(tmp_path / "patients.csv")) == [("a", "b", "c")]
    assert sets_of(PrivacyPolicy.visits([["a", "b"], ["c"], ["b"]])) == [("a", "b"), ("c",)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": ["b"]}', "is not a list of lists of codes"),
        ("[1]", "is not a list of lists"),
        ("[[401.9]]", "has codes that are not text"),
        ("[[]]", "1 of 1 have none"),
        ("[]", "at least one set"),
        ("[", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_files_that_are_no_policy_are_refused(tmp_path, content, message):
    """What was found is told, without the codes."""
    (tmp_path / "policy.json").write_text(content)

    with pytest.raises(InputError, match=message) as caught:
        PrivacyPolicy.from_json(tmp_path / "policy.json")
    assert "401.9" not in str(caught.value).replace('[["401.0", "480.1"], ["296.00"]]', "")


def test_words_that_are_no_policy_are_refused(codes, tmp_path):
    """A missing file, a folder, no number, a number below 1."""
    for words, message in [
        ("nothing.json", "is not there"),
        (str(tmp_path), "is a folder"),
        ("all:two", "needs a whole number"),
        ("all:0", "from 1 on"),
    ]:
        with pytest.raises(InputError, match=message):
            parse_privacy(words, codes)


def test_a_policy_of_other_codes_is_refused(codes):
    """Codes written otherwise than in the data would leave everything as it is."""
    with pytest.raises(InputError, match="None of the 2 sets of the privacy policy given has a code of the data"):
        generalize(codes, GeneralizationRequest(2, PrivacyPolicy.of([["4019"], ["25001", "V-51"]])))


def test_too_many_sets_are_refused():
    """Before they are enumerated."""
    codes = CodeSets.from_records([[f"{number:03d}" for number in range(200)]])

    with pytest.raises(InputError, match="can be looked at"):
        PrivacyPolicy.all_combinations(codes, 6)


def test_apriori_needs_a_number_of_codes(codes):
    """It protects all sets of up to m codes, and no others."""
    with pytest.raises(InputError, match="apriori protects all sets of up to m codes"):
        GeneralizationRequest(2, PrivacyPolicy.records(codes), GeneralizationMethod.APRIORI)
    with pytest.raises(InputError, match="whole number from 1"):
        GeneralizationRequest(0, PrivacyPolicy.records(codes))


def test_a_repeated_code_stands_for_its_first_occurrence():
    """Where diagnoses are numbered, a policy may name them with or without their number; earlier ones are known too."""
    codes = CodeSets.from_records([["a", "a", "b"], ["a"]], repeats=True)

    assert name_sets(constraints_on(PrivacyPolicy.of([["a", "b"]]), codes).required, codes.vocabulary) == [
        ("a#1", "b#1")
    ]
    assert name_sets(constraints_on(PrivacyPolicy.of([["a#2", "b"]]), codes).required, codes.vocabulary) == [
        ("a#1", "a#2", "b#1")
    ]
    assert name_sets(constraints_on(PrivacyPolicy.of([["a#9"]]), codes).required, codes.vocabulary) == [("a#1", "a#2")]


def test_the_diseases_of_genome_wide_studies():
    """Eighteen diseases, told apart by their codes; diabetes by its fifth digit."""
    codes = CodeSets.from_records([["250.01", "250.00", "25002"], ["250.0", "296.02", "314.00"], ["493", "282.60"]])
    policy = UtilityPolicy.gwas(codes)

    assert len(gwas_diseases()) == 18
    assert {
        "Asthma": {"493"},
        "Attention deficit with hyperactivity": {"314.00"},
        "Bipolar I disorder": {"296.02"},
        "Diabetes mellitus type-1": {"250.01"},
        "Diabetes mellitus type-2": {"250.00", "25002"},
        "Sickle-cell disease": {"282.60"},
    } == dict(zip(policy.names, policy.constraints))


def test_no_code_belongs_to_two_diseases():
    """No beginning begins with another."""
    beginnings = sorted(start for starts in gwas_diseases().values() for start in starts)

    assert [a for a, b in pairwise(beginnings) if b.startswith(a)] == []


def test_the_closeness_of_diagnoses():
    """A quarter in one category, a half in one section, three quarters in one chapter, one across; also if unknown."""
    codes = CodeSets.from_records([["250.00", "250.01", "249.00", "278.00", "493.00", "unknown"]])
    tree = icd_tree(codes)
    place = {code: number for number, code in enumerate(codes.vocabulary)}

    def weight(*names):
        return tree.joint_level(np.array(sorted(place[name] for name in names), dtype=np.int32)) / tree.top

    assert [
        weight("250.00"),
        weight("250.00", "250.01"),
        weight("250.00", "249.00"),
        weight("250.00", "278.00"),
        weight("250.00", "493.00"),
        weight("250.00", "unknown"),
    ] == [0, 0.25, 0.5, 0.75, 1, 1]


def test_a_policy_can_be_read_again(tmp_path):
    """What was written as JSON is the same policy."""
    given = [["401.9", "V51"], ["250.01"]]
    (tmp_path / "policy.json").write_text(json.dumps(given))

    assert sorted(map(tuple, given)) == sets_of(PrivacyPolicy.from_json(tmp_path / "policy.json"))
