"""The guarantee of a released table as SQL: ``verify.sql`` checks it from the released files only.

The script is the template `verify.sql.j2` in this folder. This file has the conditions under which a class breaks a
rule. Definitions are those of the papers that `cloister.privacy` names. A missing value is a value of its own, but none
for l-diversity, (alpha, k)-anonymity and beta-likeness.

The same conditions judge any classes in memory (`find_violating`), such as those of the original.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import polars as pl

from cloister.io import Tally
from cloister.release.head import DATA
from cloister.shapes.table.format.guarantee import Description, Guarantee
from cloister.shapes.table.format.manifest import TableManifest, TableSections, guarantee_of
from cloister.verification.dialects import ScriptThere, TableLocation, table_in_database
from cloister.verification.script import Finding, Script, names_in_sql

from .rules import name_of, sample_size

TEMPLATE = "shapes/table/verify/verify.sql.j2"
CLASSES = "shapes/table/verify/violating.sql.j2"

FOLDERS = ("shapes/table/verify", "shapes/table_with_codes/verify", "shapes/disassociation/verify")
"""Where the templates are, of tables with codes as well: no released column has a name of theirs in SQL."""


@dataclass(frozen=True)
class RuleCondition:
    """The condition under which a class violates a rule.

    ``kind`` states what the condition is about: the ``class``, ``all classes`` together, how many records of the class
    have each value of a column (``counts``), the shares of these (``values``), these ``shares`` compared with those of
    all records, or these shares in the ``order`` of the values.
    """

    sentence: str
    kind: str
    violated: str


RULES: Mapping[str, RuleCondition] = {
    "k-anonymity": RuleCondition("every class has at least {k} records", "class", "records < {k}"),
    "k-patients": RuleCondition("every class has records of at least {k} patients", "class", "people < {k}"),
    "k-map": RuleCondition(
        "every class has as many records as {k} people of the population have in the sample",
        "class",
        "records < {least}",
    ),
    "no-attack": RuleCondition("no class is so small that an attack pays", "class", "records * {cost} <= {gain}"),
    "positive-payout": RuleCondition(
        "every record is worth more to the publisher than attacks on it cost",
        "class",
        "records * {publisher_benefit} * {kept}"
        " <= CASE WHEN records * {cost} <= {gain} THEN {publisher_loss} * {every} ELSE 0 END",
    ),
    "average-risk": RuleCondition(
        "the mean risk of a record is at most {risk}", "all classes", "count(*) / sum(records) > {risk} + 1e-12"
    ),
    "sample-uniqueness": RuleCondition(
        "a share of at most {share} of the records is alone in its class",
        "all classes",
        "count(*) FILTER (records = 1) / sum(records) > {share} + 1e-12",
    ),
    "l-diversity": RuleCondition(
        "every class has at least {l} different recorded values of {column}", "counts", "count(value) < {l}"
    ),
    "entropy-l-diversity": RuleCondition(
        "values of {column} are as even in every class as {l} equally frequent ones",
        "values",
        "coalesce(-sum(q_recorded * ln(q_recorded)), -1) < ln({l}) - 1e-12",
    ),
    "recursive-l-diversity": RuleCondition(
        "in every class the most frequent value of {column} is rarer than {c} times all from rank {l} on",
        "values",
        "NOT coalesce(max(q_recorded) < {c} * sum(q_recorded) FILTER (place >= {l}) - 1e-12, false)",
    ),
    "alpha-k-anonymity": RuleCondition(
        "every class has at least {k} records, and no value of {column} more than a share of {alpha}",
        "values",
        "sum(n) < {k} OR coalesce(max(q_recorded), 2) > {alpha} + 1e-12",
    ),
    "t-closeness": RuleCondition(
        "in every class {column} is distributed as among all records, within {t}",
        "shares",
        "(sum(abs(q - p)) + 1 - sum(p)) / 2 > {t} + 1e-12",  # of values that a class lacks, p is the difference
    ),
    "delta-disclosure": RuleCondition(
        "every class has every value of {column}, and the logarithm of its share differs by less than {delta}",
        "shares",
        "count(*) FILTER (abs(ln(q / p)) < {delta} - 1e-12) < max(n_values)",
    ),
    "beta-likeness": RuleCondition(
        "no class makes a value of {column} more likely by more than {beta} times its share",
        "shares",
        "coalesce(bool_or(q / p - 1 > {beta} + 1e-12 OR q_recorded / p_recorded - 1 > {beta} + 1e-12)"
        " FILTER (value IS NOT NULL), true)",
    ),
    "enhanced-beta-likeness": RuleCondition(
        "no class makes a value of {column} more likely by more than {beta} times its share, or its information",
        "shares",
        "coalesce(bool_or(q / p - 1 > least({beta}, -ln(p)) + 1e-12"
        " OR q_recorded / p_recorded - 1 > least({beta}, -ln(p_recorded)) + 1e-12) FILTER (value IS NOT NULL), true)",
    ),
}
"""By the model of a rule, when it is broken."""

ORDERED = RuleCondition(
    RULES["t-closeness"].sentence,
    "order",
    "coalesce(max(recorded) * sum(area) / nullif(max(n_ranks) - 1, 0), 0)"
    " + abs(max(recorded) - (SELECT coalesce(sum(p) FILTER (value IS NOT NULL), 0) FROM whole_{place})) > {t} + 1e-12",
)
"""t-closeness of values in an order: the mean distance of the distribution functions; missing is as far as can be."""

IN_ORDER = (
    "CASE WHEN bool_and(value <> '' AND "
    "regexp_replace(value, '^[+-]?(([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?"
    "|[iI][nN][fF]([iI][nN][iI][tT][yY])?)$', '') = '') OVER ()"
    " THEN try_cast(value AS DOUBLE) END"
)
"""The order of the values of a column: that of numbers where all are numbers, else that of their bytes."""


def script_of(manifest: TableManifest) -> Script | None:
    """Return the script that checks a release of a table; None for a database with an unknown dialect."""
    if manifest.table is None:
        return Script(TEMPLATE, facts_in_sql(manifest) | {"codes": None})
    return None if manifest.table.dialect is None else script_there(manifest, manifest.table.dialect)


def script_there(manifest: TableManifest, dialect: str) -> ScriptThere:
    """Return the script of a release whose records are in a database with this SQL dialect."""
    assert manifest.table is not None
    guarantee, name = guarantee_of(manifest), manifest.table.name
    return script_at(guarantee, sizes_in(manifest), table_in_database(dialect, name, guarantee.columns))


def script_at(promised: Guarantee, sizes: tuple[int, int], place: TableLocation) -> ScriptThere:
    """Return the script that checks the guarantee of a table in a database, or in a view of Spark."""
    facts = facts_of_promise(promised, sizes, None) | {"codes": None, "file": place.name}
    return ScriptThere(TEMPLATE, facts, place)


def names_of(promised: Guarantee) -> dict[str, str]:
    """Return the SQL name of each released column."""
    return names_in_sql(promised.columns, *FOLDERS)


def facts_in_sql(manifest: TableManifest) -> dict[str, object]:
    """Return the template's facts of a manifest."""
    delimiter = manifest.settings.delimiter if manifest.data_file == DATA[0] else None
    return facts_of_promise(guarantee_of(manifest), sizes_in(manifest), delimiter)


