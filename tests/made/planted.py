"""Made-up tables with a quasi-identifier that columns released as recorded determine, and tables with none."""

import random
from dataclasses import dataclass

import numpy as np
import polars as pl

from cloister.risk.determination import Hidden

AGES, KINDS, DAYS = "age", "ward", "admitted"


@dataclass(frozen=True)
class Planted:
    """A table: quasi-identifiers as generalized, columns as recorded, and the kind of dependency that was planted."""

    kind: str
    about: str
    hidden: dict[str, Hidden]
    recorded: dict[str, pl.Series]
    classes: np.ndarray


def made(seed, kind=None):
    """Make a table from a seed; without a kind its columns are associated with the quasi-identifiers, and no more."""
    draw = np.random.default_rng(seed)
    n = int(draw.integers(400, 2500))
    age = np.clip(draw.normal(55, 18, n), 0, 99).astype(int)
    n_kinds = int(draw.integers(3, 9))
    ward = draw.choice(n_kinds, n, p=draw.dirichlet(np.full(n_kinds, 3.0)))
    day = draw.integers(15_000, 17_000, n)
    is_kept = draw.random(n) > draw.choice([0.2, 0.5, 1.0])
    width = 120 if kind in COARSER else int(draw.choice([5, 10, 20, 120]))
    period = int(draw.choice([30, 91, 365, 4000]))
    hidden = {
        AGES: Hidden(_text(age // width), pl.Series(age.astype(float))),
        KINDS: Hidden(
            pl.Series([f"w{one}" if kept else "*" for one, kept in zip(ward, is_kept, strict=True)]), _text(ward)
        ),
        DAYS: Hidden(_text(day // period), pl.Series(day.astype(float))),
    }
    labels = pl.DataFrame([one.labels.alias(name) for name, one in hidden.items()])
    classes = labels.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy().astype(np.int64)
    recorded = _ordinary(draw, age, ward, day)
    about = ""
    if kind is not None:
        about, planted = PLANTS[kind](draw, age, ward, day)
        recorded |= planted
    names = sorted(recorded, key=lambda name: random.Random(f"{seed}{name}").random())
    return Planted(kind or "none", about, hidden, {name: recorded[name].alias(name) for name in names}, classes)


def _text(values):
    return pl.Series([str(one) for one in values])


def _ordinary(draw, age, ward, day):
    """Columns that go with the quasi-identifiers as in real data: laboratory values, diagnoses, lengths of stay."""
    n = age.size
    systolic = np.round(90 + 0.6 * age + draw.normal(0, draw.uniform(8, 20), n))
    diagnosis = np.where(draw.random(n) < 0.3 + age / 300, ward, draw.integers(0, 20, n))
    return {
        "sbp": pl.Series(systolic),
        "dx": _text(diagnosis),
        "los": pl.Series(np.round(draw.gamma(2, 3, n), 1)),
        "score": pl.Series((age // 20 + draw.integers(0, 3, n)).astype(float)),
        "trend": pl.Series(np.round((day - 15_000) / 100 + draw.normal(0, 6, n), 2)),
        "died": _text((draw.random(n) < age / 200).astype(int)),
        "noise": pl.Series(np.round(draw.normal(0, 1, n), 3)),
        "tested": _recorded_where(draw, draw.random(n) < age / 100),
    }


def _recorded_where(draw, is_recorded):
    """Different numbers, missing elsewhere."""
    return pl.Series(np.where(is_recorded, draw.normal(0, 1, is_recorded.size), np.nan)).fill_nan(None)


def _noisy(draw, values, share=0.02):
    """Values of which some are exchanged."""
    values = np.array(values)
    places = np.flatnonzero(draw.random(values.size) < share)
    values[places] = draw.permutation(values[places])
    return values


def _sum(draw, age, _ward, _day):
    first = draw.integers(0, 60, age.size)
    return AGES, {"first": pl.Series(first.astype(float)), "second": pl.Series((age - first).astype(float))}


def _one_hot(_draw, _age, ward, _day):
    return KINDS, {f"ward_{one}": pl.Series((ward == one).astype(float)) for one in range(ward.max() + 1)}


def _one_hot_text(_draw, _age, ward, _day):
    return KINDS, {f"in_{one}": pl.Series(np.where(ward == one, "yes", "no")) for one in range(ward.max() + 1)}


def _parts(_draw, _age, _ward, day):
    dates = pl.Series(day).cast(pl.Int32).cast(pl.Date)
    return DAYS, {
        "yr": dates.dt.year().cast(pl.Float64),
        "mo": dates.dt.month().cast(pl.Float64),
        "dy": dates.dt.day().cast(pl.Float64),
    }


def _stay(draw, age, _ward, day):
    los = draw.integers(0, 40, age.size)
    return DAYS, {"left": pl.Series((day + los).astype(float)), "nights": pl.Series(los.astype(float))}


def _two_codes(draw, _age, ward, _day):
    shift = draw.integers(0, 5, ward.size)
    return KINDS, {"key": _text(shift), "cipher": _text((ward + shift) % (ward.max() + 5))}


COARSER = ("a decade", "a flag of age", "a test of the old")
PLANTS = {
    "a copy of numbers": lambda _d, age, _w, _y: (AGES, {"copy": pl.Series(age.astype(float))}),
    "a copy as text": lambda _d, _a, ward, _y: (KINDS, {"copy": _text(ward)}),
    "a recoding": lambda draw, _a, ward, _y: (KINDS, {"recoded": _text(draw.permutation(90)[ward])}),
    "a scale": lambda _d, age, _w, _y: (AGES, {"months": pl.Series(12.0 * age + 3)}),
    "a curve": lambda _d, age, _w, _y: (AGES, {"curve": pl.Series(np.round(np.exp(age / 30), 4))}),
    "a noisy copy": lambda draw, age, _w, _y: (AGES, {"copy": pl.Series(_noisy(draw, age).astype(float))}),
    "a noisy recoding": lambda draw, _a, ward, _y: (KINDS, {"recoded": _text(_noisy(draw, ward) + 7)}),
    "numbers of days": lambda _d, _a, _w, day: (DAYS, {"sadmdte": pl.Series((day + 3653).astype(float))}),
    "dummies": _one_hot,
    "dummies as text": _one_hot_text,
    "parts of a date": _parts,
    "a day and a duration": _stay,
    "a sum": _sum,
    "a decade": lambda _d, age, _w, _y: (AGES, {"decade": _text(age // 10)}),
    "a flag of age": lambda _d, age, _w, _y: (AGES, {"senior": _text((age >= 65).astype(int))}),
    "a test of the old": lambda draw, age, _w, _y: (AGES, {"frailty": _recorded_where(draw, age >= 65)}),
    "a cipher and its key": _two_codes,
}
"""What is planted: from a source of chance and the true values to the quasi-identifier and the columns."""
