"""``cloister hierarchy``: check, preview and build hierarchies; and parse hierarchies in options of other commands."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from cloister.cli.options import (
    AttackOptions,
    BuildOptions,
    CheckOptions,
    HierarchyOptions,
    PreviewOptions,
    VerifyOptions,
)
from cloister.cli.output import console, grid, print_json, say
from cloister.errors import InputError
from cloister.hierarchy import BoundHierarchy, Hierarchy, check_file, hierarchy_file, parse_hierarchy, preview
from cloister.hierarchy.file_hierarchy import FileHierarchy
from cloister.io import as_text, distinct_values, write_private
from cloister.io.columns import check_columns, list_columns
from cloister.pipeline.table_request import hierarchy_files, split_wanted
from cloister.release.manifest import AnyManifest
from cloister.settings.reading import how_read
from cloister.sources import read_table, vocabulary_hierarchy


def check_hierarchy(options: CheckOptions) -> None:
    """Print the problems of a hierarchy, or that it has none."""
    path = Path(options.hierarchy)
    if os.path.isfile(path) and (problems := check_file(path)):
        raise InputError(" ".join(problem.message for problem in problems), file=path.name)
    hierarchy = parse_hierarchy(options.hierarchy, missing_as=options.missing_as)
    covered = ""
    if options.data is not None:
        bound = hierarchy.bind(*_distinct(options, options.data))
        covered = f", and it holds all {len(bound.values)} values of column {bound.column!r}"
    if options.as_json:
        print_json({"legal": True, "hierarchy": hierarchy.spec, "kind": hierarchy.kind})
    else:
        console().print(f"{hierarchy.spec} is legal{covered}.", soft_wrap=True)


def preview_hierarchy(options: PreviewOptions) -> None:
    """Print the number and sizes of the groups of each level; labels, which are data, only on request."""
    hierarchy, shown = parse_hierarchy(options.hierarchy, missing_as=options.missing_as), options.show_values
    if options.data is not None:
        values: list[str | None] = _column(options, options.data)[1].to_list()
    elif isinstance(hierarchy, FileHierarchy):
        values = [row[0] or None for row in hierarchy.rows]
    else:
        raise InputError(f"To preview {hierarchy.spec}, values are needed: give a data file, and --column.")
    levels = preview(hierarchy, values)
    if options.as_json:
        names = ("level", "n_groups", "smallest", "largest", *(["examples"] if shown else []))
        print_json({"hierarchy": hierarchy.spec, "levels": [{n: getattr(level, n) for n in names} for level in levels]})
        return
    rows = [
        [str(level.level), f"{level.n_groups:,}", f"{level.smallest:,}", f"{level.largest:,}"]
        + ([", ".join("(missing)" if one is None else one for one in level.examples)] if shown else [])
        for level in levels
    ]
    heads = ["level", "groups", "smallest", "largest", *(["labels"] if shown else [])]
    console().print(grid(hierarchy.spec, heads, rows))


def build_hierarchy(options: BuildOptions) -> None:
    """Write the hierarchy of a column's values as an ARX file, or one of its levels as a utility policy."""
    out, level, of_codes = options.out, options.policy, options.policy is not None or options.hierarchy[:5] == "omop:"
    if options.data is None:
        raise InputError("To build a hierarchy, the values are needed: give a data file, and --column.")
    name, values = _distinct(options, options.data, of_codes=of_codes)
    vocabulary = vocabulary_hierarchy(options.hierarchy, [value for value in values if value is not None])
    hierarchy = vocabulary or parse_hierarchy(options.hierarchy)
    bound = hierarchy.bind(name, values)
    rows = list(zip(*bound.labels, strict=True))
    text = "".join(";".join(map(_cell, row)) + "\n" for row in rows) if level is None else _as_policy(bound, level)
    if out is None:
        if options.as_json and level is None:
            print_json({"hierarchy": hierarchy.spec, "column": bound.column, "rows": rows})
        elif sys.stdout.isatty():
            for line in text.splitlines():
                say(line)
        else:
            sys.stdout.write(text)
        return
    write_private(out, text.encode())
    if options.as_json:
        print_json({"file": out.name, "values": len(rows), "levels": bound.n_levels})
    else:
        what = f"{bound.n_levels} levels" if level is None else f"sets of level {level} of {bound.n_levels - 1}"
        console().print(f"{out.name}: {len(rows):,} values, {what}.", soft_wrap=True)


def _as_policy(bound: BoundHierarchy, level: int) -> str:
    if not 0 < level < bound.n_levels:
        raise InputError(f"The levels of {bound.column!r} are 1 to {bound.n_levels - 1}, but --policy is {level}.")
    sets: dict[str, list[str | None]] = {}
    for code, label in zip(bound.values, bound.labels[level], strict=True):
        if label is not None:  # a gap in the file: the code is in no set
            sets.setdefault(label, []).append(code)
    return f"{json.dumps(sets, indent=1)}\n"


def _cell(label: str | None) -> str:
    text = label or ""
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ';"\n\r') else text


def _column(options: HierarchyOptions, data: Path) -> tuple[str, pl.Series]:
    frame, column = read_table(data, **how_read(options)).frame, options.column
    if column is None and frame.width > 1:
        raise InputError(
            f"{data.name} has {frame.width} columns. Name one with --column: {list_columns(frame.columns)}."
        )
    name = frame.columns[0] if column is None else column
    check_columns([name], frame.columns, data.name)
    return name, as_text(frame[name])


def _distinct(options: HierarchyOptions, data: Path, *, of_codes: bool = False) -> tuple[str, list[str | None]]:
    name, values = _column(options, data)
    if of_codes:  # a cell holds a code, or several with spaces between
        values = values.str.extract_all(r"\S+").explode().drop_nulls()
    return name, distinct_values(values)


def columns_named(options: VerifyOptions | AttackOptions, stated: "AnyManifest | None") -> dict[str, str]:
    """Return the named quasi-identifiers of a table with the typed words of their hierarchies."""
    columns = stated.columns if stated is not None else {}
    return dict(split_wanted(text, list(columns) if isinstance(columns, dict) else []) for text in options.qi)


def hierarchies_named(
    options: VerifyOptions | AttackOptions, stated: "AnyManifest | None", compared: Sequence[Path]
) -> dict[str, Hierarchy]:
    """Return the hierarchy files by column; for trajectories, by ``code``, ``age`` and ``detail``."""
    words = {"code": options.code_hierarchy, "age": options.age_hierarchy, "detail": options.detail_hierarchy}
    typed = {column: word for column, word in words.items() if word} | columns_named(options, stated)
    found = {column: parse_hierarchy(spec, missing_as=options.missing_as) for column, spec in typed.items() if spec}
    if options.hierarchies is None or not compared:
        return found
    files = hierarchy_files(options.hierarchies, compared[0])
    return {c: hierarchy_file(path, missing_as=options.missing_as) for c, path in files.items()} | found
