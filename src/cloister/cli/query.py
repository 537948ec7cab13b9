"""``cloister query``: count patients with some codes, or under conditions, from a release only."""

import re
import sys
from collections.abc import Sequence

import polars as pl

from cloister.api.open import ReleasedData
from cloister.api.open import open as open_release
from cloister.cli.options import QueryOptions
from cloister.cli.output import console, grid, print_json, say
from cloister.errors import InputError
from cloister.hierarchy import Hierarchy, hierarchy_file

BETWEEN = ".."
PAIR = re.compile(r"([^@]+)(?:@(?=[0-9.@-])([0-9]+(?:\.[0-9]+)?)?(-|\.\.)?([0-9]+(?:\.[0-9]+)?)?(?:@(.+))?)?")
CODES, DETAIL = "codes", "detail"
DECIMALS = 3  # Of what is expected


def run_query(options: QueryOptions) -> None:
    """Open the release, run the queries, and print the answers."""
    release = open_release(
        options.folder,
        verify=not options.unverified,
        hierarchies=dict(map(read_column_hierarchy, options.hierarchies)),
        privacy=options.privacy,
        visit=options.visit,
    )
    found = _answers(release, options).with_columns(pl.col(pl.Float64).fill_nan(None).round(DECIMALS))
    if options.as_json:
        finite = pl.when(pl.col(pl.Float64).is_finite()).then(pl.col(pl.Float64))  # JSON has no infinity
        print_json({"answers": found.with_columns(finite).to_dicts()})
    elif options.csv:
        sys.stdout.write(found.write_csv())
    elif not options.quiet:
        rows = [
            [f"{c:,.1f}" if isinstance(c, float) else "" if c is None else str(c) for c in row]
            for row in found.iter_rows()
        ]
        console().print(grid(f"Patients behind {options.folder.name}", found.columns, rows))
        if found.get_column("expected").null_count():
            say(
                "expected is empty where the release does not say what its groups stand for. If they came from a "
                "hierarchy file, give it: --hierarchy COLUMN=FILE."
            )


def _answers(release: ReleasedData, options: QueryOptions) -> pl.DataFrame:
    """One row for each set of codes, or for each of these and each label."""
    conditions = _conditions("--where", options.where, release.facts.columns)
    if CODES in conditions and release.manifest.form != "table":
        raise InputError(
            "Codes are asked for with --codes, not with --where. Give --codes CODE, or several with commas."
        )
    if DETAIL in conditions and release.manifest.form == "trajectories":
        raise InputError("A detail belongs to a pair. Give --pair CODE@@DETAIL, or CODE@AGE@DETAIL.")
    if options.pair:
        conditions["pairs"] = [*map(_pair, options.pair)]
    if options.by is not None and (conditions or not options.codes):
        raise InputError("--by counts codes by the labels of a column. Give --codes, without --where and --pair.")
    if options.outcome and (conditions or options.by is not None):
        raise InputError("--outcome counts codes against an outcome. Give it without --where, --pair and --by.")
    if not options.codes and not conditions and not options.outcome:
        raise InputError("Nothing is asked. Give --codes; of a table --where; of trajectories --pair.")
    asked = [[code for code in text.split(",") if code] for text in options.codes]
    if not all(asked):
        raise InputError("--codes names no code. Give one, or several separated by commas.")
    if options.outcome:
        outcome = _conditions("--outcome", options.outcome, release.facts.columns)
        return release.count_by_code(outcome, asked or None)
    if options.by is not None:
        named = [pl.lit(" ".join(codes)).alias(CODES) for codes in asked]
        parts = [
            release.count_by(codes, options.by).select(name, pl.all()) for name, codes in zip(named, asked, strict=True)
        ]
        return pl.concat(parts)
    rows = []
    for codes in asked or [[]]:
        found = release.answer({**conditions, CODES: codes} if codes else conditions)
        rows.append((" ".join(codes), found.lower, found.expected, found.upper))
    schema = {CODES: pl.String, "lower": pl.Int64, "expected": pl.Float64, "upper": pl.Int64}
    frame = pl.DataFrame(rows, schema, orient="row")
    return frame if asked else frame.drop(CODES)


def _conditions(option: str, texts: Sequence[str], columns: Sequence[str]) -> dict[str, object]:
    """A value of each column, or both ends of a range, as 40..49; an end may be omitted."""
    found: dict[str, object] = {}
    for text in texts:
        name, _, wanted = text.rpartition("=")
        if not name or not wanted or (name not in columns and name[-1] in "<>!"):
            raise InputError(
                f"{option} is COLUMN=VALUE or COLUMN=LOW..HIGH, as age=40..49; age=50.. asks for 50 and more, age=..50 "
                "for 50 and less."
            )
        if name in found:
            raise InputError(
                f"{option} asks for {name!r} twice, and all conditions hold at once. Give one of a column."
            )
        low, between, high = wanted.partition(BETWEEN)
        found[name] = (low or None, high or None) if between else wanted
    return found


def _pair(text: str) -> tuple[object, ...]:
    """A code, with an age or both ends of a range of ages after it, and perhaps a detail."""
    found = PAIR.fullmatch(text)
    if found is None:
        raise InputError(
            "--pair is CODE@AGE or CODE@LOW-HIGH, as 401@38-40; with a detail CODE@AGE@DETAIL, or "
            "CODE@@DETAIL at any age, as 401@@surgery."
        )
    code, low, between, high, detail = found.groups()
    ages = None if low is None and high is None else (low or None, high or None) if between else low
    return (code, ages) if detail is None else (code, ages, detail)


def read_column_hierarchy(text: str) -> tuple[str, Hierarchy]:
    """Return a column, and the hierarchy that its file has, from COLUMN=FILE."""
    column, equals, file = text.partition("=")
    if not (column and equals and file):
        raise InputError("--hierarchy is COLUMN=FILE, as code=icd.csv.")
    return column, hierarchy_file(file)
