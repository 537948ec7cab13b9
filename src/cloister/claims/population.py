"""The population that the patients are a part of, as far as a register of it tells (step 12).

The register has one row a person, and some of the quasi-identifiers of patients: a voter list has age and sex, but no
days in hospital. Persons are counted by the columns that it has, at the levels of the release.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.io import as_text, read_table
from cloister.io.header import nearest_column

from .data import Claims
from .ladders import hierarchy_named

PEOPLE, FELLOWS = "\0people", "\0fellows"


@dataclass(frozen=True, eq=False, repr=False)
class Population:
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


def read_population(prepared: Claims) -> Population | None:
    """Read the register that the plan names under ``population.patients``; None if it names none.

    Parameters
    ----------
    prepared : after steps 1 to 6

    Raises
    ------
    InputError
        It has none of the quasi-identifiers, a value of it is outside a hierarchy, or it does not hold all patients.
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
    found = Population(_texts(source.frame, columns), _texts(prepared.patients, columns))
    _check_values(found, prepared, source.name)
    _check_patients(found, source.name)
    return found


def _texts(frame: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    return pl.DataFrame([as_text(frame[column]) for column in columns])


def _check_values(found: Population, prepared: Claims, name: str) -> None:
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


def _check_patients(found: Population, name: str) -> None:
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
    population: Population, prepared: Claims, levels: Mapping[str, int], released: NDArray[np.int64]
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


def _recoded(frame: pl.DataFrame, population: Population, prepared: Claims, levels: Mapping[str, int]) -> pl.DataFrame:
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
