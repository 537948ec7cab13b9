"""One run of ``protect table``: from options to a release folder and a summary."""

import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cloister.cli.output import note
from cloister.cli.places import custody_of, release_at
from cloister.cli.prepared import Original, Prepared, Work, with_attack
from cloister.cli.progress import watched
from cloister.cli.summary import print_summary
from cloister.cli.table_request import (
    asked_of_table,
    averages,
    list_values,
    quasi_identifiers,
    weights_by_column,
    whole_levels,
)
from cloister.engines.choice import ChosenEngine, check_table_name, check_word, choose_engine, is_database
from cloister.engines.relation import names_of
from cloister.errors import InputError
from cloister.flow.tables import must_compile, protect_table
from cloister.io import Source
from cloister.privacy import KAnonymity, PrivacyRule
from cloister.release import Release
from cloister.sources import read_table
from cloister.stopwatch import Stopwatch
from cloister.tabular.data import Ids, TableRequest
from cloister.tabular.judging.rule_sources import read_rule
from cloister.tabular.options import FULL_DOMAIN, TableOptions
from cloister.tabular.release import TableRelease
from cloister.tabular.settings import parse_ids, requested

if TYPE_CHECKING:
    from cloister.table_with_codes.data import CodesAsked


def check_table_words(options: TableOptions) -> None:
    """Refuse words that no option has."""
    check_word(options.engine)
    if options.table is not None:
        if not is_database(options.engine):
            raise InputError("--table names a table in a database. Give the address of the database as --engine, too.")
        check_table_name(options.table)


def table_prepared(options: TableOptions, watch: Stopwatch, engines: ExitStack, read: Source | None) -> Prepared:
    """Read a table, or leave it where it is, and return what is about to be done with it.

    Parameters
    ----------
    engines : holds the engine that counts the table, if one does, until the release was written
    """
    if read is not None:
        return prepare_table(options, read, watch)
    chosen = choose_engine(options.engine, options.data, _needs_rows(options))
    if chosen.where == "memory":
        with watch.stage("read"):
            source = read_table_source(options)
        prepared = prepare_table(options, source, watch)
    else:
        prepared = _on_engine(options, chosen, watch, engines)
    if chosen.why is None:
        return prepared
    notes_on, why = prepared.notes, chosen.why
    return replace(prepared, notes=lambda release, manifest: [why, *notes_on(release, manifest)])


def _needs_rows(options: TableOptions) -> str | None:
    """The first option that needs the rows of the table; None if nothing was asked for that does."""
    needing = [
        f"--method {options.method}" if name == "method" else f"--{name.replace('_', '-')}"
        for name in options.needing_rows()
    ]
    asked = {
        "--codes": options.codes is not None,
        "--escape-formulas": options.escape_formulas,
        "--crosswalk": options.crosswalk is not None,
        "--attack": options.attack,
        "--ids hmac": options.ids.startswith("hmac"),
    }
    return next((option for option in (*needing, *(name for name, is_asked in asked.items() if is_asked))), None)


def _on_engine(options: TableOptions, chosen: ChosenEngine, watch: Stopwatch, engines: ExitStack) -> Prepared:
    from cloister.cli.table_on_engine import opened, prepare_on_engine  # SQL is loaded only for that

    with watch.stage("read"):
        table = engines.enter_context(opened(options, chosen))
    request, notes = _request(options, names_of(table.engine.columns))
    return prepare_on_engine(options, request, notes, table, watch)


def read_table_source(options: TableOptions) -> Source:
    """Read the table as the options ask."""
    return read_table(options.data, encoding=options.encoding, delimiter=options.delimiter, missing=options.missing)


def prepare_table(
    options: TableOptions, source: Source, watch: Stopwatch, codes_missing: Sequence[str] | None = None
) -> Prepared:
    """Return what is about to be done with a table that was read.

    Parameters
    ----------
    codes_missing : texts that stand for a missing code; those of the table if None
    """
    request, notes = _request(options, source.frame.columns)
    missing = options.missing if codes_missing is None else tuple(codes_missing)
    asked = _codes_asked(options, missing)
    hierarchies = {column: wanted.hierarchy for column, wanted in request.quasi_identifiers.items()}
    original = Original(source.frame, hierarchies, missing=missing)

    def protect() -> Release:
        if must_compile(request.search_name):
            note("Compiling the search for this machine, once (about 30 s).", quiet=options.quiet or options.as_json)
        try:
            with watched(quiet=options.quiet or options.as_json) as report:
                release = _protect(asked)(
                    source,
                    request,
                    seed=options.seed,
                    report=report,
                    watch=watch,
                    custody=custody_of(options.data, options.internal),
                )
        except InputError:
            list_values(options, request, source.frame.columns, source.frame.get_column)
            raise
        return with_attack(release, options, original)

    return Prepared(
        protect,
        lambda: _check(source, request, asked),
        lambda _, __: [*source.notes, *notes],
        asked_of_table(request, f"{source.frame.height:,}", asked),
        original,
        (*request.sensitive, *request.keep),
    )


