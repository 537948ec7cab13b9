"""Trajectories as a shape: from settings to a request, and its execution."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from cloister.engines.choice import check_memory_or_spark, is_spark
from cloister.errors import InputError, WrongValue, setting
from cloister.exploration.setting_keys import KeyedShape
from cloister.hierarchy import parse_hierarchy
from cloister.io import EventColumns
from cloister.jobs.linked_columns import RecordedValues
from cloister.release.manifest import AnyManifest
from cloister.release.release import Release
from cloister.settings.declaration import Keywords, build_request, check_settings, settings_given
from cloister.settings.reading import how_read, reading_of
from cloister.shapes.codes.data import CodeSets
from cloister.shapes.codes.policy import GWAS, UtilityPolicy, as_published, gwas_diseases, parse_policy
from cloister.shapes.protocol import Original, Prepared, Rows, Run
from cloister.shapes.trajectories.format.data import (
    CodeSetConstraint,
    Diversity,
    Trajectories,
    TrajectoriesRequest,
    weights_of,
)
from cloister.shapes.trajectories.format.domain import USUAL_AGES, usual_codes
from cloister.shapes.trajectories.format.options import UNITS, TrajectoriesOptions
from cloister.shapes.trajectories.format.request import GivenTrajectories, read_given
from cloister.shapes.trajectories.method.protect import ClusterBlocks

from .output_paths import WORKLOAD_NOTE, custody_of
from .trajectories import fit_to_each_other, protect_trajectories

USUAL_DIVERSITY = 2


class TrajectoriesShape(KeyedShape[TrajectoriesOptions]):
    """The shape of patients with one sequence of (code, age) pairs each."""

    name = "trajectories"
    reading: tuple[str, ...] = ("code", "age", "date", "anchor", "age_unit", "attributes")

    def check(self, options: TrajectoriesOptions) -> None:
        """Reject unknown words, and inconsistent combinations of settings."""
        check_memory_or_spark(options.engine, reading_of(options).cleaning)
        if options.ids != "number":
            raise InputError(
                setting("ids"),
                " must be number for trajectories: it keeps the pairs of a patient together, and links nothing else.",
            )
        check_settings(TrajectoriesOptions, vars(options))
        if options.diversity is not None and options.sensitive is None and options.sensitive_codes is None:
            raise InputError(setting("diversity"), " needs ", setting("sensitive"), " or ", setting("sensitive_codes"))
        if len(options.sensitive or ()) > 1:
            raise InputError("One sensitive column can be named in this version. Leave out the others.")

    def read(self, options: TrajectoriesOptions) -> GivenTrajectories:
        """Read the trajectories as the settings state."""
        unit = next(unit for unit in UNITS if unit == options.age_unit)
        return read_given(
            options.data,
            EventColumns(options.id, options.code, options.age, options.date, options.anchor, unit),
            options.attributes,
            **how_read(options),
        )

    def prepare(self, options: TrajectoriesOptions, run: Run, read: GivenTrajectories | None = None) -> Prepared:
        """Build the request for trajectories."""
        if read is None:
            with run.watch.stage("read"):
                read = self.read(options)
        return PreparedTrajectories(options, run, read)


class PreparedTrajectories(Prepared):
    """Trajectories that are ready for alignment."""

    def __init__(self, options: TrajectoriesOptions, run: Run, given: GivenTrajectories) -> None:
        self.options, self.run, self.given, self.how_read = options, run, given, given.notes
        with run.watch.stage("encode"):
            codes, word = code_set(given.trajectories), options.policy
            policy: UtilityPolicy | None = parse_policy(word, codes) if isinstance(word, str) else word
            policy = None if policy is None else as_published(policy, codes)
            keywords = settings_given(options) | {"block": _block(options.block)}
            keywords.pop("sensitive", None)
            if options.sensitive:
                keywords["sensitive"] = next(iter(options.sensitive))
            if options.sensitive_codes is not None:
                named = list[object]()
                for text in options.sensitive_codes:
                    apart = isinstance(text, str) and "," in text
                    named += [word for word in text.split(",") if word.strip()] if apart else [text]
                keywords["sensitive_codes"] = named
            self.request = request = request_of(keywords, given.trajectories, policy)
        self.original = Original(given, {"code": request.code_hierarchy, "age": request.age_hierarchy})
        self.recorded = () if given.attributes is None else tuple(given.attributes.frame.columns)

    def protect(self) -> Release:
        """Align the trajectories, in this process or on Spark."""
        options, run, given = self.options, self.run, self.given
        run.compiling("trajectories")
        what = f"aligning the trajectories of {given.trajectories.n_patients:,} patients"
        with run.voice.working(what), clustering_on(options.engine) as cluster:
            return protect_trajectories(
                given,
                self.request,
                seed=options.seed,
                threads=options.threads,
                watch=run.watch,
                custody=custody_of(options.data, options.custodian_dir),
                cluster=cluster,
            )

    def check(self) -> None:
        """Raise the errors that protection would raise before the alignment."""
        fit_to_each_other(self.given, self.request)

    def recorded_values(self) -> RecordedValues | None:
        """Return the auxiliary attributes, which are released as recorded."""
        return RecordedValues.beside(self.given.attributes, self.given.trajectories.ids, self.options.k)

    def notes(self, _release: Release, _manifest: AnyManifest) -> list[str]:
        """Return assumptions made while reading, and other notes for the user."""
        options, given, notes = self.options, self.given, [*self.given.notes]
        if options.on_unknown_code == "drop":
            notes.append("lines with codes that are not in the hierarchy are dropped, as requested")
        sensitive = frozenset() if self.request.diversity is None else self.request.diversity.codes
        absent = sensitive - {*given.trajectories.vocabulary}
        if absent:
            notes.append(
                f"{len(absent)} of {len(sensitive)} sensitive codes do not occur in the data: see that they are "
                "spelled right"
            )
        if options.workload is not None and options.custodian_dir is None:
            notes.append(WORKLOAD_NOTE)
        return notes

    def request_in_words(self) -> Rows:
        """Return a summary of the request, without running it."""
        given, request = self.given, self.request
        return [
            ("patients", f"{given.trajectories.n_patients:,} with {given.trajectories.codes.size:,} pairs"),
            ("method", self.options.method),
            ("rules", f"k = {self.options.k}"),
            ("hierarchies", f"codes {request.code_hierarchy.spec}, ages {request.age_hierarchy.spec}"),
            ("released as recorded", ", ".join(self.recorded) or "nothing"),
        ]


def request_of(keywords: Keywords, trajectories: Trajectories, policy: UtilityPolicy | None) -> TrajectoriesRequest:
    """Return the request that named settings state; hierarchies and weights are text or Python objects."""
    check_settings(TrajectoriesOptions, keywords)
    weights = keywords["weights"]
    wanted = [keywords.get(name) for name in ("code_hierarchy", "age_hierarchy")]
    codes, ages = (parse_hierarchy(one) if isinstance(one, str) else one for one in wanted)
    return build_request(
        TrajectoriesRequest,
        keywords,
        code_hierarchy=usual_codes(trajectories) if codes is None else codes,
        age_hierarchy=USUAL_AGES if ages is None else ages,
        weights=weights_of(*(weights.split(",") if isinstance(weights, str) else weights)),
        diversity=diversity_of(*(keywords.get(name) for name in ("sensitive", "sensitive_codes", "diversity"))),
        constraints=() if policy is None else constraints_of(policy),
        policy=None if policy is None else policy.spec,
    )


def _block(word: str | int) -> str | int:
    if isinstance(word, int) or word in ("auto", "off"):
        return word
    if not word.isascii() or not word.isdigit():
        raise WrongValue(setting("block"), "auto, off or a number of patients", repr(word))
    return int(word)


@contextmanager
def clustering_on(engine: str) -> Iterator[ClusterBlocks | None]:
    """Yield the function that clusters blocks on the workers of Spark; None for threads of this process."""
    check_memory_or_spark(engine)
    if not is_spark(engine):
        yield None
        return
    from cloister.engines.spark.session import spark_session
    from cloister.engines.spark.trajectories import cluster_on

    with spark_session(engine) as session:
        yield cluster_on(session)


def diversity_of(column: str | None, codes: Sequence[str] | None, share: int | None) -> Diversity | None:
    """Return the diversity required of a sensitive auxiliary column or of sensitive codes; None if none is requested.

    Sensitive codes may be those of a list that others made: which of them occur in the data is not said.
    """
    if column is None and codes is None:
        if share is not None:
            raise InputError("A diversity is about something sensitive. Name an auxiliary column or codes.")
        return None
    if isinstance(codes, str) or (codes is not None and not all(isinstance(code, str) for code in codes)):
        raise InputError("Sensitive codes are a list of texts, as in ['042', 'V08']. Give them so.")
    words = frozenset(code.strip() for code in codes or ())
    if codes is not None and (not words or "" in words):
        raise InputError("Sensitive codes were asked for, but none or an empty one is named. Name them, or leave it.")
    return Diversity(USUAL_DIVERSITY if share is None else share, words, column)


def constraints_of(policy: UtilityPolicy) -> tuple[CodeSetConstraint, ...]:
    """Return all sets of a policy, so that their number reveals nothing about the data."""
    if policy.support is not None:
        raise InputError("Frequent sets (sup:) are for code sets. Name the codes, or take level:1, sim:5 or gwas.")
    sets = dict(zip(policy.names, policy.constraints, strict=True))
    if policy.spec == GWAS:
        sets = {disease: sets.get(disease, frozenset()) for disease in gwas_diseases()}
    return tuple(CodeSetConstraint(name, codes) for name, codes in sets.items())


def code_set(trajectories: Trajectories) -> CodeSets:
    """Return a single set of all codes, from which policies are made."""
    items = np.arange(len(trajectories.vocabulary), dtype=np.int32)
    return CodeSets(trajectories.vocabulary, np.array([0, items.size], dtype=np.int64), items)
