"""The manifest of anonymized trajectories: what a recipient may know of how they were made, as types."""

from fractions import Fraction
from typing import Annotated, ClassVar, Literal, Self

from annotated_types import Ge, Le
from pydantic import AfterValidator, Field, StringConstraints, model_validator

from cloister.hierarchy import names_hierarchy
from cloister.release.head import (
    ALL_LOST,
    ATTRIBUTES,
    AttributesFile,
    Count,
    Delimiter,
    FileName,
    FileSpec,
    ManifestHead,
    NumberColumn,
    Positive,
    Section,
    Share,
    fitting,
)

from .data import AGE, CODE, DETAIL, ID, LARGEST, WORKLOAD, Cost, Diversity, Method, TrajectoriesRequest, Unknown
from .request import GWAS_SETS, GivenTrajectories, is_made_of_data

DECIMALS = 3  # Of published losses
MOST_ACCUMULATED = 2
"""No accumulated loss is higher: a pair of a cluster, and one of a patient that joins, add one whole loss at most. A
cluster is never longer than its shortest patient, so that each pair of the original is counted twice at most."""


def _round_loss(loss: float) -> float:
    if round(loss, DECIMALS) != loss:
        raise ValueError("not rounded")
    return loss


Accumulated = Annotated[float, Ge(0), Le(MOST_ACCUMULATED), AfterValidator(_round_loss)]
Loss = Annotated[float, Ge(0), Le(1), AfterValidator(_round_loss)]
Weight = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,18}(/0*[1-9][0-9]{0,17})?$")]
Least = Annotated[int, Ge(2), Le(LARGEST)]


class InputColumns(Section):
    """Which column of the input was what: an age, or a date with the anchor that ages are counted from."""

    id: str | None
    code: str | None
    age: str | None
    date: str | None
    anchor: str | None
    detail: str | None = None

    @model_validator(mode="after")
    def _fit(self) -> Self:
        named = [
            name for name in (self.id, self.code, self.age, self.date, self.anchor, self.detail) if name is not None
        ]
        is_one = (self.anchor is None) is (self.date is None) and None in (self.date, self.age)
        return fitting(self, {"columns": len(set(named)) == len(named), "age": is_one})


class PublishedTrajectories(Section):
    """What was asked, and how the input was read."""

    source: FileName
    k: Annotated[int, Ge(1), Le(LARGEST)]
    weights: tuple[Weight, Weight] | tuple[Weight, Weight, Weight]
    cost: Cost
    block: Literal["auto", "off"] | Positive
    drop_empty_pairs: bool
    code_hierarchy: str
    age_hierarchy: str
    detail_hierarchy: str | None = None
    on_unknown_code: Unknown
    sensitive: str | None
    sensitive_codes: tuple[str, ...] | None
    diversity: Least | None
    policy: FileName | None
    max_loss: Share | None = None
    workload: Annotated[str, StringConstraints(pattern=f"^{WORKLOAD.pattern}$")] | None
    attributes: FileName | None
    ids: Literal["number"]
    input_columns: InputColumns
    age_unit: Literal["years", "days"] | None
    not_released: tuple[str, ...]
    delimiter: Delimiter = ","

    @model_validator(mode="after")
    def _fit(self) -> Self:
        shares = [Fraction(weight) for weight in self.weights]
        asked = [part is not None for part in (self.sensitive, self.sensitive_codes, self.diversity)]
        codes = self.sensitive_codes
        fits = {
            "weights": sum(shares) == 1
            and tuple(map(str, shares)) == self.weights
            and len(shares) == (2 if self.detail_hierarchy is None else 3),
            "detail_hierarchy": self.input_columns.detail is None or self.detail_hierarchy is not None,
            "block": isinstance(self.block, str) or self.block >= 3 * self.k,
            "age_unit": (self.age_unit is None) is (self.input_columns.date is None),
            "not_released": {*self.not_released}.isdisjoint(self.input_columns.model_dump().values()),
            "sensitive": sum(asked) in (0, 2) and asked[2] is any(asked),
            "sensitive_codes": codes is None or (bool(codes) and tuple(sorted(set(codes))) == codes),
        }
        return fitting(self, fits)

    def diversity_requested(self) -> Diversity | None:
        """Return the diversity required of a sensitive auxiliary column or of sensitive codes."""
        if self.diversity is None:
            return None
        return Diversity(self.diversity, frozenset(self.sensitive_codes or ()), self.sensitive)


