"""One run of ``protect codes``: from options to a release folder and a summary."""

import time
from collections.abc import Sequence

from cloister.cli.clock import STARTED
from cloister.cli.codes_options import CodesOptions
from cloister.cli.codes_summary import print_codes_summary
from cloister.cli.ending import tell, write
from cloister.cli.output import note
from cloister.cli.places import check_places, custody_of
from cloister.cli.release_options import ENGINES
from cloister.codesets.data import CodeSets
from cloister.codesets.disassociation.data import DisassociationRequest, Refine, Safe
from cloister.codesets.disassociation.warm import must_compile
from cloister.codesets.policy import UtilityPolicy, known_codes, parse_policy
from cloister.codesets.request import CodesRequest, GivenCodes, check_seed, read_given
from cloister.codesets.workload import parse_workload
from cloister.errors import InputError
from cloister.flow.codes import protect_codes
from cloister.io import CodeColumns
from cloister.stopwatch import Stopwatch

METHODS = ("disassociation",)
IDS = ("number", "drop")
FORMULA_STARTS = ("=", "+", "-", "@")
"""How a cell begins that is a formula to a spreadsheet."""


def run_codes(options: CodesOptions) -> None:
    """Read, protect, write, and say what was done."""
    watch = Stopwatch({"start": time.perf_counter() - STARTED})
    _check_words(options)
    check_seed(options.seed)
    check_places(options.out, overwrite=options.overwrite, internal=options.internal, crosswalk=options.crosswalk)
    with watch.stage("read"):
        given = _read(options)
    with watch.stage("encode"):
        request = _request(options, given)
    if must_compile():
        note("Compiling the method for this machine, once (about 30 s).", quiet=options.quiet or options.as_json)
    release = protect_codes(
        given, request, seed=options.seed, watch=watch, custody=custody_of(options.data, options.internal)
    )
    manifest = write(release, options)
    notes = [*given.notes, *_notes(request, given.codes)]
    if request.workload is not None and options.internal is None:
        notes.append("the errors of a workload are told to the custodian alone, in the folder that --internal names")
    tell(manifest, notes, options, print_codes_summary)


def _check_words(options: CodesOptions) -> None:
    """Refuse words that no option has."""
    for option, word, known in (
        ("--method", options.method, METHODS),
        ("--refine", options.refine, tuple(Refine)),
        ("--safe", options.safe, tuple(Safe)),
        ("--engine", options.engine, ENGINES),
    ):
        if word not in known:
            raise InputError(f"{option} can be {', '.join(known)} in this version, not {word!r}.")
    if options.ids not in IDS:
        raise InputError(
            f"--ids can be {' or '.join(IDS)} for code sets: records of data.csv are reconstructed and are no "
            "patient's, so that none can have a patient's id."
        )
    if options.threads is not None and options.threads < 1:
        raise InputError(f"{options.threads} threads were asked for, but at least 1 is needed.")


def _read(options: CodesOptions) -> GivenCodes:
    return read_given(
        options.data,
        CodeColumns(options.id, options.codes, options.code),
        repeats=options.repeats,
        drop_empty=options.drop_empty,
        encoding=options.encoding,
        delimiter=options.delimiter,
        missing=tuple(options.missing or ()),
    )


def _request(options: CodesOptions, given: GivenCodes) -> CodesRequest:
    policy = None if options.policy is None else parse_policy(options.policy, given.codes, options.k).on(given.codes)
    workload = None if options.workload is None else parse_workload(options.workload, given.codes, options.seed)
    method = DisassociationRequest(
        k=options.k,
        m=options.m,
        max_cluster_size=options.max_cluster_size,
        policy=policy,
        refine=Refine(options.refine),
        safe=Safe(options.safe),
        safe_threshold=options.safe_threshold,
        sensitive=known_codes(_words(options.sensitive or ()), given.codes, "sensitive codes"),
        diversity=options.diversity,
    )
    return CodesRequest(
        method=method,
        policy=policy,
        workload=workload,
        numbered=options.ids == "number" and given.codes.ids is not None,
        drop_empty=options.drop_empty,
        accuracy=options.internal is not None,
    )


def _words(texts: Sequence[str]) -> list[str]:
    """Codes separated by commas or white space."""
    return [word for text in texts for word in text.replace(",", " ").split()]


def _notes(request: CodesRequest, codes: CodeSets) -> list[str]:
    notes = [] if request.policy is None else _uncovered(request.policy, codes)
    if any(code.startswith(FORMULA_STARTS) for code in codes.vocabulary):
        notes.append("a spreadsheet would run some cells of codes as formulas (they begin with =, +, - or @)")
    return notes


def _uncovered(policy: UtilityPolicy, codes: CodeSets) -> list[str]:
    """A note on codes that are in no constraint; how many are in no frequent set is not for a log."""
    left = 0 if policy.support is not None else policy.n_uncovered(codes)
    codes_are = "code is" if left == 1 else "codes are"
    return [f"{left} {codes_are} in no set of the utility policy"] if left else []
