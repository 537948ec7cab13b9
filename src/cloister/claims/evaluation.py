"""Step 12: the finished release is attacked by adversaries of growing knowledge, and what is told of that.

The risk of who knows released values is the one figure that a recipient can work out anew.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .adversaries import (
    AttackedClaims,
    ClaimsAttack,
    Power,
    Stays,
    all_values,
    by_power,
    constant_power,
    discharge_database,
    exact_order,
    jointly,
    stays_of,
    whole_claims,
)
from .choice import NodeChoice, NodeTest
from .data import Claims, dates_of
from .data_file import CLAIMS, PATIENTS, QUASI, WrittenClaims
from .encode import EncodedClaims, EncodedColumn, Encoding
from .knowledge import AdversaryPower, DrawnKnowledge, adversary_power, power_at
from .matching import Matching
from .node_risk import Interval, NodeRisk, RiskFigures, RiskSettings
from .plan_sections import AdversaryPlan
from .population import (
    PeopleCounted,
    PopulationRegister,
    VoterList,
    counted,
    in_population,
    unbounded_class_sizes,
    voter_list,
)
from .prepare import PreparedClaims
from .protect import ProtectedClaims
from .release import Laid
from .release_risk import ReleaseRisk
from .released import ReleasedClaims

PURPOSE = 1_000_001
"""Which seed: odd, as evaluations have, and far from those of rounds."""

REPEATS = 5

LIKELIEST = "picks the likeliest"
ONE, FIVE, ALL = "one value of each column", "five values of each column", "all values"
DIGITS = 6

POWERS = (5, 10, 15, 20)
"""Highest powers that the sensitivity table tries besides the plan's."""

CHOSEN = "as chosen"


def as_released(laid: Laid, adversary: AdversaryPlan, settings: RiskSettings) -> RiskFigures:
    """Attack a release by values drawn from the released claims, as many as the power of released values is."""
    encoded = _released_numbers(laid.files, laid)
    power = adversary_power(encoded, adversary.power, adversary.rounding).of_patients
    knowledge = DrawnKnowledge(encoded, power, settings.seed_of(PURPOSE))
    matching = Matching(ReleasedClaims.everything(encoded), knowledge.cap, settings.threads)
    return NodeRisk(matching, knowledge, settings.k).figures((0,) * len(encoded.columns), REPEATS)


def _released_numbers(files: WrittenClaims, laid: Laid) -> EncodedClaims:
    counts = np.bincount(files.owners, minlength=files.patients.height)
    return EncodedClaims(
        tuple(_released_columns(files.patients, laid.form.names(PATIENTS, QUASI))),
        tuple(_released_columns(files.claims, laid.form.names(CLAIMS, QUASI))),
        np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
    )


def _released_columns(frame: pl.DataFrame, names: Sequence[str]) -> list[EncodedColumn]:
    made = []
    for name in names:
        texts = frame[name].drop_nulls().unique().sort()
        values = frame[name].cast(pl.Enum(texts)).to_physical().cast(pl.Int32).fill_null(-1).to_numpy()
        size = texts.len()
        levels = np.stack([np.arange(size), np.zeros(size, dtype=np.int64)]).astype(np.int32)
        losses = np.stack([np.zeros(size), np.ones(size)])
        made.append(EncodedColumn(name, values, levels, (tuple(texts.to_list()), ("*",)), losses))
    return made


@dataclass(frozen=True)
class Unbounded:
    """What somebody finds who knows all quasi-identifiers that are released of a patient: worked out, not simulated.

    Attributes
    ----------
    assumes : the same in a sentence
    mean : mean of 1 over the released patients who are alike in all of them
    flag_rate : share of the released patients with fewer than k such patients
    unique : share who are alone
    """

    assumes: str
    mean: float
    flag_rate: float
    unique: float


@dataclass(frozen=True)
class Sensitivity:
    """What adversaries find, by what they know.

    Attributes
    ----------
    attacks : simulated, each with its figures
    unbounded : who knows everything
    voters : whole lists of persons matched with the release
    """

    attacks: tuple[ClaimsAttack, ...]
    unbounded: Unbounded
    voters: VoterList


