"""One run of ``protect codes``: from options to a release folder and a summary."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from cloister.cli.codes_summary import asked_of_codes, notes_on, print_codes_summary, print_generalized_summary
from cloister.cli.declared import check_threads, check_words
from cloister.cli.output import note
from cloister.cli.places import custody_of
from cloister.cli.prepared import Original, Prepared, Work, with_attack
from cloister.cli.progress import working
from cloister.codesets.disassociation.data import DisassociationRequest
from cloister.codesets.disassociation.protect import must_compile
from cloister.codesets.options import DISASSOCIATION, METHODS_OF, CodesOptions
from cloister.codesets.policy import known_codes, parse_policy
from cloister.codesets.request import CodesRequest, GivenCodes, check_codes, check_seed, parse_workload, read_given
from cloister.engines.choice import check_memory_or_spark, is_spark
from cloister.errors import InputError
from cloister.flow.codes import protect_codes
from cloister.io import CodeColumns
from cloister.io.disk import shown_name
from cloister.release import Release
from cloister.results import Manifest
from cloister.settings import asked, stated
from cloister.sources import profiled
from cloister.stopwatch import Stopwatch

IDS = ("number", "drop")


def prepare_codes(options: CodesOptions, watch: Stopwatch, _engines: ExitStack, given: GivenCodes | None) -> Prepared:
    """Return what is about to be done with code sets: those given, else those that are read."""
    if is_spark(options.engine):
        return prepare_on_spark(options, watch, _request)
    if given is None:
        with watch.stage("read"):
            given = read_codes(options)
    if options.method == DISASSOCIATION:
        return _disassociation(options, given, watch)
    from cloister.cli.generalization_job import prepare_generalization  # one method loads nothing of the others

    return prepare_generalization(options, given, watch)


def _disassociation(options: CodesOptions, given: GivenCodes, watch: Stopwatch) -> Prepared:
    with watch.stage("encode"):
        request = _request(options, given)
    original = Original(given)

    def protect() -> Release:
        if must_compile():
            note("Compiling the method for this machine, once (about 30 s).", quiet=options.quiet or options.as_json)
        release = protect_codes(
            given, request, seed=options.seed, watch=watch, custody=custody_of(options.data, options.internal)
        )
        return with_attack(release, options, original)

    return Prepared(
        protect,
        lambda: check_codes(given.codes),
        lambda _, manifest: notes_on(options, given, request.policy, manifest),
        asked_of_codes(options, given),
        original,
    )


def check_codes_words(options: CodesOptions) -> None:
    """Refuse words that no option has, and options that the method does not look at."""
    check_memory_or_spark(options.engine)
    check_words(options, "method", "refine", "safe")
    for name, methods in METHODS_OF.items():
        if getattr(options, name) is not None and options.method not in methods:
            option = f"--{name.replace('_', '-')}"
            raise InputError(
                f"{option} is for the method {' or '.join(methods)}, but the method is {options.method}. Leave it out, "
                "or choose another method with --method."
            )
    if options.ids not in IDS:
        raise InputError(
            f"--ids can be {' or '.join(IDS)} for code sets in this version: records of data.csv may be reconstructed "
            "ones, which are no patient's, so that none can have a patient's id."
        )
    check_threads(options.threads)
    check_seed(options.seed)


def read_codes(options: CodesOptions) -> GivenCodes:
    """Read the code sets as the options ask."""
    return read_given(
        options.data,
        CodeColumns(options.id, options.codes, options.code),
        repeats=options.repeats,
        drop_empty=options.drop_empty,
        encoding=options.encoding,
        delimiter=options.delimiter,
        missing=options.missing,
    )


def _request(options: CodesOptions, given: GivenCodes) -> CodesRequest[DisassociationRequest]:
    policy = None if options.policy is None else parse_policy(options.policy, given.codes, options.k).on(given.codes)
    workload = None if options.workload is None else parse_workload(options.workload, given.codes, options.seed)
    codes = known_codes(_words(options.sensitive or ()), given.codes, "sensitive codes")
    method = asked(DisassociationRequest, stated(options), policy=policy, sensitive=codes)
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


RequestOf = Callable[[CodesOptions, GivenCodes], CodesRequest[DisassociationRequest]]


@dataclass
class _Found:
    """What is known of the data once Spark has read them."""

    given: GivenCodes | None = None
    request: CodesRequest[DisassociationRequest] | None = None


def check_on_spark(options: CodesOptions) -> None:
    """Refuse what needs all records in one place."""
    needing = {
        f"--method {options.method}": options.method != DISASSOCIATION,
        "--attack": options.attack,
        "--workload": options.workload is not None,
        "--policy sup:": options.policy is not None and options.policy.startswith("sup:"),
    }
    for option, is_asked in needing.items():
        if is_asked:
            raise InputError(f"{option} needs all records in one place. Leave it out, or give --engine memory.")
    _file(options)


def _file(options: CodesOptions) -> Path:
    if not isinstance(options.data, Path):
        raise InputError("Spark reads files, and no queries of databases. Give a file, or --engine memory.")
    if profiled(options.data) is not None:
        raise InputError("Spark reads files, and no collections by a profile. Give --engine memory.")
    if not options.data.exists():
        raise InputError(f"{shown_name(options.data)} does not exist.", file=shown_name(options.data))
    return options.data


def prepare_on_spark(options: CodesOptions, watch: Stopwatch, request_of: RequestOf) -> Prepared:
    """Return what is about to be done with code sets on Spark.

    Parameters
    ----------
    request_of : from options and the codes that occur to what is asked
    """
    check_on_spark(options)
    data, found = _file(options), _Found()

    def protect() -> Release:
        from cloister.engines.spark.code_blocks import SparkFiles  # loads nothing of Spark before it is needed
        from cloister.flow.codes_on_spark import CodesOnSpark, protect_codes_on_spark

        def ask(given: GivenCodes) -> CodesRequest[DisassociationRequest]:
            found.given, found.request = given, request_of(options, given)
            return found.request

        quiet = options.quiet or options.as_json
        if must_compile():
            note("Compiling the method for this machine, once (about 30 s).", quiet=quiet)
        source = CodesOnSpark(
            SparkFiles(data, options.encoding, options.delimiter),
            CodeColumns(options.id, options.codes, options.code),
            repeats=options.repeats,
            drop_empty=options.drop_empty,
            missing=options.missing,
            with_ids=options.crosswalk is not None,
        )
        with working("disassociating code sets on Spark", quiet=quiet):
            return protect_codes_on_spark(
                source,
                ask,
                options.engine,
                seed=options.seed,
                watch=watch,
                custody=_custody(data, options.internal),
            )

    def notes(_: Release, manifest: Manifest) -> list[str]:
        if found.given is None or found.request is None:
            return []
        return notes_on(options, found.given, found.request.policy, manifest)

    m = 2 if options.m is None else options.m
    words = [("patients", "counted on Spark"), ("method", options.method), ("rules", f"k = {options.k}, m = {m}")]
    return Prepared(protect, lambda: check_on_spark(options), notes, words, Original(None))


def _custody(data: Path, internal: Path | None) -> dict[str, str]:
    """Where the data came from; a folder has no hash."""
    if internal is not None and data.is_dir():
        return {"path": str(data.resolve())}
    return custody_of(data, internal)


def _summary(screen: Console, manifest: Manifest, out: Path) -> None:
    is_in_parts = manifest["method"] == DISASSOCIATION
    (print_codes_summary if is_in_parts else print_generalized_summary)(screen, manifest, out)


CODES = Work(check_codes_words, read_codes, prepare_codes, _summary, ("codes", "code", "repeats", "drop_empty"))
