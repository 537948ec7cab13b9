"""Step 6: codes and names replaced by their groups, and large numbers by one label."""

import math

import polars as pl

from cloister.errors import InputError

from .codes import without_no_codes
from .data import Claims
from .dates import numbers_of
from .group_tables import OTHER, groups_of
from .plan_sections import TopCoding
from .steps import StepLine, Stepped


def grouping(data: Claims) -> Stepped:
    """Replace diagnoses, procedures, places and specialties by their groups, where the plan asks for it.

    Columns that are not replaced here can still be grouped by their hierarchy, whose levels hold the same groups;
    what is no code in them gets one label, see `without_no_codes`. Missing stays missing.

    References
    ----------
    El Emam et al. (2012), JMIR 14(1):e33, appendix, sections 7 to 10.
    """
    plan = data.plan
    claims, without = without_no_codes(data.claims, plan)
    counts = {f"{column!r} not a code": count for column, count in without.items()}
    grouped: list[str] = []
    for role in plan.grouping.columns:
        column = plan.claim_column(role)
        if column is None:
            continue
        groups = groups_of(role, plan.grouping.tables)
        names = {text: groups.group(text) for text in claims[column].drop_nulls().unique()}
        series = claims[column].replace_strict(names, return_dtype=pl.String) if names else claims[column]
        claims = claims.with_columns(series)
        counts[f"{column!r} in group {OTHER}"] = int((series == OTHER).sum())
        grouped.append(f"{column!r} ({role})")
    done = f"Replaced by groups: {', '.join(grouped)}." if grouped else "No column was replaced by groups."
    return Stepped(data.with_frames(claims=claims), StepLine("6 grouping", done, counts=counts))


def top_coding(data: Claims) -> Stepped:
    """Give all numbers from a quantile on one label, such as ``162+``, in the columns that the plan names.

    The quantile is the nearest rank among the column's values, those of 0 left out if the plan says so. The label is
    thus a quantile of the data, which the line says; nothing else that is released holds one.

    Raises
    ------
    InputError
        There is no such column, or its values are not numbers.
    """
    patients, claims = data.patients, data.claims
    counts: dict[str, int] = {}
    told: list[str] = []
    for coding in data.plan.top_coding:
        if coding.column in claims.columns:
            coded, count = _top_coded(claims[coding.column], coding)
            claims = claims.with_columns(coded)
        elif coding.column in patients.columns:
            coded, count = _top_coded(patients[coding.column], coding)
            patients = patients.with_columns(coded)
        else:
            raise InputError(f"The plan asks for top-coding of {coding.column!r}, but there is no such column.")
        counts[f"{coding.column!r} top-coded"] = count
        zeros = ", zeros left out" if coding.exclude_zero else ""
        told.append(f"{coding.column!r} from its {100 * coding.quantile:g}th percentile{zeros}")
    done = "No column was top-coded."
    if told:
        done = f"Top-coded: {'; '.join(told)}. The label is that percentile of the data."
    return Stepped(data.with_frames(patients, claims), StepLine("6 top-coding", done, counts=counts))


def _top_coded(series: pl.Series, coding: TopCoding) -> tuple[pl.Series, int]:
    numbers = numbers_of(series, "the data") if series.dtype == pl.String else series
    counted = numbers.drop_nulls().filter(numbers.drop_nulls() > 0) if coding.exclude_zero else numbers.drop_nulls()
    text = numbers.cast(pl.String)
    if counted.is_empty():
        return text, 0
    rank = max(1, math.ceil(round(coding.quantile * counted.len(), 9)))
    limit = counted.sort()[rank - 1]
    above = (numbers >= limit).fill_null(False)
    return text.set(above, f"{limit}+"), int(above.sum())
