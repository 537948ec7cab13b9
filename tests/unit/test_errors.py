"""Messages name settings; each front end words them."""

import pytest

from cloister.errors import InputError, as_key, as_keyword, as_option, setting, word_settings

TEXT = f"It is too large. Give {setting('engine', 'memory')}, {setting('k')}, or leave out {setting('drop_empty')}."


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (as_option, "Give --engine memory, -k, or leave out --drop-empty."),
        (as_key, 'Give engine = "memory", k, or leave out drop_empty.'),
        (as_keyword, 'Give engine="memory", k, or leave out drop_empty.'),
    ],
)
def test_each_front_end_words_settings(how, expected):
    """The command line, a job and Python each name a setting as their user typed it."""
    assert word_settings(TEXT, how) == f"It is too large. {expected}"


def test_settings_can_be_typed_as_they_are_worded():
    """Names with spaces are quoted for a shell; Python gets lists and weights by column."""
    text = f"{setting('accept', 'Tumor Size')} {setting('weight', 'Tumor Size=5')}"

    assert word_settings(text, as_option) == "--accept 'Tumor Size' --weight 'Tumor Size=5'"
    assert word_settings(text, as_keyword) == 'accept=["Tumor Size"] weight={"Tumor Size": 5}'


def test_an_error_reads_as_python_and_keeps_its_settings():
    """Whoever prints an error sees no marks, also after it was said again of a part."""
    error = InputError(TEXT)
    again = error.saying(f"Part visits: {error.text}")
    assert str(again) == again.message == f"Part visits: {word_settings(TEXT, as_keyword)}"
    assert word_settings(again.text, as_option).endswith("--drop-empty.")