def _check(source: Source, request: TableRequest, asked: "CodesAsked | None") -> None:
    """Raise what protecting would raise before its search."""
    from cloister.tabular.encode import encode
    from cloister.tabular.recoding.choice import check_levels

    if asked is None:
        encoded = encode(source.frame, request, source.name)
        if request.levels is not None:
            check_levels(encoded.problem, request.levels)
        return
    from cloister.table_with_codes.data import k_of
    from cloister.table_with_codes.presence import asking_presence, check_column, read_codes, with_presence

    asked.check(k_of(request))
    check_column(source.frame, request, asked, source.name)
    read_codes(source.frame, asked, source.name)
    reduced = with_presence(source.frame, asked.column, asked.missing)
    encode(reduced, asking_presence(request, asked.column), source.name)


def _codes_asked(options: TableOptions, missing: tuple[str, ...]) -> "CodesAsked | None":
    """What is asked of a column of codes, which is loaded only for that."""
    of_codes: dict[str, object] = {
        "-m": options.m,
        "--policy": options.policy,
        "--max-cluster-size": options.max_cluster_size,
    }
    of_codes |= {"--merge-classes": options.merge_bound}
    given = [option for option, value in of_codes.items() if value is not None]
    if options.codes is None:
        if given:
            raise InputError(f"{', '.join(given)}: for a column of codes only. Name it with --codes, or leave it out.")
        return None
    from cloister.table_with_codes.data import CodesAsked

    m = 2 if options.m is None else options.m
    return CodesAsked(options.codes, m, options.policy, missing, options.max_cluster_size)


def _protect(asked: "CodesAsked | None") -> Callable[..., TableRelease]:
    """What protects the table: with a column of codes it takes more, which is loaded only then."""
    if asked is None:
        return protect_table
    from cloister.flow.tables_with_codes import protect_table_with_codes

    return partial(protect_table_with_codes, asked=asked)


def _request(options: TableOptions, columns: Sequence[str]) -> tuple[TableRequest, list[str]]:
    found = quasi_identifiers(options.quasi_identifiers, options.hierarchies, options.data, columns, options.missing_as)
    notes = list(found.notes)
    ids, key = _ids(options.ids)
    if key is not None:
        notes.append("ids are keyed hashes: releases made with the same key can be linked")
    looked_up = {
        "quasi_identifiers": found.by_column,
        "rules": (KAnonymity(options.k), *_rules(options)),
        "weights": weights_by_column(options.weights, columns),
        "levels": _levels(options, columns),
        "microaggregate": averages(options.microaggregate, columns),
        "ids": ids,
        "id_key": key,
    }
    return requested(vars(options) | looked_up), notes


def _rules(options: TableOptions) -> Iterator[PrivacyRule]:
    """The rules beside k-anonymity; population tables are read as the table is."""
    for rule in options.rules:
        yield read_rule(
            str(rule),
            missing_as=options.missing_as,
            missing=options.missing,
            encoding=options.encoding,
            delimiter=options.delimiter,
        )


def _levels(options: TableOptions, columns: Sequence[str]) -> dict[str, int] | None:
    """The fixed policy, if one was given."""
    if options.levels and options.like is not None:
        raise InputError("--levels and --like both fix the policy. Give one of them.")
    if options.levels:
        return whole_levels(options.levels, columns)
    if options.like is None:
        return None
    earlier = release_at(options.like)
    if earlier.get("method") != FULL_DOMAIN:
        raise InputError(
            f"The release {options.like.name} has levels that differ between classes; none can be like it. "
            "Take a release by full-domain generalization.",
            file="release.json",
        )
    search = earlier.get("search")
    levels = search.get("levels") if isinstance(search, dict) else None
    if not isinstance(levels, dict) or not all(type(level) is int for level in levels.values()):
        raise InputError(f"The release {options.like.name} states no levels to be like.", file="release.json")
    return levels


def _ids(text: str) -> tuple[Ids, bytes | None]:
    choice, _, file = text.partition(":")
    ids = parse_ids(choice)
    if (ids is Ids.HMAC) != bool(file):
        raise InputError("Keyed ids need the file of the key, as in --ids hmac:KEYFILE; other ids take none.")
    return ids, _key(Path(file)) if file else None


def _key(path: Path) -> bytes:
    """Read a secret key that nobody else can read."""
    try:
        status, key = path.stat(), path.read_bytes()
    except OSError:
        status, key = None, b""
    if status is None:
        raise InputError(f"The key file {path.name} cannot be read.", file=path.name)
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise InputError(f"The key file {path.name} can be read by others. Set its mode to 0600.", file=path.name)
    return key


TABLE = Work(check_table_words, read_table_source, table_prepared, print_summary)
