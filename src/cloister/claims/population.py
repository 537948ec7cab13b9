"""The population that the patients are a part of, as far as a register of it tells, and attacks by it (step 12).

The register has one row a person, and some of the quasi-identifiers of patients: a voter list has age and sex, but no
days in hospital. Persons are counted by the columns that it has, at the levels of the release. A whole list may be
matched at random within classes: the share of patients matched rightly is the marketer risk.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.io import as_text, read_table
from cloister.io.columns import nearest_column

from .adversaries import AttackedClaims, ClaimsAttack, figures_of
from .data import Claims
from .encode import MISSING
from .ladders import hierarchy_named
from .lattice_search import Node
from .matching import group_patients
from .released import ReleasedClaims

PEOPLE, FELLOWS = "\0people", "\0fellows"

OF_PATIENTS = (
    "Knows of everybody on a voter list {} and no claims, and guesses for each person one patient who is alike"
)


@dataclass(frozen=True, eq=False, repr=False)
class PopulationRegister:
    """A register of the population, and the patients among it.

    Attributes
    ----------
    people : one row a person: base values as text, of the quasi-identifiers of patients that the register has
    patients : the same columns of the patients after steps 1 to 6
    """

    people: pl.DataFrame
    patients: pl.DataFrame


@dataclass(frozen=True, eq=False, repr=False)
class PeopleCounted:
    """The classes of a population at the levels of a release.

    Attributes
    ----------
    columns : by which they are told apart
    classes : (n_classes,) people of each class of the population
    people : (n_released,) people of the class of each released patient, the patient included
    fellows : (n_released,) released patients of that class, the patient included
    """

    columns: tuple[str, ...]
    classes: NDArray[np.int64]
    people: NDArray[np.int64]
    fellows: NDArray[np.int64]


def read_population(prepared: Claims) -> PopulationRegister | None:
    """Read the register that the plan names under ``population.patients``; None if it names none.

    Parameters
    ----------
    prepared : after steps 1 to 6
    """
    plan = prepared.plan
    if plan.population.patients is None:
        return None
    source = read_table(plan.population.patients)
    columns = [column for column in plan.patients.qi if column in source.frame.columns]
    if not columns:
        hint = next(filter(None, (nearest_column(c, source.frame.columns) for c in plan.patients.qi)), "")
        raise InputError(
            f"{source.name} has none of the quasi-identifiers of patients: {', '.join(plan.patients.qi)}.{hint} A "
            "population has one row a person, and columns of the same names and detail.",
            file=source.name,
        )
    found = PopulationRegister(_texts(source.frame, columns), _texts(prepared.patients, columns))
    _check_values(found, prepared, source.name)
    _check_patients(found, source.name)
    return found


def _texts(frame: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    return pl.DataFrame([as_text(frame[column]) for column in columns])


def _check_values(found: PopulationRegister, prepared: Claims, name: str) -> None:
    plan = prepared.plan
    topped = [coding.column for coding in plan.top_coding if coding.column in found.people.columns]
    if topped:
        raise InputError(
            f"Column {topped[0]!r} of {name} cannot be compared, since that of patients is top-coded. Take it out of "
            "the population, or do not top-code it.",
            file=name,
            column=topped[0],
        )
    for column in found.people.columns:
        values = found.people[column].drop_nulls().unique().sort().to_list()
        outside = hierarchy_named(plan.patients.qi[column], plan.grouping.tables).hierarchy.outside(values)
        if outside:
            raise InputError(
                f"{len(outside)} of {len(values)} distinct values of column {column!r} of {name} are outside the "
                "hierarchy of the plan. Write them as those of the patients are.",
                file=name,
                column=column,
            )


def _check_patients(found: PopulationRegister, name: str) -> None:
    """Refuse a register with fewer people of one kind than patients: they are no part of it."""
    counted = _joined(found.patients, found.people)
    short = counted.filter(pl.col(PEOPLE) < pl.col(FELLOWS))
    if short.height:
        raise InputError(
            f"{name} is to hold every patient, but {short.height} of {found.patients.height} patients are in classes "
            f"({', '.join(found.people.columns)}) with fewer people than patients. Give the population that the "
            "patients come from, in the same detail, or leave out columns that differ.",
            file=name,
        )


def counted(
    population: PopulationRegister, prepared: Claims, levels: Mapping[str, int], released: NDArray[np.int64]
) -> PeopleCounted:
    """Count the people of each class at the levels of a release.

    Parameters
    ----------
    levels : of the quasi-identifiers of patients, by column
    released : (n_released,) rows of the released patients among the prepared ones
    """
    people, patients = (
        _recoded(frame, population, prepared, levels) for frame in (population.people, population.patients)
    )
    joined = _joined(patients[released], people)
    columns = tuple(people.columns)
    sizes = people.group_by(columns).len()["len"].sort().cast(pl.Int64)
    return PeopleCounted(columns, sizes.to_numpy(), joined[PEOPLE].to_numpy(), joined[FELLOWS].to_numpy())


def _recoded(
    frame: pl.DataFrame, population: PopulationRegister, prepared: Claims, levels: Mapping[str, int]
) -> pl.DataFrame:
    plan, columns = prepared.plan, []
    for column in frame.columns:
        both = pl.concat([population.people[column], population.patients[column]])
        values = both.drop_nulls().unique().sort().to_list()
        ladder = hierarchy_named(plan.patients.qi[column], plan.grouping.tables).hierarchy.bind(column, values)
        labels = dict(zip(values, ladder.labels[levels[column]], strict=True))
        columns.append(frame[column].replace_strict(labels, return_dtype=pl.String) if labels else frame[column])
    return pl.DataFrame(columns)


def _joined(patients: pl.DataFrame, people: pl.DataFrame) -> pl.DataFrame:
    """Of each patient the people and the patients of the same class, in the order of the patients."""
    names = people.columns
    told = patients
    for frame, name in ((people, PEOPLE), (patients, FELLOWS)):
        counts = frame.group_by(names).agg(pl.len().cast(pl.Int64).alias(name))
        told = told.join(counts, on=names, how="left", nulls_equal=True, maintain_order="left")
    return told.with_columns(pl.col(PEOPLE, FELLOWS).fill_null(0))


@dataclass(frozen=True)
class MarketerRisk:
    """Expected share of a random sample of a population that is matched rightly to the population's list.

    Attributes
    ----------
    exact : number of classes over size of the population
    paper_eq2 : the paper's equation (2)
    classes : number of classes of the population
    population : its size N
    sample : size n of the sample
    """

    exact: float
    paper_eq2: float
    classes: int
    population: int
    sample: int


def marketer_risk(class_sizes: NDArray[np.int64], sample: int) -> MarketerRisk:
    """Marketer risk of a sample of a population, from the sizes F of the population's classes.

    Of a sample of n, a class holds f of F on average n F / N, and each is matched rightly with chance 1/F; so the
    expected share is exactly (1/n) sum n/N = |J|/N. The paper puts f = alpha F for every class that is hit, which
    a small class cannot be: its equation (2), the expected number of classes hit over N, is lower, and n/N where
    everybody is unique.

    Parameters
    ----------
    class_sizes : (n_classes,) each at least 1
    sample : n, from 1 to N

    References
    ----------
    HHP appendix, section 6, equation (2); Dankar, El Emam (2010), "A method for evaluating marketer re-identification
    risk", PAIS.
    """
    from scipy.special import gammaln

    population = int(class_sizes.sum())
    if not 1 <= sample <= population:
        raise InputError(f"A sample of {sample} was asked for of a population of {population}.")
    rest = population - sample
    some = class_sizes <= rest
    sizes = class_sizes[some].astype(np.float64)
    missed = gammaln(population - sizes + 1) - gammaln(rest - sizes + 1) + gammaln(rest + 1) - gammaln(population + 1)
    n_hit = class_sizes.size - float(np.exp(missed).sum())
    n_classes = int(class_sizes.size)
    return MarketerRisk(n_classes / population, n_hit / population, n_classes, population, sample)


def unbounded_class_sizes(released: ReleasedClaims, levels: Node) -> NDArray[np.int64]:
    """Class of each released patient, (n_released,), for an adversary who knows all that is released of the patient.

    Patients are in one class whose released labels are alike and whose released claims are alike, each as often. How
    many claims there are is known as well, which no other adversary here uses.
    """
    encoded = released.encoded
    kinds = np.zeros(encoded.n_claims, dtype=np.int64)
    for h, column in enumerate(encoded.claims):
        numbers = column.at(levels[len(encoded.patients) + h]).astype(np.int64) + 1
        numbers[released.values(h) == MISSING] = 0
        _, kinds = np.unique(kinds * (int(numbers.max(initial=0)) + 1) + numbers, return_inverse=True)
    kinds[~released.claims] = -1
    order = np.lexsort((kinds, encoded.owners))
    texts = np.ascontiguousarray(kinds[order]).astype(np.int64)
    groups = group_patients(encoded.patients, levels[: len(encoded.patients)], encoded.n_patients)
    found: dict[tuple[int, bytes], int] = {}
    of = np.empty(encoded.n_patients, dtype=np.int64)
    for i, group in enumerate(groups.tolist()):
        own = texts[encoded.offsets[i] : encoded.offsets[i + 1]]
        of[i] = found.setdefault((group, own[own >= 0].tobytes()), len(found))
    mine = of[released.patients]
    sizes: NDArray[np.int64] = np.bincount(mine, minlength=len(found))[mine].astype(np.int64)
    return sizes


@dataclass(frozen=True)
class VoterList:
    """What matching a whole list of persons with the released patients finds, by what is told of patients alone.

    Attributes
    ----------
    assumes : what the adversary knows, in a sentence
    columns : that the list has
    risk : expected over random samples of the population, of the size of the release
    observed : expected share of right matches for the patients who are released, (1/n) sum of f/F
    flag_rate : share of the released patients with fewer than k people of their class on the list
    is_population : whether the list is that of a population; else of the released patients alone
    """

    assumes: str
    columns: tuple[str, ...]
    risk: MarketerRisk
    observed: float
    flag_rate: float
    is_population: bool

    @property
    def told_list(self) -> str:
        """Whose list it is."""
        return "population" if self.is_population else "released patients"


def voter_list(attacked: AttackedClaims, people: PeopleCounted | None) -> VoterList:
    """Match a list of persons with the release; of the population, or, the worst there is, of the released patients.

    References
    ----------
    HHP appendix, section 6; Dankar, El Emam (2010), "A method for evaluating marketer re-identification risk", PAIS.
    """
    is_population = people is not None
    found = people or _patients_alone(attacked)
    n = found.people.size
    return VoterList(
        f"{OF_PATIENTS.format(', '.join(map(repr, found.columns)) or 'nothing')}. The list holds "
        + ("the population." if is_population else "nobody but the released patients, which is the worst case."),
        found.columns,
        marketer_risk(found.classes, n),
        float(np.mean(1.0 / found.people)),
        float(np.mean(found.people < attacked.settings.k)),
        is_population,
    )


def _patients_alone(attacked: AttackedClaims) -> PeopleCounted:
    """The released patients as if they were the population."""
    encoded, mine = attacked.released.encoded, attacked.released.patients
    groups = group_patients(encoded.patients, attacked.of_patients, encoded.n_patients)[mine]
    sizes = np.bincount(groups).astype(np.int64)
    own = sizes[groups]
    return PeopleCounted(tuple(column.name for column in encoded.patients), np.sort(sizes[sizes > 0]), own, own)


def in_population(attacked: AttackedClaims, people: PeopleCounted) -> ClaimsAttack:
    """The paper's adversary, who does not know who of the population is released.

    Who of the population fits what is known of claims is estimated: of the f - 1 other released patients of the class
    in the register, s - 1 fit; the F - 1 other people of it fit as often. So (s - 1) (F - 1) / (f - 1) others are
    expected, which is unbiased where the patients of a class are a random sample of its people. Where the patient is
    the only one released of the class nothing is known of the others, and nobody else is counted. The risk comes out
    too high rather than too low, since the mean of 1/x is above 1 over the mean of x.

    The paper counts classes among the patients alone; this is ours.
    """
    ratio = np.ones(attacked.released.patients.size)
    others = np.maximum(people.fellows - 1, 1)
    ratio[attacked.released.patients] = (people.people - 1) / others
    risk = attacked.risk(attacked.power)
    found: list[NDArray[np.float64]] = []
    for number in range(attacked.repeats):
        draws = risk.knowledge.repeat(number)
        sizes = risk.class_sizes(attacked.levels, draws)
        found.append(np.where(sizes > 0, 1 + (sizes - 1) * ratio[draws.patients], 0.0))
    names = ", ".join(map(repr, people.columns))
    return ClaimsAttack(
        "counted in the population",
        f"Knows the same, but not who of the population is released: candidates are scaled up to the people of the "
        f"same {names}.",
        figures_of(np.concatenate(found), attacked.settings.k),
    )
