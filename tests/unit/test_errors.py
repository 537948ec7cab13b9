"""Messages are made of text and settings; each front end words the settings."""

import pickle

import pytest

from cloister.cli.wording import in_options
from cloister.errors import InputError, InternalError, Message, WrongValue, join_parts, setting
from cloister.jobs.wording import in_keys
from cloister.settings.constraints import Interval

PARTS = ("It is too large. Give ", setting("engine", "memory"), ", ", setting("k"), " or ", setting("drop_empty"), ".")


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (in_options, "Give --engine memory, -k or --drop-empty."),
        (in_keys, 'Give engine = "memory", k or drop_empty.'),
        (str, 'Give engine="memory", k or drop_empty.'),
    ],
)
def test_each_front_end_words_settings(how, expected):
    """The command line, a job and Python each name a setting as their user typed it."""
    assert how(Message(*PARTS)) == f"It is too large. {expected}"


@pytest.mark.parametrize(
    ("value", "option", "key", "keyword"),
    [
        (5, "--size 5", "size = 5", "size=5"),
        (2.0, "--size 2", "size = 2", "size=2"),
        (True, "--size", "size = true", "size=True"),
        ('a"b', "--size 'a\"b'", 'size = "a\\"b"', 'size="a\\"b"'),
        ("a b", "--size 'a b'", 'size = "a b"', 'size="a b"'),
        (["Tumor Size", "b"], "--size 'Tumor Size' --size b", 'size = ["Tumor Size", "b"]', 'size=["Tumor Size", "b"]'),
        ({"a b": 5}, "--size 'a b=5'", 'size = {"a b" = 5}', 'size={"a b": 5}'),
        ({"age": ("40", "49")}, "--size age=40..49", 'size = {"age" = ["40", "49"]}', 'size={"age": ("40", "49")}'),
        (None, "--size", "size", "size"),
    ],
)
def test_values_can_be_typed_as_they_are_worded(value, option, key, keyword):
    """The type of a value decides how it is written: several values, one for each column, a range."""
    message = Message(setting("size", value))

    assert (in_options(message), in_keys(message), str(message)) == (option, key, keyword)


def test_a_message_stays_one_in_another():
    """Put into a message, join_parts, without its stop, or pickled: settings are still settings."""
    inner = Message("Give ", setting("k", 2), ".")
    outer = Message("No: ", join_parts("; ", [inner.without_stop(), setting("m")]))

    assert [one.name for one in pickle.loads(pickle.dumps(outer)).settings] == ["k", "m"]
    assert in_options(outer) == "No: Give -k 2; -m"


def test_text_in_braces_stays_as_it_is():
    """Names of columns and files are data to a message."""
    assert in_options(Message("Column '{k}' and %s, ", setting("k"))) == "Column '{k}' and %s, -k"


def test_an_error_reads_as_python_and_keeps_its_settings():
    """Whoever prints an error reads keywords, also after the error was said to be about a part."""
    error = InputError(*PARTS, column="age")
    error.place = "Part visits"

    assert str(error) == error.message == f"Part visits: {Message(*PARTS)!s}"
    assert in_options(error.message) == f"Part visits: {in_options(Message(*PARTS))}"
    assert (error.code, error.settings, error.column) == ("input", ("engine", "k", "drop_empty"), "age")


def test_a_key_of_a_job_stays_one_on_the_command_line():
    """A setting inside a section is a key of a file, whoever words it."""
    error = WrongValue(setting("k", section="protect[1]"), str(Interval(int, 2)), file="job.toml", place="job.toml")

    assert in_options(error.message) == str(error) == "job.toml: protect[1].k must be a whole number from 2."
    assert error.settings == ("k",)


def test_a_wrong_value_says_what_is_allowed_and_what_was_found():
    """As values, for programs, and in the sentence."""
    error = WrongValue(setting("k"), "a whole number from 2", "1")

    assert (error.allowed, error.found, error.code) == ("a whole number from 2", "1", "wrong-value")
    assert in_options(error.message) == "-k must be a whole number from 2, not 1."


def test_a_defect_says_whom_to_tell():
    """The sentence of an internal error ends with what to do."""
    assert str(InternalError("No.")).endswith("nothing was released.")
