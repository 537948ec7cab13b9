"""The guarantee and published facts of a protected table, and the figures for its custodian only."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.hierarchy import ROOT, BoundHierarchy
from cloister.hierarchy.value_lists import has_lists
from cloister.io import Tally, as_text
from cloister.privacy import TCloseness
from cloister.release.figures import Counts, OriginalCounts
from cloister.release.masking import must_mask
from cloister.results import DisclosiveColumn, SearchResult, Utility
from cloister.shapes.table.format.facts import DerivedTable, class_sizes, count_labels, facts_of
from cloister.shapes.table.format.guarantee import Guarantee, OriginalTable, bound_hierarchies
from cloister.shapes.table.format.manifest import (
    ASSUMED,
    SEVERAL,
    UNIQUE,
    AcceptedColumn,
    Column,
    ColumnUtility,
    PublishedSettings,
    QuasiIdentifierColumn,
    RecordedColumn,
    TableGuarantee,
    TableIdColumn,
    TableSearch,
    TableSections,
    TableUtility,
    record_counts,
)
from cloister.shapes.table.format.options import FULL_DOMAIN, JOINED

from .coding import population_frame, populations_in
from .data import EncodedTable, Ids, ProtectedTable, Role, TableRequest
from .measure import public_utility
from .settings import PEOPLE
from .vanished import Vanished

DECADE = 10.0  # years that a label of an age may cover, to be of use for a rate
GROUPS = 20  # of a number as recorded, of as many records each, for a model


def usefulness(table: EncodedTable, protected: ProtectedTable, request: TableRequest) -> dict[str, float]:
    """Return shares that describe remaining usefulness, as far as they are defined.

    ``by_age_and_sex`` is the share of the released records whose labels say age to ten years, and sex. ``auc`` is the
    area under the curve of naive Bayes that learns the target from the labels of one half of the released records and
    is tested on the other, and the same the other way round; ``auc_as_recorded`` that of all records from their values,
    numbers in twentieths. The target is its most frequent value against all others. Nothing of a tally.
    """
    if table.tally.counts is not None:
        return {}
    released, places = protected.released().frame, protected.originals.drop_nulls()
    labels = {name: as_text(released[name]) for name in request.quasi_identifiers}
    found: dict[str, float] = {}
    people = [
        _is_informative(label, table.frame[name][places]) for name, label in labels.items() if PEOPLE.search(name)
    ]
    if people:
        informative = pl.DataFrame([one.alias(str(place)) for place, one in enumerate(people)])
        found |= {"by_age_and_sex": informative.select(pl.all_horizontal(pl.all()).mean()).item()}
    if request.target is not None:
        target = as_text(table.frame[request.target]).fill_null("")
        outcome = (target == target.mode().sort()[0]).to_numpy()
        half = np.random.default_rng(0).permutation(outcome.size) % 2 == 0
        at = places.to_numpy()
        recorded = [group_values(table.frame[name]) for name in labels]
        found |= {
            "auc": naive_bayes_auc([*labels.values()], outcome[at], half[at]),
            "auc_as_recorded": naive_bayes_auc(recorded, outcome, half),
        }
    return {name: round(share, 4) for name, share in found.items()}


def _is_informative(label: pl.Series, recorded: pl.Series) -> pl.Series:
    """Return whether a label is informative: a number to within ten years; anything else if it is not suppressed."""
    number = as_text(recorded).cast(pl.Float64, strict=False)
    is_kept = label.is_null() | (label != ROOT)
    if number.null_count() > recorded.null_count():
        return is_kept
    covered = pl.DataFrame({"label": label, "number": number})
    years = (pl.col("number").max() - pl.col("number").min()).over("label")
    return (
        is_kept & covered.select((years < DECADE).fill_null(value=True)).to_series()
    )  # a missing value is a value, and informative


def group_values(recorded: pl.Series) -> pl.Series:
    """Return a column as recorded; numbers with many values are grouped into equally frequent groups."""
    number = as_text(recorded).cast(pl.Float64, strict=False)
    if number.null_count() > recorded.null_count() or number.n_unique() <= GROUPS:
        return as_text(recorded)
    return number.rank("min") * GROUPS // len(number)


def naive_bayes_auc(columns: list[pl.Series], outcome: NDArray[np.bool_], half: NDArray[np.bool_]) -> float:
    """Return the area under the curve, from ranks of naive Bayes scores in two halves; 0 if all outcomes are alike."""
    share, total = outcome.mean(), 0.0
    codes = [column.rank("dense").fill_null(0).to_numpy().astype(np.int64) for column in columns]
    for learnt, tested in ((half, ~half), (~half, half)):
        score = np.zeros(int(tested.sum()))
        for code in codes:
            positive = np.bincount(code[learnt & outcome], minlength=code.max() + 1) + share
            negative = np.bincount(code[learnt & ~outcome], minlength=code.max() + 1) + 1 - share
            score += np.log(positive / negative)[code[tested]]
        ranks, truth = pl.Series(score).rank().to_numpy(), outcome[tested]
        n_true, n_false = int(truth.sum()), int((~truth).sum())
        total += (ranks[truth].sum() - n_true * (n_true + 1) / 2) / max(n_true * n_false, 1)
    return float(total / 2)


ROUNDED = 100
"""Losses are published in hundredths where exact ones would give away a small number of suppressed records."""


def describe_table(
    exact: Utility,
    table: EncodedTable,
    protected: ProtectedTable,
    request: TableRequest,
    source: str,
    accepted: Sequence[DisclosiveColumn] = (),
) -> DerivedTable:
    """Return the stated parts of a table's manifest, and the parts derived from its records.

    A number of suppressed records below k is masked; so is the number of records of the input, because each would give
    the other away. For the same reason losses are then computed from the released records alone and rounded up, and
    bound and gap are omitted.
    """
    settings, search = _settings(request, table.roles, source), protected.search
    released = protected.released()
    facts = facts_of(released, settings, request.patients)
    utility = public_utility(exact, table, protected, request)
    is_masked = must_mask(protected.suppressed, request.k)

    def publish_loss(loss: float) -> float:
        return math.ceil(round(loss * ROUNDED, 6)) / ROUNDED if is_masked else loss

    stated = TableSections.of_known(
        shape="table",
        method=request.published_method,
        settings=settings,
        columns=_columns(table.roles, request, protected, table),
        records=record_counts(protected.suppressed, facts.released, request.k),
        guarantee=TableGuarantee(
            rules=request.rules,
            verified=True,
            one_row_per_patient=SEVERAL if request.patients else ASSUMED if request.id is None else UNIQUE,
            accepted=tuple(AcceptedColumn.of_known(**vars(one)) for one in accepted),
        ),
        utility=TableUtility(
            loss=publish_loss(utility.loss),
            exact=utility.exact,
            losses={name: publish_loss(loss) for name, loss in utility.losses.items()},
            columns={
                one.column: ColumnUtility.of_known(
                    loss=publish_loss(one.loss),
                    top=one.top,
                    labels=facts.labels[one.column],
                    variance_lost=one.variance_lost,
                    values_changed=one.values_changed,
                )
                for one in utility.columns
            },
        ),
        risk=facts.risk,
        search=None if search is None else _search(search, table.roles, request, utility, is_masked=is_masked),
    )
    return DerivedTable(protected.tally, released, stated, facts)


def _settings(request: TableRequest, roles: Mapping[str, Role], source: str) -> PublishedSettings:
    search = "fixed" if request.levels is not None else request.search_name
    quasi = request.quasi_identifiers
    asked = {name: getattr(request, name) for name in PublishedSettings.model_fields if hasattr(request, name)}
    bounds = {column: (one.lowest, one.highest) for column, one in quasi.items()}
    known = {
        "source": source,
        "undecided": next((word for word in request.undecided if "=" not in word), None),
        "rules": tuple(rule.words() for rule in request.rules),
        "suppression": float(request.suppression),
        "loss": request.loss.name,
        "weights": dict(request.weights),
        "search": search if request.method == FULL_DOMAIN else None,
        "labels": JOINED if request.columns_to_join else None,
        "resist_downcoding": request.resist_downcoding or None,
        "microaggregate": dict(request.microaggregate),
        "ids": str(request.ids) if request.id is not None else None,
        "hierarchies": {column: wanted.hierarchy.spec for column, wanted in quasi.items()},
        "level_bounds": {column: bound for column, bound in bounds.items() if bound != (0, None)},
        "not_released": tuple(column for column, role in roles.items() if role is Role.DROPPED),
    }
    return PublishedSettings.of_known(**asked | known)


def exact_figures(
    exact: Utility, table: EncodedTable, protected: ProtectedTable, request: TableRequest, vanished: Vanished
) -> dict[str, object]:
    """Return the figures that the manifest omits, for the custodian."""
    search, useful = protected.search, usefulness(table, protected, request)
    found: dict[str, object] = {"records": table.tally.n_records, "suppressed": protected.suppressed}
    proof: dict[str, object] = (
        {} if search is None else {"bound": search.bound, "gap": search.gap, "checked": search.checked}
    )
    kept = search is not None and request.store is not None and search.statistics
    proof |= {"store": asdict(kept)} if kept else {}
    losses: dict[str, object] = {"mean_loss": exact.mean_loss, "loss": exact.loss}
    losses |= {"vanished": vanished} if vanished else {}
    return found | losses | proof | ({"usefulness": useful} if useful else {})


def _columns(
    roles: Mapping[str, Role], request: TableRequest, protected: ProtectedTable, table: EncodedTable
) -> dict[str, Column]:
    columns: dict[str, Column] = {}
    for name, role in roles.items():
        if role is Role.QUASI_IDENTIFIER:
            levels = protected.levels[name]
            columns[name] = QuasiIdentifierColumn.of_known(
                role=str(role),
                hierarchy=request.quasi_identifiers[name].hierarchy.kind,
                level=levels[0] if len(levels) == 1 else None,
                levels=None if request.has_one_transformation else levels,
                lists=has_lists(table.hierarchies[name]) or None,
                average=request.microaggregate.get(name),
            )
        elif role in (Role.SENSITIVE, Role.KEPT):
            columns[name] = RecordedColumn.of_known(role=str(role))
        elif role is Role.IDENTIFIER and request.ids is not Ids.DROP:
            columns[name] = TableIdColumn.of_known(role=str(role), ids=str(request.ids))
    return columns


def _search(
    found: SearchResult, roles: Mapping[str, Role], request: TableRequest, utility: Utility, *, is_masked: bool
) -> TableSearch:
    """What was searched; bound and gap in hundredths, to the safe side, where the loss is not proven optimal."""
    # What was proven of the transformation says nothing of classes that were merged afterwards.
    optimal = found.optimal and request.merge_bound is None
    is_hidden = is_masked or request.levels is not None or not request.has_one_transformation
    # The bound is for the exact loss. Next to an estimate, which may be greater, readers would misread it.
    is_hidden |= request.loss.looks_within_classes or not utility.exact
    bound = None if is_hidden else utility.loss if optimal else math.floor(found.bound * ROUNDED) / ROUNDED
    return TableSearch(
        levels={column: found.levels[column] for column in roles if column in found.levels},
        lattice=found.lattice,
        checked=None,  # how long a search takes depends on records that are not released
        optimal=optimal,
        bound=bound,
        gap=0.0 if optimal else None if is_hidden else math.ceil(found.gap * ROUNDED) / ROUNDED,
    )


def with_published_rules(request: TableRequest, suppressed: int, n_records: int) -> TableRequest:
    """Return the request with published rules; where the number of records is published, rules are made for it."""
    if must_mask(suppressed, request.k):
        return request
    return replace(request, rules=tuple(rule.in_sample(n_records) for rule in request.rules))


def original_of(table: EncodedTable, request: TableRequest) -> OriginalTable:
    """Return the original table, with bound hierarchies of its columns and of values that rules group."""
    groups: dict[tuple[str, str], BoundHierarchy] = {}
    for rule in request.rules:
        if isinstance(rule, TCloseness) and rule.spec is not None:
            hierarchy = bound_hierarchies(table.frame, {rule.column: rule.hierarchy})[rule.column]
            if groups.setdefault((rule.column, rule.spec), hierarchy).labels != hierarchy.labels:
                raise InputError(
                    f"Two rules group the values of column {rule.column!r} by different hierarchies, both called "
                    f"{rule.spec}. Name them apart, or keep one.",
                    column=rule.column,
                )
    return OriginalTable(table.tally, table.hierarchies, groups)


def populations_of(table: EncodedTable, request: TableRequest) -> Mapping[str, OriginalTable]:
    """Return the population tables of the rules, by the name in the rules."""
    hierarchies = {column: request.quasi_identifiers[column].hierarchy for column in table.hierarchies}
    found: dict[str, OriginalTable] = {}
    for rule in populations_in(request.rules):
        frame, name = population_frame(rule), str(rule.name)
        if name not in found:
            found[name] = OriginalTable(Tally(frame), bound_hierarchies(frame, hierarchies))
        elif not found[name].frame.equals(frame):
            raise InputError(f"Two rules compare with different populations, both called {name}. Name them apart.")
    return found


def original_counts(table: EncodedTable, guarantee: Guarantee, without: str | None) -> OriginalCounts:
    """Return class sizes of the original, and labels of all records at the levels of the release.

    Labels can be counted where all classes have the same levels. ``without``: the column of codes, of which the table
    has only whether there are any
    """
    labels: dict[str, Counts] = {}
    levels = guarantee.levels if guarantee.has_one_transformation else {}
    for column, level in levels.items():
        if column == without:
            continue
        hierarchy = table.hierarchies[column]
        label_of = dict(zip(hierarchy.values, hierarchy.labels[level], strict=True))
        found: dict[str | None, int] = {}
        for value, count in count_labels(table.tally, column).items():
            found[label_of[value]] = found.get(label_of[value], 0) + count
        labels[column] = found
    return OriginalCounts(class_sizes(table.tally, list(table.hierarchies), guarantee.id and guarantee.patient), labels)
