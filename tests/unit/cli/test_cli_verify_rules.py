"""``cloister verify`` of releases under many rules: what it recomputes, what it needs for that, what it refuses."""

import json

import pytest
from tests.made.tampering import forged
from tests.unit.cli.conftest import OPTIONS, PATIENTS

from cloister.release.folder import json_bytes

RULES = (
    *("--rule", "l-diversity:diagnosis=2", "--rule", "entropy-l-diversity:diagnosis=1.5"),
    *("--rule", "alpha-k-anonymity:diagnosis=0.7,3", "--rule", "recursive-l-diversity:diagnosis=3,2"),
    *("--rule", "t-closeness:diagnosis=0.5", "--rule", "t-closeness:diagnosis=0.5,prefix:6"),
    *("--rule", "beta-likeness:diagnosis=3", "--rule", "delta-disclosure:diagnosis=3"),
    *("--rule", "average-risk=0.2", "--rule", "sample-uniqueness=0.1", "--rule", "population-uniqueness:1000=0.1"),
    *("--rule", "k-map:1000=5", "--rule", "k-map:census.csv=8", "--rule", "delta-presence:census.csv=0,0.8"),
)
ORIGINAL = ("--original", "patients.csv")
CENSUS = ("--population", "census.csv")
COMPARING = ("t-closeness", "beta-likeness", "delta-disclosure", "k-map", "delta-presence")
UNCHECKED = tuple(word for name in COMPARING for word in ("--accept-unchecked", name))


FILES = {"patients.csv": PATIENTS, "census.csv": PATIENTS + PATIENTS.partition("\n")[2]}
"""A population table has every patient, and as many other people like them."""


@pytest.fixture
def census(ruled, tmp_path):
    """The population table of the release."""
    return tmp_path / "census.csv"


@pytest.fixture
def ruled(released):
    """A release under all kinds of rules."""
    return released("protect", "table", "patients.csv", *OPTIONS, "--levels", "age=1,sex=0,zip=2", *RULES, **FILES)


@pytest.mark.parametrize(
    ("words", "n_left_out"), [((), 6), (ORIGINAL, 2), (CENSUS, 4), ((*ORIGINAL, *CENSUS), 0)], ids=str
)
def test_what_can_be_recomputed_is(cloister, ruled, words, n_left_out):
    """All rules are recomputed that the files at hand allow; of the others it is said that they were not."""
    ran = cloister("verify", ruled, *words)

    assert ran.code == (1 if n_left_out else 0), ran
    assert ran.err.count("was not recomputed: it compares with") == n_left_out
    assert ("was not checked in full" in ran.out) == (n_left_out > 0)
    assert (f"rules that could not be recomputed: {n_left_out})" in ran.out) == (n_left_out > 0)
    assert ("which classes must be suppressed was not recomputed" in ran.out) == (words == ORIGINAL)


def test_an_expectation_without_the_original(cloister, ruled):
    """What a recipient expects of class sizes is checked, whatever the rules are."""
    assert cloister("verify", ruled, "-k", "5", *UNCHECKED).code == 0
    assert "as asked: " in cloister("verify", ruled, "-k", "40", *UNCHECKED).err


def test_no_class_size_is_expected_where_none_is_asked_for(cloister, bare):
    """Without k-anonymity classes may be of one record; only who asks for more is told that there are fewer."""
    words = ("--qi", "sex", "--qi", "zip=prefix:5", "--undecided", "drop", "-q")
    assert bare(*words, "-k", "2", "--levels", "sex=0,zip=0", "--rule", "average-risk=0.5").code == 0

    assert cloister("verify", "release", "--qi", "sex").code == 0
    assert cloister("verify", "release", "-k", "40").code == 1


WEAKER = {
    "a rule left out": (lambda m: m["guarantee"]["rules"].pop(), "settings.rules"),
    "a rule weakened": (lambda m: m["guarantee"]["rules"][1].update(l=3), "settings.rules"),
    "settings changed": (lambda m: m["settings"]["rules"].reverse(), "settings.rules"),
    "k changed": (lambda m: m["settings"].update(k=2), "settings.k"),
    "another column": (lambda m: m["guarantee"]["rules"][1].update(column="zip"), "a release says: guarantee.rules"),
}


@pytest.mark.parametrize(("change", "words"), WEAKER.values(), ids=WEAKER)
def test_a_manifest_that_contradicts_itself(cloister, ruled, change, words):
    """Rules and the settings must say the same, about sensitive columns."""
    forged(ruled, change)
    ran = cloister("verify", ruled)

    assert ran.code == 1
    assert words in ran.err


UNKNOWN = {
    "another model": lambda rules: rules[1].update(model="m-invariance"),
    "a number more": lambda rules: rules[1].update(k=5),
    "a number less": lambda rules: rules[1].pop("l"),
    "text for a number": lambda rules: rules[1].update(l="2"),
    "not finite": lambda rules: rules[2].update(l=float("inf")),
    "no object": lambda rules: rules.append("k-anonymity=5"),
}


