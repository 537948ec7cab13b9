"""``protect codes`` where the records live on Spark: everything is read and protected there, in one go."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cloister.cli.codes_notes import notes_on
from cloister.cli.codes_options import DISASSOCIATION, CodesOptions
from cloister.cli.output import note
from cloister.cli.places import custody_of
from cloister.cli.prepared import Original, Prepared
from cloister.cli.progress import working
from cloister.codesets.disassociation.data import DisassociationRequest
from cloister.codesets.disassociation.protect import must_compile
from cloister.codesets.request import CodesRequest, GivenCodes
from cloister.errors import InputError
from cloister.io import CodeColumns
from cloister.io.disk import shown_name
from cloister.release import Release
from cloister.results import Manifest
from cloister.sources import profiled
from cloister.stopwatch import Stopwatch

RequestOf = Callable[[CodesOptions, GivenCodes], CodesRequest[DisassociationRequest]]


@dataclass
class _Found:
    """What is known of the data once Spark has read them."""

    given: GivenCodes | None = None
    request: CodesRequest[DisassociationRequest] | None = None


def check_on_spark(options: CodesOptions) -> None:
    """Refuse what needs all records in one place.

    Raises
    ------
    InputError
        Something of that kind is asked for.
    """
    asked = {
        f"--method {options.method}": options.method != DISASSOCIATION,
        "--attack": options.attack,
        "--workload": options.workload is not None,
        "--policy sup:": options.policy is not None and options.policy.startswith("sup:"),
    }
    for option, is_asked in asked.items():
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
        from cloister.engines.spark.code_source import SparkFiles  # loads nothing of Spark before it is needed
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
            missing=tuple(options.missing or ()),
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
    asked = [("patients", "counted on Spark"), ("method", options.method), ("rules", f"k = {options.k}, m = {m}")]
    return Prepared(protect, lambda: check_on_spark(options), notes, asked, Original(None))


def _custody(data: Path, internal: Path | None) -> dict[str, str]:
    """Where the data came from; a folder has no hash."""
    if internal is not None and data.is_dir():
        return {"path": str(data.resolve())}
    return custody_of(data, internal)
