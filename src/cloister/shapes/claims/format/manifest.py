"""The manifest of patients and their claims: what a recipient may know of how they were made, as types."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, NamedTuple, Self

from annotated_types import Ge, Le
from pydantic import Field, StringConstraints, model_validator

from cloister.release.head import (
    ALL_LOST,
    Count,
    Delimiter,
    FileName,
    FileSpec,
    ManifestHead,
    Positive,
    Section,
    Share,
    fitting,
)
from cloister.release.masking import is_masked_count

from .data import Masked, Step
from .plan import ClaimsPlan, has_known_rules
from .released_columns import (
    CLAIMS,
    KEPT,
    PATIENTS,
    QUASI,
    STEPS,
    TABLES,
    ClaimsForm,
    are_draws,
    flag_rates,
    levels_allowed,
    step_fits,
)

DIGITS = 6
"""Of published figures."""

NEAR = 2e-6
"""How far figures with so many digits may be from what they stand for."""

Number = Annotated[float, Ge(0)]
Interval = tuple[Share, Share]
VariableName = Literal["sex", "age", "days since first claim", "days since first claim of the year", "length of stay"]
Adversary = Literal[
    "patients alone",
    "claims alone",
    "patients and claims together",
    "power up to 5",
    "power up to 10",
    "power up to 15",
    "power up to 20",
    "one value of each column",
    "five values of each column",
    "all values",
    "whole claims (exact knowledge)",
    "values in their order (exact order)",
    "flags believed",
    "flags believed where nobody fits",
    "flags believed, fewest missing",
    "picks the likeliest",
    "counted in the population",
    "discharge database",
]
Listed = Literal["all", "most"] | Annotated[int, Ge(0), Le(100)]


class Knowledge(NamedTuple):
    """What an adversary knows of the patient who is drawn.

    values : of each column of claims, the same number for all patients; None: by the formula of the paper
    highest : power in the formula; None: that of the plan
    has_patients : whether the quasi-identifiers of patients are known
    is_whole : whether values of one claim are known together, of as many claims as of values of any column
    """

    values: int | None = None
    highest: int | None = None
    has_patients: bool = True
    is_whole: bool = False


ALL_VALUES = 10**9

KNOWLEDGE: Mapping[Adversary, Knowledge] = {
    # the joint check: parts alone, and both of the same patient at once
    "patients alone": Knowledge(values=0),
    "claims alone": Knowledge(has_patients=False),
    "patients and claims together": Knowledge(),
    "power up to 5": Knowledge(highest=5),
    "power up to 10": Knowledge(highest=10),
    "power up to 15": Knowledge(highest=15),
    "power up to 20": Knowledge(highest=20),
    "one value of each column": Knowledge(values=1),
    "five values of each column": Knowledge(values=5),
    "all values": Knowledge(values=ALL_VALUES),
    "whole claims (exact knowledge)": Knowledge(is_whole=True),
}
"""Adversaries whom the protector and the verifier simulate, each by code of its own, in the order of the manifest."""


class ClaimsSettings(Section):
    """What was read, and the plan, in which files are names."""

    source: FileName
    claims: FileName
    plan: ClaimsPlan
    delimiter: Delimiter = ","

    @model_validator(mode="after")
    def _fit(self) -> Self:
        plan = self.plan
        fits = {
            "plan": has_known_rules(plan) and plan.ids.patients in ("number", "hmac"),
            "plan.weights": plan.weights.keys() <= {*plan.patients.qi, *plan.claims.qi},
        }
        return fitting(self, fits)


class ClaimsRecords(Section):
    """How many patients and claims there are; what would reveal a small number of omitted patients is withheld."""

    in_: Count | Literal["withheld"] = Field(alias="in")
    released: Positive
    suppressed: Masked
    claims: Count

    @model_validator(mode="after")
    def _fit(self) -> Self:
        return fitting(self, {"in": isinstance(self.in_, str) or self.in_ - self.released == self.suppressed})


class RiskRule(Section):
    """What is promised: the mean risk, and how many patients have a label."""

    model: Literal["mean re-identification risk"]
    threshold: Share
    k: Positive
    power: Positive
    flag_aware: Literal["bounded", "waived"]
    likeliest: Literal["reported", "bounded"]
    patients_of_a_label: Positive


class ClaimsGuarantee(Section):
    """What is promised, and that it was verified; ids distinguish patients."""

    rules: tuple[RiskRule]
    verified: Literal[True]
    one_row_per_patient: Literal["ids"]


class KeptShares(Section):
    """Of each quasi-identifier, by file, the share of its information that is released (entropy), rounded down."""

    patients: dict[str, Share]
    claims: dict[str, Share]

    def of(self, table: str) -> dict[str, Share]:
        """Those of one file."""
        return self.patients if table == PATIENTS else self.claims


class ClaimsUtility(Section):
    """The losses, estimated and rounded up; of each column how many labels it has, and the information kept.

    ``loss`` was minimized. ``mean_loss`` counts each column once, by entropy; earlier releases do not state it.
    """

    loss: Share
    mean_loss: Share | None = None
    exact: Literal[False]
    labels: dict[str, Count]
    labels_of_patients: dict[str, Count]
    kept: KeptShares

    def labels_of(self, table: str) -> dict[str, Count]:
        """How many labels each quasi-identifier of a file has."""
        return self.labels_of_patients if table == PATIENTS else self.labels


class SimulatedFigures(Section):
    """What an adversary finds in so many draws, with 95 % intervals, to six digits."""

    mean: Share
    interval: Interval
    flag_rate: Share
    flag_interval: Interval
    missed: Share
    draws: Positive


class FlagAwareFigures(SimulatedFigures):
    """The same of someone who believes flags; ``highest``: of all ways to do so, the highest end of an interval."""

    highest: Share
    limit: Literal["bounded", "waived"]


class MaximumLikelihoodFigures(SimulatedFigures):
    """The same for an adversary who picks the most likely candidate."""

    limit: Literal["reported", "bounded"]


class ClaimsRisk(SimulatedFigures):
    """The risk of the adversary of the plan, and of others; ``known``: values of a column known in the mean."""

    threshold: Share
    k: Positive
    flag_aware: FlagAwareFigures
    likeliest: MaximumLikelihoodFigures
    known: Number
    as_released: SimulatedFigures


class Levels(Section):
    """The level of each quasi-identifier, by file."""

    patients: dict[str, Count]
    claims: dict[str, Count]


class ChosenLevels(Section):
    """The levels and the truncation chosen; ``lattice``: how many choices of levels the plan allows."""

    max_flag_rate: Literal["chosen"] | Share
    truncation: Annotated[str, StringConstraints(pattern=r"^(none|[0-9]{1,3}(\.[0-9]{1,5})?)$")]
    levels: Levels
    optimal: bool
    lattice: Positive


class ComparedVariable(Section):
    """Shares of each band among excluded and released, None where withheld, and how far their sums differ at most."""

    shares: dict[str, tuple[Share | None, Share | None]]
    statistic: Share | None


class ComparedPatients(Section):
    """Patients that step 2 omitted, compared with the released ones; stated by the releaser, not checked."""

    variables: dict[VariableName, ComparedVariable]
    median_claims_excluded: Number | None
    median_claims_released: Number | None


class AdversaryFigures(SimulatedFigures):
    """What another adversary finds; of a discharge database its columns, and of how many percent a stay is listed."""

    adversary: Adversary
    columns: tuple[str, ...] | None = None
    listed: Listed | None = None

    @model_validator(mode="after")
    def _fit(self) -> Self:
        has_stays = self.adversary == "discharge database"
        given = {"columns": self.columns, "listed": self.listed}
        return fitting(self, {name: (found is not None) is has_stays for name, found in given.items()})


class Unbounded(Section):
    """What someone finds who knows all that is released of a patient; follows from the files."""

    mean: Share
    flag_rate: Share
    unique: Share


class VoterList(Section):
    """What matching a whole list of persons finds; follows from the files, and from the register where there is one."""

    columns: tuple[str, ...]
    list: Literal["population", "released patients"]
    exact: Share
    paper_eq2: Share
    observed: Share
    flag_rate: Share
    classes: Positive
    people: Positive
    sample: Positive

    @model_validator(mode="after")
    def _fit(self) -> Self:
        fits = {
            "exact": abs(self.exact - self.classes / self.people) <= NEAR,
            "paper_eq2": self.paper_eq2 <= self.exact + NEAR,
            "people": max(self.sample, self.classes) <= self.people,
        }
        return fitting(self, fits)


class Sensitivity(Section):
    """What others find than the adversary of the plan."""

    attacks: Annotated[tuple[AdversaryFigures, ...], Field(min_length=1)]
    unbounded: Unbounded
    voter_list: VoterList


class ClaimsManifest(ManifestHead):
    """All that ``release.json`` of claims says."""

    form: ClassVar[Literal["claims"]] = "claims"
    shape: Literal["claims"]
    method: Literal["simulated-risk"]
    settings: ClaimsSettings
    columns: ClaimsForm
    records: ClaimsRecords
    guarantee: ClaimsGuarantee
    utility: ClaimsUtility
    risk: ClaimsRisk
    choice: ChosenLevels
    steps: tuple[Step, ...]
    representativeness: ComparedPatients
    sensitivity: Sensitivity

    @model_validator(mode="after")
    def _fit(self) -> Self:
        plan, risk, choice, form = self.settings.plan, self.risk, self.choice, self.columns
        rule, is_declared = rule_of(plan), form.is_declared(plan)
        percentiles = [one if one == "none" else f"{one:g}" for one in plan.truncation.percentiles]
        listed = {name for one in self.sensitivity.attacks for name in one.columns or ()}
        fits = {
            "settings.delimiter": not self.files
            or ("delimiter" in self.settings.model_fields_set) is ("patients.csv" in self.files),
            "columns": is_declared,
            "records.suppressed": is_masked_count(self.records.suppressed, rule.k),
            "risk.known": risk.known <= rule.power and risk.known == round(risk.known, 1),
            "risk.draws": are_draws(risk.draws, plan)
            and are_draws(risk.flag_aware.draws, plan)
            and risk.flag_aware.draws <= risk.draws,
            "choice.max_flag_rate": choice.max_flag_rate in flag_rates(plan),
            "choice.truncation": choice.truncation in percentiles,
            "choice.optimal": choice.optimal or plan.search.nodes is not None or plan.search.time_limit_s is not None,
            "choice.lattice": not is_declared or choice.lattice == math.prod(levels_allowed(form, plan)),
            "utility.mean_loss": not self.minimizes_mean or self.mean_loss == self.utility.loss,
            "utility.kept": all([*self.utility.kept.of(one)] == form.names(one, QUASI) for one in TABLES),
            "utility.labels": all([*self.utility.labels_of(one)] == form.names(one, QUASI) for one in TABLES),
            "steps": [step.step for step in self.steps] == [*STEPS]
            and all(step_fits(step, plan, rule.k) for step in self.steps),
            "sensitivity.attacks": listed <= {*form.names(CLAIMS, QUASI)},
        }
        return fitting(self, fits)

    def file_specs(self) -> tuple[FileSpec, ...]:
        """Return the files of patients and of claims."""
        return tuple(FileSpec(f"{table}{self.suffix}", tuple(self.columns.names(table))) for table in TABLES)

    def roles(self) -> dict[str, str]:
        """Return the role of each released column of patients."""
        return {name: column.role for name, column in self.columns.patients.items()}

    def one_row_a_patient(self) -> tuple[str, dict[str, str]] | None:
        """Return the file of patients, and the roles of its columns that are quasi-identifiers or recorded."""
        return f"{PATIENTS}{self.suffix}", {name: role for name, role in self.roles().items() if role in (KEPT, QUASI)}

    @property
    def mean_loss(self) -> float | None:
        """The mean of what the columns lost, each counted once; None where an earlier release does not state it."""
        stated = self.utility.mean_loss
        return self.utility.loss if stated is None and self.minimizes_mean else stated

    @property
    def minimizes_mean(self) -> bool:
        """Whether the minimized loss is the mean loss."""
        return is_mean_loss(self.settings.plan)

    def risk_and_loss(self) -> tuple[float, float]:
        """Return the mean risk, and the mean loss; for earlier releases without one, the minimized loss."""
        return self.risk.mean, self.utility.loss if self.mean_loss is None else self.mean_loss

    @property
    def empty(self) -> list[str]:
        """The quasi-identifiers without information in this release: at the top, or with nearly one label alone."""
        kept = {name: share for one in TABLES for name, share in self.utility.kept.of(one).items()}
        columns = [*self.columns.patients.items(), *self.columns.claims.items()]
        has_levels = [(name, each) for name, each in columns if each.role == QUASI and each.top != 0]
        return [name for name, each in has_levels if each.level == each.top or kept[name] <= 1 - ALL_LOST]


@dataclass(frozen=True)
class ClaimsPromise:
    """The guarantee of a release, as far as its verification needs it.

    ``attacks`` by others, and the percentile of claims that patients were cut to (100 where none was), follow later.
    """

    form: ClaimsForm
    plan: ClaimsPlan
    risk: ClaimsRisk
    attacks: tuple[AdversaryFigures, ...] = ()
    percentile: float | None = None

    @classmethod
    def of(cls, manifest: ClaimsManifest) -> "ClaimsPromise":
        """Return the guarantee that a manifest states."""
        cut = manifest.choice.truncation
        percentile = 100.0 if cut == "none" else float(cut)
        return cls(manifest.columns, manifest.settings.plan, manifest.risk, manifest.sensitivity.attacks, percentile)


def is_mean_loss(plan: ClaimsPlan) -> bool:
    """Return whether the minimized loss is the mean of the columns by entropy."""
    return plan.search.loss == "entropy" and len({1.0, *map(float, plan.weights.values())}) == 1


def rule_of(plan: ClaimsPlan) -> RiskRule:
    """Return the guarantee under a plan."""
    return RiskRule(
        model="mean re-identification risk",
        threshold=plan.risk.threshold,
        k=plan.risk.k,
        power=plan.adversary.power,
        flag_aware=plan.adversary.flag_aware,
        likeliest=plan.adversary.likeliest,
        patients_of_a_label=plan.risk.k,
    )