def sensitivity(
    attacked: AttackedClaims,
    believing: ReleaseRisk,
    likeliest: RiskFigures,
    *,
    powers: Mapping[int, Power] | None = None,
    when: NDArray[np.int32] | None = None,
    people: PeopleCounted | None = None,
    stays: Stays | None = None,
) -> Sensitivity:
    """Attack a release in all the ways there are.

    Parameters
    ----------
    believing : as measured, of who believes flags
    likeliest : as measured, of who picks the likeliest of those who fit
    powers : other powers of the paper's adversary to try, by their highest value
    when : (n_claims,) rank of each claim in time; without, nobody knows the order
    people : of the population, where there is a register of it
    stays : hospital stays among the claims, where they can be told
    """
    attacks = [
        *jointly(attacked),
        *by_power(attacked, _tried(attacked, powers or {})),
        whole_claims(attacked),
        *([] if when is None else [exact_order(attacked, when)]),
        *_believing_flags(believing),
        ClaimsAttack(
            LIKELIEST,
            "Knows the same, and picks of those who fit the one of whom it is likeliest, not one at random.",
            likeliest,
        ),
        *([] if people is None else [in_population(attacked, people)]),
    ]
    discharged = None if stays is None else discharge_database(attacked, stays)
    if discharged is not None:
        attacks.append(discharged)
    return Sensitivity(tuple(attacks), _unbounded(attacked), voter_list(attacked, people))


def _tried(attacked: AttackedClaims, powers: Mapping[int, Power]) -> dict[str, tuple[str, Power]]:
    encoded = attacked.released.encoded
    by_formula = {
        f"power up to {most}": (
            f"Knows up to {most} values of each column of claims, by the formula of the plan's adversary.",
            power,
        )
        for most, power in powers.items()
    }
    return {
        **by_formula,
        ONE: ("Knows one value of each column of claims, of every patient alike.", constant_power(encoded, 1)),
        FIVE: ("Knows five values of each column of claims, of every patient alike.", constant_power(encoded, 5)),
        ALL: (
            "Knows all values of each column of claims, those left out of the release as well, but not which stood in "
            "one claim.",
            all_values(encoded),
        ),
    }


def _believing_flags(risk: ReleaseRisk) -> tuple[ClaimsAttack, ...]:
    return (
        ClaimsAttack(
            "flags believed (tolerant)",
            "Knows the same as the adversary of the plan, and lets values be missing where flags say that some were "
            "left out.",
            risk.tolerant,
        ),
        ClaimsAttack(
            "flags believed where nobody fits",
            "Lets values be missing only where nobody fits without.",
            risk.fallback,
        ),
        ClaimsAttack(
            "flags believed, fewest missing",
            "The same, and takes only who lacks fewest of the values.",
            risk.nearest,
        ),
    )


def _unbounded(attacked: AttackedClaims) -> Unbounded:
    sizes = unbounded_class_sizes(attacked.released, attacked.levels)
    return Unbounded(
        "Knows every quasi-identifier that is released of a patient and of each claim, and how many claims there are.",
        float(np.mean(1.0 / sizes)),
        float(np.mean(sizes < attacked.settings.k)),
        float(np.mean(sizes == 1)),
    )


def evaluate(
    prepared: PreparedClaims, protected: ProtectedClaims, population: PopulationRegister | None
) -> Sensitivity:
    """Attack a release in all the ways there are.

    Parameters
    ----------
    prepared : after steps 1 to 6
    population : a register of the people whom the patients are a part of, if there is one
    """
    data, encoding, suppression = prepared.claims, protected.encoding, protected.suppression
    claims, asked = encoding.claims, data.plan.adversary
    own = suppression.levels[len(claims.patients) :]
    attacked = AttackedClaims(suppression.released, suppression.levels, protected.settings, protected.power)
    return sensitivity(
        attacked,
        suppression.risk,
        suppression.likeliest,
        powers={most: power_at(claims, most, asked.rounding, asked.basis, own) for most in POWERS},
        when=_ranks_in_time(data, encoding),
        people=None if population is None else _people(population, prepared, protected),
        stays=stays_of(claims, data.plan),
    )


