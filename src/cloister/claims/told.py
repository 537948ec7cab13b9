"""What may stand in the parts of a manifest of claims: their keys, what is under each, and no text but our sentences.

Sentences about adversaries are written here once more, so that nobody can hide a patient in one; ``<columns>`` are
columns of the plan in quotes. A new adversary needs a line in the table below.
"""

import math
import re
from collections.abc import Callable, Mapping, Set
from typing import Any

from cloister.masking import is_masked_count

from .data_file import CLAIMS, PATIENTS, QUASI, ClaimsPromise

Form = Callable[[Any], bool]
"""Whether something is what may stand in a place."""

SIMULATED = frozenset({"mean", "interval", "flag_rate", "flag_interval", "missed", "draws"})
BAND = re.compile(
    r"[\[(]?[0-9]{1,4}(?:-[0-9]{1,4}|\+)?[\])]?(?: (?:days?|weeks|months))?|week [0-9]{1,4}|[^\W\d_]{1,12}",
)
"""Names of bands: of ages, days, months, weeks; and a sex, which is a short word or a digit."""

VARIABLES = ("sex", "age", "days since first claim", "length of stay")
ADVERSARIES: tuple[tuple[str, str], ...] = (
    ("patients alone", r"Knows the quasi-identifiers of a patient, and nothing of the claims\."),
    ("claims alone", r"Knows as many values of claims as the plan says, and nothing else of the patient\."),
    (
        "patients and claims together",
        r"Knows both of the same patient at once: the adversary of the plan, whose risk is limited\.",
    ),
    (
        "power up to (?:5|10|15|20)",
        r"Knows up to (?:5|10|15|20) values of each column of claims, by the formula of the plan's adversary\.",
    ),
    ("one value of each column", r"Knows one value of each column of claims, of every patient alike\."),
    ("five values of each column", r"Knows five values of each column of claims, of every patient alike\."),
    (
        "all values",
        r"Knows all values of each column of claims, those left out of the release as well, but not which stood in one "
        r"claim\.",
    ),
    (
        r"whole claims \(exact knowledge\)",
        r"Knows which values stood in one claim, of as many claims as the adversary of the plan knows values\.",
    ),
    (
        r"values in their order \(exact order\)",
        r"Knows of each column in which order the values came, and could tell the order of released claims\.",
    ),
    (
        r"flags believed \(tolerant\)",
        r"Knows the same as the adversary of the plan, and lets values be missing where flags say that some were left "
        r"out\.",
    ),
    (
        "picks the likeliest",
        r"Knows the same, and picks of those who fit the one of whom it is likeliest, not one at random\.",
    ),
    ("flags believed, fewest missing", r"The same, and takes only who lacks fewest of the values\."),
    ("flags believed where nobody fits", r"Lets values be missing only where nobody fits without\."),
    (
        "counted in the population",
        r"Knows the same, but not who of the population is released: candidates are scaled up to the people of the "
        r"same <columns>\.",
    ),
    (
        "discharge database",
        r"Has a list of the hospital stays of (?:all|most|[0-9]{1,3} %) of the released patients, with one stay of "
        r"each \(<columns>, all exact\) and the quasi-identifiers of patients; the mean risk is the share matched "
        r"rightly\.",
    ),
)
"""Adversaries, and what they assume."""

UNBOUNDED = (
    r"Knows every quasi-identifier that is released of a patient and of each claim, and how many claims there are\."
)
VOTERS = (
    r"Knows of everybody on a voter list (?:nothing|<columns>) and no claims, and guesses for each person one patient "
    r"who is alike\. The list holds (?:the population|nobody but the released patients, which is the worst case)\."
)


def keys(needed: Mapping[str, Form], more: Mapping[str, Form] | None = None) -> Form:
    """An object with these keys, and perhaps some more."""
    known = {**needed, **(more or {})}

    def holds(value: Any) -> bool:
        right = isinstance(value, dict) and needed.keys() <= value.keys() <= known.keys()
        return right and all(known[key](part) for key, part in value.items())

    return holds


def each(form: Form) -> Form:
    """A list of such things."""
    return lambda value: isinstance(value, list) and all(form(part) for part in value)


def named(is_name: Callable[[str], bool], form: Form) -> Form:
    """An object of such things under names of a kind."""
    return lambda value: isinstance(value, dict) and all(is_name(key) and form(part) for key, part in value.items())


def either(*forms: Form) -> Form:
    """One of these."""
    return lambda value: any(form(value) for form in forms)


