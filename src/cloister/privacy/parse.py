"""Rules as they are written on the command line: ``MODEL:COLUMN=VALUE`` or ``MODEL=VALUE``."""

from difflib import get_close_matches

from cloister.errors import InputError

from .k_anonymity import KAnonymity

MODELS = (KAnonymity.model,)
MOST_DIGITS = 100
"""Python itself refuses to read numbers of some thousand digits."""


def parse_rule(text: str) -> KAnonymity:
    """Return the rule that ``text`` names, as ``k-anonymity=5``.

    Raises
    ------
    InputError
        The model is not known, or its number is not one.
    """
    name, _, value = text.partition("=")
    model = name.partition(":")[0].strip()
    if model not in MODELS:
        near = get_close_matches(model, MODELS, 1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise InputError(f"The rule {model!r} is not known.{hint} Rules of this version: {', '.join(MODELS)}.")
    if not value.strip().isdecimal() or len(value) > MOST_DIGITS:
        raise InputError(f"The rule {model} needs a whole number, as in {model}=5.")
    return KAnonymity(int(value))
