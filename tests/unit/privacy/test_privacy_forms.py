"""Rules as they are written, described and read again."""

import json
from dataclasses import FrozenInstanceError, fields

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cloister.errors import InputError
from cloister.privacy import (
    AlphaKAnonymity,
    BetaLikeness,
    ClassRule,
    DeltaPresence,
    KAnonymity,
    KMap,
    LDiversity,
    PopulationUniqueness,
    RecursiveLDiversity,
    TableRule,
    TCloseness,
    parse_rule,
    rule_of,
)

PATH = "/secret/place/census.csv"


def test_a_rule_is_written_and_read_alike(words, rule):
    """The words of a rule are read as that rule, and the rule is written in those words."""
    assert words == rule.words()
    assert rule == parse_rule(words)
    assert words == parse_rule(words).words()


def test_a_description_makes_the_rule_again(words, rule):
    """What a rule says of itself, through JSON, makes a rule that says the same and equals it."""
    stated = json.loads(json.dumps(rule.describe()))
    again = rule_of(stated)

    assert rule == again
    assert list(rule.describe().items()) == list(again.describe().items())
    assert rule.sentence() == again.sentence()


def test_descriptions_are_plain(words, rule):
    """A manifest gets texts, whole numbers and floats, and the model first."""
    described = rule.describe()

    assert next(iter(described)) == "model"
    assert {type(value) for value in described.values()} <= {str, int, float}


def test_a_rule_is_of_its_protocol(words, rule):
    """Each rule is about classes or about the table, not both, and says so by its members."""
    assert isinstance(rule, ClassRule) != isinstance(rule, TableRule)
    assert isinstance(rule.is_monotone, bool)
    assert rule.is_closed or not rule.is_monotone
    assert rule.class_size >= 1


def test_a_rule_does_not_change(words, rule):
    """Rules are frozen and can be keys."""
    with pytest.raises(FrozenInstanceError):
        setattr(rule, fields(rule)[0].name, 7)
    assert hash(rule) == hash(parse_rule(words))


def test_what_a_rule_was_given_is_not_shown(words, rule, marker):
    """Neither population nor hierarchy appears in what a rule says of itself."""
    assert marker not in f"{rule!r} {rule.describe()} {rule.words()} {rule.sentence()}"


@pytest.mark.parametrize("text", [f"k-map:{PATH}=5", f"delta-presence:{PATH}=0,0.5", f"t-closeness:c=0.2,{PATH}"])
def test_paths_stay_with_the_command_line(text):
    """The rule holds the path as ``source`` and shows the file's name alone; given the thing, it forgets the path."""
    rule = parse_rule(text)
    shown = f"{rule!r} {rule.describe()} {rule.words()} {rule.sentence()}"

    assert rule.source == PATH
    assert "secret" not in shown
    assert "census.csv" in shown
    given_it = rule.with_hierarchy(Named()) if isinstance(rule, TCloseness) else rule.with_population([1])
    assert given_it.source is None
    assert given_it == rule


class Named:
    """A hierarchy by its name."""

    spec = "census.csv"


def test_hierarchies_in_words_keep_their_words():
    """A builder with bounds is no path: slashes and equal signs belong to it."""
    rule = parse_rule("t-closeness:a=b=0.2,interval:5,10/top=90/bottom=0")

    assert TCloseness(0.2, "a=b", "hierarchical", spec="interval:5,10/top=90/bottom=0") == rule
    assert rule.source == rule.spec


@given(st.text(min_size=1), st.sampled_from([LDiversity, BetaLikeness]))
def test_columns_may_have_any_name(column, model):
    """Colons, commas, equal signs, blanks and line ends of a column's name survive."""
    rule = model(2, column)

    assert rule == parse_rule(rule.words())


@given(st.text(min_size=1))
def test_columns_of_t_closeness_may_have_nearly_any_name(column):
    """So they do for t-closeness, unless the name itself holds a number after an equal sign and then a comma."""
    assume("=" not in column or "," not in column)
    rule = TCloseness(0.2, column, "ordered")

    assert rule == parse_rule(rule.words())


