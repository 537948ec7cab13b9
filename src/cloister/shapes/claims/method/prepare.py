"""Steps 1 to 6: ids, high-risk patients, claims removed, derived columns, groups of codes, and large numbers.

References
----------
El Emam et al. (2012), JMIR 14(1):e33, appendix, section 2 (exclusions, removals) and sections 7 to 10 (groups).
Krawczyk, Bellare, Canetti (1997), RFC 2104 (HMAC).
"""

import hashlib
import hmac
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import polars as pl

from cloister.errors import InputError
from cloister.io import as_text
from cloister.io.columns import map_categories, pack_text
from cloister.shapes.claims.format.code_systems import (
    BOTH,
    CODINGS_OF,
    EXCLUDING,
    KINDS,
    LISTS,
    codes_in,
    kinds_of,
    none_of,
    readings,
    shipped_rules,
)
from cloister.shapes.claims.format.data import (
    PATIENT,
    Claims,
    StepLine,
    StepResult,
    check_contents,
    dates_of,
    numbers_of,
    years_of,
)
from cloister.shapes.claims.format.facts import group_sizes
from cloister.shapes.claims.format.group_tables import (
    OTHER,
    RANGED,
    CodeGroups,
    ExclusionRule,
    groups_of,
    place_codes,
    plain,
    read_exclusions,
    words,
)
from cloister.shapes.claims.format.hierarchies import MOST_DELAY, NO_CODE, split_bounds
from cloister.shapes.claims.format.key_file import read_key
from cloister.shapes.claims.format.plan import (
    AGE,
    DAYS_IN_HOSPITAL,
    DAYS_OF_YEAR,
    DAYS_SINCE_FIRST,
    HMAC,
    LENGTH_OF_STAY,
    PAY_DELAY,
    PSEUDONYMS,
    UNJOINED,
    YEAR,
    ClaimsPlan,
    TopCoding,
)
from cloister.shapes.claims.format.released_columns import CLAIMS, PATIENTS, PSEUDONYM, TABLES, kept_columns
from cloister.shapes.claims.format.representativeness import PreprocessedClaims, Representativeness, representativeness

REMOVING, WITHOUT = "3 claims removed", "3 patients without claims"
NEWBORN_DAYS = 28
LETTER = r"^\s*[A-Za-z]"
REVENUE = r"^\s*[0-9]{3}\s*$"

TOP_DAYS = 15
"""Days in hospital from here on are one value, ``15+``, as in the released data of the Heritage Health Prize."""


def pseudonyms(data: Claims) -> StepResult:
    """Remove ids, or replace them by keyed hashes; numbers are assigned at the end, in released order.

    Patients are distinguished by their numbers from here on. Provider, vendor and PCP columns that get numbers are kept
    as they are until `number_pseudonyms` gives them, since only the released order carries no information.

    Guarantee: no original id is released. Not promised: groups stay together, and the number of claims of a provider,
    which may be known elsewhere, can reveal the provider; the line states how large the groups are. `drop` removes the
    columns, `per-table` gives other numbers in each file. A hash of 256 bits (HMAC-SHA256) links releases made with
    the same key, for anyone who has several.
    """
    plan = data.plan
    is_hashed = plan.ids.patients.startswith(HMAC)
    if plan.ids.patients != "number" and not is_hashed:
        raise InputError(UNJOINED)
    gone = [
        [name for name in plan.of(table).columns(*PSEUDONYMS) if name not in kept_columns(plan, table)]
        for table in TABLES
    ]
    (patient_id,) = plan.patients.columns("id")
    patients, claims = data.patients.drop(gone[0]), data.claims.drop(gone[1])
    if is_hashed:
        key = read_key(Path(plan.ids.patients.removeprefix(HMAC)))
        hashes = [hmac.new(key, text.encode(), hashlib.sha256).hexdigest() for text in patients[patient_id]]
        patients = patients.with_columns(pl.Series(patient_id, hashes, dtype=pl.String))
    else:
        patients = patients.drop(patient_id)
    line = StepLine("1 pseudonyms", counts=group_sizes(claims, plan))
    return StepResult(replace(data, patients=patients, claims=claims), line)