def sizes_in(manifest: TableSections) -> tuple[int, int]:
    """Return the sizes of the smallest and the largest class, as a manifest states them."""
    return manifest.risk.smallest_class, manifest.risk.largest_class


def find_broken(table: Tally, promised: Guarantee, sizes: tuple[int, int]) -> tuple[Finding, ...]:
    """Return the findings of the promises on a released table in memory.

    ``sizes``: those of the smallest and of the largest class
    """
    facts = facts_of_promise(promised, sizes, None) | {"codes": None, "file": DATA[0]}
    facts |= _counting(is_tally=table.counts is not None)
    return Script(TEMPLATE, facts).run_on({DATA[0]: by_place(table)})


def find_violating(
    cells: Tally, rules: Sequence[Mapping[str, object]], whole: Tally | None = None
) -> list[set[int]] | None:
    """Return the classes that violate each rule, given as by `condition_of`; None if SQL cannot be run.

    Parameters
    ----------
    cells : first the number of the class, then the columns that rules are about, by their places
    whole : the same columns of all records that rules compare with; without it, these are the cells
    """
    names = [f"c{place}" for place in range(cells.frame.width)]
    promised = Guarantee(tuple(names), {names[0]: 0}, 0, None, 0)
    facts = facts_of_promise(promised, (0, 0), None) | _counting(is_tally=True) | {"codes": None, "file": DATA[0]}
    facts |= {"cells": {name: place for place, name in enumerate(names) if place}, "rules": rules}
    frames = {DATA[0]: by_place(cells)}
    if whole is not None:
        frames["original"] = by_place(whole)
    found: list[set[int]] = [set() for _ in rules]
    rows = Script(CLASSES, facts).rows_on(frames)
    for place, violating in rows or ():
        found[int(str(place))].add(int(str(violating)))
    return None if rows is None else found


def _counting(*, is_tally: bool) -> dict[str, object]:
    """Return the SQL for counting records: by rows, or by the counts of a tally."""
    return {"is_tally": is_tally, "records": "coalesce(sum(alike), 0)::BIGINT" if is_tally else "count(*)"}


