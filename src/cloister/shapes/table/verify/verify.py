"""The guarantee of a released table, recomputed from the release by other means than the protection.

Nothing here imports the search or the kernels. What the released records show is asked by SQL (`statements`). The
original, where it is given, is generalized again by looking labels up, and compared with Polars. Columns are named as
`escape_name` says: Polars takes some names for patterns, and any name may be that of another column.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import polars as pl

from cloister.hierarchy import ROOT, BoundHierarchy
from cloister.io import Tally, as_text, concat_tallies
from cloister.io.columns import as_held
from cloister.results import Caveat, Checks, Verdict
from cloister.shapes.table.format.guarantee import Description, Guarantee, OriginalTable, Questions, escape_name
from cloister.verification.script import Finding, note

from .assignment import Beneath, bounds_of_patients, check_assignment, find_beneath
from .classes import COUNT, Reference, ReleasedClasses, natural_order
from .judge import judge, releasable
from .questions import find_classes
from .record_by_record import SAME, ancestors, check_record_by_record, histories, with_patients
from .rules import is_about_table, name_of, table_holds
from .statements import detail_kept, find_broken, is_judged

OTHERS_AS_RECORDED = "columns that were not generalized are as in the original"


def verify(
    table: Tally,
    guarantee: Guarantee,
    original: OriginalTable | None = None,
    populations: Mapping[str, OriginalTable] | None = None,
    *,
    every_rule: bool = False,
    findings: Iterable[Finding] | None = None,
) -> Verdict:
    """Check a released table against its guarantee, and against its original if it is given.

    Rules are recomputed from the released records. What a rule compares with beyond them must be given; where it is
    not, a check says that the rule was not recomputed.

    Parameters
    ----------
    table : the released table as read from its file, in that order
    every_rule : whether a rule that cannot be recomputed is a failure
    findings : what the script found in the files of the release; without them, it is run on the table
    """
    checks = Checks()
    _check_columns(table.frame, guarantee, checks)
    if checks.failures:
        return checks.verdict(_how(original))
    if original is None and guarantee.questions is not None:
        checks.leave(
            "resist-downcoding", "that labels resist downcoding was not recomputed: it compares with the original"
        )
    if original is None and findings is not None and all(is_judged(rule, guarantee) for rule in guarantee.rules):
        note(checks, findings)
        return checks.verdict(_how(original))
    named, guarantee = guarantee, guarantee.inside()
    # plain text where rows of stars are set aside, patients are compared, or rows one by one
    held = as_text if guarantee.stars or guarantee.patient or not guarantee.has_one_transformation else as_held
    texts = _texts(table, named, held)
    released = _without_stars(texts, guarantee)
    sizes = _extremes(released, guarantee)
    note(checks, find_broken(table, named, sizes) if findings is None else findings)
    left = [rule for rule in guarantee.rules if not is_judged(rule, named, sizes)]
    if not released.n_records or (original is None and not left):
        return checks.verdict(_how(original))
    source = None
    if original is not None:
        hierarchies = {escape_name(column): hierarchy for column, hierarchy in original.hierarchies.items()}
        source = OriginalTable(_texts(original.tally, named, held), hierarchies, original.groups, original.records)
        released = with_patients(released, guarantee, source)
    reference = _reference(released, guarantee, named, original, source, populations or {})
    reference = replace(reference, detail=detail_kept(guarantee))
    classes, beneath = ReleasedClasses(released, list(guarantee.levels)), None
    if source is not None and source.records is None and not (guarantee.has_one_transformation and guarantee.id):
        beneath = find_beneath(classes, guarantee, source)
        reference = replace(reference, patients=bounds_of_patients(beneath, classes))
    n_unjudged = _check_rules(left, classes, reference, checks, every_rule=every_rule)
    if source is not None:
        _compare(texts, classes, guarantee, source, reference, beneath, checks)
    return checks.verdict(_how(original, n_unjudged))


def _compare(
    texts: Tally,
    classes: ReleasedClasses,
    guarantee: Guarantee,
    source: OriginalTable,
    reference: Reference,
    beneath: Beneath | None,
    checks: Checks,
) -> None:
    """Compare the released records with the original."""
    released = classes.records
    if guarantee.has_one_transformation:
        _check_original(classes, guarantee, source, reference, checks)
    else:
        if source.records is not None:
            check_record_by_record(texts.frame, guarantee, source, checks)
        elif beneath is not None:
            check_assignment(beneath, guarantee, checks)
        _check_suppressed(source.tally.n_records - released.n_records, guarantee, checks)
    if guarantee.questions is not None:
        _check_questions(classes, guarantee.questions, guarantee.k, source, checks)
    # No keyed id is an original one. Numbers may be: released in order, they say nothing.
    if guarantee.id is not None and not guarantee.numbered and guarantee.id in source.frame.columns:
        same = int(released.frame[guarantee.id].is_in(source.frame[guarantee.id].implode()).sum())
        checks.require(same == 0, "no id of the original is released", f"{same} ids of the original were released")


def _check_questions(
    classes: ReleasedClasses, questions: Questions, k: int, source: OriginalTable, checks: Checks
) -> None:
    """Check that the classes are those of questions that leave finer values open."""
    columns = list(questions.columns)
    counts = source.tally.count(columns, COUNT)
    records = Counter(dict(zip(counts.select(map(as_text, counts.select(columns))).rows(), counts[COUNT], strict=True)))
    expected = find_classes(records, source.hierarchies, questions, k)
    found = Counter(dict(zip(classes.sizes.select(columns).rows(), classes.sizes[COUNT], strict=True)))
    differing = len({*expected, *found}) - sum(found[labels] == n for labels, n in expected.items())
    checks.require(
        differing == 0,
        "labels resist downcoding: they are those of questions that leave finer values open",
        f"{differing} classes are not those of questions that leave finer values open",
    )


def _extremes(released: Tally, guarantee: Guarantee) -> tuple[int, int]:
    """The sizes of the smallest and of the largest class, if a rule depends on them."""
    if not any(rule["model"] == "k-map" and "population_size" in rule for rule in guarantee.rules):
        return 0, 0
    sizes = ReleasedClasses(released, list(guarantee.levels)).sizes[COUNT].sort()
    return (int(sizes[0]), int(sizes[-1])) if len(sizes) else (0, 0)


def released_texts(table: Tally, guarantee: Guarantee) -> Tally:
    """Return the released records as text, without rows of suppressed records."""
    released = _without_stars(_texts(table, guarantee), guarantee.inside())
    texts = [released.frame[escape_name(column)].alias(column) for column in guarantee.columns]
    return released.replace_rows(pl.DataFrame(texts))


def _texts(table: Tally, guarantee: Guarantee, held: Callable[[pl.Series], pl.Series] = as_text) -> Tally:
    """The columns that are spoken of, and whose records they are, as text; those that are not there omitted."""
    absent = () if guarantee.patient in (None, *guarantee.columns) else (guarantee.patient,)
    columns = {series.name: series for series in table.frame.get_columns()}
    spoken_of = [name for name in (*guarantee.columns, *absent) if name in columns]
    return table.replace_rows(pl.DataFrame([held(columns[name]).alias(escape_name(name)) for name in spoken_of]))


def _reference(
    released: Tally,
    guarantee: Guarantee,
    named: Guarantee,
    original: OriginalTable | None,
    source: OriginalTable | None,
    populations: Mapping[str, OriginalTable],
) -> Reference:
    """What rules compare with; ``source`` is the original as text, where the order of values is lost."""
    people = {}
    for name in {rule["population"] for rule in guarantee.rules if rule.get("population") in populations}:
        table = populations[name]
        texts = _texts(table.tally, named)
        hierarchies = {escape_name(column): hierarchy for column, hierarchy in table.hierarchies.items()}
        people[name] = texts.replace_rows(generalize_values(texts.frame, hierarchies, guarantee.levels))
    ordered = {rule["column"] for rule in guarantee.rules if rule.get("distance") == "ordered"}
    n = (released if original is None else original.tally).n_records
    if original is not None and source is not None:
        order = {column: natural_order(original.frame.get_column(column)) for column in ordered}
        return Reference(n, n, source.tally, order, source.groups, people)
    if guarantee.suppressed == 0:  # sensitive columns are released as recorded: these are the whole input
        order = {column: natural_order(released.frame[escape_name(column)]) for column in ordered}
        return Reference(n, n, released, order, populations=people)
    few, most = (1, guarantee.k - 1) if guarantee.suppressed is None else (guarantee.suppressed, guarantee.suppressed)
    return Reference(n + few, n + most, populations=people)


def _how(original: OriginalTable | None, n_unjudged: int = 0) -> str:
    how = "recounted by SQL from the released file, independently of the search"
    if original is not None:
        how += "; compared with the original, generalized again by table look-up"
    return f"{how}; rules that could not be recomputed: {n_unjudged}" if n_unjudged else how


def _without_stars(texts: Tally, guarantee: Guarantee) -> Tally:
    """Released records only; where suppressed ones are written, as many rows of stars are set aside."""
    if not guarantee.stars:
        return texts
    star = texts.frame.select(pl.all_horizontal(pl.all() == ROOT).fill_null(value=False)).to_series()
    stars, others = texts.filter(star), texts.filter(~star)
    if guarantee.suppressed is None:
        return others
    # a released record can be all roots as well; what is beyond the declared number is counted as released.
    return concat_tallies([others, stars.head(max(0, stars.n_records - guarantee.suppressed))])


def _check_columns(frame: pl.DataFrame, guarantee: Guarantee, checks: Checks) -> None:
    """Check the columns, and that rules about them exist: without any rule, nothing is guaranteed."""
    columns, declared = tuple(frame.columns), guarantee.columns
    wrong = f"the file has {len(columns)} columns that are not, in order, the {len(declared)} declared"
    checks.require(columns == declared, "the columns are those declared", wrong)
    if not guarantee.rules:
        checks.failures.append("no privacy rule is declared")
    recorded = {*guarantee.columns} - {*guarantee.levels} - {guarantee.id} | {guarantee.patient}
    checks.failures += [
        f"{name_of(rule)} is about a column that was not released as recorded"
        for rule in guarantee.rules
        if "column" in rule and rule["column"] not in recorded
    ]


def _check_rules(
    rules: Sequence[Description], classes: ReleasedClasses, reference: Reference, checks: Checks, *, every_rule: bool
) -> int:
    """Check rules that need more than the released records; return how many could not be recomputed."""
    n_unjudged, sizes = 0, classes.sizes[COUNT].to_list()
    about_classes = [rule for rule in rules if not is_about_table(rule)]
    for rule in rules:
        if is_about_table(rule):
            name = name_of(rule)
            checks.require(table_holds(rule, sizes), f"the release satisfies {name}", f"the release violates {name}")
    for rule, judged in zip(about_classes, judge(about_classes, classes, reference), strict=True):
        name, n = name_of(rule), len(sizes)
        if not isinstance(judged, str):
            n_violating = n - int(judged.sum())
            checks.require(
                n_violating == 0, f"all {n} classes satisfy {name}", f"{n_violating} of {n} classes violate {name}"
            )
            continue
        n_unjudged += 1
        if every_rule:
            checks.failures.append(f"{name} was not recomputed: {judged}")
        else:
            checks.leave(rule["model"], f"{name} was not recomputed: {judged}")
    return n_unjudged


def _check_original(
    classes: ReleasedClasses, guarantee: Guarantee, original: OriginalTable, reference: Reference, checks: Checks
) -> None:
    """Check that the release contains exactly the classes of the generalized original that satisfy the rules."""
    columns = classes.columns
    labels = generalize_values(original.frame, original.hierarchies, guarantee.levels)
    sensitive = sorted({escape_name(rule["column"]) for rule in guarantee.rules if "column" in rule})
    every = ReleasedClasses(original.tally.replace_rows(labels.hstack(original.frame.select(sensitive))), columns)
    expected = releasable(guarantee.rules, every, classes.sizes, reference)
    if expected is None:
        checks.done.append(
            Caveat("which classes must be suppressed was not recomputed: it depends on all of the rules")
        )
        expected = every.sizes.join(classes.sizes, on=columns, how="semi", nulls_equal=True)
    differing = _differing(expected, classes.sizes, columns)
    checks.require(
        differing == 0,
        "released classes are the classes of the original at the stated levels, complete",
        f"{differing} classes differ from the original generalized to the stated levels",
    )
    others = [column for column in guarantee.columns if column not in guarantee.levels and column != guarantee.id]
    if not differing and others:
        # Record by record of the released classes: each combination of values is as frequent as it was recorded.
        recorded = original.tally.replace_rows(labels.hstack([original.frame[column] for column in others]))
        found, all_of = (ReleasedClasses(one, [*columns, *others]).sizes for one in (classes.records, recorded))
        were = all_of.join(classes.sizes, on=columns, how="semi", nulls_equal=True)
        moved = _differing(were, found, [*columns, *others])
        wrong = f"{moved} combinations of values differ from the original in columns that were not generalized"
        checks.require(moved == 0, OTHERS_AS_RECORDED, wrong)
    if not differing and guarantee.patient is not None and guarantee.id is not None:
        own = labels.hstack([original.frame[column] for column in (*others, guarantee.patient)])
        kept = own.join(classes.sizes, on=columns, how="semi", nulls_equal=True)
        were, found = histories(kept, guarantee), histories(classes.records.frame, guarantee)
        split = _differing(were, found, [*columns, "history"])
        checks.require(split == 0, SAME, f"{split} patients of the release have not the records of one of the original")
    _check_suppressed(original.tally.n_records - int(expected[COUNT].sum()), guarantee, checks)


def _check_suppressed(suppressed: int, guarantee: Guarantee, checks: Checks) -> None:
    if guarantee.limit is not None:
        checks.require(
            suppressed <= guarantee.limit,
            "no more records than allowed were suppressed",
            f"more records were suppressed than the {guarantee.limit} allowed",
        )
    if guarantee.suppressed is not None:
        checks.require(
            suppressed == guarantee.suppressed,
            "the number of suppressed records is right",
            f"{guarantee.suppressed} suppressed records are declared, but it should be another number",
        )
    else:
        checks.require(
            0 < suppressed < guarantee.k,
            f"from 1 to {guarantee.k - 1} records were suppressed, as the number kept back says",
            f"fewer than {guarantee.k} suppressed records are declared, but it should be none or more",
        )


def _differing(expected: pl.DataFrame, found: pl.DataFrame, columns: Sequence[str]) -> int:
    both = expected.join(found, on=columns, how="full", nulls_equal=True, coalesce=True, suffix="_released")
    return both.filter(pl.col(COUNT).ne_missing(pl.col(COUNT + "_released"))).height


def generalize_values(
    frame: pl.DataFrame, hierarchies: Mapping[str, BoundHierarchy], levels: Mapping[str, int]
) -> pl.DataFrame:
    """Return the ancestors of each quasi-identifier's values; columns are named as in ``levels``."""
    return pl.DataFrame([ancestors(frame[column], hierarchies[column], level) for column, level in levels.items()])