WRONG = [
    ("l-diversty:c=2", "Did you mean l-diversity?"),
    ("nonsense", "is not known"),
    ("x" * 500, "The rule asked for is not known"),
    ("", "is not known"),
    ("k-anonymity", "k-anonymity=5"),
    ("k-anonymity=", "k-anonymity=5"),
    ("k-anonymity=2.5", "k-anonymity=5"),
    ("k-anonymity:c=5", "k-anonymity=5"),
    ("k-anonymity=1", "k must be a whole number from 2, not 1"),
    ("k-anonymity=" + "9" * 5000, "k-anonymity=5"),
    ("k-anonymity=" + "9" * 50, "no table has as many records"),
    ("l-diversity=2", "l-diversity:diagnosis=2"),
    ("l-diversity:=2", "l-diversity:diagnosis=2"),
    ("l-diversity:c", "l-diversity:diagnosis=2"),
    ("l-diversity:c=1", "from 2"),
    ("l-diversity:c=-1", "l-diversity:diagnosis=2"),
    ("l-diversity:c=٣", "l-diversity:diagnosis=2"),
    ("entropy-l-diversity:c=1", "above 1"),
    ("entropy-l-diversity:c=nan", "entropy-l-diversity:diagnosis=2.5"),
    ("entropy-l-diversity:c=1e999", "above 1"),
    ("entropy-l-diversity:c=1e300", "no table has as many"),
    ("recursive-l-diversity:c=3", "recursive-l-diversity:diagnosis=3,2"),
    ("recursive-l-diversity:c=0,2", "above 0"),
    ("t-closeness:c=1", "from 0 to below 1"),
    ("t-closeness:c=0.2,", "t-closeness:diagnosis=0.2"),
    ("t-closeness:c=0.2,hierarchical", "t-closeness:diagnosis=0.2"),
    ("t-closeness:c=x,ordered", "t-closeness:diagnosis=0.2"),
    ("delta-presence:f.csv=0.5", "delta-presence:census.csv=0,0.5"),
    ("delta-presence:f.csv=0,1", "promises nothing"),
    ("delta-presence:f.csv=0.6,0.5", "cannot be met"),
    ("delta-presence:f.csv=0,1.5", "from 0 to 1"),
    ("alpha-k-anonymity:c=0.5", "alpha-k-anonymity:diagnosis=0.5,5"),
    ("alpha-k-anonymity:c=1,5", "above 0 and below 1"),
    ("beta-likeness:c=0", "above 0"),
    ("delta-disclosure:c=0", "above 0"),
    ("no-attack=300", "no-attack=300,4"),
    ("no-attack=300,0", "above 0"),
    ("no-attack=1e18,1e-18", "no table has as many records"),
    ("positive-payout=300,4", "positive-payout=300,4,1200,300"),
    ("positive-payout=300,4,1200,-300", "publisher_loss must be a number above 0"),
    ("positive-payout=1e18,1e-18,1e-18,1e18", "no table has as many records"),
    ("average-risk=0", "above 0 and below 1"),
    ("average-risk:c=0.1", "average-risk=0.1"),
    ("sample-uniqueness=1", "from 0 to below 1"),
    ("k-map=5", "k-map:census.csv=5"),
    ("k-map:4=5", "from 5"),
    ("k-map:100=5,0", "above 0 and at most 0.5"),
    ("k-map:f.csv=5,0.1", "k-map:census.csv=5"),
    ("population-uniqueness:many=0.1", "population-uniqueness:1000000=0.01"),
    ("population-uniqueness:0=0.1", "from 1"),
    ("population-uniqueness:9=0.1,best", "dankar, pitman, zayatz, snb"),
]


@pytest.mark.parametrize(("text", "said"), WRONG, ids=[text[:40] or "empty" for text, _ in WRONG])
def test_mistakes_are_told(text, said):
    """What is not a rule is an InputError that says what would be one."""
    with pytest.raises(InputError) as found:
        parse_rule(text)
    assert said in found.value.message


