"""Step 2: high-risk patients are taken out, with all their claims."""

import polars as pl

from .data import PATIENT, Claims
from .group_tables import ExclusionRule, place_codes, plain, read_exclusions, shipped_exclusions, words
from .step_sentences import LOOKED_FOR, excluded
from .steps import StepLine, Stepped

STEP = "2 high-risk patients"


def exclusions(data: Claims) -> Stepped:
    """Take out every patient with a claim that the exclusion list names, and all claims of such patients.

    Diagnoses are looked for in the column with the role ``diagnosis`` and in all with the role ``diagnoses`` (codes
    separated by spaces), procedures likewise, places by code or name.

    Guarantee: no claim of a patient remains whose recorded codes the list names, so that what is left cannot be used
    to infer what was taken out. Not promised: conditions that are recorded in no column with such a role.

    Raises
    ------
    InputError
        The plan's own list cannot be read.

    References
    ----------
    El Emam et al. (2012), JMIR 14(1):e33, appendix, section 2.
    """
    rules = rules_of(data)
    by_rule = {name: patients for name, patients in _patients_by_rule(data, rules).items() if not patients.is_empty()}
    hit = pl.concat([pl.Series(PATIENT, [], dtype=pl.Int64), *by_rule.values()]).unique()
    counts = {name: patients.len() for name, patients in by_rule.items()}
    done = excluded(data.plan, [kind for kind in LOOKED_FOR if any(rule.kind == kind for rule in rules)])
    line = StepLine(STEP, done, hit.len(), counts)
    return Stepped(data.of_patients(hit, others=True), line, removed=data.of_patients(hit))


def rules_of(data: Claims) -> tuple[ExclusionRule, ...]:
    """The rules that the plan names, and its own."""
    plan = data.plan.exclusions
    named = [rule for rule in shipped_exclusions() if plan.rules is None or rule.range.name in plan.rules]
    own = () if plan.file is None else read_exclusions(plan.file)
    return (*named, *own)


def _patients_by_rule(data: Claims, rules: tuple[ExclusionRule, ...]) -> dict[str, pl.Series]:
    found: dict[str, list[pl.Series]] = {rule.range.name: [] for rule in rules}
    for kind in LOOKED_FOR:
        of_kind = [rule for rule in rules if rule.kind == kind]
        if not of_kind:
            continue
        for codes in _codes(data, kind):
            hits = _hits(codes["code"].unique().to_list(), of_kind)
            for name, texts in hits.items():
                found[name].append(codes.filter(pl.col("code").is_in(texts))[PATIENT].unique())
    return {name: pl.concat(series).unique() for name, series in found.items() if series}


def _codes(data: Claims, kind: str) -> list[pl.DataFrame]:
    """Patients with their codes of a kind, column by column."""
    single = data.plan.claim_columns(kind)
    lists = data.plan.claim_columns({"diagnosis": "diagnoses", "procedure": "procedures"}.get(kind, ""))
    frames = [data.claims.select(PATIENT, pl.col(column).alias("code")) for column in single]
    frames += [
        data.claims.select(PATIENT, pl.col(column).str.split(" ").alias("code")).explode("code") for column in lists
    ]
    return [frame.drop_nulls() for frame in frames]


def _hits(texts: list[str], rules: list[ExclusionRule]) -> dict[str, list[str]]:
    """Texts that each rule names."""
    hits: dict[str, list[str]] = {}
    for text in texts:
        for rule in rules:
            code = place_codes().get(words(text), words(text)) if rule.kind == "place" else plain(text)
            if rule.range.holds(code):
                hits.setdefault(rule.range.name, []).append(text)
    return hits