class GeneralizedColumn(Section):
    """Codes or ages, and the kind of hierarchy that they were generalized by."""

    role: Literal["quasi-identifier"]
    hierarchy: str


class DataColumns(Section):
    """The columns of the data file."""

    id: NumberColumn
    code: GeneralizedColumn
    age: GeneralizedColumn
    detail: GeneralizedColumn | None = None

    @property
    def quasi_identifiers(self) -> dict[str, GeneralizedColumn]:
        """Codes, ages, and details if there are any, by name."""
        found = {CODE: self.code, AGE: self.age}
        return found if self.detail is None else {**found, DETAIL: self.detail}


class ReleasedPatients(Section):
    """How many patients there were and are: nobody, or whole clusters are omitted."""

    in_: Positive = Field(alias="in")
    released: Positive
    suppressed: Count

    def loss_of_all(self, loss: float) -> float:
        """Return a loss over all patients, from one over released patients: suppressed patients lose everything."""
        share = self.released / self.in_
        return share * loss + (1 - share)


class KAnonymityRule(Section):
    """Every trajectory is that of k patients or more."""

    model: Literal["k-anonymity"]
    k: Positive


class DiversityRule(Section):
    """A sensitive value, or code behind a released one, is that of at most one in l patients of a trajectory."""

    model: Literal["frequency l-diversity"]
    l: Least  # noqa: E741  (as the model is called)
    column: str | None = None
    codes: tuple[str, ...] | None = None


class TrajectoriesGuarantee(Section):
    """What is promised, and that it was verified; ``assumed``: nothing told patients apart, each record is one."""

    rules: tuple[KAnonymityRule] | tuple[KAnonymityRule, DiversityRule]
    verified: Literal[True]
    one_row_per_patient: Literal["assumed", "ids"]


class PairCounts(Section):
    """Of how many rows and patients something is said; follows from the files."""

    pairs: Count
    codes_suppressed: Count
    ages_suppressed: Count
    patients_suppressed: Count
    trajectories: Positive
    details_suppressed: Count | None = None


class TrajectoriesUtility(PairCounts):
    """Counts, and the releaser's word: what was lost to three decimals, and how many sets of a policy were kept."""

    ilm: Accumulated | None
    alm: Accumulated | None
    ilm_exact: Loss
    alm_exact: Loss
    constraints: Count | None
    constraints_kept: Count | None
    # over what a label is spread where patients are counted; the same for the custodian's AvgRE and for recipients
    counted_over: Literal["values of the hierarchy file, else of the release"]
    # dlm, dlm_exact: of details as ``alm`` and ``alm_exact`` of ages, only if pairs have details
    dlm: Accumulated | None = None
    dlm_exact: Loss | None = None

    @property
    def exact(self) -> tuple[float, ...]:
        """The exact losses of codes, ages, and details if there are any."""
        pair = self.ilm_exact, self.alm_exact
        return pair if self.dlm_exact is None else (*pair, self.dlm_exact)

    @model_validator(mode="after")
    def _fit(self) -> Self:
        has_both = (self.ilm is None) is (self.alm is None)
        kept = (self.constraints_kept or 0) <= (self.constraints or 0)
        has_details = self.dlm_exact is not None
        fits = {
            "dlm": (self.dlm is not None) is (has_details and self.ilm is not None),
            "details_suppressed": (self.details_suppressed is not None) is has_details,
        }
        return fitting(self, {"ilm": has_both, "constraints_kept": kept, **fits})


class TrajectoryRisk(Section):
    """How many patients share a trajectory, and the risk of a patient to be found by it; follows from the files."""

    highest: Share
    average: Share
    share_above_threshold: Share
    threshold: Share
    smallest: Positive
    largest: Positive


class Clustering(Section):
    """Blocks of trajectories that were compared with each other: the releaser's word."""

    blocks: Positive


