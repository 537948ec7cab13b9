"""Code sets as a shape: from settings to a request, in memory or on Spark."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cloister.engines.choice import check_memory_or_spark, is_spark
from cloister.errors import InputError, WrongValue, setting
from cloister.exploration.setting_keys import KeyedShape
from cloister.hierarchy import parse_hierarchy
from cloister.io import CodeColumns
from cloister.io.columns import display_name
from cloister.report.promises import promise_chunks, promise_terms
from cloister.report.sentences import recorded_codes
from cloister.results import Promise
from cloister.settings.constraints import alternatives
from cloister.settings.declaration import Given, Keywords, build_request, check_settings, settings_given
from cloister.settings.reading import how_read, reading_of
from cloister.settings.run_options import DISASSOCIATION
from cloister.shapes.codes.data import GivenCodes, read_given
from cloister.shapes.codes.options import METHODS_OF, CodesOptions, check_method
from cloister.shapes.codes.policy import known_codes, parse_policy
from cloister.shapes.codes.request import parse_workload
from cloister.shapes.disassociation.format.data import DisassociationRequest, InferenceCheck
from cloister.shapes.protocol import Protection, Rows, Run
from cloister.sources import parse_profile

from .disassociation import DisassociationProtection
from .output_paths import DATA, IN_MEMORY, WORKLOAD_NOTE

if TYPE_CHECKING:  # one method loads nothing of the others
    from cloister.shapes.generalization.format.data import GeneralizationRequest
    from cloister.shapes.generalization.format.privacy_policy import PrivacyPolicy

    from .generalization import GeneralizationProtection

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
        for name in METHODS_OF:
            check_method(options, name, "method", options.method)

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

    def prepare(self, options: CodesOptions, run: Run, read: GivenCodes | None = None) -> Protection:
        """Build the request for code sets; for those on Spark, check what is known before reading."""
        if is_spark(options.engine):
            return _prepare_on_spark(options)
        if read is None:
            with run.watch.stage("read"):
                read = self.read(options)
        protection: DisassociationProtection | GeneralizationProtection
        with run.watch.stage("encode"):
            if options.method != DISASSOCIATION:
                protection = _prepare_terms(options, read)
            else:
                keywords = _settings_by_name(options, read)
                request = disassociation_of(keywords, read, accuracy=options.measures_workload)
                protection = DisassociationProtection(read, request, seed=options.seed)
        protection.origin, protection.custodian_dir = {DATA: options.data}, options.custodian_dir
        if options.workload is not None and options.custodian_dir is None:
            protection.assumptions = [*read.notes, WORKLOAD_NOTE]
        protection.summary = _summarize(options, read)
        protection.promise = _promise(protection.request, repeats=options.repeats)
        return protection


def _prepare_terms(options: CodesOptions, given: GivenCodes) -> "GeneralizationProtection":
    from .generalization import GeneralizationProtection

    hierarchy: object = options.code_hierarchy
    if isinstance(hierarchy, str):
        hierarchy = parse_hierarchy(hierarchy)
    keywords = settings_given(options) | {"privacy": _privacy(options, given), "hierarchy": hierarchy}
    return GeneralizationProtection(given, generalization_of(keywords, given), seed=options.seed)


def _prepare_on_spark(options: CodesOptions) -> Protection:
    from cloister.engines.spark.tables import SparkFiles

    from .disassociation_on_spark import CodesOnSpark, DisassociationOnSpark

    file = _checked_on_spark(options)
    source = CodesOnSpark(
        SparkFiles(file, options.encoding, options.delimiter),
        CodeColumns(options.id, options.codes, options.code, options.separator),
        repeats=options.repeats,
        drop_empty=options.drop_empty,
        missing=options.missing,
        with_ids=options.crosswalk is not None,
    )

    def ask(given: GivenCodes) -> DisassociationRequest:
        """Return the request, after the codes that occur are known."""
        return disassociation_of(_settings_by_name(options, given), given, accuracy=False)

    protection = DisassociationOnSpark(source, ask, options.engine, seed=options.seed)
    protection.origin, protection.custodian_dir = {DATA: file}, options.custodian_dir
    m = USUAL_M if options.m is None else options.m
    separates = options.inference_check == InferenceCheck.ENFORCE
    diversity = (options.diversity or DisassociationRequest.diversity) if options.sensitive else None
    protection.promise = promise_chunks(options.k, m, diversity, separates=separates)
    rules = f"k = {options.k}, m = {m}"
    protection.summary = [("patients", "counted on Spark"), ("method", options.method), ("rules", rules)]
    return protection


def _promise(request: "DisassociationRequest | GeneralizationRequest", *, repeats: bool) -> Promise:
    """Return what the release will guarantee."""
    if isinstance(request, DisassociationRequest):
        separates = request.inference_check is InferenceCheck.ENFORCE
        diversity = request.diversity if request.sensitive else None
        return promise_chunks(request.k, request.m, diversity, separates=separates)
    known = request.privacy.spec if request.privacy.m is None else request.privacy.m
    return promise_terms(request.k, known, repeats=repeats)


def _summarize(options: CodesOptions, given: GivenCodes) -> Rows:
    """Return a summary of the request."""
    codes, attributes = given.codes, given.attributes
    recorded = recorded_codes(codes.n_codes, 0 if options.method == DISASSOCIATION else None)
    known = f"m = {options.m or USUAL_M}" if options.privacy is None else "the sets of a policy"
    return [
        ("patients", f"{codes.n_records:,} with {codes.n_codes:,} codes"),
        ("method", options.method),
        ("rules", f"k = {options.k}, {known}"),
        ("policy", "none" if options.policy is None else str(options.policy).rpartition("/")[2]),
        ("released as recorded", ", ".join([recorded, *([] if attributes is None else attributes.frame.columns)])),
    ]


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
