"""Quasi-identifiers that say nothing in a release: said, with what would keep them; refused where nothing is left."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from cloister.errors import CloisterError, NoSafeRelease, setting
from cloister.io import is_tally
from cloister.tabular.data import EncodedTable, TableRequest
from cloister.tabular.encode import encode
from cloister.tabular.manifest import TableSections
from cloister.tabular.options import FULL_DOMAIN, METHODS
from cloister.tabular.recoding.choice import choose

from .stages import MOST_LOST

SECONDS = 3.0  # that the search of a suggestion may take, and after which nothing else is tried
SAMPLE = 50_000  # records with which suggestions are tried: with all, what they keep is no less
MORE_WEIGHT, MORE_SUPPRESSION = 5.0, Decimal("0.03")


def said_of_empty(table: EncodedTable, request: TableRequest, manifest: TableSections, source: str) -> list[str]:
    """Return what is to be said of columns that say nothing, with suggestions that were tried; refuse an empty release.

    Whoever fixes the levels has asked for what comes out. The suggestions give the same guarantee. They are tried where
    the records are at hand, and neither levels nor time were fixed.
    """
    empty, loss = manifest.empty, manifest.utility.losses["iyengar"]
    is_useless = loss > MOST_LOST or len(empty) == len(manifest.quasi_identifiers)
    if not empty and not is_useless:
        return []
    is_fixed = is_tally(table.frame) or (request.levels, request.time_limit) != (None, None)
    tried = [] if is_fixed else list(_tried(table, request, empty, source))
    how = f"tried with {SAMPLE:,} of the records" if table.frame.height > SAMPLE else "tried"
    instead = f"At the same k, as {how}: {'; '.join(tried)}" if tried else "Ask for a smaller k or fewer columns"
    if is_useless and not request.accept_empty and request.levels is None:
        raise NoSafeRelease(
            f"A release would be safe and useless: {_listed(empty) or 'nearly everything'} would say nothing, at a "
            f"loss of {loss:.2f}. {instead}. To release all the same: {setting('accept_empty')}.",
            file=source,
        )
    return (
        [f"{_listed(empty)} {'says' if len(empty) == 1 else 'say'} nothing in this release. {instead}"] if empty else []
    )


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _tried(table: EncodedTable, request: TableRequest, empty: Sequence[str], source: str) -> Iterator[str]:
    """What keeps some of the columns, in words that can be typed."""
    weights = {column: MORE_WEIGHT * request.weights.get(column, 1.0) for column in empty}
    suppression = min(request.suppression + MORE_SUPPRESSION, Decimal(1))
    one_by_one = replace(request, search=None, time_limit=None, local_recoding=False, merge_bound=None)
    methods = [
        (setting("method", method), replace(one_by_one, method=method))
        for method in METHODS
        if request.method == FULL_DOMAIN != method
    ]
    weighted = [
        (setting("weights", f"{column}={weight:g}"), replace(request, weights=dict(request.weights) | {column: weight}))
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
            yield f"{words} keeps {_listed(kept)}" + (f", not {_listed(instead)}" if instead else "")