def number_pseudonyms(
    patients: pl.DataFrame, claims: pl.DataFrame, plan: ClaimsPlan
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Number provider, vendor and PCP ids by their first appearance in the rows, which are in released order."""
    numbers: dict[str | None, dict[str, int]] = {}
    frames = []
    for table, frame in ((PATIENTS, patients), (CLAIMS, claims)):
        for name, column in kept_columns(plan, table).items():
            if column.role == PSEUDONYM:
                known, ids = numbers.setdefault(column.numbered_with, {}), frame[name]
                for text in ids.drop_nulls().unique(maintain_order=True):
                    known.setdefault(text, len(known) + 1)
                by = partial(pl.Series.replace_strict, old=known, default=None, return_dtype=pl.Int64)
                frame = frame.with_columns(map_categories(ids, by))
        frames.append(frame)
    return frames[0], frames[1]


def removals(data: Claims) -> StepResult:
    """Remove claims up to 28 days after birth, those with a letter before the procedure's number, and revenue codes.

    Patients who have no claims left stay, or leave with the next step, as the plan says of patients without claims.
    Newborns are recognized by date of birth and date of claim; if the data have no date of birth, the line says so. The
    procedure is the one with the role ``procedure``; claims without one stay.

    Guarantee: no such claim remains; with ``whole_patient`` no claim of a patient who had one, as the paper says.
    Deviation: without it, which is the default, only the claims themselves go.

    References
    ----------
    El Emam et al. (2012), JMIR 14(1):e33, appendix, section 2.
    """
    wanted = data.plan.removals
    masks: dict[str, pl.Series] = {}
    birth, date = data.plan.patients.column("birth-date"), data.plan.claims.column("date")
    if wanted.newborns and birth is not None and date is not None:
        born = data.patients.select(PATIENT, dates_of(data.patients[birth], "patients").alias("\0born"))
        days = data.claims.select(PATIENT, dates_of(data.claims[date], "claims").alias("\0date"))
        joined = days.join(born, on=PATIENT, how="left", maintain_order="left")
        masks["newborns"] = ((joined["\0date"] - joined["\0born"]).dt.total_days() <= NEWBORN_DAYS).fill_null(False)
    procedure = data.plan.claims.column("procedure")
    if procedure is not None and wanted.letter_procedures:
        masks["procedure codes with a letter"] = _having(data.claims[procedure], LETTER)
    if procedure is not None and wanted.revenue_codes:
        masks["revenue codes of three digits"] = _having(data.claims[procedure], REVENUE)
    gone = pl.Series([False]).new_from_index(0, data.n_claims)
    for mask in masks.values():
        gone |= mask
    owners = data.claims[PATIENT]
    if wanted.whole_patient:
        gone = owners.is_in(owners.filter(gone).implode())
    line = StepLine(
        REMOVING,
        int(gone.sum()),
        {reason: int(mask.sum()) for reason, mask in masks.items()},
        {reason: owners.filter(mask).n_unique() for reason, mask in masks.items()},
        owners.filter(gone).n_unique(),
    )
    return StepResult(replace(data, claims=data.claims.filter(~gone)), line)


def _having(text: pl.Series, pattern: str) -> pl.Series:
    return map_categories(text, lambda texts: texts.str.contains(pattern)).fill_null(False)


def leave_out_without_claims(data: Claims) -> StepResult:
    """Remove the patients without claims, if the plan says so."""
    n_without = data.n_without_claims
    if data.plan.patients.without_claims == "keep":
        return StepResult(data, StepLine(WITHOUT, counts={"without claims": n_without}))
    left = data.of_patients(data.claims[PATIENT].unique())
    return StepResult(left, StepLine(WITHOUT, n_without))


def add_derived_columns(data: Claims) -> StepResult:
    """Add the derived columns that the plan asks for.

    * ``days_since_first_claim``: days from the patient's first claim that remains to the claim;
      ``days_since_first_claim_of_year`` from the first of the claim's calendar year, as in the Heritage Health Prize.
    * ``length_of_stay``: days from the claim's date to its end, at least 1; missing where the end is.
    * ``pay_delay``: days from the claim's date to its payment, at least 0 and at most 3,650.
    * ``year``: calendar year of the claim.
    * ``age``: years at the first claim, from the date of birth, else from the year of birth; missing of patients
      without claims. At least 0.
    * ``days_in_hospital``: the sum of the lengths of stay of a patient's claims; 15 and more are ``15+``.

    What they are made of (dates, years of birth) stays for the next steps; `encode` leaves it out of what is released.
    """
    plan, claims, patients = data.plan, data.claims, data.patients
    for name in plan.claims.derived:
        claims = claims.with_columns(DERIVATIONS[name](data).cast(pl.Int32).alias(name))
    with_claims = replace(data, claims=claims)
    for own in plan.patients.derived:
        patients = patients.with_columns(DERIVATIONS[own](with_claims).alias(own))
    whole = replace(data, patients=patients, claims=claims)
    counts = {
        f"{name} missing": int(whole.of(table)[name].null_count())
        for table in (CLAIMS, PATIENTS)
        for name in plan.of(table).derived
    }
    return StepResult(whole, StepLine("5 derived columns", counts=counts))


def _days_since_first(data: Claims, *, in_year: bool = False) -> pl.Series:
    """Days from the first claim of a patient, or the first in the calendar year, to each."""
    days = data.claims.select(PATIENT, data.dates("date", DAYS_OF_YEAR if in_year else DAYS_SINCE_FIRST).alias("day"))
    first = pl.col("day").min().over(PATIENT, *([pl.col("day").dt.year()] if in_year else []))
    return days.select((pl.col("day") - first).dt.total_days().alias("days"))["days"]


def _days_to(data: Claims, role: str, name: str, least: int, most: int | None = None) -> pl.Series:
    return (data.dates(role, name) - data.dates("date", name)).dt.total_days().clip(least, most)


def _age(data: Claims) -> pl.Series:
    birth, year = data.plan.patients.column("birth-date"), data.plan.patients.column("birth-year")
    dates = data.claims.select(PATIENT, data.dates("date", AGE).alias("first"))
    first = dates.group_by(PATIENT).agg(pl.col("first").min())
    days = data.patients.select(PATIENT).join(first, on=PATIENT, how="left", maintain_order="left")["first"]
    if birth is not None:
        born = dates_of(data.patients[birth], "patients")
        years = days.dt.year() - born.dt.year() - (_day_of_year(days) < _day_of_year(born)).cast(pl.Int32)
    elif year is not None:
        years = days.dt.year() - numbers_of(data.patients[year], "patients")
    else:
        raise InputError("age is derived from patients with the role birth-date or birth-year, but no column has it.")
    return years.cast(pl.Int64).clip(lower_bound=0)


def _day_of_year(days: pl.Series) -> pl.Series:
    """Month and day as one number, 101 to 1231; 16 bits, since months are given in 8."""
    return days.dt.month().cast(pl.Int16) * 100 + days.dt.day()


def _days_in_hospital(data: Claims) -> pl.Series:
    column = data.plan.claims.column("length-of-stay", LENGTH_OF_STAY)
    if column is None:
        raise InputError("days_in_hospital is derived from claims with a length of stay, but no column has it.")
    days = numbers_of(data.claims[column], "claims")
    sums = data.claims.select(PATIENT, days.alias("days")).group_by(PATIENT).agg(pl.col("days").sum())
    total = data.patients.select(PATIENT).join(sums, on=PATIENT, how="left", maintain_order="left")["days"].fill_null(0)
    text = total.cast(pl.String)
    return text.set(total >= TOP_DAYS, f"{TOP_DAYS}+")


DERIVATIONS: dict[str, Callable[[Claims], pl.Series]] = {
    DAYS_SINCE_FIRST: _days_since_first,
    DAYS_OF_YEAR: partial(_days_since_first, in_year=True),
    LENGTH_OF_STAY: partial(_days_to, role="end-date", name=LENGTH_OF_STAY, least=1),
    PAY_DELAY: partial(_days_to, role="paid-date", name=PAY_DELAY, least=0, most=MOST_DELAY),
    YEAR: years_of,
    AGE: _age,
    DAYS_IN_HOSPITAL: _days_in_hospital,
}


def drop_placeholders(claims: pl.DataFrame, plan: ClaimsPlan) -> tuple[pl.DataFrame, dict[str, int]]:
    """Replace all text in code columns that is no code by the label ``no code``, at every level.

    Free text, a name or a misspelt code would be released as recorded otherwise. They are not refused, since real
    claims have some, and one label holds nothing of them. Also returned: by column how many claims had no code, or a
    list with something that is none.
    """
    counts: dict[str, int] = {}
    for role in RANGED:
        table = groups_of(role, plan.grouping.tables) if role in plan.grouping.tables else None
        own = table if isinstance(table, CodeGroups) else None
        for column in plan.claims.columns(role):
            word, _ = split_bounds(plan.claims.qi.get(column, ""))
            values = claims[column].drop_nulls().unique().to_list()
            none = none_of(role, values, CODINGS_OF.get(word, BOTH), own)
            counts[column] = int(claims[column].is_in([*none]).sum())
            if none:
                claims = claims.with_columns(pack_text(as_text(claims[column]).replace(dict.fromkeys(none, NO_CODE))))
        for column in plan.claims.columns(LISTS[role]):
            cells = claims[column].drop_nulls().unique().to_list()
            none = none_of(role, sorted({code for cell in cells for code in codes_in(cell)}), groups=own)
            counts[column] = int(claims[column].is_in([cell for cell in cells if none & {*codes_in(cell)}]).sum())
    return claims, {column: count for column, count in counts.items() if count}


def exclusions(data: Claims) -> StepResult:
    """Exclude every patient with a claim on the exclusion list, with all claims of the patient.

    Diagnoses are looked for in the column with the role ``diagnosis`` and in all with the role ``diagnoses`` (codes
    separated by spaces, commas, semicolons or bars), procedures likewise, places by code or name. Codes of ICD-9-CM and
    of ICD-10-CM are recognized by their form. A code of both systems counts as one of the system that the rest of the
    column uses; a code of neither is looked up in both lists.

    Guarantee: no claim remains of a patient with a recorded code on the list, so the remaining claims cannot be used
    to infer the excluded ones. Not promised: conditions that are recorded in no column with such a role.

    References
    ----------
    El Emam et al. (2012), JMIR 14(1):e33, appendix, section 2.
    """
    file = data.plan.exclusions.file
    rules = (*shipped_rules(data.plan), *(() if file is None else read_exclusions(file)))
    by_rule = {name: patients for name, patients in _patients_by_rule(data, rules).items() if not patients.is_empty()}
    hit = pl.concat([pl.Series(PATIENT, [], dtype=pl.UInt32), *by_rule.values()]).unique()
    counts = {name: patients.len() for name, patients in by_rule.items()}
    line = StepLine(EXCLUDING, hit.len(), counts, looked_for=kinds_of(rules))
    return StepResult(data.of_patients(hit, others=True), line, removed=data.of_patients(hit))


def _patients_by_rule(data: Claims, rules: tuple[ExclusionRule, ...]) -> dict[str, pl.Series]:
    found: dict[str, list[pl.Series]] = {rule.range.name: [] for rule in rules}
    for kind in KINDS:
        of_kind = [rule for rule in rules if rule.kind == kind]
        for column in data.plan.claims.columns(kind, LISTS.get(kind, kind)) if of_kind else ():
            cells = data.claims[column].drop_nulls().unique().to_list()
            for name, hit in _hits(kind, cells, of_kind).items():
                found[name].append(data.claims.filter(pl.col(column).is_in(hit))[PATIENT].unique())
    return {name: pl.concat(series).unique() for name, series in found.items() if series}


def _hits(kind: str, cells: list[str], rules: list[ExclusionRule]) -> dict[str, list[str]]:
    """Cells that each rule names, by any of their codes."""
    codes = {cell: [cell] if kind == "place" else codes_in(cell) for cell in cells}
    distinct = {code for several in codes.values() for code in several}
    read = {"diagnosis": whole, "procedure": plain, "place": place_code}[kind]
    codings = readings(distinct) if kind == "diagnosis" else dict.fromkeys(distinct, BOTH)
    by_coding = {coding: [rule for rule in rules if rule.coding in (None, coding)] for coding in BOTH}
    by_code = {
        text: {rule.range.name for coding in own for rule in by_coding[coding] if rule.range.holds(read(text))}
        for text, own in codings.items()
    }
    hits: dict[str, list[str]] = {}
    for cell, several in codes.items():
        for name in {name for code in several for name in by_code[code]}:
            hits.setdefault(name, []).append(cell)
    return hits


def whole(diagnosis: str) -> str:
    """Return a code as `plain` does, with the zeros before it that a spreadsheet takes away: `42` is `042`.

    Examples
    --------
    >>> whole("42"), whole("42.0"), whole("429"), whole("B20")
    ('042', '0420', '429', 'B20')
    """
    category, dot, rest = diagnosis.strip().partition(".")
    return plain(category.zfill(3) + dot + rest) if category.isdecimal() else plain(diagnosis)


def place_code(text: str) -> str:
    """Return the code of a place of service, by itself, by name, or before its name: `55 - Residential ...`."""
    name = words(text)
    first, _, rest = name.partition(" ")
    return place_codes().get(name) or (words(first) if rest and first.isdigit() else name)


def grouping(data: Claims) -> StepResult:
    """Replace diagnoses, procedures, places and specialties by their groups, if the plan requests it.

    Columns that are not replaced here can still be grouped by their hierarchy, whose levels hold the same groups;
    what is no code in them gets one label, see `drop_placeholders`. Missing stays missing.

    References
    ----------
    El Emam et al. (2012), JMIR 14(1):e33, appendix, sections 7 to 10.
    """
    plan = data.plan
    claims, without = drop_placeholders(data.claims, plan)
    counts = {f"{column!r} not a code": count for column, count in without.items()}
    for role in plan.grouping.columns:
        column = plan.claims.column(role)
        if column is None:
            continue
        groups = groups_of(role, plan.grouping.tables)
        names = {text: groups.group(text) for text in claims[column].drop_nulls().unique()}
        if names:
            claims = claims.with_columns(pack_text(claims[column].replace_strict(names, return_dtype=pl.String)))
        series = claims[column]
        counts[f"{column!r} in group {OTHER}"] = int((series == OTHER).sum())
    return StepResult(replace(data, claims=claims), StepLine("6 grouping", counts=counts))


def top_coding(data: Claims) -> StepResult:
    """Replace all numbers from a quantile on by one label, such as ``162+``, in the columns that the plan names.

    The quantile is the nearest rank among the column's values, those of 0 omitted if the plan says so. The label is
    thus a quantile of the data, which the line says; nothing else that is released holds one.
    """
    frames, counts = {"claims": data.claims, "patients": data.patients}, {}
    for coding in data.plan.top_coding:
        table = next((name for name, frame in frames.items() if coding.column in frame.columns), None)
        if table is None:
            raise InputError(f"The plan asks for top-coding of {coding.column!r}, but there is no such column.")
        coded, counts[f"{coding.column!r} top-coded"] = _top_coded(frames[table][coding.column], coding)
        frames[table] = frames[table].with_columns(pack_text(coded) if table == "claims" else coded)
    coded_data = replace(data, patients=frames["patients"], claims=frames["claims"])
    return StepResult(coded_data, StepLine("6 top-coding", counts=counts))


def _top_coded(series: pl.Series, coding: TopCoding) -> tuple[pl.Series, int]:
    numbers = numbers_of(series)
    counted = numbers.drop_nulls().filter(numbers.drop_nulls() > 0) if coding.exclude_zero else numbers.drop_nulls()
    text = numbers.cast(pl.String)
    if counted.is_empty():
        return text, 0
    rank = max(1, math.ceil(round(coding.quantile * counted.len(), 9)))
    limit = counted.sort()[rank - 1]
    above = (numbers >= limit).fill_null(False)
    return text.set(above, f"{limit}+"), int(above.sum())


@dataclass(frozen=True, eq=False, repr=False)
class DescribedClaims(PreprocessedClaims):
    """Claims after steps 1 to 6, and how the excluded patients differ from the others, for the custodian only."""

    representativeness: Representativeness


def prepare(data: Claims) -> DescribedClaims:
    """Apply steps 1 to 6 to patients and claims.

    Excluded patients go through the derivations as well, since they are compared with the others by them.
    """
    check_contents(data)
    done = [pseudonyms(data)]
    for step in (exclusions, removals, leave_out_without_claims, add_derived_columns, grouping, top_coding):
        done.append(step(done[-1].claims))
    assert done[1].removed is not None
    excluded, remaining = add_derived_columns(done[1].removed).claims, done[4].claims
    lines = [one.line for one in done]
    lines.insert(4, StepLine("4 representativeness"))
    return DescribedClaims(done[-1].claims, tuple(lines), excluded, representativeness(excluded, remaining))
