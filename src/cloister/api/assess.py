"""Python interface for assessing data: the re-identification risk of patients."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError, name_few, setting
from cloister.io import EventSource, Source, as_text, from_native
from cloister.io.columns import check_columns, nearest_column
from cloister.kernels.compiling import say_first_call
from cloister.risk.assessment import (
    PATIENT,
    Attackers,
    CodesAssessment,
    HistoriesAssessment,
    TableAssessment,
    assess_table,
    cells_of,
    known_of,
    of_patients,
)
from cloister.risk.partial_knowledge import partial_knowledge
from cloister.risk.prosecutor import USUAL, parse_threshold
from cloister.risk.safe_harbor import CENSUSES, EVERY
from cloister.settings.checking import check_arguments
from cloister.settings.constraints import COLUMN, COLUMNS, Described, Interval, OneOf, check_value
from cloister.settings.run_options import SEED, THREADS, K
from cloister.shapes.claims.format.data import PATIENT as NUMBER
from cloister.shapes.claims.format.data import Claims
from cloister.shapes.claims.format.plan import ClaimsPlan
from cloister.shapes.claims.method.prepare import prepare
from cloister.shapes.codes.data import CodeSets
from cloister.shapes.table.method.settings import available_cores
from cloister.shapes.trajectories.format.data import Trajectories

PAIRS, CODES, AGES, CLAIMS = "pairs", "codes", "ages", "claims"
USUAL_K = 5
USUAL_KNOWN = (1, 2, 3, 5)
SHAPES = {CodeSets: "code sets", Trajectories: "trajectories", Claims: "claims"}


@check_arguments
def assess(
    data: object,
    *,
    qi: Annotated[str | Sequence[str] | None, COLUMNS] = None,
    threshold: float | str | None = None,
    population: object = None,
    sampling_fraction: Annotated[float | None, Interval(float, 0, 1, closed="right")] = None,
    sampling_weights: Annotated[str | None, COLUMN] = None,
    largest_unique: Annotated[int | None, Interval(int, 1)] = None,
    zip_census: Annotated[str | None, OneOf(*CENSUSES)] = None,
    m: Annotated[Sequence[int] | None, Described("a list of whole numbers")] = None,
    k: Annotated[int | None, K] = None,
    seed: Annotated[int | None, SEED] = None,
    repeats: bool = False,
    threads: Annotated[int | None, THREADS] = None,
) -> TableAssessment | CodesAssessment | HistoriesAssessment:
    """Return the re-identification risk of data, original or released, for their custodian: small counts are exact.

    Parameters
    ----------
    data : a dataframe as `protect_table` takes it, one row a patient; or `CodeSets`,
        `Trajectories` or `Claims`; claims as they are after the steps of their plan, before anything is generalized
    qi : of a table: the columns that an attacker knows; without any, only identifiers are looked for
    threshold : of a table: the highest acceptable risk, above 0 and at most 1, or ``"hhp"`` (0.05) or ``"ema"`` (0.09);
        0.2 by default
    population : of a table: a table of all people that the patients may be among, patients included, with the
        quasi-identifiers
    sampling_fraction : of a table, instead: the share of the population that the patients are, as a random sample
    sampling_weights : of a table, instead: the column that says how many people each record of a survey represents
    largest_unique : of a table: sets of up to so many columns are looked at for special uniques; 3 by default, fewer
        where that would take long
    zip_census : of a table: lists of small ZIP areas of the census ``"2000"``, ``"2010"`` or ``"both"``; both
        by default
    m : not of a table: numbers of codes, pairs or claims that attackers know of a patient; 1, 2, 3 and 5 by default
    k : not of a table: patients that a set of what is known should at least have; 5 by default
    seed : not of a table: of what is sampled, that is for more than three; 0 by default
    repeats : of trajectories and claims: attackers know how often something was recorded, too
    threads : of a table; all cores by default; never changes the answer

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
    >>> found = cl.assess(frame, qi=["age", "sex"])
    >>> found.prosecutor.highest, found.sample_uniques
    (1.0, 1)
    """
    of_tables = {
        "qi": qi,
        "threshold": threshold,
        "population": population,
        "sampling_fraction": sampling_fraction,
        "sampling_weights": sampling_weights,
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
    say_first_call("risk")
    attackers = Attackers(m or USUAL_KNOWN, USUAL_K if k is None else k, seed or 0, repeats)
    if isinstance(data, CodeSets):
        return assess_codes(data, attackers.known, attackers.k, attackers.seed)
    if isinstance(data, Trajectories):
        return assess_trajectories(data, attackers)
    if isinstance(data, Claims):
        return assess_claims(data, attackers)
    people = None if population is None else from_native(population).frame
    return assess_frame(
        from_native(data).frame,
        (qi,) if isinstance(qi, str) else qi or (),
        threshold=USUAL if threshold is None else threshold,
        population=people,
        fraction=sampling_fraction,
        weights=sampling_weights,
        largest_unique=largest_unique,
        census=zip_census or EVERY,
        threads=threads,
    )


def assess_codes(codes: CodeSets, known: Sequence[int], k: int, seed: int) -> CodesAssessment:
    """Return the risk of code sets from attackers who know a number of codes of a patient."""
    return CodesAssessment(partial_knowledge(codes.offsets, codes.items, known=known, k=k, seed=seed))


def _read_weights(frame: pl.DataFrame, column: str, name: str) -> NDArray[np.float64]:
    """Return the weights of all records as numbers above 0."""
    check_columns([column], frame.columns, name)
    numbers = frame[column].cast(pl.Float64, strict=False)
    wrong = len(numbers) - int((numbers.is_finite() & (numbers > 0)).sum())
    if wrong:
        raise InputError(
            f"{wrong} of {len(numbers)} sampling weights in column {column!r} are no numbers above 0. Correct them, or "
            "remove these records.",
            column=column,
        )
    return numbers.to_numpy()


def assess_frame(
    frame: pl.DataFrame,
    quasi_identifiers: Sequence[str],
    *,
    threshold: float | str,
    population: pl.DataFrame | None,
    fraction: float | None,
    weights: str | None,
    largest_unique: int | None,
    census: str,
    threads: int | None,
    name: str = "the dataframe",
    population_name: str = "the population",
) -> TableAssessment:
    """Return the re-identification risk of a table in memory; messages use the given names of files."""
    check_columns(quasi_identifiers, frame.columns, name)
    twice = sorted({column for column in quasi_identifiers if list(quasi_identifiers).count(column) > 1})
    if twice:
        raise InputError(f"Quasi-identifiers are named twice: {name_few(twice)}. Name each once.", column=twice[0])
    if frame.height == 0:
        raise InputError(f"{name} has no records.")
    people = None
    if population is not None:
        check_columns(quasi_identifiers, population.columns, population_name)
        people = pl.DataFrame([as_text(population[column]) for column in quasi_identifiers])
    known = [one for one in (population, fraction, weights) if one is not None]
    if len(known) > 1:
        raise InputError(
            "Give one of ",
            setting("population"),
            ", ",
            setting("sampling_fraction"),
            " and ",
            setting("sampling_weights"),
            ".",
        )
    if known and not quasi_identifiers:
        raise InputError("What is known of the population means nothing without quasi-identifiers. Name them.")
    if threads is not None:
        check_value("threads", threads, THREADS)
    return assess_table(
        frame,
        pl.DataFrame([as_text(column) for column in frame.get_columns()]),
        quasi_identifiers,
        threshold=parse_threshold(threshold),
        people=people,
        fraction=fraction,
        weights=None if weights is None else _read_weights(frame, weights, name),
        largest_unique=largest_unique,
        census=census,
        threads=available_cores() if threads is None else threads,
    )


def assess_trajectories(trajectories: Trajectories, attackers: Attackers) -> HistoriesAssessment:
    """Return the risk of trajectories from attackers who know pairs of code and age, codes only, or ages only."""
    codes, ages = pl.Series("code", trajectories.codes), pl.Series("age", trajectories.ages)
    return _of_events(trajectories.owner, codes, ages, attackers)


def assess_events(source: EventSource, attackers: Attackers) -> HistoriesAssessment:
    """Return the risk of coded events in memory; see `assess_trajectories`."""
    owners = (source.ids.rank("dense") - 1).to_numpy().astype(np.int64)
    return _of_events(owners, source.codes.alias("code"), source.ages.alias("age"), attackers)


def _of_events(
    owners: NDArray[np.int64], codes: pl.Series, ages: pl.Series, attackers: Attackers
) -> HistoriesAssessment:
    if not owners.size:
        raise InputError("There are no patients, so there is nothing to assess.")
    events = pl.DataFrame([pl.Series(PATIENT, owners), codes, ages])
    kinds = ((PAIRS, ["code", "age"]), (CODES, ["code"]), (AGES, ["age"]))
    known = [known_of(events, what, columns, attackers) for what, columns in kinds]
    found = tuple(one for one in known if one is not None)
    return HistoriesAssessment("trajectories", int(owners.max()) + 1, owners.size, found)


def assess_claims(claims: Claims, attackers: Attackers) -> HistoriesAssessment:
    """Return the risk of patients and claims after the preprocessing steps of their plan, before any generalization."""
    prepared = prepare(claims).claims
    rows = pl.DataFrame([prepared.patients[NUMBER], pl.Series("row", range(prepared.n_patients), dtype=pl.Int64)])
    owners = prepared.claims.select(NUMBER).join(rows, on=NUMBER, how="left", maintain_order="left")["row"]
    plan = claims.plan
    return _of_claims(
        prepared.patients.select(*plan.patients.qi),
        prepared.claims.select(*plan.claims.qi).with_columns(owners.alias(PATIENT)),
        attackers,
    )


def assess_released_claims(
    patients: Source, claims: Source, plan: ClaimsPlan, attackers: Attackers
) -> HistoriesAssessment:
    """Return the risk of patients and claims in two files as they are; the plan names ids and quasi-identifiers."""
    (patient_id,), (claim_id,) = plan.patients.columns("id"), plan.claims.columns("id")
    _check_there(patients, [patient_id, *plan.patients.qi])
    _check_there(claims, [claim_id, *plan.claims.qi])
    ids = as_text(patients.frame[patient_id])
    if ids.null_count() or ids.n_unique() != len(ids):
        raise InputError(
            f"Column {patient_id!r} of {patients.name} does not identify patients.",
            file=patients.name,
            column=patient_id,
        )
    rows = pl.DataFrame([ids.alias("id"), pl.Series("row", range(len(ids)), dtype=pl.Int64)])
    owners = pl.DataFrame([as_text(claims.frame[claim_id]).alias("id")]).join(
        rows, on="id", how="left", maintain_order="left"
    )["row"]
    if owners.null_count():
        raise InputError(f"{owners.null_count():,} claims have no patient in {patients.name}.", file=claims.name)
    return _of_claims(
        patients.frame.select(*plan.patients.qi),
        claims.frame.select(*plan.claims.qi).with_columns(owners.alias(PATIENT)),
        attackers,
    )


def _of_claims(patients: pl.DataFrame, claims: pl.DataFrame, attackers: Attackers) -> HistoriesAssessment:
    """Assess complete claims and each of their columns, without and with the quasi-identifiers of the patient."""
    texts = pl.DataFrame([as_text(column) for column in patients.get_columns()])
    columns = [column for column in claims.columns if column != PATIENT]
    claims = claims.with_columns(as_text(claims[column]) for column in columns)
    kinds: list[tuple[str, Sequence[str]]] = [(CLAIMS, columns)]
    kinds += [(column, [column]) for column in columns] if len(columns) > 1 else []
    cells = cells_of(texts) if texts.width else None
    known = [known_of(claims, what, own, attackers) for what, own in kinds]
    if cells is not None:
        known += [known_of(claims, what, own, attackers, cells) for what, own in kinds]
    if known[0] is None:
        raise InputError("There are no claims, so there is nothing to assess.")
    found = tuple(one for one in known if one is not None)
    alone = None if cells is None else of_patients(texts, 1 / attackers.k)
    return HistoriesAssessment("claims", patients.height, claims.height, found, alone)


def _check_there(source: Source, wanted: Sequence[str]) -> None:
    for column in wanted:
        if column not in source.frame.columns:
            hint = nearest_column(column, source.frame.columns)
            raise InputError(
                f"The plan names {column!r}, but {source.name} has no such column.{hint}",
                file=source.name,
                column=column,
            )
