"""Assessing data from Python: how likely patients are to be found."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from cloister.claims.data import Claims
from cloister.codesets.data import CodeSets
from cloister.errors import InputError
from cloister.io import as_text, from_native
from cloister.risk.assessment import (
    Attackers,
    CodesAssessment,
    HistoriesAssessment,
    SampledPopulation,
    TableAssessment,
    assess_table,
)
from cloister.risk.partial_knowledge import partial_knowledge
from cloister.risk.prosecutor import USUAL, parse_threshold
from cloister.risk.safe_harbor import EVERY
from cloister.tabular.roles import check_columns
from cloister.tabular.settings import available_cores
from cloister.trajectories.sequences import Trajectories

from .assess_histories import assess_claims, assess_trajectories

USUAL_K = 5
USUAL_KNOWN = (1, 2, 3, 5)
SHAPES = {CodeSets: "code sets", Trajectories: "trajectories", Claims: "claims"}


def assess(
    data: Any,
    *,
    quasi_identifiers: Sequence[str] | None = None,
    threshold: float | str | None = None,
    population: Any = None,
    sampling_fraction: float | None = None,
    largest_unique: int | None = None,
    zip_census: str | None = None,
    m: Sequence[int] | None = None,
    k: int | None = None,
    seed: int | None = None,
    repeats: bool = False,
    threads: int | None = None,
) -> TableAssessment | CodesAssessment | HistoriesAssessment:
    """Return the risk of data as they are, raw or released, for their custodian: small counts are shown.

    Parameters
    ----------
    data : pandas, Polars or PyArrow table or DuckDB relation, one row a patient; or `CodeSets`,
        `Trajectories` or `Claims`; claims as they are after the steps of their plan, before anything is generalized
    quasi_identifiers : of a table: the columns that an attacker knows; without any, only identifiers are looked for
    threshold : of a table: risk taken as acceptable, above 0 and at most 1, or ``"hhp"`` (0.05) or ``"ema"`` (0.09);
        0.2 unless given
    population : of a table: a table of all people that the patients may be among, patients included, with the
        quasi-identifiers
    sampling_fraction : of a table, instead: the share of the population that the patients are, as a random sample
    largest_unique : of a table: sets of up to so many columns are looked at for special uniques; 3 unless given, fewer
        where that would take long
    zip_census : of a table: lists of small ZIP areas of the census ``"2000"``, ``"2010"`` or ``"both"``; both
        unless given
    m : not of a table: numbers of codes, pairs or claims that attackers know of a patient; 1, 2, 3 and 5 unless given
    k : not of a table: patients that a set of what is known should at least have; 5 unless given
    seed : not of a table: of what is sampled, that is for more than three; 0 unless given
    repeats : of trajectories and claims: attackers know how often something was recorded, too
    threads : of a table; all cores unless given; never changes the answer

    Returns
    -------
    TableAssessment, CodesAssessment or HistoriesAssessment
        A missing value is a value of its own. ``summary()`` returns all numbers as plain values.

    Raises
    ------
    InputError
        The data or the settings cannot be used.

    Examples
    --------
    >>> import polars as pl, cloister as cl
    >>> frame = pl.DataFrame({"age": [39, 39, 40], "sex": ["F", "F", "M"]})
    >>> found = cl.assess(frame, quasi_identifiers=["age", "sex"])
    >>> found.prosecutor.highest, found.sample_uniques
    (1.0, 1)
    """
    of_tables = {
        "quasi_identifiers": quasi_identifiers,
        "threshold": threshold,
        "population": population,
        "sampling_fraction": sampling_fraction,
        "largest_unique": largest_unique,
        "zip_census": zip_census,
        "threads": threads,
    }
    of_knowledge = {"m": m, "k": k, "seed": seed, "repeats": repeats or None}
    shape = next((words for kind, words in SHAPES.items() if isinstance(data, kind)), "a table")
    not_asked = of_knowledge if shape == "a table" else of_tables
    if shape == "code sets":  # they say themselves whether they hold repeats
        not_asked = {**not_asked, "repeats": repeats or None}
    foreign = [name for name, value in not_asked.items() if value is not None]
    if foreign:
        raise InputError(f"{', '.join(foreign)}: not for {shape}. Leave it out.")
    attackers = Attackers(m or USUAL_KNOWN, USUAL_K if k is None else k, seed or 0, repeats)
    if isinstance(data, CodeSets):
        return assess_codes(data, attackers.known, attackers.k, attackers.seed)
    if isinstance(data, Trajectories):
        return assess_trajectories(data, attackers)
    if isinstance(data, Claims):
        return assess_claims(data, attackers)
    if population is not None and sampling_fraction is not None:
        raise InputError("A population table and a sampling fraction were given. One of them says what is needed.")
    people = None if population is None else from_native(population).frame
    return assess_frame(
        from_native(data).frame,
        quasi_identifiers or (),
        threshold=USUAL if threshold is None else threshold,
        population=people,
        fraction=sampling_fraction,
        largest_unique=largest_unique,
        census=zip_census or EVERY,
        threads=threads,
    )


def assess_codes(codes: CodeSets, known: Sequence[int], k: int, seed: int) -> CodesAssessment:
    """Return the risk of code sets from attackers who know so many codes."""
    return CodesAssessment(partial_knowledge(codes.offsets, codes.items, known=known, k=k, seed=seed))


def assess_frame(
    frame: pl.DataFrame,
    quasi_identifiers: Sequence[str],
    *,
    threshold: float | str,
    population: pl.DataFrame | None,
    fraction: float | None,
    largest_unique: int | None,
    census: str,
    threads: int | None,
    name: str = "the dataframe",
    population_name: str = "the population",
) -> TableAssessment:
    """Return the risk of a table that was read; names are those of files in messages."""
    check_columns(quasi_identifiers, frame.columns, name)
    twice = sorted({column for column in quasi_identifiers if list(quasi_identifiers).count(column) > 1})
    if twice:
        raise InputError(f"Quasi-identifiers are named twice: {', '.join(twice)}. Name each once.", column=twice[0])
    if frame.height == 0:
        raise InputError(f"{name} holds no records.")
    asked = SampledPopulation(fraction=fraction) if fraction is not None else None
    if population is not None:
        check_columns(quasi_identifiers, population.columns, population_name)
        asked = SampledPopulation(pl.DataFrame([as_text(population[column]) for column in quasi_identifiers]))
    if asked is not None and not quasi_identifiers:
        raise InputError("What is known of the population means nothing without quasi-identifiers. Name them.")
    return assess_table(
        frame,
        pl.DataFrame([as_text(column) for column in frame.get_columns()]),
        quasi_identifiers,
        threshold=parse_threshold(threshold),
        population=asked,
        largest_unique=largest_unique,
        census=census,
        threads=_threads(threads),
    )


def _threads(threads: int | None) -> int:
    if threads is not None and threads < 1:
        raise InputError(f"{threads} threads were asked for, but at least 1 is needed.")
    return available_cores() if threads is None else threads