def just(expected: Any) -> Form:
    """This, and of the same type."""
    return lambda value: type(value) is type(expected) and value == expected


def among(*expected: str) -> Form:
    """One of these words."""
    return lambda value: isinstance(value, str) and value in expected


def whole(value: Any) -> bool:
    """A number of things."""
    return type(value) is int and value >= 0


def number(value: Any) -> bool:
    """A number from 0 on."""
    return type(value) in (int, float) and math.isfinite(value) and value >= 0


def share(value: Any) -> bool:
    """A number from 0 to 1."""
    return number(value) and value <= 1


def parts_of(
    plan: Mapping[str, Any],
    promise: ClaimsPromise,
    labels: Mapping[str, int],
    n_nodes: int,
    shown: Set[str] = frozenset(),
) -> dict[str, Form]:
    """Return what may stand in each part of the manifest.

    Parameters
    ----------
    labels : distinct labels of each quasi-identifier of claims, in the file
    n_nodes : of the lattice
    shown : labels of columns with few, which bands may be called by
    """
    columns = {*promise.form.names(PATIENTS, QUASI), *promise.form.names(CLAIMS, QUASI)}

    nothing, count = just(None), lambda value: is_masked_count(value, promise.k)
    return {
        "records": keys(
            {
                "in": either(whole, just("withheld")),
                "released": whole,
                "suppressed": either(count, just("withheld")),
                "claims": whole,
            }
        ),
        "utility": keys({"loss": share, "exact": just(False), "labels": just(dict(labels))}),
        "choice": _choice(plan, columns, n_nodes),
        "representativeness": keys(
            {
                "variables": named(
                    lambda name: name in VARIABLES,
                    keys(
                        {
                            "shares": named(
                                lambda band: band in shown or BAND.fullmatch(band) is not None,
                                each(either(nothing, share)),
                            ),
                            "statistic": either(nothing, share),
                        }
                    ),
                ),
                "median_claims_excluded": either(nothing, number),
                "median_claims_released": either(nothing, number),
            }
        ),
        "sensitivity": _sensitivity(plan, columns),
    }


def _choice(plan: Mapping[str, Any], columns: set[str], n_nodes: int) -> Form:
    percentiles = [one if one == "none" else f"{one:g}" for one in plan["truncation"]["percentiles"]]
    levels = keys({table: named(columns.__contains__, whole) for table in (PATIENTS, CLAIMS)})
    return keys(
        {
            "max_suppression": share,
            "truncation": among(*percentiles),
            "levels": levels,
            "optimal": either(just(True), just(False)),
            "lattice": just(n_nodes),
        }
    )


def _sensitivity(plan: Mapping[str, Any], columns: set[str]) -> Form:
    says = _sentences(plan)
    figures: dict[str, Form] = {name: share for name in SIMULATED if "interval" not in name}
    figures |= {"interval": each(share), "flag_interval": each(share), "draws": whole}

    def is_ours(row: Mapping[str, Any]) -> bool:
        return any(says(row["adversary"], name) and says(row["assumes"], text) for name, text in ADVERSARIES)

    row = keys({**figures, "adversary": lambda _: True, "assumes": lambda _: True})
    unbounded = keys(
        {"assumes": lambda text: says(text, UNBOUNDED), "mean": share, "flag_rate": share, "unique": share}
    )
    voters = keys(
        {
            "assumes": lambda text: says(text, VOTERS),
            "columns": each(among(*columns)),
            "list": among("population", "released patients"),
            **dict.fromkeys(("exact", "paper_eq2", "observed", "flag_rate"), share),
            **dict.fromkeys(("classes", "people", "sample"), whole),
        }
    )
    return keys(
        {
            "attacks": lambda rows: each(row)(rows) and all(is_ours(one) for one in rows),
            "unbounded": unbounded,
            "voter_list": voters,
        }
    )


def _sentences(plan: Mapping[str, Any]) -> Callable[[Any, str], bool]:
    """Whether a text is a sentence that may name columns of the plan."""
    names = [name for part in (plan["patients"], plan["claims"]) for name in (*part["roles"], *part["derived"])]
    column = "(?:" + "|".join(re.escape(repr(name)) for name in names) + ")"
    columns = f"{column}(?:, {column})*"
    return lambda text, sentence: (
        isinstance(text, str) and re.fullmatch(sentence.replace("<columns>", columns), text) is not None
    )
