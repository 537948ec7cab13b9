"""Privacy rules recomputed from their definitions, for the verifier; shares no code with the rules of the search.

A rule is what the manifest says of it: a model, a column, its numbers. Where it cannot be judged by what is at hand,
the reason comes back in place of a judgement. For l-diversity and (alpha, k)-anonymity a missing value is none: shares
are those among the recorded ones, and a class without any violates the rule.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal

import polars as pl

from cloister.hierarchy import BoundHierarchy
from cloister.io import counted
from cloister.shapes.table.format.guarantee import Description, inside

from .classes import COUNT, TOLERANCE, Reference, ReleasedClasses
from .uniqueness import population_uniqueness

LEAST_ESTIMATED = 2  # records that k-map by the size of the population asks of a class at least
ESTIMATED = 1e-4
"""How far an estimate may be beyond its threshold, as a share of that: in large populations estimators lose digits."""


def name_of(rule: Description) -> str:
    """Return a rule in a few words: its model, its column and its numbers."""
    of = f" of {rule['column']!r}" if "column" in rule else ""
    numbers = ", ".join(f"{key.replace('_', ' ')} {rule[key]}" for key in rule if key not in ("model", "column"))
    return f"{rule['model']}{of} ({numbers})"


class _NotAtHandError(Exception):
    """What a rule compares with is not at hand, and why."""


def judge(rule: Description, classes: ReleasedClasses, reference: Reference) -> pl.Series | str:
    """Return whether each class satisfies a rule about classes, in the order of ``classes.sizes``; or why not."""
    try:
        return CLASS_RULES[rule["model"]](rule, classes, reference)
    except _NotAtHandError as error:
        return str(error)


def is_about_table(rule: Description) -> bool:
    """Whether a rule is about the table as a whole."""
    return rule["model"] in TABLE_RULES


def table_holds(rule: Description, sizes: Sequence[int]) -> bool:
    """Return whether a rule about the table holds for classes of these sizes."""
    return not sizes or TABLE_RULES[rule["model"]](rule, Counter(sizes), 1)


def releasable(
    rules: Sequence[Description], classes: ReleasedClasses, reference: Reference, n_released: int
) -> pl.DataFrame | None:
    """Return the classes, with their sizes, that are released by the rules; None where a rule cannot be judged.

    Those that satisfy every rule about classes; of these the smallest left out until every rule about the table holds.
    Classes of one size go by their values, columns in the order of their names, wherever they stand in the file. A
    rule that lets nothing be suppressed releases all classes or none.

    ``n_released``: classes that were released; how many had to be left out is judged by that number.
    """
    judged = [judge(rule, classes, reference) for rule in rules if not is_about_table(rule)]
    holds = [found for found in judged if isinstance(found, pl.Series)]
    if len(holds) < len(judged):
        return None
    kept = classes.sizes.filter(*holds) if holds else classes.sizes
    about_table = [rule for rule in rules if is_about_table(rule)]
    if about_table:
        kept = kept.sort([pl.col(COUNT), *(pl.col(name).fill_null("") for name in sorted(classes.columns))])
        n_left_out = kept.height - n_released
        kept = kept.slice(n_left_out) if _is_least(about_table, kept[COUNT].to_list(), n_left_out) else kept.clear()
    is_whole = kept.height == classes.sizes.height
    return kept if is_whole or not any(_forbids_suppression(rule) for rule in rules) else kept.clear()


def _is_least(rules: Sequence[Description], sizes: Sequence[int], n_left_out: int) -> bool:
    """Whether all rules hold once so many of the smallest classes are left out, and not if one fewer is.

    No other number has both properties, but for estimates, which may rise and fall.
    """
    if n_left_out < 0:
        return False
    left = Counter(sizes[n_left_out:])
    if left and not all(TABLE_RULES[rule["model"]](rule, left, 1) for rule in rules):
        return False
    if n_left_out == 0:
        return True
    left[sizes[n_left_out - 1]] += 1
    return not all(TABLE_RULES[rule["model"]](rule, left, -1) for rule in rules)


def _forbids_suppression(rule: Description) -> bool:
    """Whether a suppressed class violates a rule: its people would be in the release less likely than asked."""
    return bool(rule["model"] == "delta-presence" and rule["lower"] > 0)


def _k_map(rule: Description, classes: ReleasedClasses, reference: Reference) -> pl.Series:
    if "population" in rule:
        return _in_population(rule, classes, reference) >= int(rule["k"])
    sizes = classes.sizes[COUNT]
    smallest, largest = (int(sizes[place]) for place in (sizes.arg_min() or 0, sizes.arg_max() or 0))
    least, most = (sample_size(rule, n, largest) for n in (reference.n_least, reference.n_most))
    if least <= smallest < most:
        raise _NotAtHandError("it depends on the number of records of the input, which is kept back")
    holds = sizes >= least
    return holds & (least < most or rule.get("class_size", least) == least or least > largest)


def sample_size(rule: Description, n_records: int, largest: int) -> int:
    """Return how many records a class must have to match k people; at most one above the largest class.

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