def by_place(table: Tally) -> pl.DataFrame:
    """Return the columns renamed by place, as any name may be the one of the counts, which are the column ``alike``."""
    named = pl.DataFrame([column.alias(f"c{place}") for place, column in enumerate(table.frame)])
    return named if table.counts is None else named.with_columns(table.counts.alias("alike"))


def facts_of_promise(promised: Guarantee, sizes: tuple[int, int], delimiter: str | None) -> dict[str, object]:
    """Return the template's facts of a guarantee.

    ``sizes``: those of the smallest and of the largest class; ``delimiter``: of a CSV file; None of a Parquet file
    """
    names = names_of(promised)
    asked = (rule["column"] for rule in promised.rules if "column" in rule and rule["model"] != "k-patients")
    cells = {column: place for place, column in enumerate(dict.fromkeys(asked), start=1)}
    patients = promised.id is not None and promised.patient is not None
    keyed = [promised.id] if promised.id is not None and not (promised.numbered or patients) else []
    sorted_by = [*(name for name in promised.columns if name != promised.id), *keyed]
    return {
        "promised": promised,
        "file": DATA[delimiter is None],
        **_counting(is_tally=False),
        "delimiter": delimiter,
        "names": names,
        "quasi": [names[name] for name in promised.levels],
        "sorted_by": [names[name] for name in sorted_by],
        "id": promised.id and names[promised.id],
        "patients": patients,
        "cells": cells,
        "null_first": "coalesce({}, '')" if delimiter else "coalesce('+' || {}, '')",
        "rules": [_fill_rule(rule, promised, sizes, cells.get(rule.get("column", ""))) for rule in promised.rules],
    }


def _fill_rule(
    rule: Description, promised: Guarantee, sizes: tuple[int, int], place: int | None
) -> Mapping[str, object]:
    """Return a rule as the template takes it; without a kind where the released files do not suffice to judge it."""
    n, why = promised.released or 0, _why_unchecked(rule, promised)
    # the fewest and the most records that the original may have had
    few, many = (1, promised.k - 1) if promised.suppressed is None else (promised.suppressed, promised.suppressed)
    found = condition_of(rule, (n + few, n + many), sizes, place, detail_kept(promised)) if why is None else why
    if isinstance(found, str):
        return {"kind": None, "place": None, "sentence": f"{name_of(rule)}: not checked here, as {found}"}
    return found


def detail_kept(promised: Guarantee) -> Fraction:
    """Return the mean over the quasi-identifiers of 1 - level / highest level."""
    kept = [1 - Fraction(level, promised.tops.get(name) or 1) for name, level in promised.levels.items()]
    return sum(kept, Fraction(0)) / len(kept)


def is_judged(rule: Description, promised: Guarantee, sizes: tuple[int, int] | None = None) -> bool:
    """Return whether the released records suffice to judge a rule in SQL; for some rules, class sizes decide."""
    if sizes is None and rule["model"] == "k-map":
        return False
    return _fill_rule(rule, promised, sizes or (0, 0), 1)["kind"] is not None


def condition_of(
    rule: Description, n_records: tuple[int, int], sizes: tuple[int, int], place: int | None, detail: Fraction
) -> Mapping[str, object] | str:
    """Return a rule as the templates take it, or the reason why it cannot be judged.

    ``n_records``: the fewest and the most records that the original may have had; ``sizes``: of the smallest and of the
    largest class; ``place``: the number of the column that the rule is about; ``detail``: that all records keep
    """
    found = ORDERED if rule.get("distance") == "ordered" else RULES[rule["model"]]
    numbers = {**rule, "place": place, "kept": detail.numerator, "every": detail.denominator}
    if rule["model"] == "k-map":
        least, most = (sample_size(rule, n, sizes[1]) for n in n_records)
        if least <= sizes[0] < most:
            return "it depends on the number of records of the original, which is withheld"
        if least == most and rule.get("class_size", least) != least <= sizes[1]:
            found = replace(found, violated="true")  # it states another number than follows
        numbers["least"] = least
    return {
        "kind": found.kind,
        "sentence": f"{found.sentence.format_map(numbers)} ({rule['model']})",
        "violated": found.violated.format_map(numbers),
        "place": place,
        "order": IN_ORDER,
    }


def _why_unchecked(rule: Description, promised: Guarantee) -> str | None:
    """Return why the released files do not suffice to judge a rule; None if they do."""
    if rule["model"] == "population-uniqueness":
        return "it is an estimate that SQL does not compute"
    if "population" in rule:
        return "it compares with a population that is not in the release"
    if rule["model"] == "k-patients" and promised.id is None:
        return "the release does not contain whose records they are"
    if rule.get("distance") == "hierarchical":
        return "it compares groups of a hierarchy that is not in the release"
    if RULES[rule["model"]].kind == "shares" and promised.suppressed != 0:
        return "it compares with the whole original, of which records were suppressed"
    return None
