"""Facts of a manifest in words, for the report and the screen."""

from collections.abc import Mapping
from typing import Any

from cloister.privacy import rule_of
from cloister.results import Manifest


def guarantee_sentences(manifest: Manifest) -> list[str]:
    """Return what is promised and was verified, in sentences without a full stop."""
    if manifest["shape"] == "trajectories":
        return [_of_trajectories(rule) for rule in manifest["guarantee"]["rules"]]
    if manifest["shape"] == "table":
        return [*table_sentences(manifest), *(codes_sentences(manifest) if "codes" in manifest else [])]
    sentences: list[str] = manifest["guarantee"]["sentences"]
    return sentences


def one_row_words(manifest: Manifest) -> str:
    """Return what tells patients apart."""
    told: str = manifest["guarantee"]["one_row_per_patient"]
    if told != "ids":
        return told
    column = manifest["settings"]["input_columns"]["id"]
    return "patients are told apart by ids" if column is None else f"patients are told apart by {column!r}"


def table_sentences(manifest: Manifest) -> list[str]:
    """Return what is promised of a table, whatever is promised of its codes."""
    return [_of_table(rule) for rule in manifest["guarantee"]["rules"]]


def codes_sentences(manifest: Manifest) -> list[str]:
    """Return what is promised of the codes of a table."""
    return [_of_table(rule) for rule in manifest["codes"]["guarantee"]["rules"]]


def _of_table(rule: Mapping[str, Any]) -> str:
    if "m" not in rule:
        sentence = rule_of(rule).sentence()
        return sentence[:1].upper() + sentence[1:]
    known = "any code" if rule["m"] == 1 else f"any {rule['m']} codes or fewer"
    return (
        f"For the quasi-identifiers of a patient and {known} of it there is a data set that could have led to this "
        f"release in which at least {rule['k']} records have them all"
    )


def _of_trajectories(rule: Mapping[str, Any]) -> str:
    if "l" not in rule:
        return (
            "Whoever knows any codes of a patient with the ages at which they were recorded finds no trajectory that "
            f"can be the patient's, or those of at least {rule['k']} patients"
        )
    if "column" in rule:
        return (
            f"Of the patients who share a trajectory, at most one in {rule['l']} has the same value of "
            f"{rule['column']!r}; a missing value is none"
        )
    return (
        "Of the patients who share a trajectory, a released code stands for a sensitive one of at most one in "
        f"{rule['l']}"
    )