@given(st.text(max_size=60) | st.sampled_from([text for text, _ in WRONG]).flatmap(lambda t: st.text().map(t.__add__)))
def test_any_text_is_a_rule_or_an_input_error(text):
    """Nothing but an InputError comes of a text that is no rule."""
    try:
        parse_rule(text)
    except InputError:
        return


@pytest.mark.parametrize(
    "stated",
    [
        None,
        [],
        "k-anonymity",
        {},
        {"model": "k-anonymity"},
        {"model": ["k-anonymity"], "k": 5},
        {"model": "k-anonymity", "k": "5"},
        {"model": "k-anonymity", "k": 5.0},
        {"model": "k-anonymity", "k": True},
        {"model": "k-anonymity", "k": 5, "l": 2},
        {"model": "k-map", "k": 5},
        {"model": "k-map", "k": 5, "population": 7},
        {"model": "k-map", "k": 5, "population": None},
        {"model": "k-map", "k": 5, "population_size": None, "significance": 0.01},
        {"model": "k-map", "k": 5, "population_size": 100, "significance": 0.01, "class_size": 6},
        {"model": "k-map", "k": 5, "population_size": 100, "significance": 0.01, "class_size": None},
        {"model": "k-map", "k": 5, "population_size": 100, "significance": 0.01, "population": "f"},
        {"model": "t-closeness", "column": "c", "t": 0.2, "distance": "far"},
        {"model": "t-closeness", "column": "c", "t": 0.2, "distance": "hierarchical"},
        {"model": "t-closeness", "column": "c", "t": 0.2, "distance": "equal", "hierarchy": "icd9"},
        {"model": "t-closeness", "column": ["c"], "t": 0.2, "distance": "equal"},
        {"model": "l-diversity", "column": "", "l": 2},
        {"model": "beta-likeness", "column": "c", "beta": float("nan")},
        {"model": "average-risk", "risk": 10**400},
        {"model": "population-uniqueness", "share": 0.1, "population_size": 10, "estimator": {}},
    ],
    ids=str,
)
def test_what_no_rule_says_of_itself_is_refused(stated):
    """A manifest that states something else is told by ValueError, TypeError or KeyError."""
    with pytest.raises((ValueError, TypeError, KeyError)):
        rule_of(stated)


def test_a_derived_class_size_is_stated():
    """A manifest holds the class size that k-map with a size came to, and the rule can be made from it."""
    rule = KMap(5, size=1000).in_sample(100)

    assert rule.describe() == {"model": "k-map", "k": 5, "population_size": 1000, "significance": 0.01, "class_size": 4}
    assert rule == rule_of(rule.describe())
    assert rule.class_size == 4


class Column(list):
    """Data given where a number is asked for."""


@pytest.mark.parametrize(
    "make",
    [
        lambda x: KAnonymity(x),
        lambda x: KMap(x, size=10),
        lambda x: KMap(5, size=x),
        lambda x: LDiversity(x, "c"),
        lambda x: LDiversity(2, x),
        lambda x: RecursiveLDiversity(x, 2, "c"),
        lambda x: AlphaKAnonymity(0.5, x, "c"),
        lambda x: TCloseness(x, "c"),
        lambda x: TCloseness(0.2, "c", x),
        lambda x: DeltaPresence(x, 0.5, population=[1]),
        lambda x: PopulationUniqueness(0.1, 10, x),
    ],
)
def test_data_given_for_a_setting_are_not_shown(make, marker):
    """Whoever passes a column where a number or name belongs reads its type, not its values."""
    with pytest.raises(InputError) as found:
        make(Column([marker]))
    assert marker not in str(found.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: KAnonymity(True),
        lambda: KMap(5),
        lambda: KMap(5, size=10, population=[1]),
        lambda: KMap(5, size=10, significance=True),
        lambda: DeltaPresence(0, 0.5),
        lambda: DeltaPresence(0, 0, population=[1]),
        lambda: TCloseness(0.2, "c", "hierarchical"),
        lambda: TCloseness(0.2, "c", "ordered", Named()),
        lambda: TCloseness(float("inf"), "c"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make):
    """Switches for numbers, missing or contradicting settings and infinity are InputErrors."""
    with pytest.raises(InputError):
        make()
