"""Judge which classes satisfy privacy rules, by SQL where a condition exists, and which classes must be released.

Where a rule cannot be judged by what is at hand, the reason comes back in place of a judgement.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import polars as pl

from cloister.io import Tally
from cloister.shapes.table.format.guarantee import Description, escape_name

from .classes import CLASS, COUNT, Reference, ReleasedClasses
from .rules import CLASS_RULES, NOT_GIVEN, TABLE_RULES, NotAtHandError, forbids_suppression, is_about_table
from .statements import condition_of, find_violating


def judge(
    rules: Sequence[Description], classes: ReleasedClasses, reference: Reference, sizes: pl.Series | None = None
) -> list[pl.Series | str]:
    """Return whether each class satisfies each rule about classes, in the order of ``classes.sizes``; or why not.

    ``sizes``: of all classes, where these are only some of them
    """
    found: list[pl.Series | str] = [""] * len(rules)
    columns = [*dict.fromkeys(rule["column"] for rule in rules if not _asks_for_more(rule) and "column" in rule)]
    in_sql: dict[int, Mapping[str, object]] = {}
    sizes = classes.sizes[COUNT] if sizes is None else sizes
    extremes = (0, 0) if sizes.is_empty() else (int(sizes.sort()[0]), int(sizes.sort()[-1]))
    for number, rule in enumerate(rules):
        if _asks_for_more(rule):
            try:
                found[number] = CLASS_RULES[rule["model"]](rule, classes, reference)
            except NotAtHandError as error:
                found[number] = str(error)
            continue
        place = columns.index(rule["column"]) + 1 if "column" in rule else None
        n_records = reference.n_least, reference.n_most
        condition = condition_of(rule, n_records, extremes, place, reference.detail)
        if isinstance(condition, str):
            found[number] = condition
        elif condition["kind"] in ("shares", "order") and reference.whole is None:
            found[number] = NOT_GIVEN
        else:
            in_sql[number] = condition
    if in_sql:
        for number, holds in zip(in_sql, _judge_in_sql([*in_sql.values()], columns, classes, reference), strict=True):
            found[number] = holds
    return found


def _asks_for_more(rule: Description) -> bool:
    return "population" in rule or rule["model"] == "k-patients" or rule.get("distance") == "hierarchical"


def _judge_in_sql(
    conditions: Sequence[Mapping[str, object]], columns: Sequence[str], classes: ReleasedClasses, reference: Reference
) -> list[pl.Series]:
    """Return whether each class satisfies each condition; ``columns``: the columns of the conditions."""
    whole = None
    if reference.whole is not None and any(one["kind"] in ("shares", "order") for one in conditions):
        values = [pl.col(escape_name(column)).alias(f"value {place}") for place, column in enumerate(columns)]
        counts = reference.whole.count([pl.lit(0).alias(CLASS), *values], COUNT)
        whole = Tally(counts.drop(COUNT), counts[COUNT])
    violating = find_violating(classes.tally(columns), conditions, whole)
    n = classes.sizes.height
    every = pl.Series(range(n), dtype=pl.Int64)
    if violating is None:
        return [pl.repeat(False, n, eager=True) for _ in conditions]
    return [~every.is_in(sorted(broken)) for broken in violating]


def releasable(
    rules: Sequence[Description], every: ReleasedClasses, released: pl.DataFrame, reference: Reference
) -> pl.DataFrame | None:
    """Return the classes, with their sizes, that the rules release; None if a rule cannot be judged.

    Classes that satisfy every rule about classes are; the smallest are suppressed until every rule about the table
    holds.
    Classes of one size go by their values, columns in the order of their names, wherever they are in the file. A
    rule that lets nothing be suppressed releases all classes or none.

    ``released``: the released classes, which were judged before, so that only the others are; how many had to be left
    out is judged by their number.
    """
    keys = every.columns
    others = every.sizes.join(released, on=keys, how="anti", nulls_equal=True)
    if others.is_empty():
        return every.sizes
    frame = every.records.frame
    packed = others.cast({key: frame.schema[key] for key in keys})  # as the records are
    rows = frame.select(keys).with_row_index(COUNT).join(packed, on=keys, how="semi", nulls_equal=True)[COUNT]
    left = ReleasedClasses(every.records.gather(rows), keys)
    about_classes = [rule for rule in rules if not is_about_table(rule)]
    judged = judge(about_classes, left, reference, every.sizes[COUNT])
    holds = [found for found in judged if isinstance(found, pl.Series)]
    if len(holds) < len(judged):
        return None
    kept = left.sizes.filter(*holds) if holds else left.sizes
    kept = pl.concat([every.sizes.join(released, on=keys, how="semi", nulls_equal=True), kept])
    about_table = [rule for rule in rules if is_about_table(rule)]
    if about_table:
        kept = kept.sort([pl.col(COUNT), *(pl.col(name).fill_null("") for name in sorted(keys))])
        n_suppressed = kept.height - released.height
        kept = kept.slice(n_suppressed) if _is_least(about_table, kept[COUNT].to_list(), n_suppressed) else kept.clear()
    is_whole = kept.height == every.sizes.height
    return kept if is_whole or not any(forbids_suppression(rule) for rule in rules) else kept.clear()


def _is_least(rules: Sequence[Description], sizes: Sequence[int], n_suppressed: int) -> bool:
    """Return whether suppressing this number of the smallest classes satisfies all rules, and one fewer does not.

    No other number has both properties, but for estimates, which may rise and fall.
    """
    if n_suppressed < 0:
        return False
    left = Counter(sizes[n_suppressed:])
    if left and not all(TABLE_RULES[rule["model"]](rule, left, 1) for rule in rules):
        return False
    if n_suppressed == 0:
        return True
    left[sizes[n_suppressed - 1]] += 1
    return not all(TABLE_RULES[rule["model"]](rule, left, -1) for rule in rules)
