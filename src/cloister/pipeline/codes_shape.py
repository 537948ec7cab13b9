"""Code sets as a shape: from settings to a request, and what is done with it, in memory or on Spark."""

from pathlib import Path

from cloister.codesets.data import GivenCodes, read_given
from cloister.codesets.disassociation.data import DisassociationRequest
from cloister.codesets.options import DISASSOCIATION, METHODS_OF, CodesOptions
from cloister.codesets.policy import known_codes
from cloister.codesets.request import CodesRequest, check_seed
from cloister.engines.choice import check_memory_or_spark, is_spark
from cloister.errors import InputError, setting
from cloister.io import CodeColumns
from cloister.io.disk import display_name
from cloister.manifests import AnyManifest
from cloister.reading import how_read, reading_of
from cloister.release import Release
from cloister.settings import Given, Keywords, build_request, check_numbers, check_threads, check_words, settings_given
from cloister.shape import Original, Prepared, Rows, Run
from cloister.sources import profiled

from .codes import protect_codes
from .grids import KeyedShape
from .places import IN_MEMORY, custody_of
from .prepared_codes import PreparedCodes, notes_on, policy_of, request_of

IDS = ("number", "drop")


class CodesShape(KeyedShape[CodesOptions]):
    """One set of codes a patient."""

    name = "codes"
    reading: tuple[str, ...] = ("codes", "code", "repeats", "drop_empty")

    def check(self, options: CodesOptions) -> None:
        """Refuse words that no setting has, and settings that the method does not look at."""
        check_memory_or_spark(options.engine, reading_of(options).cleaning)
        check_words(options, "method", "refine", "inference_check", "uncovered", "loss")
        for name, methods in METHODS_OF.items():
            if getattr(options, name) is not None and options.method not in methods:
                raise InputError(
                    f"{setting(name)} is for the method {' or '.join(methods)}, but the method is {options.method}. "
                    f"Leave it out, or choose another method with {setting('method')}."
                )
        if options.ids not in IDS:
            raise InputError(
                f"{setting('ids')} can be {' or '.join(IDS)} for code sets in this version: records of data.csv may be "
                "reconstructed ones, which are no patient's, so that none can have a patient's id."
            )
        check_threads(options.threads)
        check_seed(options.seed)

    def read(self, options: CodesOptions) -> GivenCodes:
        """Read the code sets as the settings ask."""
        return read_given(
            options.data,
            CodeColumns(options.id, options.codes, options.code),
            repeats=options.repeats,
            drop_empty=options.drop_empty,
            **how_read(options),
        )

    def prepare(self, options: CodesOptions, run: Run, read: GivenCodes | None = None) -> Prepared:
        """Look up what is asked of code sets; of those on Spark, what can be known before they are read."""
        if is_spark(options.engine):
            return PreparedOnSpark(options, run)
        if read is None:
            with run.watch.stage("read"):
                read = self.read(options)
        if options.method == DISASSOCIATION:
            return PreparedChunks(options, run, read)
        from .generalization_shape import PreparedTerms  # one method loads nothing of the others

        return PreparedTerms(options, run, read)


class PreparedChunks(PreparedCodes):
    """Code sets that are about to be disassociated."""

    def __init__(self, options: CodesOptions, run: Run, given: GivenCodes) -> None:
        with run.watch.stage("encode"):
            self.request = disassociation_of(_typed(options), given, accuracy=options.custodian_dir is not None)
        super().__init__(options, run, given, self.request.policy)

    def protect(self) -> Release:
        """Disassociate them."""
        self.run.compiling("disassociation")
        return protect_codes(
            self.given, self.request, seed=self.options.seed, watch=self.run.watch, custody=self.custody
        )


