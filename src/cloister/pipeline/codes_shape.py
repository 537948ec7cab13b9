"""Code sets as a shape: from settings to a request, and its execution in memory or on Spark."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cloister.engines.choice import check_memory_or_spark, is_spark
from cloister.errors import InputError, Message, WrongValue, setting
from cloister.exploration.setting_keys import KeyedShape
from cloister.hierarchy import parse_hierarchy
from cloister.io import CodeColumns
from cloister.io.columns import display_name
from cloister.jobs.linked_columns import RecordedValues
from cloister.release.manifest import AnyManifest
from cloister.release.release import Release
from cloister.report.release_warnings import describe_largest_term
from cloister.report.sentences import recorded_codes
from cloister.settings.constraints import alternatives
from cloister.settings.declaration import Given, Keywords, build_request, check_settings, settings_given
from cloister.settings.reading import how_read, reading_of
from cloister.shapes.codes.data import GivenCodes, occurrence, read_given
from cloister.shapes.codes.options import DISASSOCIATION, METHODS_OF, CodesOptions
from cloister.shapes.codes.policy import UtilityPolicy, known_codes, parse_policy
from cloister.shapes.codes.request import CodesRequest, check_codes, parse_workload
from cloister.shapes.disassociation.format.data import DisassociationRequest
from cloister.shapes.protocol import Original, Prepared, Rows, Run
from cloister.sources import parse_profile

from .codes import protect_codes
from .output_paths import IN_MEMORY, WORKLOAD_NOTE, custody_of

if TYPE_CHECKING:  # one method loads nothing of the others
    from cloister.shapes.generalization.format.data import GeneralizationRequest
    from cloister.shapes.generalization.format.privacy_policy import PrivacyPolicy

IDS = ("number", "drop")
USUAL_M = 2


class CodesShape(KeyedShape[CodesOptions]):
    """The shape of patients with one set of codes each."""

    name = "codes"
    reading: tuple[str, ...] = ("codes", "code", "repeats", "drop_empty", "attributes")

    def check(self, options: CodesOptions) -> None:
        """Reject unknown words, and settings that the method ignores."""
        check_memory_or_spark(options.engine, reading_of(options).cleaning)
        if options.ids not in IDS:
            raise InputError(
                setting("ids"),
                f" must be {alternatives(IDS)} for code sets: no record of data.csv need be a patient's.",
            )
        check_settings(CodesOptions, vars(options))
        for name, methods in METHODS_OF.items():
            if getattr(options, name) is not None and options.method not in methods:
                raise InputError(
                    setting(name),
                    f" is for the method {alternatives(methods)}, but ",
                    setting("method", options.method),
                    f" was asked for. Leave it out, or ask for {alternatives(methods)}.",
                )

    def read(self, options: CodesOptions) -> GivenCodes:
        """Read the code sets as the settings state."""
        return read_given(
            options.data,
            CodeColumns(options.id, options.codes, options.code, options.separator),
            repeats=options.repeats,
            drop_empty=options.drop_empty,
            attributes=options.attributes,
            **how_read(options),
        )

    def prepare(self, options: CodesOptions, run: Run, read: GivenCodes | None = None) -> Prepared:
        """Build the request for code sets; for those on Spark, check what is known before reading."""
        if is_spark(options.engine):
            return PreparedOnSpark(options, run)
        if read is None:
            with run.watch.stage("read"):
                read = self.read(options)
        if options.method == DISASSOCIATION:
            return PreparedChunks(options, run, read)
        return PreparedTerms(options, run, read)


class PreparedCodes(Prepared):
    """Code sets in memory that are ready for protection by one of the methods."""

    def __init__(self, options: CodesOptions, run: Run, given: GivenCodes, request: CodesRequest) -> None:
        self.options, self.run, self.given, self.policy = options, run, given, request.policy
        self.original = Original(given)
        self.custody = custody_of(options.data, options.custodian_dir)
        self.how_read = given.notes

    def check(self) -> None:
        """Reject codes that cannot be written."""
        check_codes(self.given.codes)

    def recorded_values(self) -> RecordedValues | None:
        """Return the auxiliary attributes, which are released as recorded."""
        return RecordedValues.beside(self.given.attributes, self.given.codes.ids, self.options.k)

    def notes(self, _release: Release, manifest: AnyManifest) -> list[str]:
        """Return assumptions made while reading, and other notes for the user."""
        return notes_on(self.options, self.given, self.policy, manifest)

    def request_in_words(self) -> Rows:
        """Return a summary of the request, without running it."""
        options, codes, beside = self.options, self.given.codes, self.given.attributes
        recorded = recorded_codes(codes.n_codes, 0 if options.method == DISASSOCIATION else None)
        known = f"m = {options.m or USUAL_M}" if options.privacy is None else "the sets of a policy"
        return [
            ("patients", f"{codes.n_records:,} with {codes.n_codes:,} codes"),
            ("method", options.method),
            ("rules", f"k = {options.k}, {known}"),
            ("policy", "none" if options.policy is None else str(options.policy).rpartition("/")[2]),
            ("released as recorded", ", ".join([recorded, *([] if beside is None else beside.frame.columns)])),
        ]


class PreparedChunks(PreparedCodes):
    """Code sets that are ready for disassociation."""

    def __init__(self, options: CodesOptions, run: Run, given: GivenCodes) -> None:
        with run.watch.stage("encode"):
            keywords = _settings_by_name(options, given)
            self.request = disassociation_of(keywords, given, accuracy=options.measures_workload)
        super().__init__(options, run, given, self.request)

    def protect(self) -> Release:
        """Disassociate the code sets."""
        self.run.compiling("disassociation")
        return protect_codes(
            self.given, self.request, seed=self.options.seed, watch=self.run.watch, custody=self.custody
        )


class PreparedTerms(PreparedCodes):
    """Code sets that are ready for generalization."""

    def __init__(self, options: CodesOptions, run: Run, given: GivenCodes) -> None:
        with run.watch.stage("encode"):
            hierarchy: object = options.code_hierarchy
            if isinstance(hierarchy, str):
                hierarchy = parse_hierarchy(hierarchy)
            keywords = settings_given(options) | {"privacy": _privacy(options, given), "hierarchy": hierarchy}
            self.request = generalization_of(keywords, given)
        super().__init__(options, run, given, self.request)
        self.original = Original(given, privacy=self.request.privacy)

    def protect(self) -> Release:
        """Generalize the code sets."""
        from .generalized_codes import protect_by_generalization

        self.run.compiling("generalization")
        return protect_by_generalization(
            self.given, self.request, seed=self.options.seed, watch=self.run.watch, custody=self.custody
        )

    def notes(self, release: Release, manifest: AnyManifest) -> list[str]:
        """Return notes for the user, among them on sets and codes of the privacy policy that do not occur."""
        notes, codes = super().notes(release, manifest), self.given.codes
        statuses = release.custody.figures["statuses"]
        sets, vacuous = sum(statuses.values()), statuses["vacuous"]
        if vacuous:
            have = "set of the privacy policy has" if sets == 1 else "sets of the privacy policy have"
            notes.append(f"{sets - vacuous:,} of {sets:,} {have} codes that occur; the others protect nothing")
        known, names = codes.items_by_code(), self.request.privacy.vocabulary
        if codes.repeats:
            names = tuple({(occurrence(name) or (name, 1))[0] for name in names})
        unknown = sum(name not in known for name in names)
        if unknown:
            do = "code of the privacy policy does" if len(names) == 1 else "codes of the privacy policy do"
            notes.append(f"{unknown:,} of {len(names):,} {do} not occur in the data; write codes as they do")
        assert manifest.form == "generalization"
        if describe_largest_term(manifest.utility.largest_term, manifest.utility.codes):
            notes.append(Message("with cba and ugaclip, smaller sets of ", setting("policy"), " keep codes apart"))
        return notes


class PreparedOnSpark(Prepared):
    """Code sets that are ready for disassociation on Spark, which reads them."""

    def __init__(self, options: CodesOptions, run: Run) -> None:
        self.options, self.run, self.file = options, run, _checked_on_spark(options)
        self.found: tuple[GivenCodes, DisassociationRequest] | None = None
        self.original = Original(None)

    def protect(self) -> Release:
        """Disassociate the code sets on Spark, one partition at a time."""
        from cloister.engines.spark.tables import SparkFiles

        from .codes_on_spark import CodesOnSpark, protect_codes_on_spark

        options, run = self.options, self.run
        run.compiling("disassociation")
        source = CodesOnSpark(
            SparkFiles(self.file, options.encoding, options.delimiter),
            CodeColumns(options.id, options.codes, options.code, options.separator),
            repeats=options.repeats,
            drop_empty=options.drop_empty,
            missing=options.missing,
            with_ids=options.crosswalk is not None,
        )
        if options.custodian_dir is not None and self.file.is_dir():  # a folder has no hash
            custody = {"path": str(self.file.resolve())}
        else:
            custody = custody_of(self.file, options.custodian_dir)

        def ask(given: GivenCodes) -> DisassociationRequest:
            """Return the request, after the codes that occur are known."""
            request = disassociation_of(_settings_by_name(options, given), given, accuracy=False)
            self.found = given, request
            return request

        with run.voice.working("disassociating code sets on Spark"):
            return protect_codes_on_spark(
                source, ask, options.engine, seed=options.seed, watch=run.watch, custody=custody
            )

    def check(self) -> None:
        """Do nothing: all checks that need no records were made before."""

    def notes(self, _release: Release, manifest: AnyManifest) -> list[str]:
        """Return assumptions made while reading, and other notes for the user."""
        if self.found is None:
            return []
        given, request = self.found
        return notes_on(self.options, given, request.policy, manifest)

    def request_in_words(self) -> Rows:
        """Return a summary of the request, without running it."""
        rules = f"k = {self.options.k}, m = {2 if self.options.m is None else self.options.m}"
        return [("patients", "counted on Spark"), ("method", self.options.method), ("rules", rules)]


def disassociation_of(keywords: Keywords, given: GivenCodes, *, accuracy: bool) -> DisassociationRequest:
    """Return the disassociation request that named settings state, from the command line or from Python."""
    check_settings(CodesOptions, keywords)
    if isinstance(keywords.get("sensitive"), str):  # a text is letters to Python, each of which may be a code
        raise WrongValue(setting("sensitive"), "a list of codes", "one text")
    looked_up = _looked_up(keywords, given)
    sensitive = known_codes(keywords.get("sensitive") or (), given.codes, "sensitive codes")
    return build_request(DisassociationRequest, keywords, sensitive=sensitive, accuracy=accuracy, **looked_up)


def generalization_of(keywords: Keywords, given: GivenCodes) -> "GeneralizationRequest":
    """Return the generalization request that named settings state; privacy policy and hierarchy are objects."""
    from cloister.shapes.generalization.format.data import GeneralizationRequest, code_weights_of

    check_settings(CodesOptions, keywords)
    weights = code_weights_of(keywords.get("code_weights"))
    return build_request(GeneralizationRequest, keywords, code_weights=weights, **_looked_up(keywords, given))


def _looked_up(keywords: Keywords, given: GivenCodes) -> dict[str, Any]:
    """Return the utility policy, parsed if it is text, and the workload, both for the codes of the data."""
    policy, workload = keywords.get("policy"), keywords.get("workload")
    if isinstance(policy, str):
        policy = parse_policy(policy, given.codes, keywords["k"])
    return {
        "policy": None if policy is None else policy.on(given.codes).for_k(keywords["k"]),
        "workload": None if workload is None else parse_workload(workload, given.codes, keywords["seed"]),
        "numbered": keywords.get("ids", "number") == "number" and given.codes.ids is not None,
    }


def _settings_by_name(options: CodesOptions, given: GivenCodes) -> Given:
    """Return the settings that have a value; sensitive codes are split at commas or white space."""
    known, words = given.codes.items_by_code(), list[str]()
    for text in options.sensitive or ():
        words += [text] if text in known else text.replace(",", " ").split()
    return settings_given(options) | {"sensitive": words}


def _privacy(options: CodesOptions, given: GivenCodes) -> "PrivacyPolicy":
    from cloister.shapes.generalization.format.data import VisitsFile
    from cloister.shapes.generalization.format.privacy_policy import PrivacyPolicy, parse_privacy

    if options.visit is not None and not str(options.privacy or "").startswith("visits:"):
        raise InputError(
            setting("visit"),
            " names a column of a file of visits. Give ",
            setting("privacy", "visits:FILE"),
            ", or leave it out.",
        )
    if options.privacy is None:
        return PrivacyPolicy.all_combinations(given.codes, USUAL_M if options.m is None else options.m)
    if options.m is not None:
        raise InputError(
            setting("m"), " and ", setting("privacy"), " both say which sets of codes are protected. Give one of them."
        )
    if isinstance(options.privacy, PrivacyPolicy):
        # One of all sets is made again, since it promises something of all sets of these codes.
        m = options.privacy.m
        return options.privacy if m is None else PrivacyPolicy.all_combinations(given.codes, m)
    visits = VisitsFile(options.visit, given.columns.codes, given.columns.code, reading_of(options))
    return parse_privacy(options.privacy, given.codes, visits)


def notes_on(
    options: CodesOptions, given: GivenCodes, policy: UtilityPolicy | None, manifest: AnyManifest
) -> list[str]:
    """Return notes for the user; they name no code that the utility policy omits, as logs may keep them."""
    notes, count = [*given.notes], manifest.records.suppressed
    if count != 0:
        what = "no code" if manifest.form == DISASSOCIATION else "no code that is released"
        how_many = f"fewer than {count[1:]}" if isinstance(count, str) else f"{count:,}"
        notes.append(f"{how_many} records have {what} and are suppressed")  # of fewer than k no number is given
    left = 0 if policy is None or policy.support is not None else policy.n_uncovered(given.codes)
    if left:
        notes.append(f"{left} {'code is' if left == 1 else 'codes are'} in no set of the utility policy")
    if options.workload is not None and options.custodian_dir is None:
        notes.append(WORKLOAD_NOTE)
    return notes


def _checked_on_spark(options: CodesOptions) -> Path:
    """Return the data file, and reject settings that need all records in one place."""
    needing = {
        setting("method", options.method): options.method != DISASSOCIATION,
        setting("attack"): options.attack,
        setting("workload"): options.workload is not None,
        setting("policy", "sup:"): options.policy is not None and options.policy.startswith("sup:"),
    }
    for option, is_asked in needing.items():
        if is_asked:
            raise InputError(option, " needs all records in one place. Leave it out, or give ", IN_MEMORY)
    if not isinstance(options.data, Path):
        raise InputError("Spark reads files, and no queries of databases. Give a file, or ", IN_MEMORY)
    if parse_profile(options.data) is not None:
        raise InputError("Spark reads files, and no collections by a profile. Give ", IN_MEMORY)
    if not options.data.exists():
        raise InputError(f"{display_name(options.data)} does not exist.", file=display_name(options.data))
    return options.data