class TrajectoriesManifest(ManifestHead):
    """All that ``release.json`` of trajectories says."""

    form: ClassVar[Literal["trajectories"]] = "trajectories"
    is_whole: ClassVar[bool] = False
    shape: Literal["trajectories"]
    method: Method
    settings: PublishedTrajectories
    columns: DataColumns
    attributes: AttributesFile | None = None
    records: ReleasedPatients
    guarantee: TrajectoriesGuarantee
    utility: TrajectoriesUtility
    risk: TrajectoryRisk
    clustering: Clustering

    @model_validator(mode="after")
    def _fit(self) -> Self:
        settings = self.settings
        asked = {name: getattr(settings, f"{name}_hierarchy") for name in (CODE, AGE, DETAIL)}
        hierarchies = [(asked[name], column) for name, column in self.columns.quasi_identifiers.items()]
        has_details = self.columns.detail is not None
        n_sets, policy = self.utility.constraints, settings.policy
        has_sets = policy is not None and not is_made_of_data(policy)
        # One block if all patients fit into it; else each has three times k patients or more.
        records, block = self.records, settings.block
        n_patients, n_suppressed = records.in_, records.suppressed
        is_one = block == "off" or (isinstance(block, int) and block >= n_patients)
        most_blocks = 1 if is_one else max(1, n_patients // (3 * settings.k))
        fits = {
            "records": n_suppressed == 0 or (settings.max_loss is not None and n_suppressed >= settings.k),
            "columns": has_details is (asked[DETAIL] is not None)
            and all(names_hierarchy(spec, column.hierarchy) for spec, column in hierarchies),
            "utility.dlm_exact": (self.utility.dlm_exact is not None) is has_details,
            "attributes": (self.attributes is None) is (settings.attributes is None),
            "settings.delimiter": not self.files
            or ("delimiter" in settings.model_fields_set) is ("data.csv" in self.files),
            "utility.constraints": (n_sets is not None) is has_sets and (policy != "gwas" or n_sets == GWAS_SETS),
            "clustering.blocks": self.clustering.blocks <= most_blocks,
        }
        return fitting(self, fits)

    def file_specs(self) -> tuple[FileSpec, ...]:
        """Return the data file, and the file of auxiliary attributes if there are any."""
        data = FileSpec(self.data_file, (ID, *self.columns.quasi_identifiers))
        return (data,) if self.attributes is None else (data, FileSpec(ATTRIBUTES, (ID, *self.attributes.columns)))

    def one_row_a_patient(self) -> tuple[str, dict[str, str]] | None:
        """Return the file of auxiliary attributes, if there are any."""
        return None if self.attributes is None else (ATTRIBUTES, self.attributes.roles())

    def risk_and_loss(self) -> tuple[float, float]:
        """Return the highest risk, and the largest of the losses of codes, ages and details."""
        return self.risk.highest, self.records.loss_of_all(max(self.utility.exact))

    @property
    def empty(self) -> list[str]:
        """The columns without information in this release: all of it is lost, or nearly all."""
        lost = zip(self.columns.quasi_identifiers, self.utility.exact, strict=True)
        return [name for name, share in lost if share >= ALL_LOST]


def settings_of(given: GivenTrajectories, request: TrajectoriesRequest) -> PublishedTrajectories:
    """Return the settings, and how the input was read; the delimiter is set when a file is written."""
    columns, diversity = given.columns, request.diversity
    found = {name: getattr(request, name) for name in PublishedTrajectories.model_fields if hasattr(request, name)}
    found |= {
        "source": given.name,
        "weights": tuple(map(str, request.weights)),
        "code_hierarchy": request.code_hierarchy.spec,
        "age_hierarchy": request.age_hierarchy.spec,
        "detail_hierarchy": None if request.detail_hierarchy is None else request.detail_hierarchy.spec,
        "sensitive": None if diversity is None else diversity.column,
        "sensitive_codes": None if diversity is None or not diversity.codes else tuple(sorted(diversity.codes)),
        "diversity": None if diversity is None else diversity.l,
        "attributes": None if given.attributes is None else given.attributes.name,
        "ids": "number",
        "input_columns": InputColumns.of_known(**{name: getattr(columns, name) for name in InputColumns.model_fields}),
        "age_unit": None if columns.date is None else columns.unit,
        "not_released": tuple(given.not_released),
    }
    return PublishedTrajectories.of_known(**found)


def columns_of(request: TrajectoriesRequest) -> DataColumns:
    """Return the columns of the data file."""
    hierarchies = {CODE: request.code_hierarchy, AGE: request.age_hierarchy, DETAIL: request.detail_hierarchy}
    of = {
        name: GeneralizedColumn(role="quasi-identifier", hierarchy=one.kind)
        for name, one in hierarchies.items()
        if one is not None
    }
    return DataColumns(id=NumberColumn(role="identifier", ids="number"), **of)
