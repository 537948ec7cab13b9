"""One run of ``verify``: a release folder of any shape, or of a job, checked again from its files."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl

from cloister.cli.output import print_json, say
from cloister.cli.progress import Screen
from cloister.cli.verify_options import VerifyOptions
from cloister.errors import InputError
from cloister.flow.places import release_at
from cloister.flow.table_words import hierarchy_files, split_wanted
from cloister.hierarchy import hierarchy_file, parse_hierarchy
from cloister.io import Source
from cloister.io.query import is_address
from cloister.io.tally import is_large, read_tally
from cloister.recheck import verify_folder
from cloister.release_folder import WITH_CODES, delimiter_told
from cloister.results import Manifest, Verdict
from cloister.sources import read_table


def run_verify(options: VerifyOptions) -> None:
    """Check a folder by its shape, and say what was checked."""
    manifest = release_at(options.folder, Screen(quiet=True))
    shape = manifest.get("shape")
    _check_visit(options)
    if shape != "trajectories" and _any(options.side, options.code_hierarchy, options.age_hierarchy):
        raise InputError("--side, --code-hierarchy and --age-hierarchy are for trajectories. Leave them out.")
    if shape != "claims" and _any(options.claims, options.plan):
        raise InputError("A file of claims and --plan are for releases of claims. Leave them out.")
    by_shape = {"claims": _claims, "codes": _codes, "trajectories": _trajectories, "job": _job}
    verdict = by_shape[shape](options) if isinstance(shape, str) and shape in by_shape else _table(options, manifest)
    _say(options, verdict)


def _any(*words: object) -> bool:
    return any(word is not None for word in words)


def _check_visit(options: VerifyOptions) -> None:
    """Refuse a column that tells visits apart where there is no file of visits."""
    if options.visit is not None and not (options.privacy or "").startswith("visits:"):
        raise InputError("--visit names a column of a file of visits. Give --privacy visits:FILE, or leave it out.")


def _job(options: VerifyOptions) -> Verdict:
    lists = (options.qi, options.population, options.missing)
    secrets = (options.original, options.crosswalk, options.hierarchies, options.privacy, options.policy)
    others = (options.k, options.m, options.delimiter, options.encoding, options.missing_as)
    if any(lists) or _any(*secrets, *others):
        raise InputError(
            f"{options.folder.name} is of a job, and is checked as a whole. Compare or expect something of a part, as "
            f"in cloister verify {options.folder.name}/PART."
        )
    return verify_folder(options.folder, database=options.engine)


def _claims(options: VerifyOptions) -> Verdict:
    others = (options.qi, options.population, options.hierarchies, options.privacy, options.policy, options.m)
    if any(others):
        raise InputError(
            "Claims have -k, --original PATIENTS CLAIMS, --plan and --crosswalk. Leave out what is for other releases."
        )
    if (options.original is None) is not (options.claims is None):
        raise InputError("The original of claims is two files: --original PATIENTS CLAIMS.")
    return verify_folder(
        options.folder,
        original=None if options.original is None else (options.original, options.claims),
        plan=options.plan,
        k=options.k,
        crosswalk=options.crosswalk,
        missing=options.missing,
        encoding=options.encoding,
        delimiter=options.delimiter,
    )


def _codes(options: VerifyOptions) -> Verdict:
    if options.qi or options.population or options.hierarchies is not None:
        raise InputError("Code sets have no quasi-identifiers, hierarchies or populations. Leave them out.")
    return verify_folder(
        options.folder,
        original=options.original,
        k=options.k,
        m=options.m,
        crosswalk=options.crosswalk,
        missing=options.missing,
        privacy=options.privacy,
        policy=options.policy,
        visit=options.visit,
        encoding=options.encoding,
        delimiter=options.delimiter,
    )


def _trajectories(options: VerifyOptions) -> Verdict:
    others = (options.m, options.hierarchies, options.privacy, options.policy)
    if options.qi or options.population or _any(*others):
        raise InputError(
            "Trajectories have -k, --original, --side, --crosswalk and hierarchies by --code-hierarchy and "
            "--age-hierarchy. Leave out what is for other releases."
        )
    words = {"code": options.code_hierarchy, "age": options.age_hierarchy}
    return verify_folder(
        options.folder,
        original=options.original,
        hierarchies={column: parse_hierarchy(word) for column, word in words.items() if word is not None},
        k=options.k,
        crosswalk=options.crosswalk,
        side=options.side,
        missing=options.missing,
        encoding=options.encoding,
        delimiter=options.delimiter,
    )


def _table(options: VerifyOptions, manifest: Manifest) -> Verdict:
    if _any(options.privacy, options.policy):
        raise InputError("--privacy and --policy are for releases of generalized code sets. Leave them out.")
    if options.crosswalk is not None or (options.m is not None and "codes" not in manifest):
        raise InputError(
            "-m is for releases with codes, and --crosswalk for releases of code sets. Leave out what does not fit."
        )
    columns = manifest.get("columns")
    named = dict(split_wanted(text, list(columns) if isinstance(columns, dict) else []) for text in options.qi)
    found = {column: parse_hierarchy(spec, missing_as=options.missing_as) for column, spec in named.items() if spec}
    people = options.population
    compared = [*([] if options.original is None else [options.original]), *people]
    if options.hierarchies is not None and compared:
        files = hierarchy_files(options.hierarchies, compared[0])
        found = {c: hierarchy_file(path, missing_as=options.missing_as) for c, path in files.items()} | found
    read = partial(
        read_table,
        missing=options.missing,
        encoding=options.encoding,
        delimiter=options.delimiter,
        usual_delimiter=delimiter_told(manifest),
    )
    return verify_folder(
        options.folder,
        original=None if options.original is None else _original(options, manifest, read),
        hierarchies=found,
        populations={path.name: read(path).frame for path in people},
        k=options.k,
        m=options.m,
        quasi_identifiers=tuple(named),
        missing=options.missing,
        database=options.engine,
    )


def _original(options: VerifyOptions, manifest: Manifest, read: Callable[[Path], Source]) -> pl.DataFrame:
    """The original of a table, or the tally of what was released of it where it is better not read whole."""
    path, columns = options.original, manifest.get("columns")
    assert path is not None
    if is_address(str(path)):
        raise InputError("The original is given as a file. Write what the query gives to a CSV or Parquet file first.")
    if WITH_CODES in manifest or not isinstance(columns, dict) or not path.is_file() or not is_large(path):
        return read(path).frame
    released = [name for name, told in columns.items() if not (isinstance(told, dict) and told.get("ids") == "number")]
    words = {"missing": options.missing, "delimiter": options.delimiter, "encoding": options.encoding}
    return read_tally(path, released, **words)  # type: ignore[arg-type]


def _say(options: VerifyOptions, verdict: Verdict) -> None:
    """Print a verdict that holds."""
    if options.as_json:
        print_json({"holds": verdict.holds, "how": verdict.how, "checks": list(verdict.checks)})
    elif not options.quiet:
        say(f"{options.folder.name} holds ({verdict.how}):")
        for check in verdict.checks:
            say(f"  {check}")
