"""Trajectories as a shape: from settings to a request."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from cloister.engines.choice import check_memory_or_spark
from cloister.errors import InputError, WrongValue, setting
from cloister.exploration.setting_keys import KeyedShape
from cloister.hierarchy import parse_hierarchy
from cloister.io import EventColumns
from cloister.report.promises import promise_trajectories
from cloister.settings.declaration import Given, Keywords, build_request, check_settings, settings_given
from cloister.settings.reading import how_read, reading_of
from cloister.shapes.codes.data import CodeSets
from cloister.shapes.codes.policy import GWAS, UtilityPolicy, as_published, gwas_diseases, parse_policy
from cloister.shapes.protocol import Run
from cloister.shapes.trajectories.format.data import (
    CodeSetConstraint,
    Diversity,
    Number,
    Trajectories,
    TrajectoriesRequest,
    weights_of,
)
from cloister.shapes.trajectories.format.domain import USUAL_AGES, usual_codes
from cloister.shapes.trajectories.format.facts import rules_of
from cloister.shapes.trajectories.format.options import UNITS, TrajectoriesOptions
from cloister.shapes.trajectories.format.request import GivenTrajectories, read_given

from .output_paths import DATA, WORKLOAD_NOTE
from .trajectories import TrajectoriesProtection

USUAL_DIVERSITY = 2


class TrajectoriesShape(KeyedShape[TrajectoriesOptions]):
    """The shape of patients with one sequence of (code, age) pairs each."""

    name = "trajectories"
    reading: tuple[str, ...] = ("code", "age", "date", "anchor", "age_unit", "detail", "attributes")

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
            EventColumns(options.id, options.code, options.age, options.date, options.anchor, unit, options.detail),
            options.attributes,
            **how_read(options),
        )

    def prepare(
        self, options: TrajectoriesOptions, run: Run, read: GivenTrajectories | None = None
    ) -> TrajectoriesProtection:
        """Build the request for trajectories."""
        if read is None:
            with run.watch.stage("read"):
                read = self.read(options)
        with run.watch.stage("encode"):
            request = request_of(*_settings_by_name(options, read), read.trajectories)
        protection = TrajectoriesProtection(
            read, request, seed=options.seed, threads=options.threads, engine=options.engine
        )
        protection.origin, protection.custodian_dir = {DATA: options.data}, options.custodian_dir
        if options.workload is not None and options.custodian_dir is None:
            protection.assumptions = [*read.notes, WORKLOAD_NOTE]
        rules = rules_of(request.k, request.diversity)
        protection.promise = promise_trajectories(
            rules, has_details=request.detail_hierarchy is not None, has_attributes=options.attributes is not None
        )
        named = {"codes": request.code_hierarchy, "ages": request.age_hierarchy, "details": request.detail_hierarchy}
        protection.summary = [
            ("patients", f"{read.trajectories.n_patients:,} with {read.trajectories.codes.size:,} pairs"),
            ("method", options.method),
            ("rules", f"k = {options.k}"),
            ("hierarchies", ", ".join(f"{name} {one.spec}" for name, one in named.items() if one is not None)),
            ("released as recorded", ", ".join(protection.recorded) or "nothing"),
        ]
        return protection


def _settings_by_name(options: TrajectoriesOptions, given: GivenTrajectories) -> tuple[Given, UtilityPolicy | None]:
    """Return the settings that have a value, lists of codes split at commas, and the policy, parsed if it is text."""
    codes, word = code_set(given.trajectories), options.policy
    policy: UtilityPolicy | None = parse_policy(word, codes) if isinstance(word, str) else word
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
    return keywords, None if policy is None else as_published(policy, codes)


def request_of(keywords: Keywords, policy: UtilityPolicy | None, trajectories: Trajectories) -> TrajectoriesRequest:
    """Return the request that named settings state; hierarchies and weights are text or Python objects."""
    check_settings(TrajectoriesOptions, keywords)
    wanted = [keywords.get(name) for name in ("code_hierarchy", "age_hierarchy", "detail_hierarchy")]
    codes, ages, details = (parse_hierarchy(one) if isinstance(one, str) else one for one in wanted)
    return build_request(
        TrajectoriesRequest,
        keywords,
        code_hierarchy=usual_codes(trajectories) if codes is None else codes,
        age_hierarchy=USUAL_AGES if ages is None else ages,
        detail_hierarchy=details,
        weights=_weights(keywords.get("weights"), has_details=details is not None),
        diversity=diversity_of(*(keywords.get(name) for name in ("sensitive", "sensitive_codes", "diversity"))),
        constraints=() if policy is None else constraints_of(policy),
        policy=None if policy is None else policy.spec,
    )


def _weights(weights: str | Sequence[Number] | None, *, has_details: bool) -> tuple[Fraction, ...]:
    """Weights as they are typed or given, by default equal ones."""
    n = 3 if has_details else 2
    if weights is None:
        return weights_of(*[f"1/{n}"] * n, of=n)
    return weights_of(*(weights.split(",") if isinstance(weights, str) else weights), of=n)


def _block(word: str | int) -> str | int:
    if isinstance(word, int) or word in ("auto", "off"):
        return word
    if not word.isascii() or not word.isdigit():
        raise WrongValue(setting("block"), "auto, off or a number of patients", repr(word))
    return int(word)


def diversity_of(column: str | None, codes: Sequence[str] | None, share: int | None) -> Diversity | None:
    """Return the diversity required of a sensitive auxiliary column or of sensitive codes; None if none is requested.

    Sensitive codes may come from a list that others made: the result does not reveal which of them occur in the data.
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
