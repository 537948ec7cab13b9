"""The sentences that a manifest of claims may hold: each is written here once more, with the numbers left open.

Nothing that is no sentence of ours passes, so that nobody can hide a patient in one. A new step or adversary needs a
line in one of the tables below. ``<n>`` is a whole number, ``<x>`` another one, ``<column>`` and ``<columns>`` are
columns of the plan in quotes, ``<word>`` is a word without digits; everything else stands for itself, but for words
that are settings of the plan, which ``Facts`` gives.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .group_tables import exclusion_rules
from .plan_sections import AGE, DAYS_IN_HOSPITAL, DAYS_SINCE_FIRST, LENGTH_OF_STAY, PAY_DELAY, YEAR

DERIVED = "|".join((AGE, DAYS_IN_HOSPITAL, DAYS_SINCE_FIRST, LENGTH_OF_STAY, PAY_DELAY, YEAR))
VARIABLES = "sex|age|days since first claim|length of stay"
ROLES, WAYS = "provider|vendor|pcp", "drop|number|per-table"
GROUPED = "diagnosis|procedure|place|specialty"
KINDS = "diagnosis|procedure|place"
REMOVED = "those of newborns|those with a letter before the procedure|those with a revenue code for a procedure"


def one_of(words: str) -> str:
    """One of these words, or several with commas."""
    return f"(?:{words})(?:, (?:{words}))*"


SLOTS = {"<n>": "[0-9][0-9,]{0,14}", "<x>": r"[0-9]{1,6}(?:\.[0-9]{1,6})?", "<word>": r"[A-Za-z][A-Za-z -]{0,39}"}

STEPS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        "1 pseudonyms",
        (
            r"Patients' ids are (?:replaced by numbers in released order|replaced by keyed hashes \(HMAC-SHA256\)"
            r"(?:, which link releases made with the same key)?)\."
            rf"(?: Other ids: {one_of(f'(?:{ROLES}) (?:{WAYS})')}\.)?",
        ),
        (rf"(?:{ROLES}) <column> with (?:1|2-4|5-10|11-19|20-99|100\+) claims",),
    ),
    (
        "2 high-risk patients",
        (
            r"No exclusion list was asked for\.",
            r"No column has codes that the exclusion list could be compared with\.",
            rf"Patients with codes on the exclusion list are left out, with all their claims: {one_of(KINDS)}\."
            rf"(?: Not looked for, as no column has them: {one_of(KINDS)}\.)?",
        ),
        ("<rule>",),
    ),
    (
        "3 claims removed",
        (
            rf"(?:No claims were removed|Claims removed: {one_of(REMOVED)})\."
            r"(?: Newborns could not be told: there is no date of birth or no date of claim\.)?"
            r"(?: Procedures could not be told: there is no column of them\.)?",
        ),
        ("newborns", "procedure codes with a letter", "revenue codes of three digits"),
    ),
    (
        "3 patients without claims",
        (r"Patients without claims are (?:kept|left out)\.",),
        ("without claims",),
    ),
    (
        "4 representativeness",
        (rf"Excluded and released patients compared by (?:nothing|{one_of(VARIABLES)})\.",),
        (),
    ),
    (
        "5 derived columns",
        (rf"(?:Nothing was derived|Derived: {one_of(DERIVED)})\.",),
        (rf"(?:{DERIVED}) missing",),
    ),
    (
        "6 grouping",
        (
            r"No column was replaced by groups\.",
            rf"Replaced by groups: {one_of(f'<column> .(?:{GROUPED}).')}\.",
        ),
        ("<column> in group OTHER",),
    ),
    (
        "6 top-coding",
        (
            r"No column was top-coded\.",
            r"Top-coded: <column> from its <x>th percentile(?:, zeros left out)?(?:; <column> from its <x>th percentile"
            r"(?:, zeros left out)?)*\. The label is that percentile of the data\.",
        ),
        ("<column> top-coded",),
    ),
    ("7 truncation", ("<truncation>",), ("patients with fewer claims",)),
    (
        "8 adversary power",
        (r"At most <power> values of each quasi-identifier of claims are known, <x> in the mean\.",),
        (),
    ),
    ("9 node risk", (r"<draws> draws\.",), ()),
    (
        "10 search",
        (
            r"<n> nodes for each truncation level; max_suppression <x>\."
            r"(?: With max_suppression <x>, as asked, suppression did not suffice\.)?"
            r"(?: search\.nodes or search\.time_limit_s ended the search: the levels are the best found by then\.)?",
        ),
        (),
    ),
    (
        "11 suppression",
        (r"Treatment: <treatment>\. k = <k>\.",),
        ("patients left out", "cells suppressed", "claims left out"),
    ),
    (
        "12 evaluation",
        (
            r"<n> adversaries were simulated on what is released, patients and claims together unless they say "
            r"otherwise; the list of voters is of the (?:population|released patients)\.",
        ),
        (),
    ),
)
"""Steps in their order, each with what it may say and what it may count."""

EXTRA = frozenset({"12 evaluation"})
"""Steps that need not be told."""

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


@dataclass(frozen=True)
class Facts:
    """What the plan and the figures say that sentences repeat.

    Attributes
    ----------
    plan : as the manifest tells it
    k, draws : smallest class that is not flagged, draws of the risk
    truncation : percentile as told, ``none`` where nothing was truncated
    """

    plan: Mapping[str, Any]
    k: int
    draws: int
    truncation: str

    @cached_property
    def slots(self) -> dict[str, str]:
        """What each word in angle brackets may be, as regular expressions."""
        sections = [self.plan["patients"], self.plan["claims"]]
        columns = [name for part in sections for name in (*part["roles"], *part["derived"])]
        quoted = "(?:" + "|".join(re.escape(repr(name)) for name in columns) + ")"
        rules = [re.escape(name) for name in exclusion_rules()]
        own = [SLOTS["<word>"]] if self.plan["exclusions"]["file"] is not None else []
        per = re.escape(self.plan["truncation"]["per"])
        cut = rf"Claims were cut to the {re.escape(self.truncation)}th percentile of claims per {per}\."
        return {
            **SLOTS,
            "<columns>": f"{quoted}(?:, {quoted})*",
            "<column>": quoted,
            "<bare>": "(?:" + "|".join(re.escape(name) for name in columns) + ")",
            "<rule>": "(?:" + "|".join([*rules, *own]) + ")",
            "<truncation>": r"Nothing was truncated\." if self.truncation == "none" else cut,
            "<power>": f"{self.plan['adversary']['power']}",
            "<treatment>": re.escape(self.plan["suppression"]["treatment"]),
            "<draws>": re.escape(f"{self.draws:,}"),
            "<k>": f"{self.k}",
        }

    def says(self, text: Any, *patterns: str) -> bool:
        """Whether a text is one of these sentences."""
        return isinstance(text, str) and any(re.fullmatch(self._filled(pattern), text) for pattern in patterns)

    def _filled(self, pattern: str) -> str:
        return re.sub("<[a-z]+>", lambda slot: str(self.slots[slot[0]]), pattern)


def steps_are_ours(steps: Sequence[Mapping[str, Any]], facts: Facts) -> bool:
    """Whether the steps are those there are, in order, and say and count only what they can."""
    told = [line["step"] for line in steps]
    if told not in ([name for name, _, _ in STEPS], [name for name, _, _ in STEPS if name not in EXTRA]):
        return False
    return all(_is_line(line, facts, *known) for line, (_, *known) in zip(steps, STEPS, strict=False))


def _is_line(line: Mapping[str, Any], facts: Facts, sentences: Sequence[str], reasons: Sequence[str]) -> bool:
    right = line.keys() == {"step", "done", "total", "counts"} and facts.says(line["done"], *sentences)
    right = right and (line["total"] is None or line["total"] == "withheld" or is_count(line["total"], facts.k))
    return right and all(
        facts.says(reason, *reasons) and is_count(count, facts.k) for reason, count in line["counts"].items()
    )


def is_count(value: Any, k: int) -> bool:
    """Whether something is a count as it is told: below k it is not."""
    return value in (f"<{k}", "withheld") or (type(value) is int and (value == 0 or value >= k))


def adversary_is_ours(row: Mapping[str, Any], facts: Facts) -> bool:
    """Whether an adversary is one that there is, and assumes what it does."""
    known = [assumes for name, assumes in ADVERSARIES if facts.says(row["adversary"], name)]
    return bool(known) and facts.says(row["assumes"], *known) if "assumes" in row else bool(known)