def _in_population(rule: Description, classes: ReleasedClasses, reference: Reference) -> pl.Series:
    """Records of a population table in each class."""
    if rule["population"] not in reference.populations:
        raise _NotAtHandError(f"it compares with the population {rule['population']}, which was not given")
    people = reference.populations[rule["population"]].group_by(classes.columns).agg(pl.len().alias("people"))
    joined = classes.sizes.join(people, on=classes.columns, how="left", nulls_equal=True, maintain_order="left")
    return joined["people"].fill_null(0).cast(pl.Int64)


def _delta_presence(rule: Description, classes: ReleasedClasses, reference: Reference) -> pl.Series:
    people = _in_population(rule, classes, reference)
    present = classes.sizes[COUNT] / people
    lower, upper = float(rule["lower"]), float(rule["upper"])
    holds = (people > 0) & (present >= lower - TOLERANCE) & (present <= upper + TOLERANCE)
    is_covered = int(people.sum()) == reference.populations[rule["population"]].height
    return holds & ((is_covered and holds.all()) or not _forbids_suppression(rule))


def _entropy_l_diversity(rule: Description, classes: ReleasedClasses, _: Reference) -> pl.Series:
    share = pl.col("count") / pl.col("size")
    entropy = classes.by_class(classes.recorded(rule["column"]), -(share * share.log()).sum(), -1.0)
    return entropy >= math.log(float(rule["l"])) - TOLERANCE


def _recursive_l_diversity(rule: Description, classes: ReleasedClasses, _: Reference) -> pl.Series:
    recorded = classes.recorded(rule["column"])
    ordered = (pl.col("count") / pl.col("size")).sort(descending=True)
    first = classes.by_class(recorded, ordered.first(), 1.0)
    rest = classes.by_class(recorded, ordered.slice(rule["l"] - 1).sum(), 0.0)
    return (first < rest * float(rule["c"]) - TOLERANCE) & (rest > 0)


def _k_patients(rule: Description, classes: ReleasedClasses, reference: Reference) -> pl.Series:
    if inside(rule["column"]) not in classes.records.columns:
        if reference.patients is None:
            raise _NotAtHandError("the release does not say whose records they are")
        least, most = (counts >= int(rule["k"]) for counts in reference.patients)
        if least.all() or not most.all():
            return most
        raise _NotAtHandError("other records of the original fit the labels of a class as well as its own")
    return classes.by_class(classes.recorded(rule["column"]), pl.len(), 0) >= int(rule["k"])


def _population_uniqueness(rule: Description, sizes: Counter[int], doubt: int) -> bool:
    """Whether the estimate is within the share; a doubt of -1 judges it strictly, of 1 mildly."""
    estimate = population_uniqueness(sizes, rule["population_size"], rule["estimator"])
    return bool(estimate <= rule["share"] * (1 + doubt * ESTIMATED) + doubt * TOLERANCE)


def _alpha_k_anonymity(rule: Description, classes: ReleasedClasses, _: Reference) -> pl.Series:
    most = classes.by_class(classes.recorded(rule["column"]), (pl.col("count") / pl.col("size")).max(), math.inf)
    return (classes.sizes[COUNT] >= int(rule["k"])) & (most <= float(rule["alpha"]) + TOLERANCE)


