"""Rules that compare a sensitive column in each class with that column in the whole input, recomputed for the verifier.

q is the share of a value in its class, p its share in the whole.

References
----------
Li, Li, Venkatasubramanian (2007), "t-Closeness: Privacy Beyond k-Anonymity and l-Diversity"; Cao, Karras (2012),
"Publishing Microdata with a Robust Privacy Guarantee" (beta-likeness); Brickell, Shmatikov (2008), "The Cost of
Privacy: Destruction of Data-Mining Utility in Anonymized Data Publishing" (delta-disclosure).
"""

import polars as pl

from cloister.hierarchy import Ladder
from cloister.io import counted

from .classes import TOLERANCE, Classes, Judgement, Reference
from .promise import Description

INFINITE = float("inf")


def t_closeness(rule: Description, classes: Classes, reference: Reference) -> Judgement:
    """Whether each class is within a distance of t of the whole; missing is a value of its own."""
    whole = _whole(rule, classes, reference)
    if isinstance(whole, str):
        return whole
    column = rule["column"]
    if rule["distance"] == "ordered":
        found = _ordered_distance(column, classes, whole, reference.order[classes.places[column]])
    elif rule["distance"] == "hierarchical":
        found = _hierarchical_distance(column, classes, whole, reference.groups[column, rule["hierarchy"]])
    else:
        found = _equal_distance(column, classes, whole)
    return found <= float(rule["t"]) + TOLERANCE


def beta_likeness(rule: Description, classes: Classes, reference: Reference) -> Judgement:
    """Whether each class has recorded values, and none exceeds its share in the whole by more than beta of that.

    Both among all records and among those that have a value.
    """
    return _gain_within(rule, classes, reference, pl.lit(float(rule["beta"])))


def enhanced_beta_likeness(rule: Description, classes: Classes, reference: Reference) -> Judgement:
    """Whether the same holds with the lesser of beta and -ln p."""
    return _gain_within(rule, classes, reference, pl.min_horizontal(pl.lit(float(rule["beta"])), -pl.col("p").log()))


def delta_disclosure(rule: Description, classes: Classes, reference: Reference) -> Judgement:
    """Whether each class has each value of the whole, missing included, and ln(q / p) is between -delta and delta."""
    whole = _whole(rule, classes, reference)
    if isinstance(whole, str):
        return whole
    near = (pl.col("q") / pl.col("p")).log().abs() < float(rule["delta"]) - TOLERANCE
    return classes.by_class(_shares(classes.cells(rule["column"]), whole), near.sum(), 0) == whole.height


def _gain_within(rule: Description, classes: Classes, reference: Reference, bound: pl.Expr) -> Judgement:
    whole = _whole(rule, classes, reference)
    if isinstance(whole, str):
        return whole
    recorded = pl.col("value").is_not_null()
    among_all = _shares(classes.cells(rule["column"]), whole).filter(recorded)
    among_recorded = _shares(classes.told(rule["column"]), whole.filter(recorded))
    within = ((pl.col("q") - pl.col("p")) / pl.col("p") <= bound + TOLERANCE).all().cast(pl.Int64)
    return (classes.by_class(among_all, within, 0) + classes.by_class(among_recorded, within, 0)) == 2


def _whole(rule: Description, classes: Classes, reference: Reference) -> pl.DataFrame | str:
    """Records of each value in the whole input: ``value`` and ``all``."""
    if reference.whole is None:
        return "it compares with the original (--original)"
    value = pl.col(classes.places[rule["column"]]).alias("value")
    return reference.whole.group_by(value).agg(counted(reference.whole).alias("all"))


def _shares(cells: pl.DataFrame, whole: pl.DataFrame) -> pl.DataFrame:
    """Cells with q and p; p is 0 for what is not in the whole."""
    joined = cells.join(whole, on="value", how="left", nulls_equal=True)
    p = pl.col("all").fill_null(0) / int(whole["all"].sum())
    return joined.with_columns((pl.col("count") / pl.col("size")).alias("q"), p.alias("p"))