class PreparedOnSpark(Prepared):
    """Code sets that are about to be disassociated on Spark, which reads them."""

    def __init__(self, options: CodesOptions, run: Run) -> None:
        self.options, self.run, self.file = options, run, _checked_on_spark(options)
        self.found: tuple[GivenCodes, CodesRequest[DisassociationRequest]] | None = None
        self.original = Original(None)

    def protect(self) -> Release:
        """Disassociate them there, part by part."""
        from cloister.engines.spark.code_blocks import SparkFiles

        from .codes_on_spark import CodesOnSpark, protect_codes_on_spark

        options, run = self.options, self.run
        run.compiling("disassociation")
        source = CodesOnSpark(
            SparkFiles(self.file, options.encoding, options.delimiter),
            CodeColumns(options.id, options.codes, options.code),
            repeats=options.repeats,
            drop_empty=options.drop_empty,
            missing=options.missing,
            with_ids=options.crosswalk is not None,
        )
        if options.custodian_dir is not None and self.file.is_dir():  # a folder has no hash
            custody = {"path": str(self.file.resolve())}
        else:
            custody = custody_of(self.file, options.custodian_dir)

        def ask(given: GivenCodes) -> CodesRequest[DisassociationRequest]:
            """Return what is asked, now that the codes that occur are known."""
            request = disassociation_of(_typed(options), given, accuracy=False)
            self.found = given, request
            return request

        with run.voice.working("disassociating code sets on Spark"):
            return protect_codes_on_spark(
                source, ask, options.engine, seed=options.seed, watch=run.watch, custody=custody
            )

    def check(self) -> None:
        """What can be checked was checked."""

    def notes(self, _release: Release, manifest: AnyManifest) -> list[str]:
        """Return what was taken for granted."""
        if self.found is None:
            return []
        given, request = self.found
        return notes_on(self.options, given, request.policy, manifest)

    def request_in_words(self) -> Rows:
        """Return what would be done."""
        rules = f"k = {self.options.k}, m = {2 if self.options.m is None else self.options.m}"
        return [("patients", "counted on Spark"), ("method", self.options.method), ("rules", rules)]


def disassociation_of(keywords: Keywords, given: GivenCodes, *, accuracy: bool) -> CodesRequest[DisassociationRequest]:
    """Return what settings by name ask of disassociation; see `request_of`."""
    check_numbers(CodesOptions, keywords)
    if isinstance(keywords.get("sensitive"), str):  # a text is letters to Python, each of which may be a code
        raise InputError(f"{setting('sensitive')} is one text, but must be a list of codes.")
    policy = policy_of(keywords, given.codes)
    sensitive = known_codes(keywords.get("sensitive") or (), given.codes, "sensitive codes")
    method = build_request(DisassociationRequest, keywords, policy=policy, sensitive=sensitive)
    return request_of(method, keywords, given, policy, accuracy=accuracy)


def _typed(options: CodesOptions) -> Given:
    """Settings that say something, sensitive codes apart where commas or white space separate them."""
    words = [word for text in options.sensitive or () for word in text.replace(",", " ").split()]
    return settings_given(options) | {"sensitive": words}


def _checked_on_spark(options: CodesOptions) -> Path:
    """Return the file of the data; what needs all records in one place is refused."""
    needing = {
        setting("method", options.method): options.method != DISASSOCIATION,
        setting("attack"): options.attack,
        setting("workload"): options.workload is not None,
        setting("policy", "sup:"): options.policy is not None and options.policy.startswith("sup:"),
    }
    for option, is_asked in needing.items():
        if is_asked:
            raise InputError(f"{option} needs all records in one place. Leave it out, or give {IN_MEMORY}.")
    if not isinstance(options.data, Path):
        raise InputError(f"Spark reads files, and no queries of databases. Give a file, or {IN_MEMORY}.")
    if profiled(options.data) is not None:
        raise InputError(f"Spark reads files, and no collections by a profile. Give {IN_MEMORY}.")
    if not options.data.exists():
        raise InputError(f"{display_name(options.data)} does not exist.", file=display_name(options.data))
    return options.data
