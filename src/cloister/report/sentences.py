"""Facts of a manifest in words, for the report and the screen."""

from collections.abc import Mapping, Sequence
from typing import Any

from cloister.privacy import rule_of
from cloister.results import Manifest


def guarantee_sentences(manifest: Manifest) -> list[str]:
    """Return what is promised and was verified, in sentences without a full stop."""
    if manifest["shape"] == "trajectories":
        return [_of_trajectories(rule) for rule in manifest["guarantee"]["rules"]]
    if manifest["shape"] == "claims":
        return _of_claims(manifest["guarantee"]["rules"][0], manifest["risk"]["known"])
    if manifest["shape"] == "codes":
        of_method = _of_chunks if manifest["method"] == "disassociation" else _of_terms
        return of_method(manifest["guarantee"]["rules"], manifest["settings"])
    return [*table_sentences(manifest), *(codes_sentences(manifest) if "codes" in manifest else [])]


def one_row_words(manifest: Manifest) -> str:
    """Return what tells patients apart."""
    told: str = manifest["guarantee"]["one_row_per_patient"]
    if told != "ids":
        return told
    if manifest["shape"] == "claims":
        return f"patients are told apart by {next(iter(manifest['columns']['patients']), '')!r}"
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
            "Any combination of a patient's codes and ages matches no released trajectory or those of at least "
            f"{rule['k']} patients"
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


def _of_claims(rule: Mapping[str, Any], known: float) -> list[str]:
    """What is promised of claims; ``known``: values of a column that are known in the mean."""
    sentences = [
        "Whoever knows the quasi-identifiers of a patient and, of each quasi-identifier of claims by itself, up to "
        f"{rule['power']} values of the patient ({known:.1f} in the mean), and picks one of those who fit at random, "
        f"names the right patient with a chance of at most {rule['threshold']:g}, in the mean over patients and what "
        "is known of them",
        f"At most a share of {rule['threshold']:g} of such attacks leaves fewer than {rule['k']} candidates, the right "
        "one among them",
    ]
    if rule["tolerant"] == "bounded":
        sentences.append(
            "The first holds as well against somebody who lets values be missing where flags say that some were left "
            "out, who then picks at random among those who fit, or among those who lack fewest values"
        )
    if rule["likeliest"] == "bounded":
        sentences.append(
            "The first holds as well against somebody who picks the likeliest of those who fit, not one at random"
        )
    held = rule["patients_of_a_label"]
    return [*sentences, f"Each label of a quasi-identifier is held by at least {held} released patients"]


ADVERSARIES = {
    "patients alone": "Knows the quasi-identifiers of a patient, and nothing of the claims.",
    "claims alone": "Knows as many values of claims as the plan says, and nothing else of the patient.",
    "patients and claims together": (
        "Knows both of the same patient at once: the adversary of the plan, whose risk is limited."
    ),
    "one value of each column": "Knows one value of each column of claims, of every patient alike.",
    "five values of each column": "Knows five values of each column of claims, of every patient alike.",
    "all values": (
        "Knows all values of each column of claims, those left out of the release as well, but not which stood in one "
        "claim."
    ),
    "whole claims (exact knowledge)": (
        "Knows which values stood in one claim, of as many claims as the adversary of the plan knows values."
    ),
    "values in their order (exact order)": (
        "Knows of each column in which order the values came, and could tell the order of released claims."
    ),
    "flags believed (tolerant)": (
        "Knows the same as the adversary of the plan, and lets values be missing where flags say that some were left "
        "out."
    ),
    "flags believed where nobody fits": "Lets values be missing only where nobody fits without.",
    "flags believed, fewest missing": "The same, and takes only who lacks fewest of the values.",
    "picks the likeliest": (
        "Knows the same, and picks of those who fit the one of whom it is likeliest, not one at random."
    ),
    "unbounded": (
        "Knows every quasi-identifier that is released of a patient and of each claim, and how many claims there are."
    ),
}
"""What adversaries of claims know; of others see `assumed_words`."""

POWER = "power up to "
"""Begins the names of adversaries like that of the plan, with another highest power."""


def assumed_words(adversary: str, manifest: Manifest) -> str:
    """Return what an adversary of claims knows, in a sentence or two."""
    if adversary.startswith(POWER):
        most = adversary.removeprefix(POWER)
        return f"Knows up to {most} values of each column of claims, by the formula of the plan's adversary."
    voters = manifest["sensitivity"]["voter_list"]
    known = ", ".join(map(repr, voters["columns"]))
    if adversary == "counted in the population":
        return (
            "Knows the same, but not who of the population is released: candidates are scaled up to the people of the "
            f"same {known}."
        )
    if adversary == "voter list":
        is_population = voters["list"] == "population"
        return (
            f"Knows of everybody on a voter list {known or 'nothing'} and no claims, and guesses for each person one "
            "patient who is alike. The list holds "
            f"{'the population' if is_population else 'nobody but the released patients, which is the worst case'}."
        )
    if adversary == "discharge database":
        (row,) = [row for row in manifest["sensitivity"]["attacks"] if row["adversary"] == adversary]
        share = row["listed"] if isinstance(row["listed"], str) else f"{row['listed']} %"
        return (
            f"Has a list of the hospital stays of {share} of the released patients, with one stay of each "
            f"({', '.join(map(repr, row['columns']))}, all exact) and the quasi-identifiers of patients; the mean risk "
            "is the share matched rightly."
        )
    return ADVERSARIES.get(adversary, "")
