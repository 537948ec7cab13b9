"""Facts of a manifest in words, for the report and the screen."""

from collections.abc import Mapping, Sequence
from typing import Any

from cloister.privacy import rule_of
from cloister.results import Manifest


def guarantee_sentences(manifest: Manifest) -> list[str]:
    """Return what is promised and was verified, in sentences without a full stop."""
    if manifest["shape"] == "trajectories":
        return [_of_trajectories(rule) for rule in manifest["guarantee"]["rules"]]
    if manifest["shape"] == "codes":
        of_method = _of_chunks if manifest["method"] == "disassociation" else _of_terms
        return of_method(manifest["guarantee"]["rules"], manifest["settings"])
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
    if manifest["shape"] == "codes":
        return "ids are unique" if column is None else f"ids in {column!r} are unique"
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


def _of_chunks(rules: Sequence[Mapping[str, Any]], _settings: Mapping[str, Any]) -> list[str]:
    rule, *diversity = rules
    known = "any code" if rule["m"] == 1 else f"any {rule['m']} codes or fewer"
    if diversity:
        known += " other than the sensitive ones"
    return [
        f"For {known} of a patient there is a data set that could have led to this release in which at least "
        f"{rule['k']} records hold them all",
        *(
            f"Each sensitive code stands apart from all others, and at most one record in {of['l']} of a cluster "
            "holds it"
            for of in diversity
        ),
    ]


def _of_terms(rules: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> list[str]:
    rule = rules[0]
    if "privacy" in rule:
        known = f"a set of codes of the privacy policy {rule['privacy']}, or a part of one"
    else:
        known = "one code" if rule["m"] == 1 else f"{rule['m']} codes or fewer"
        if settings["repeats"]:
            known += f", and that the patient has {'it' if rule['m'] == 1 else 'each'} at least so often"
    return [
        f"Whoever knows of a patient {known}, and looks for the terms that these codes are in, finds no record or at "
        f"least {rule['k']}"
    ]