def _equal_distance(column: str, classes: Classes, whole: pl.DataFrame) -> pl.Series:
    """Return half the sum of all differences; those of values that a class lacks are what is left of the whole."""
    differences = (pl.col("q") - pl.col("p")).abs().sum() + 1 - pl.col("p").sum()
    return classes.by_class(_shares(classes.cells(column), whole), differences / 2, INFINITE)


def _hierarchical_distance(column: str, classes: Classes, whole: pl.DataFrame, ladder: Ladder) -> pl.Series:
    """Return the work done at all groups, level by level, as the paper adds it up.

    At a group it is what can be moved between its children, the lesser of what they have too much and too little of,
    times the height of the group as a share of the height of the root.
    """
    total = pl.zeros(classes.sizes.height, dtype=pl.Float64, eager=True)
    for height in range(1, ladder.n_levels):
        rungs = pl.DataFrame(
            {"value": ladder.values, "child": ladder.labels[height - 1], "parent": ladder.labels[height]},
            schema=dict.fromkeys(("value", "child", "parent"), pl.String),
        )
        total += classes.by_class(_work(classes.cells(column), whole, rungs), pl.col("work").sum(), INFINITE) * height
    return total / max(1, ladder.n_levels - 1)


def _work(cells: pl.DataFrame, whole: pl.DataFrame, rungs: pl.DataFrame) -> pl.DataFrame:
    """Work at each group of a level in each class: the lesser of what its children have too much and too little of."""
    named, n = cells.join(rungs, on="value", how="left", nulls_equal=True), int(whole["all"].sum())
    found = named.group_by("class", "parent", "child").agg((pl.col("count") / pl.col("size")).sum().alias("q"))
    inputs = whole.join(rungs, on="value", how="left", nulls_equal=True)
    children = inputs.group_by("parent", "child").agg((pl.col("all").sum() / n).alias("p"))
    parents = inputs.group_by("parent").agg((pl.col("all").sum() / n).alias("p_of_parent"))
    both = found.join(children, on=["parent", "child"], how="left", nulls_equal=True)
    both = both.join(parents, on="parent", how="left", nulls_equal=True)
    too_much = (pl.col("q") - pl.col("p")).clip(lower_bound=0.0).sum()
    # Children that a class lacks have too little; that is what all children have too much less what their group has.
    too_little = too_much - pl.col("q").sum() + pl.col("p_of_parent").first()
    return both.group_by("class", "parent").agg(pl.min_horizontal(too_much, too_little).alias("work"))


def _ordered_distance(column: str, classes: Classes, whole: pl.DataFrame, order: pl.Series) -> pl.Series:
    """Return the area between the two distribution functions of recorded values, and the difference in missing ones.

    The function of a class is constant from each of its values to its next, while that of the whole rises. So the area
    from one to the next is split where the whole passes the class, and both parts are read off sums that are made
    once. Counts are brought to the denominator (recorded in the class) * (recorded in the whole), so that they stay
    whole numbers. Missing has no place in the order: it is as far from every value as can be.
    """
    cells, told = classes.cells(column), classes.told(column)
    recorded = (pl.col("count") * pl.col("value").is_not_null()).sum()
    share = classes.by_class(cells, recorded / pl.col("size").first(), 0.0)
    ranked = order.alias("value").to_frame().with_row_index("place")
    ranked = ranked.join(whole, on="value", how="inner").sort("place").with_row_index("rank")
    gap = (share - int(ranked["all"].sum()) / int(whole["all"].sum())).abs()
    if ranked.height < 2:
        return gap
    return gap + share * classes.by_class(_areas(told, ranked), pl.col("area").sum(), 0.0) / (ranked.height - 1)


def _areas(told: pl.DataFrame, ranked: pl.DataFrame) -> pl.DataFrame:
    """Cells with the area from their value to the next of their class; the first with what is before it."""
    passed = ranked["all"].cum_sum()
    sums, n = pl.concat([pl.Series([0], dtype=pl.Int64), passed.cum_sum()]), int(passed[-1])
    rank = ranked.select("value", pl.col("rank").cast(pl.Int64))
    cells = told.join(rank, on="value", how="left").sort("class", "rank")
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
    return steps.with_columns((area / size / n).fill_null(INFINITE).alias("area"))
