"""Columns that undo the protection of a table, and releases without information: rejected unless accepted."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np
import polars as pl

from cloister.engines.statements import Engine, count_ids
from cloister.errors import CloisterError, InputError, Message, NoSafeRelease, join_parts, name_few, setting
from cloister.io import as_text
from cloister.release.head import MOST_LOST
from cloister.report.release_warnings import describe_empty, describe_not_compared
from cloister.results import DisclosiveColumn, Why
from cloister.risk.association import order_values
from cloister.risk.determination import Determination, Hidden, find_determinations
from cloister.risk.identifiers import LEAST_PATIENTS, free_texts, is_named_number, is_named_patient, repeated_patients
from cloister.shapes.table.format.manifest import TableSections
from cloister.shapes.table.format.options import CLUSTER, FULL_DOMAIN, MDAV, TRUTHFUL
from cloister.shapes.table.method.data import EncodedTable, ProtectedTable, Role, TableRequest
from cloister.shapes.table.method.encode import encode
from cloister.shapes.table.method.recoding.choice import choose
from cloister.shapes.table.method.roles import accept_columns

RECORDED = (Role.SENSITIVE, Role.KEPT)


def accepted_as_recorded(table: EncodedTable, request: TableRequest, file: str) -> list[DisclosiveColumn]:
    """Reject free text that is unique in most records, and ids that repeat; return the columns that were accepted.

    Ids are dropped columns, recorded ones that number something by their name, and quasi-identifiers that are called
    after patients. If a column distinguishes patients, examine one row of each. Another that repeats in these rows
    groups several of the patients into one person, as an id of persons does with stays.
    """
    if table.tally.counts is not None:
        return []
    of_role = {role: [name for name, one in table.roles.items() if one is role] for role in Role}
    one_each, patients = table.frame, request.patients
    if patients is not None:
        one_each = one_each.unique(patients.column, keep="first", maintain_order=True)
    of_ids = [name for role in RECORDED for name in of_role[role] if is_named_patient(name) or is_named_number(name)]
    of_ids += [name for name in of_role[Role.QUASI_IDENTIFIER] if is_named_patient(name)]
    ids = {
        name: as_text(one_each[name])
        for name in (*of_role[Role.DROPPED], *of_ids)
        if patients is None or table.frame.n_unique([patients.column, name]) == one_each.height  # one for each patient
    }
    quasi_identifiers = (as_text(one_each[name]) for name in request.quasi_identifiers if name not in ids)
    recorded = {name: table.frame[name] for role in RECORDED for name in of_role[role]}
    return _require_accepted([*repeated_patients(ids, quasi_identifiers), *free_texts(recorded)], request, file)


def accepted_where_counted(engine: Engine, roles: Mapping[str, Role], request: TableRequest) -> list[DisclosiveColumn]:
    """Reject ids of patients that repeat, by their names, in a table whose rows are not at hand.

    Which records agree in the quasi-identifiers is not known there, so ids of other names are not found.
    """
    named = [name for name, role in roles.items() if role is not Role.IDENTIFIER and is_named_patient(name)]
    counts = {name: count_ids(engine, name) for name in named if name != request.patient}
    repeated = [name for name, count in counts.items() if LEAST_PATIENTS <= count.distinct < count.given]
    found = [DisclosiveColumn(name, "several records of a patient") for name in repeated]
    return _require_accepted(found, request, engine.file)


def accepted_with_labels(
    table: EncodedTable, protected: ProtectedTable, request: TableRequest, file: str
) -> tuple[list[DisclosiveColumn], list[str]]:
    """Reject sets of recorded columns that determine a quasi-identifier and leave groups of fewer than k records.

    Returns the columns that were accepted, and notes on sets by which k fails for nobody. Tables that are counted
    elsewhere are not looked at, which is noted: which columns go together there is not known.
    """
    recorded = [name for name, role in table.roles.items() if role in RECORDED]
    if table.tally.counts is not None or not recorded:
        return [], describe_not_compared(recorded) if recorded else []
    originals = protected.originals.drop_nulls()
    looked_at = pl.Series(range(len(originals)), dtype=pl.Int64)
    if request.patients is not None:  # rows of one patient agree: each is predicted from those of others
        whose = table.frame[request.patients.column].gather(originals)
        looked_at = whose.is_first_distinct().arg_true().cast(pl.Int64)
    originals = originals.gather(looked_at)

    def values(name: str) -> pl.Series:
        return order_values(as_text(table.frame[name]).gather(originals)).alias(name)

    hidden = {
        name: Hidden(as_text(protected.labels.frame[name]).gather(looked_at), values(name))
        for name, levels in protected.levels.items()
        if any(level > 0 for level in levels)
    }
    labels = pl.DataFrame([as_text(one).gather(looked_at) for one in protected.labels.frame])
    classes = labels.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy().astype(np.int64)
    found = find_determinations(hidden, {name: values(name) for name in recorded}, classes, request.k)
    refused = [one for one in found if one.n_below and not {*one.columns} <= {*request.accept}]
    if refused:
        raise _determined_error(refused, file)
    accepted = [
        DisclosiveColumn(column, "says a quasi-identifier", one.about) for one in found for column in one.columns
    ]
    notes = [
        f"{name_few(one.columns, ' and ')} {'reveals' if len(one.columns) == 1 else 'together reveal'} {one.about} "
        f"more finely than its labels; no record is left with fewer than {request.k} by that"
        for one in found
        if not one.n_below
    ]
    return [one for one in dict.fromkeys(accepted) if one.column in request.accept], notes


def _determined_error(found: Sequence[Determination], file: str) -> NoSafeRelease:
    """Return the error: it names each set, the column that it reveals, and the number of records for which k fails."""
    sentences = [
        f"{name_few(map(repr, one.columns), ' and ')} {'reveals' if len(one.columns) == 1 else 'together reveal'} "
        f"{one.about} more finely than its labels: in {one.n_below:,} record{'' if one.n_below == 1 else 's'} fewer "
        "than k are left."
        for one in found
    ]
    every = sorted({column for one in found for column in one.columns})
    return NoSafeRelease(
        f"Columns of {file} released as recorded undo the protection. {' '.join(sentences)} Drop them, as with ",
        setting("drop", [every[0]]),
        ", or make them quasi-identifiers. To release all the same, with a sentence in the report: ",
        accept_columns(every),
        ".",
        file=file,
        column=every[0],
        columns=every,
    )


def _require_accepted(found: Sequence[DisclosiveColumn], request: TableRequest, file: str) -> list[DisclosiveColumn]:
    """Return the columns that the user accepted by name; raise one error for all others."""
    refused = [one for one in found if one.column not in request.accept]
    if refused:
        every = sorted({one.column for one in refused})
        by_why = {one.why: sorted({other.column for other in refused if other.why == one.why}) for one in refused}
        raise InputError(
            *(_sentence(why, columns, file) for why, columns in by_why.items()),
            "To release all the same, with a sentence in the report: ",
            accept_columns(every),
            ".",
            file=file,
            column=every[0],
            columns=every,
        )
    return list(found)


def _sentence(why: Why, columns: Sequence[str], file: str) -> Message:
    """Return a sentence on the effect of such columns, and on what to do about them."""
    named, first = name_few(map(repr, columns)), columns[0]
    if why == "free text":
        texts = f"{named}: most records of {file} have a text of several words there that no other has. Leave it out: "
        return Message(texts, setting("drop", [first]), ". ")
    verb = "repeats" if len(columns) == 1 else "repeat"
    repeats = f"{named} {verb} in {file}, so a patient may have several records, and k would count records. Name it as "
    return Message(repeats, setting("patient", first), ", and k counts patients. ")


SECONDS = 3.0  # that the search of a suggestion may take, and after which nothing else is tried
SAMPLE = 20_000  # records with which suggestions are tried: with all, what they keep is no less
FEW = 5_000  # the most records for which clusters are tried: with rules besides k, more may take a minute
MORE_WEIGHT, MORE_SUPPRESSION = 5.0, Decimal("0.03")


def empty_column_notes(table: EncodedTable, request: TableRequest, manifest: TableSections, source: str) -> list[str]:
    """Return notes on columns without information, with suggestions that were tried; reject an empty release.

    Whoever fixes the levels has asked for what comes out. The suggestions give the same guarantee. They are tried where
    the records are at hand, and neither levels nor time were fixed.
    """
    empty, loss = manifest.empty, manifest.utility.losses["iyengar"]
    is_useless = loss > MOST_LOST or len(empty) == len(manifest.quasi_identifiers)
    if not empty and not is_useless:
        return []
    is_fixed = table.tally.counts is not None or (request.levels, request.time_limit) != (None, None)
    is_fixed |= request.method == MDAV
    tried = [] if is_fixed else list(_suggest_changes(table, request, empty, source))
    how = f"tried with {SAMPLE:,} of the records" if table.tally.n_records > SAMPLE else "tried"
    instead: str = "Ask for a smaller k or fewer columns"
    if tried:
        instead = Message(f"At the same k, as {how}: ", join_parts("; ", tried))
    if is_useless and not request.accept_empty and request.levels is None:
        raise NoSafeRelease(
            f"The release would be useless: {name_few(empty, ' and ') or 'nearly everything'} would say "
            f"nothing, at a loss of {loss:.2f}. ",
            instead,
            ". To release all the same: ",
            setting("accept_empty"),
            file=source,
        )
    return [*describe_empty(empty), instead] if empty else []


def _suggest_changes(table: EncodedTable, request: TableRequest, empty: Sequence[str], source: str) -> Iterator[str]:
    """Yield changes of settings that keep some of the columns, as the user can type them."""
    weights = {column: MORE_WEIGHT * request.weights.get(column, 1.0) for column in empty}
    suppression = min(request.suppression + MORE_SUPPRESSION, Decimal(1))
    one_by_one = replace(request, search=None, store=None, time_limit=None, local_recoding=False, merge_bound=None)
    methods = [
        (setting("method", method), replace(one_by_one, method=method))
        for method in TRUTHFUL
        if request.method == FULL_DOMAIN != method and (method != CLUSTER or table.frame.height <= FEW)
    ]
    weighted = [
        (setting("weight", {column: weight}), replace(request, weights=dict(request.weights) | {column: weight}))
        for column, weight in weights.items()
        if request.loss.takes_weights
    ]
    suppressing = (setting("suppression", str(suppression)), replace(request, suppression=suppression))
    frame = table.frame.sample(min(SAMPLE, table.frame.height), seed=0)
    started, is_kept_otherwise = time.perf_counter(), False
    for words, changed in [*methods[:1], *weighted, suppressing, *methods[1:]]:
        if time.perf_counter() - started > SECONDS:
            return
        if changed.method != request.method and is_kept_otherwise:
            continue  # another method has no limit of time, and one that keeps all is enough
        limited = replace(changed, time_limit=SECONDS) if changed.method == FULL_DOMAIN else changed
        try:
            again = encode(frame, limited, source)
            choice = choose(again, limited)
        except CloisterError:
            continue
        labels = choice.labels.filter(choice.is_released)
        most = MOST_LOST * labels.height  # records of a column that would say next to nothing again
        roots = {column: hierarchy.labels[-1][0] for column, hierarchy in again.hierarchies.items()}
        found = {column: labels[column] for column in roots}
        says = [name for name, one in found.items() if (one == roots[name]).sum() < most and one.n_unique() > 1]
        kept = [column for column in empty if column in says]
        instead = [column for column in again.hierarchies if column not in (*empty, *says)]
        is_kept_otherwise |= changed.method != request.method and kept == list(empty) and not instead
        if len(kept) > len(instead):
            but = f", not {name_few(instead, ' and ')}" if instead else ""
            yield Message(words, f" keeps {name_few(kept, ' and ')}{but}")
