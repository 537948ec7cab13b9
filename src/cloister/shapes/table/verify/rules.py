"""Privacy rules that need more than the released records: a population, groups of a hierarchy, an estimate.

A rule is what the manifest says of it: a model, a column, its numbers. All others are conditions of SQL (`statements`).
Shares no code with the rules of the search.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence

import polars as pl

from cloister.hierarchy import BoundHierarchy
from cloister.shapes.table.format.guarantee import Description, escape_name

from .classes import COUNT, TOLERANCE, Reference, ReleasedClasses
from .uniqueness import population_uniqueness

LEAST_ESTIMATED = 2  # records that k-map by the size of the population asks of a class at least
ESTIMATED = 1e-4
"""How far an estimate may be beyond its threshold, as a share of that: in large populations estimators lose digits."""


def name_of(rule: Description) -> str:
    """Return a short name of a rule: its model, column and parameters."""
    of = f" of {rule['column']!r}" if "column" in rule else ""
    numbers = ", ".join(f"{key.replace('_', ' ')} {rule[key]}" for key in rule if key not in ("model", "column"))
    return f"{rule['model']}{of} ({numbers})"


class NotAtHandError(Exception):
    """The reference data of a rule are unavailable; the message gives the reason."""


def is_about_table(rule: Description) -> bool:
    """Return whether a rule is about the table as a whole."""
    return rule["model"] in TABLE_RULES


def table_holds(rule: Description, sizes: Sequence[int]) -> bool:
    """Return whether a rule about the table holds for classes of these sizes."""
    return not sizes or TABLE_RULES[rule["model"]](rule, Counter(sizes), 1)


def sample_size(rule: Description, n_records: int, largest: int) -> int:
    """Return the number of records that a class needs to match k people; at most one above the largest class.

    The least number from 2 to k that a Poisson variable reaches with no more than the significance; its mean are the
    records that k people have in the sample. Tails are added up from their small end.
    """
    mean, size = rule["k"] * (n_records / rule["population_size"]), min(rule["k"], largest + 1)
    if mean > size:  # it is reached with half the probability or more, and no significance is above that
        return int(size)
    tail, place, chance = 0.0, size, _poisson(size, mean)
    while chance > tail * TOLERANCE**2:
        tail, place, chance = tail + chance, place + 1, chance * mean / (place + 1)
    while size > LEAST_ESTIMATED and tail + _poisson(size - 1, mean) <= rule["significance"]:
        size -= 1
        tail += _poisson(size, mean)
    return int(size)


def _poisson(count: int, mean: float) -> float:
    return math.exp(count * math.log(mean) - mean - math.lgamma(count + 1))


def forbids_suppression(rule: Description) -> bool:
    """Return whether a suppressed class violates a rule: its people would be too unlikely to be in the release."""
    return bool(rule["model"] == "delta-presence" and rule["lower"] > 0)


def _in_population(rule: Description, classes: ReleasedClasses, reference: Reference) -> pl.Series:
    """Records of a population table in each class."""
    if rule["population"] not in reference.populations:
        raise NotAtHandError(f"it compares with the population {rule['population']}, which was not given")
    people = reference.populations[rule["population"]].count(classes.columns, "people")
    joined = classes.sizes.join(people, on=classes.columns, how="left", nulls_equal=True, maintain_order="left")
    return joined["people"].fill_null(0)


def _delta_presence(rule: Description, classes: ReleasedClasses, reference: Reference) -> pl.Series:
    people = _in_population(rule, classes, reference)
    present = classes.sizes[COUNT] / people
    lower, upper = float(rule["lower"]), float(rule["upper"])
    holds = (people > 0) & (present >= lower - TOLERANCE) & (present <= upper + TOLERANCE)
    is_covered = int(people.sum()) == reference.populations[rule["population"]].n_records
    return holds & ((is_covered and holds.all()) or not forbids_suppression(rule))


def _k_patients(rule: Description, classes: ReleasedClasses, reference: Reference) -> pl.Series:
    if escape_name(rule["column"]) not in classes.records.frame.columns:
        if reference.patients is None:
            raise NotAtHandError("the release does not say whose records they are")
        least, most = (counts >= int(rule["k"]) for counts in reference.patients)
        if least.all() or not most.all():
            return most
        raise NotAtHandError("other records of the original fit the labels of a class as well as its own")
    return classes.by_class(classes.recorded(rule["column"]), pl.len(), 0) >= int(rule["k"])


def _population_uniqueness(rule: Description, sizes: Counter[int], doubt: int) -> bool:
    """Whether the estimate is within the share; a doubt of -1 judges it strictly, of 1 mildly."""
    estimate = population_uniqueness(sizes, rule["population_size"], rule["estimator"])
    return bool(estimate <= rule["share"] * (1 + doubt * ESTIMATED) + doubt * TOLERANCE)


def _records(sizes: Counter[int]) -> int:
    return sum(size * count for size, count in sizes.items())


TABLE_RULES: dict[str, Callable[[Description, Counter[int], int], bool]] = {
    "average-risk": lambda rule, sizes, _: sizes.total() / _records(sizes) <= rule["risk"] + TOLERANCE,
    "sample-uniqueness": lambda rule, sizes, _: sizes[1] / _records(sizes) <= rule["share"] + TOLERANCE,
    "population-uniqueness": _population_uniqueness,
}
"""Whether the classes of each size satisfy a rule; the last argument says which way to doubt an estimate."""


NOT_GIVEN = "it compares with the original, which was not given"


def _hierarchical_closeness(rule: Description, classes: ReleasedClasses, reference: Reference) -> pl.Series:
    """Whether each class is within a distance of t of the whole; missing is a value of its own."""
    column, whole = rule["column"], _whole(rule, reference)
    if (column, rule["hierarchy"]) not in reference.groups:
        raise NotAtHandError(NOT_GIVEN)
    found = _hierarchical_distance(column, classes, whole, reference.groups[column, rule["hierarchy"]])
    return found <= float(rule["t"]) + TOLERANCE


def _whole(rule: Description, reference: Reference) -> pl.DataFrame:
    """Return each value of a column in the whole input, with ``all`` its records."""
    if reference.whole is None:
        raise NotAtHandError(NOT_GIVEN)
    value = pl.col(escape_name(rule["column"])).alias("value")
    return reference.whole.count([value], "all")


def _hierarchical_distance(
    column: str, classes: ReleasedClasses, whole: pl.DataFrame, hierarchy: BoundHierarchy
) -> pl.Series:
    """Return the work at all groups, level by level, as the paper sums it.

    At a group it is what can be moved between its children, the lesser of what they have too much and too little of,
    times the height of the group as a share of the height of the root.
    """
    total = pl.zeros(classes.sizes.height, dtype=pl.Float64, eager=True)
    for height in range(1, hierarchy.n_levels):
        level_pairs = pl.DataFrame(
            {"value": hierarchy.values, "child": hierarchy.labels[height - 1], "parent": hierarchy.labels[height]},
            schema=dict.fromkeys(("value", "child", "parent"), pl.String),
        )
        total += (
            classes.by_class(_work(classes.cells(column), whole, level_pairs), pl.col("work").sum(), math.inf) * height
        )
    return total / max(1, hierarchy.n_levels - 1)


def _work(cells: pl.DataFrame, whole: pl.DataFrame, level_pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the work at each group of a level in each class: the lesser of its children's excess and deficit."""
    named, n = cells.join(level_pairs, on="value", how="left", nulls_equal=True), int(whole["all"].sum())
    found = named.group_by("class", "parent", "child").agg((pl.col("count") / pl.col("size")).sum().alias("q"))
    inputs = whole.join(level_pairs, on="value", how="left", nulls_equal=True)
    children = inputs.group_by("parent", "child").agg((pl.col("all").sum() / n).alias("p"))
    parents = inputs.group_by("parent").agg((pl.col("all").sum() / n).alias("p_of_parent"))
    both = found.join(children, on=["parent", "child"], how="left", nulls_equal=True)
    both = both.join(parents, on="parent", how="left", nulls_equal=True)
    too_much = (pl.col("q") - pl.col("p")).clip(lower_bound=0.0).sum()
    # Children that a class lacks have too little; that is what all children have too much less what their group has.
    too_little = too_much - pl.col("q").sum() + pl.col("p_of_parent").first()
    return both.group_by("class", "parent").agg(pl.min_horizontal(too_much, too_little).alias("work"))


CLASS_RULES: dict[str, Callable[[Description, ReleasedClasses, Reference], pl.Series]] = {
    "k-map": lambda rule, *of: _in_population(rule, *of) >= int(rule["k"]),
    "k-patients": _k_patients,
    "t-closeness": _hierarchical_closeness,
    "delta-presence": _delta_presence,
}
"""Whether each class satisfies a rule, by its model: by a population, by patients, or by groups of values."""
