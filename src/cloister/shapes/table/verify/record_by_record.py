"""Compare a released table with its original, record by record, if the source of each record is known.

Releases whose levels differ from class to class, whose numbers were averaged, or of patients with several records are
compared here; where the records are not known, `assignment` does."""

import re
from collections import Counter
from fractions import Fraction
from statistics import median

import polars as pl

from cloister.hierarchy import BoundHierarchy
from cloister.io import Tally
from cloister.io.columns import pack_text
from cloister.results import Checks
from cloister.shapes.table.format.guarantee import Guarantee, OriginalTable
from cloister.shapes.table.format.options import MODE
from cloister.verification.script import Finding, Script, note

from .classes import COUNT

TEMPLATE = "shapes/table/verify/record_by_record.sql.j2"
LABELS = dict.fromkeys(("place", "value", "label"), pl.String)
NO_LABELS = pl.DataFrame(schema=LABELS)


def check_record_by_record(texts: pl.DataFrame, guarantee: Guarantee, original: OriginalTable, checks: Checks) -> None:
    """Compare every released record with its original record.

    ``texts``: the released table as text, rows of ``*`` included; ``original.records`` says whose each row is.
    """
    records = pl.Series([], dtype=pl.Int64) if original.records is None else original.records
    known = records.drop_nulls()
    is_whose = (
        len(records) == texts.height
        and known.n_unique() == len(known)
        and (len(known) == 0 or 0 <= int(known.sort()[0]) <= int(known.sort()[-1]) < original.frame.height)
    )
    checks.require(
        is_whose,
        "every released record was made from one record of the original, and no two from the same",
        "it is not known from which record of the original each released record was made",
    )
    if not is_whose:
        return
    released, own = texts.filter(records.is_not_null()), original.frame[known]
    note(checks, find_differing(released, own, guarantee, original))
    _check_averages(released, own, guarantee, checks)


def find_differing(
    released: pl.DataFrame, own: pl.DataFrame, guarantee: Guarantee, original: OriginalTable
) -> tuple[Finding, ...]:
    """Compare each released record with its original record, by SQL."""
    places = {column: place for place, column in enumerate(guarantee.columns)}
    numbers = places.get(guarantee.patient or "") if guarantee.id is not None else None
    both = {f"released_{place}": released[column] for column, place in places.items()}
    both |= {f"own_{place}": own[column] for column, place in places.items() if column in own.columns}
    labels = [
        original.hierarchies[column]
        .pairs(own[column], released[column], levels_of(guarantee, column))
        .select(pl.lit(f"{places[column]}").alias("place"), "value", "label")
        for column in find_labelled_columns(guarantee)
    ]
    facts = {
        "labelled": [places[column] for column in find_labelled_columns(guarantee)],
        "recorded": [places[column] for column in recorded_columns(guarantee)],
        "classes": [places[column] for column in guarantee.levels],
        "patient": numbers,
        "same": SAME,
    }
    frames = {"records": pl.DataFrame([column.alias(name) for name, column in both.items()])}
    return Script(TEMPLATE, facts).run_on(frames | {"labels": pl.concat([NO_LABELS, *labels])})


def _check_averages(released: pl.DataFrame, own: pl.DataFrame, guarantee: Guarantee, checks: Checks) -> None:
    """Averages are those of the recorded values of all records that look alike; empty where one has no value."""
    if not guarantee.averaged:
        return
    columns, wrong = list(guarantee.levels), 0
    for column, how in guarantee.averaged.items():
        values = released.select(columns).with_columns(own[column].alias("recorded"), released[column].alias("shown"))
        groups = values.group_by(columns).agg(pl.col("recorded"), pl.col("shown").first())
        for recorded, shown in groups.select("recorded", "shown").iter_rows():
            most = max(Counter(recorded).values())
            if None in recorded or (how == MODE and most == 1):
                wrong += shown is not None
            elif how == MODE:
                wrong += shown != min((value for value, n in Counter(recorded).items() if n == most), key=str.encode)
            elif shown is None or not TWO_DECIMALS.fullmatch(shown):
                wrong += 1
            else:
                numbers = [Fraction(value) for value in recorded]
                exact = median(numbers) if how == "median" else sum(numbers, Fraction(0)) / len(numbers)
                wrong += abs(Fraction(shown) - exact) > ROUNDING
    checks.require(
        wrong == 0,
        "averages are those of the recorded values of each class",
        f"{wrong} averages are not those of the recorded values of their class",
    )


def find_labelled_columns(guarantee: Guarantee) -> list[str]:
    """Return the quasi-identifiers that are released as labels."""
    return [column for column in guarantee.levels if column not in guarantee.averaged]


def recorded_columns(guarantee: Guarantee) -> list[str]:
    """Return the columns that are released as recorded."""
    return [column for column in guarantee.columns if column not in guarantee.levels and column != guarantee.id]


def levels_of(guarantee: Guarantee, column: str) -> tuple[int, ...]:
    """Return the levels that occur in a quasi-identifier."""
    return guarantee.recoded.get(column, (guarantee.levels[column],))


def ancestors(text: pl.Series, hierarchy: BoundHierarchy, level: int) -> pl.Series:
    """Return the ancestor of each value at a level, by a join with the bound hierarchy's rows."""
    columns = {"value": hierarchy.values, "label": hierarchy.labels[level]}
    pairs, values = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)), text
    if isinstance(text.dtype, pl.Enum):
        values = pl.concat([text.dtype.categories, pl.Series([None], dtype=pl.String)])
    own = values.to_frame("value").join(pairs, on="value", how="left", nulls_equal=True, maintain_order="left")["label"]
    if isinstance(text.dtype, pl.Enum):
        own = pack_text(own, always=True).gather(text.to_physical().cast(pl.UInt32).fill_null(values.len() - 1))
    return own.alias(text.name)


def with_patients(released: Tally, guarantee: Guarantee, original: OriginalTable) -> Tally:
    """Return the records with their patients, by place, if only the original identifies the patients."""
    patient = guarantee.patient
    if patient is None or patient in released.frame.columns or original.records is None:
        return released
    whose = original.frame[patient].gather(original.records.drop_nulls()).alias(patient)
    return released.replace_rows(released.frame.with_columns(whose))


def histories(records: pl.DataFrame, guarantee: Guarantee) -> pl.DataFrame:
    """Return the number of patients of a class with the same records: class, ``history`` and count."""
    classes, patient = list(guarantee.levels), guarantee.patient or ""
    others = [column for column in guarantee.columns if column not in (*classes, patient)]
    cells = [
        pl.when(pl.col(column).is_null())
        .then(pl.lit("-"))
        .otherwise(pl.concat_str(pl.col(column).str.len_bytes(), pl.lit(":"), pl.col(column)))
        for column in others
    ]
    row = pl.concat_str(*cells) if cells else pl.lit(".")
    found = records.group_by([*classes, patient]).agg(row.sort().str.join("|").alias("history"))
    return found.group_by([*classes, "history"]).agg(pl.len().cast(pl.Int64).alias(COUNT))


TWO_DECIMALS = re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]{2}")  # more could hide anything in a verified release
ROUNDING = Fraction(1, 200)  # how far an average may be from the exact one: half of a hundredth


SAME = "records of one number in a class are those of one patient"