def _records(sizes: Counter[int]) -> int:
    return sum(size * count for size, count in sizes.items())


TABLE_RULES: dict[str, Callable[[Description, Counter[int], int], bool]] = {
    "average-risk": lambda rule, sizes, _: sizes.total() / _records(sizes) <= rule["risk"] + TOLERANCE,
    "sample-uniqueness": lambda rule, sizes, _: sizes[1] / _records(sizes) <= rule["share"] + TOLERANCE,
    "population-uniqueness": _population_uniqueness,
}
"""Whether the classes of each size satisfy a rule; the last argument says which way to doubt an estimate."""


NOT_GIVEN = "it compares with the original, which was not given"


def _t_closeness(rule: Description, classes: ReleasedClasses, reference: Reference) -> pl.Series:
    """Whether each class is within a distance of t of the whole; missing is a value of its own."""
    whole = _whole(rule, reference)
    column = rule["column"]
    if rule["distance"] == "ordered":
        found = _ordered_distance(column, classes, whole, reference.order[column])
    elif rule["distance"] == "hierarchical":
        if (column, rule["hierarchy"]) not in reference.groups:
            raise _NotAtHandError(NOT_GIVEN)
        found = _hierarchical_distance(column, classes, whole, reference.groups[column, rule["hierarchy"]])
    else:
        # Half the sum of all differences; those of values that a class lacks are what is left of the whole.
        differences = (pl.col("q") - pl.col("p")).abs().sum() + 1 - pl.col("p").sum()
        found = classes.by_class(_shares(classes.cells(column), whole), differences / 2, math.inf)
    return found <= float(rule["t"]) + TOLERANCE


def _delta_disclosure(rule: Description, classes: ReleasedClasses, reference: Reference) -> pl.Series:
    """Whether each class has each value of the whole, missing included, and ln(q / p) is between -delta and delta."""
    whole = _whole(rule, reference)
    near = (pl.col("q") / pl.col("p")).log().abs() < float(rule["delta"]) - TOLERANCE
    return classes.by_class(_shares(classes.cells(rule["column"]), whole), near.sum(), 0) == whole.height


def _gain_within(rule: Description, classes: ReleasedClasses, reference: Reference, bound: pl.Expr) -> pl.Series:
    """Whether each class has recorded values, and none exceeds its share in the whole by more than a bound of that.

    Both among all records and among those that have a value. The bound is beta, or the lesser of beta and -ln p.
    """
    whole = _whole(rule, reference)
    recorded = pl.col("value").is_not_null()
    among_all = _shares(classes.cells(rule["column"]), whole).filter(recorded)
    among_recorded = _shares(classes.recorded(rule["column"]), whole.filter(recorded))
    within = ((pl.col("q") - pl.col("p")) / pl.col("p") <= bound + TOLERANCE).all().cast(pl.Int64)
    return (classes.by_class(among_all, within, 0) + classes.by_class(among_recorded, within, 0)) == 2


def _whole(rule: Description, reference: Reference) -> pl.DataFrame:
    """Return each value of a column in the whole input, with ``all`` its records."""
    if reference.whole is None:
        raise _NotAtHandError(NOT_GIVEN)
    value = pl.col(inside(rule["column"])).alias("value")
    return reference.whole.group_by(value).agg(counted(reference.whole).alias("all"))


def _shares(cells: pl.DataFrame, whole: pl.DataFrame) -> pl.DataFrame:
    """Cells with q and p; p is 0 for what is not in the whole."""
    joined = cells.join(whole, on="value", how="left", nulls_equal=True)
    p = pl.col("all").fill_null(0) / int(whole["all"].sum())
    return joined.with_columns((pl.col("count") / pl.col("size")).alias("q"), p.alias("p"))