@pytest.mark.parametrize("change", UNKNOWN.values(), ids=UNKNOWN)
def test_unknown_rules_are_refused(cloister, ruled, change):
    """A rule that is none of this version's is nothing that could be checked."""
    forged(ruled, lambda m: change(m["guarantee"]["rules"]))
    ran = cloister("verify", ruled)

    assert ran.code == 1
    assert "release.json is not what a release says: guarantee.rules" in ran.err


ODD = ["missing", None, ["x"], -1, 10**400, 0, 2.5, "", "icd9", "age", "mrn", True]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("more", [False, True], ids=["alone", "original"])
def test_no_rule_breaks_the_verifier(ruled, data, census, more):
    """Whatever a manifest says of rules, the verifier answers: it never falls over."""
    from cloister.errors import GuaranteeViolation, InputError
    from cloister.io import read_table
    from cloister.verification.folder import verify_folder

    whole = json.loads((ruled / "release.json").read_text())
    frame = read_table(data).frame if more else None
    populations = {"census.csv": read_table(census).frame} if more else None
    for place, rule in enumerate(whole["guarantee"]["rules"]):
        for key in rule:
            for odd in ODD:
                manifest = json.loads(json.dumps(whole))
                changed = manifest["guarantee"]["rules"][place]
                changed.pop(key) if odd == "missing" else changed.update({key: odd})
                if changed == rule:
                    continue
                (ruled / "release.json").write_bytes(json_bytes(manifest))
                with pytest.raises((GuaranteeViolation, InputError)):
                    verify_folder(ruled, original=frame, populations=populations)


def test_another_original_is_refused(cloister, ruled, data):
    """A rule that compares with the original is judged by what is given as the original."""
    data.write_text(data.read_text().replace(",001\n", ",V51\n"))

    assert "beta-likeness of 'diagnosis' (beta 3.0) was not recomputed" in cloister("verify", ruled).err
    ran = cloister("verify", ruled, *ORIGINAL)
    assert ran.code == 1
    assert "2 of 2 classes violate beta-likeness of 'diagnosis' (beta 3.0)" in ran.err


def test_another_population_is_refused(cloister, ruled, census):
    """A rule that compares with a population is judged by the table given; one that no rule names is bad input."""
    assert "Give the population (--population), or accept" in cloister("verify", ruled).err
    lines = census.read_text().splitlines()
    census.write_text("\n".join(lines[: len(lines) // 3]) + "\n")
    ran = cloister("verify", ruled, *CENSUS)

    assert ran.code == 1
    assert "2 of 2 classes violate delta-presence (lower 0.0, upper 0.8, population census.csv)" in ran.err
    assert cloister("verify", ruled, "--population", "patients.csv").code == 2
    census.write_text("age,sex\n30,F\n")
    ran = cloister("verify", ruled, *CENSUS)
    assert ran.code == 2
    assert "the population census.csv has no such column" in ran.err


@pytest.fixture
def tree(tmp_path):
    """A hierarchy file for diagnoses."""
    (tmp_path / "hierarchies").mkdir()
    path = tmp_path / "hierarchies" / "diagnosis.csv"
    path.write_text("001;infection;*\n250.10;chronic;*\nV51;other;*\n")
    return path


def test_a_hierarchy_file_of_a_rule(cloister, protect, tree):
    """A hierarchy of diagnoses that came from a file is given again; without it that is said."""
    ran = protect("-q", "--levels", "age=1,sex=0,zip=2", "--rule", f"t-closeness:diagnosis=0.5,{tree}")
    assert ran.code == 0, ran

    assert cloister("verify", "release").code == 1
    unchecked = cloister("verify", "release", "--json")
    assert (unchecked.json["holds"], unchecked.json["error"]["kind"]) == (False, "not-checked")
    assert cloister("verify", "release", "--accept-unchecked", "t-closeness").code == 0
    assert cloister("verify", "release", *ORIGINAL, "--hierarchies", tree.parent).code == 0
    ran = cloister("verify", "release", *ORIGINAL)
    assert ran.code == 2
    assert "The hierarchy of column 'diagnosis' came from a file" in ran.err


def test_nothing_that_is_said_is_a_value(cloister, ruled, data, census):
    """No outcome of verifying rules tells a diagnosis, an age or a place of the data."""
    said = [cloister("verify", ruled, *ORIGINAL, *CENSUS)]
    data.write_text(data.read_text().replace(",V51\n", ",MARKER\n"))
    census.write_text(census.read_text().replace(",30,", ",MARKER,").replace(",02131,", ",MARKED,"))
    said += [cloister("verify", ruled, *words) for words in (ORIGINAL, CENSUS, (*ORIGINAL, *CENSUS))]

    assert sorted({ran.code for ran in said}) == [0, 1, 2]
    for ran in said:
        assert not [value for value in ("250.10", "V51", "MARK", "0213") if value in ran.out + ran.err]
