"""Forms made of what is declared, and jobs written as TOML: what goes in comes out again."""

import re
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import FormData
from tests.made.examples import examples

from cloister.errors import InputError, setting
from cloister.jobs.job import SHAPES
from cloister.settings.declaration import command_words, settings_of
from cloister.settings.toml import read_toml
from cloister.web.forms import bind_fields, errors_of, fill_section, specs_of_record, specs_of_shape
from cloister.web.job_state import toml_of

KEYS = st.text(min_size=1, max_size=8)
PLAIN = (
    st.text(max_size=12)
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats(allow_nan=False, allow_infinity=False, width=32)
)
VALUES = PLAIN | st.lists(st.text(max_size=8), max_size=3)
SECTION = st.dictionaries(KEYS, VALUES | st.dictionaries(KEYS, PLAIN, max_size=3), max_size=4)


@examples(200)
@given(content=st.dictionaries(KEYS, VALUES | SECTION | st.lists(SECTION, min_size=1, max_size=2), max_size=4))
def test_toml_reads_back_as_it_was(content):
    """Whatever a job may hold, its text says the same: names of columns with dots, quotes, lines, any letters."""
    text = toml_of(content)

    assert read_toml(text, "job.toml", "init") == content


VALUES_OF = {
    "table": {"k": 7, "suppression": 0.02, "rule": ["l-diversity:a\r\nb=2"], "target": "a\nb",
              "weight": {"a": 2.0}, "local_recoding": True,
              "purpose": "counts", "levels": {"a": 1}, "time_limit": 2.5, "microaggregate": {"b": "mean"}},
    "codes": {"k": 3, "m": 2, "method": "cba", "sensitive": ["042", "V08"], "inference_threshold": 0.5,
              "drop_empty": True},
    "trajectories": {"k": 3, "weights": [0.25, 0.75], "block": 500, "on_unknown_code": "root"},
    "claims": {"plan": {"risk": {"threshold": 0.1}, "removals": {"newborns": False}, "weights": {"age": 2.0},
                        "truncation": {"percentiles": ["none", 99.0]},
                        "patients": {"roles": {"id": "id"}, "qi": {}, "derived": ["age"]},
                        "grouping": {"columns": []},
                        "top_coding": [{"column": "x", "quantile": 0.9}]}},
}  # fmt: skip


@pytest.mark.parametrize("shape", VALUES_OF)
def test_a_form_sent_as_it_is_says_what_the_job_said(shape):
    """Every kind of field gives back what was put into it."""
    section, specs = VALUES_OF[shape], specs_of_shape(shape, ("a", "b"))
    form = []
    for one in bind_fields(specs, section):
        if one.by_column:
            form += [(f"{one.spec.name}:{place}", text) for place, (_, text) in enumerate(one.by_column)]
        elif one.spec.how == "ticks":
            form += [(one.spec.name, word) for word in one.selection if word]
        elif one.spec.how in ("lines", "pairs"):
            form.append((one.spec.name, one.text))
        elif one.spec.how != "tick":
            form.append((one.spec.name, re.sub(r"[\r\n]", "", one.text)))  # as a browser has it in one line
        elif one.text == "true" or (not one.text and one.spec.hint == "True"):
            form.append((one.spec.name, "true"))  # as a browser sends a tick
    made = fill_section(specs, {}, FormData(form))

    def without_empty(value):
        return (
            {key: without_empty(part) for key, part in value.items() if part != {}}
            if isinstance(value, dict)
            else value
        )

    assert without_empty(without_empty(made)) == without_empty(section)


@dataclass(frozen=True)
class Inner:
    """A section."""

    n: int = 1


@dataclass(frozen=True)
class Outer:
    """A record with a section."""

    inner: Inner = field(default_factory=Inner)


def test_a_new_setting_is_there_at_once():
    """Fields come of what is declared, under the heading of their section."""
    (spec,) = specs_of_record(Outer)

    assert (spec.key, spec.group, spec.about, spec.hint, spec.how) == ("inner.n", "inner", "A section.", "1", "number")


