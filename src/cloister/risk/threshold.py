"""The risk that is taken as acceptable."""

from cloister.errors import InputError

THRESHOLDS = {"hhp": 0.05, "ema": 0.09}
"""By name: the Heritage Health Prize (El Emam et al. 2012) and the European Medicines Agency (policy 0070)."""

USUAL = 0.2


def parse_threshold(text: str | float) -> float:
    """Return a threshold that was given as a number above 0 and at most 1, or by name.

    Raises
    ------
    InputError
        It is neither.

    Examples
    --------
    >>> parse_threshold("ema"), parse_threshold("0.2")
    (0.09, 0.2)
    """
    if isinstance(text, str) and text in THRESHOLDS:
        return THRESHOLDS[text]
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 1:
        raise InputError(
            f"The threshold of risk is a number above 0 and at most 1, or one of {', '.join(THRESHOLDS)}, as in 0.2."
        )
    return number