def _hierarchical_distance(
    column: str, classes: ReleasedClasses, whole: pl.DataFrame, hierarchy: BoundHierarchy
) -> pl.Series:
    """Return the work done at all groups, level by level, as the paper adds it up.

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
    """Work at each group of a level in each class: the lesser of what its children have too much and too little of."""
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


def _ordered_distance(column: str, classes: ReleasedClasses, whole: pl.DataFrame, order: pl.Series) -> pl.Series:
    """Return the area between the two distribution functions of recorded values, and the difference in missing ones.

    The function of a class is constant from each of its values to its next, while that of the whole rises. So the area
    from one to the next is split where the whole passes the class, and both parts are read off sums that are made
    once. Counts are brought to the denominator (recorded in the class) * (recorded in the whole), so that they stay
    whole numbers. Missing has no place in the order: it is as far from every value as can be.
    """
    cells, present = classes.cells(column), classes.recorded(column)
    recorded = (pl.col("count") * pl.col("value").is_not_null()).sum()
    share = classes.by_class(cells, recorded / pl.col("size").first(), 0.0)
    ranked = order.alias("value").to_frame().with_row_index("place")
    ranked = ranked.join(whole, on="value", how="inner").sort("place").with_row_index("rank")
    gap = (share - int(ranked["all"].sum()) / int(whole["all"].sum())).abs()
    if ranked.height < 2:
        return gap
    return gap + share * classes.by_class(_areas(present, ranked), pl.col("area").sum(), 0.0) / (ranked.height - 1)


def _areas(present: pl.DataFrame, ranked: pl.DataFrame) -> pl.DataFrame:
    """Cells with the area from their value to the next of their class; the first with what is before it."""
    passed = ranked["all"].cum_sum()
    sums, n = pl.concat([pl.Series([0], dtype=pl.Int64), passed.cum_sum()]), int(passed[-1])
    rank = ranked.select("value", pl.col("rank").cast(pl.Int64))
    cells = present.join(rank, on="value", how="left").sort("class", "rank")
    steps = cells.with_columns(
        (pl.col("count").cum_sum().over("class") * n).alias("level"),
        pl.col("rank").shift(-1).over("class").fill_null(ranked.height).alias("next"),
        (pl.col("rank") == pl.col("rank").min().over("class")).cast(pl.Int64).alias("is_first"),
    )
    level, size, start, end = (steps[name] for name in ("level", "size", "rank", "next"))
    meets = passed.search_sorted(level // size, side="right").cast(pl.Int64).alias("meets")
    split = steps.with_columns(meets).select(pl.max_horizontal("rank", pl.min_horizontal("meets", "next"))).to_series()
    area = level * (2 * split - start - end)
    area += size * (sums.gather(start) * (1 + steps["is_first"]) + sums.gather(end) - 2 * sums.gather(split))
    return steps.with_columns((area / size / n).fill_null(math.inf).alias("area"))


CLASS_RULES: dict[str, Callable[[Description, ReleasedClasses, Reference], pl.Series]] = {
    "k-anonymity": lambda rule, classes, _: classes.sizes[COUNT] >= int(rule["k"]),
    "k-patients": _k_patients,
    "k-map": _k_map,
    "no-attack": lambda rule, classes, _: (
        classes.sizes[COUNT] > math.floor(Decimal(repr(rule["gain"])) / Decimal(repr(rule["cost"])))
    ),
    "l-diversity": lambda rule, classes, _: (
        classes.by_class(classes.recorded(rule["column"]), pl.len(), 0) >= int(rule["l"])
    ),
    "entropy-l-diversity": _entropy_l_diversity,
    "recursive-l-diversity": _recursive_l_diversity,
    "t-closeness": _t_closeness,
    "delta-presence": _delta_presence,
    "alpha-k-anonymity": _alpha_k_anonymity,
    "beta-likeness": lambda rule, *of: _gain_within(rule, of[0], of[1], pl.lit(float(rule["beta"]))),
    "enhanced-beta-likeness": lambda rule, *of: _gain_within(
        rule, of[0], of[1], pl.min_horizontal(pl.lit(float(rule["beta"])), -pl.col("p").log())
    ),
    "delta-disclosure": _delta_disclosure,
}
"""Whether each class satisfies a rule, by its model."""