@pytest.mark.parametrize(
    ("named", "words"),
    [
        (("k", None, "protect[1]"), "k must be a number."),
        (("plan.risk.threshold", None, "protect[2]"), "plan.risk.threshold must be a number."),
        (("merge_classes", 5), "merge_classes = 5 must be a number."),
        (("delimiter", None, "sources.p"), "delimiter must be a number."),
    ],
)
def test_errors_find_their_field(named, words):
    """By the setting that the error is about, which is called as a job calls it."""
    error = InputError(setting(*named), " must be a number.", file="job.toml", place="job.toml")

    assert errors_of(error) == {named[0]: words}


def test_an_error_without_a_setting_belongs_to_no_field():
    """It is said for the whole page, with the place that it is about."""
    assert errors_of(InputError("Something else.", place="Part a")) == {"": "Part a: Something else."}


@pytest.mark.parametrize("shape", SHAPES)
def test_words_of_a_command_leave_out_what_is_usual(shape):
    """A setting at its default is not typed; one that is not stands with its option."""
    defaults = {one.word: one.default for one in settings_of(SHAPES[shape].options)}

    assert (
        command_words(
            SHAPES[shape].options, {word: value for word, value in defaults.items() if isinstance(value, str | int)}
        )
        == []
    )
    assert (
        command_words(SHAPES[shape].options, {"seed": 5, "missing": ["?", "NA"]})
        == ["--seed", "5", "--missing", "?", "--missing", "NA"]
        or shape != "table"
    )


def test_terms_are_links_where_they_stand_first():
    """Once in a text, in the plural as well, never inside another word; what is text stays text."""
    from cloister.web.glossary import link_terms

    text = link_terms(
        "Quasi-identifiers & <quasi-identifier>; k^m-anonymity, not (k, k^m)-anonymity; a lattice. Lossy."
    )

    links = re.findall(r'<a class="term" target="_blank" href="/glossary#([^"]+)">([^<]+)</a>', text)
    assert [name for name, _ in links] == ["quasi-identifier", "k-m-anonymity", "k-k-m-anonymity", "lattice"]
    assert links[0][1] == "Quasi-identifiers"
    assert "</a> &amp; &lt;quasi-identifier&gt;; " in text
    assert text.endswith("</a>. Lossy.")


def test_every_term_of_the_glossary_stands_on_its_page():
    """Under an anchor of its own, with what it means."""
    from cloister.web.glossary import sections

    terms = [one for terms in sections().values() for one in terms]
    text = Path(__file__).parents[3].joinpath("docs", "glossary.md").read_text()

    assert len(terms) == len(re.findall(r"^\| \*\*", text, re.MULTILINE))
    assert len({one.anchor for one in terms}) == len(terms)
    assert not re.search(r"\*\*|`|\]\(", "".join(one.meaning for one in terms))


def test_words_that_the_command_line_completes_are_proposed(window):
    """Losses and searches have a list of their words, though others are allowed."""
    page = window.get("/promise", job="patients.toml").text

    assert '<datalist id="f-loss-offers"><option value="iyengar">' in page
    assert " list=f-loss-offers " in page


@pytest.mark.parametrize("role", ["id", "sensitive", "keep", "drop", "quasi-identifier", "undecided"])
def test_the_name_of_a_role_styles_dots_alone(role):
    """A dot has its role as a class; a rule for anything else of that name would turn the dot into that."""
    styles = (files("cloister.web") / "static" / "app.css").read_text()
    of_role = re.findall(rf"(?:^|[\s,}}])([^\s,{{}}]*\.{role})(?![\w-])", styles)

    assert [one for one in of_role if not one.startswith(".dot")] == []


@pytest.mark.parametrize("shape", ["table", "codes", "trajectories", "claims"])
def test_help_names_fields_and_no_option_of_the_command_line(shape):
    """What help calls an option there is a label here."""
    assert [one.help for one in specs_of_shape(shape) if re.search(r"(?<!\w)-{1,2}[a-z]", one.help)] == []
