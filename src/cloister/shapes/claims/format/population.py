"""Match claims with a population register, or with the released patients as the worst possible register.

The register has one row a person of the population that the patients are a part of, and some of the quasi-identifiers
of patients: a voter list has age and sex, but no days in hospital. Persons are counted by the columns that it has, at
the levels of the release. A whole list may be matched at random within classes: the share of patients matched rightly
is the marketer risk (step 12).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError, name_few
from cloister.io import as_text, read_table
from cloister.io.columns import nearest_column

from .data import Claims
from .hierarchies import hierarchy_named, relabel
from .manifest import DIGITS, VoterList
from .released_columns import ClaimsForm

PEOPLE, FELLOWS = "\0people", "\0fellows"


@dataclass(frozen=True, eq=False, repr=False)
class PeopleCounted:
    """The classes of a population at the levels of a release, by the columns that distinguish them.

    ``classes``, (n_classes,): people of each; ``people, fellows``, (n_released,): people, and released patients, of the
    class of each released patient, the patient included.
    """

    columns: tuple[str, ...]
    classes: NDArray[np.int64]
    people: NDArray[np.int64]
    fellows: NDArray[np.int64]


def read_population(prepared: Claims) -> pl.DataFrame | None:
    """Read the register that the plan names under ``population.patients``; None if it names none.

    One row a person: base values as text, of the quasi-identifiers of patients that the register has. ``prepared`` is
    after steps 1 to 6.
    """
    plan = prepared.plan
    if plan.population.patients is None:
        return None
    source = read_table(plan.population.patients)
    columns = [column for column in plan.patients.qi if column in source.frame.columns]
    if not columns:
        hint = next(filter(None, (nearest_column(c, source.frame.columns) for c in plan.patients.qi)), "")
        raise InputError(
            f"{source.name} has none of the quasi-identifiers of patients: {name_few(plan.patients.qi)}.{hint} A "
            "population has one row a person, and columns of the same names and detail.",
            file=source.name,
        )
    people, patients = (
        pl.DataFrame([as_text(frame[column]) for column in columns]) for frame in (source.frame, prepared.patients)
    )
    topped = [coding.column for coding in plan.top_coding if coding.column in columns]
    if topped:
        raise InputError(
            f"Column {topped[0]!r} of {source.name} cannot be compared, since that of patients is top-coded. Take it "
            "out of the population, or do not top-code it.",
            file=source.name,
            column=topped[0],
        )
    for column in columns:
        values = people[column].drop_nulls().unique().sort().to_list()
        outside = hierarchy_named(plan.patients.qi[column], plan.grouping.tables).outside(values)
        if outside:
            raise InputError(
                f"{len(outside)} of {len(values)} distinct values of column {column!r} of {source.name} are outside "
                "the hierarchy of the plan. Write them as those of the patients are.",
                file=source.name,
                column=column,
            )
    # with fewer people of one kind than patients these are no part of them
    short = _join_people(patients, people).filter(pl.col(PEOPLE) < pl.col(FELLOWS))
    if short.height:
        raise InputError(
            f"{source.name} must contain every patient, but {short.height} of {patients.height} patients are in "
            f"classes ({name_few(columns)}) with fewer people than patients. Give the population that the patients "
            "come from, in the same detail, or leave out columns that differ.",
            file=source.name,
        )
    return people


def count_people(population: pl.DataFrame, data: Claims, patients: pl.DataFrame, form: ClaimsForm) -> PeopleCounted:
    """Count the people of each class at the levels of a release, and the released patients among them."""
    columns, tables = [], data.plan.grouping.tables
    for name, text in population.to_dict().items():
        hierarchy = hierarchy_named(data.plan.patients.qi[name], tables)
        columns.append(relabel(text, hierarchy, form.patients[name].level or 0))
    return people_of(patients, pl.DataFrame(columns))


def people_of(patients: pl.DataFrame, people: pl.DataFrame) -> PeopleCounted:
    """Count the people, and the released patients, with equal values in the columns of the register."""
    names = people.columns
    if not names:
        all_of_them = np.full(patients.height, patients.height)
        return PeopleCounted((), all_of_them[:1], all_of_them, all_of_them)
    joined = _join_people(patients.select(names), people)
    sizes = people.group_by(names).len(PEOPLE)[PEOPLE].sort().cast(pl.Int64)
    # nobody of a class is a patient of it who is not on the register, which `read_population` refuses
    return PeopleCounted(
        tuple(names), sizes.to_numpy(), np.maximum(joined[PEOPLE].to_numpy(), 1), joined[FELLOWS].to_numpy()
    )


def _join_people(patients: pl.DataFrame, people: pl.DataFrame) -> pl.DataFrame:
    """Of each patient the people and the patients of the same class, in the order of the patients."""
    names = people.columns
    joined = patients
    for frame, name in ((people, PEOPLE), (patients, FELLOWS)):
        counts = frame.group_by(names).agg(pl.len().cast(pl.Int64).alias(name))
        joined = joined.join(counts, on=names, how="left", nulls_equal=True, maintain_order="left")
    return joined.with_columns(pl.col(PEOPLE, FELLOWS).fill_null(0))


class MarketerRisk(NamedTuple):
    """The exact share, and that of the paper's equation (2)."""

    exact: float
    paper_eq2: float


def marketer_risk(class_sizes: NDArray[np.int64], sample: int) -> MarketerRisk:
    """Return the expected share of correct matches of a random sample with the population's list.

    Of a sample of n, a class holds f of F on average n F / N, and each is matched rightly with chance 1/F; so the
    expected share is exactly (1/n) sum n/N = |J|/N. The paper puts f = alpha F for every class that is hit, which
    a small class cannot be: its equation (2), the expected number of classes hit over N, is lower, and n/N where
    everybody is unique.

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
    sizes = class_sizes[class_sizes <= rest].astype(np.float64)
    missed = gammaln(population - sizes + 1) - gammaln(rest - sizes + 1) + gammaln(rest + 1) - gammaln(population + 1)
    n_hit = class_sizes.size - float(np.exp(missed).sum())
    return MarketerRisk(class_sizes.size / population, n_hit / population)


def voter_list(found: PeopleCounted, k: int, *, is_population: bool) -> VoterList:
    """Match a list of persons with the release: the population or, at worst, the released patients."""
    exact, paper = marketer_risk(found.classes, found.people.size)
    return VoterList(
        columns=found.columns,
        list="population" if is_population else "released patients",
        exact=round(exact, DIGITS),
        paper_eq2=round(paper, DIGITS),
        observed=round(float(np.mean(1.0 / found.people)), DIGITS),
        flag_rate=round(float(np.mean(found.people < k)), DIGITS),
        classes=found.classes.size,
        people=int(found.classes.sum()),
        sample=found.people.size,
    )