def _people(population: PopulationRegister, prepared: PreparedClaims, protected: ProtectedClaims) -> PeopleCounted:
    claims, released = protected.encoding.claims, protected.suppression.released.patients
    levels = {column.name: level for column, level in zip(claims.patients, protected.suppression.levels, strict=False)}
    rows = np.asarray(protected.encoding.patient_rows[released], dtype=np.int64)
    return counted(population, prepared.claims, levels, rows)


def _ranks_in_time(data: Claims, encoding: Encoding) -> NDArray[np.int32] | None:
    """Rank of each claim in time; None where claims have no date."""
    column = data.plan.claim_column("date")
    if column is None:
        return None
    days = dates_of(data.claims[column], "claims").gather(pl.Series(encoding.claim_rows))
    return days.rank("dense").fill_null(0).cast(pl.Int32).to_numpy()


def told_of(figures: RiskFigures) -> dict[str, Any]:
    """Return figures of a simulation, rounded."""
    return {
        "mean": round(figures.mean, DIGITS),
        "interval": _interval(figures.mean_interval),
        "flag_rate": round(figures.flag_rate, DIGITS),
        "flag_interval": _interval(figures.flag_interval),
        "missed": round(figures.missed / figures.draws, DIGITS),
        "draws": figures.draws,
    }


def _interval(interval: Interval) -> list[float]:
    return [round(interval.low, DIGITS), round(interval.high, DIGITS)]


def attacks_told(found: Sensitivity) -> dict[str, Any]:
    """Return the part of the manifest about other adversaries.

    What is worked out rather than simulated follows from the released files and the register, so nothing is withheld.
    """
    unbounded = {
        name: round(value, DIGITS) if isinstance(value, float) else value
        for name, value in asdict(found.unbounded).items()
    }
    return {
        "attacks": [{"adversary": one.name, "assumes": one.assumes, **told_of(one.figures)} for one in found.attacks],
        "unbounded": unbounded,
        "voter_list": _voters_told(found.voters),
    }


def _voters_told(found: VoterList) -> dict[str, Any]:
    risk = found.risk
    return {
        "assumes": found.assumes,
        "columns": list(found.columns),
        "list": found.told_list,
        "exact": round(risk.exact, DIGITS),
        "paper_eq2": round(risk.paper_eq2, DIGITS),
        "observed": round(found.observed, DIGITS),
        "flag_rate": round(found.flag_rate, DIGITS),
        "classes": risk.classes,
        "people": risk.population,
        "sample": risk.sample,
    }


def correlations_of(adversary: AdversaryPower) -> dict[str, dict[str, float | None]]:
    """Return correlations between the diversities of columns, to two decimals."""
    table, names = adversary.correlations(), adversary.columns
    return {
        own: {other: None if math.isnan(table[i, j]) else round(float(table[i, j]), 2) for j, other in enumerate(names)}
        for i, own in enumerate(names)
    }


def neighbours_of(choice: NodeChoice, encoded: EncodedClaims) -> list[dict[str, Any]]:
    """Return the chosen node and its neighbours, each judged with misses decided on base values and on its own."""
    return [
        {
            "node": _difference(one, choice, encoded),
            "levels": _levels(one, encoded),
            "loss": math.ceil(100 * one.loss) / 100,
            "raw": _flags(one.raw),
            "paper": _flags(one.node),
        }
        for one in choice.around
    ]


def _difference(one: NodeTest, choice: NodeChoice, encoded: EncodedClaims) -> str:
    for place, (own, chosen) in enumerate(zip(one.levels, choice.levels, strict=True)):
        if own != chosen:
            table = PATIENTS if place < len(encoded.patients) else CLAIMS
            return f"{encoded.columns[place].name} of {table} at {own}"
    return CHOSEN


def _levels(one: NodeTest, encoded: EncodedClaims) -> Mapping[str, dict[str, int]]:
    n = len(encoded.patients)
    parts = ((PATIENTS, encoded.patients, one.levels[:n]), (CLAIMS, encoded.claims, one.levels[n:]))
    return {
        table: {column.name: level for column, level in zip(columns, levels, strict=True)}
        for table, columns, levels in parts
    }


def _flags(figures: RiskFigures) -> dict[str, Any]:
    told = told_of(figures)
    return {name: told[name] for name in ("flag_rate", "flag_interval", "draws")}
