"""The keys that the parts of a manifest of claims have, and what may stand under each: no others, and no free text."""

import math
import re
from collections.abc import Callable, Mapping, Set
from typing import Any

from .data_file import CLAIMS, PATIENTS, QUASI, ClaimsPromise
from .told_texts import UNBOUNDED, VARIABLES, VOTERS, Facts, adversary_is_ours, is_count

Form = Callable[[Any], bool]
"""Whether something is what may stand in a place."""

SIMULATED = frozenset({"mean", "interval", "flag_rate", "flag_interval", "missed", "draws"})
BAND = re.compile(
    r"[\[(]?[0-9]{1,4}(?:-[0-9]{1,4}|\+)?[\])]?(?: (?:days?|weeks|months))?|week [0-9]{1,4}|[^\W\d_]{1,12}",
)
"""Names of bands: of ages, days, months, weeks; and a sex, which is a short word or a digit."""


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
    facts: Facts, promise: ClaimsPromise, labels: Mapping[str, int], n_nodes: int, shown: Set[str] = frozenset()
) -> dict[str, Form]:
    """Return what may stand in each part of the manifest.

    Parameters
    ----------
    labels : distinct labels of each quasi-identifier of claims, in the file
    n_nodes : of the lattice
    shown : labels of columns with few, which bands may be called by
    """
    columns = {*promise.form.names(PATIENTS, QUASI), *promise.form.names(CLAIMS, QUASI)}

    def is_band(band: str) -> bool:
        return band in shown or BAND.fullmatch(band) is not None

    nothing, count = just(None), lambda value: is_count(value, facts.k)
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
        "choice": _choice(facts, columns, n_nodes),
        "representativeness": keys(
            {
                "variables": named(
                    lambda name: re.fullmatch(VARIABLES, name) is not None,
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
        "sensitivity": _sensitivity(facts, columns),
    }


def _choice(facts: Facts, columns: set[str], n_nodes: int) -> Form:
    percentiles = [one if one == "none" else f"{one:g}" for one in facts.plan["truncation"]["percentiles"]]
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


def _sensitivity(facts: Facts, columns: set[str]) -> Form:
    figures: dict[str, Form] = {name: share for name in SIMULATED if "interval" not in name}
    figures |= {"interval": each(share), "flag_interval": each(share), "draws": whole}
    row = keys({**figures, "adversary": lambda _: True, "assumes": lambda _: True})
    unbounded = keys(
        {"assumes": lambda text: facts.says(text, UNBOUNDED), "mean": share, "flag_rate": share, "unique": share}
    )
    voters = keys(
        {
            "assumes": lambda text: facts.says(text, VOTERS),
            "columns": each(among(*columns)),
            "list": among("population", "released patients"),
            **dict.fromkeys(("exact", "paper_eq2", "observed", "flag_rate"), share),
            **dict.fromkeys(("classes", "people", "sample"), whole),
        }
    )
    return keys(
        {
            "attacks": lambda rows: each(row)(rows) and all(adversary_is_ours(one, facts) for one in rows),
            "unbounded": unbounded,
            "voter_list": voters,
        }
    )
