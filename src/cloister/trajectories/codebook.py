"""What the columns and labels of a release of trajectories mean. Says nothing that the files do not."""

import re

import polars as pl

from cloister.hierarchy.ladder import ROOT

from .data_file import AGE, CODE, ID, WrittenTrajectories

Row = tuple[str, str, str | None, None, str | None, str]

BOOK = ("column", "role", "hierarchy", "level", "label", "meaning")
NUMBER = "number of the patient in this release; the pairs of a patient stand in their order"
ANY_CODE = "any code, or that nothing is told"
ANY_AGE = "any age, or that nothing is told"
BELOW = "this code, or any below it in the hierarchy"
BESIDE = "as recorded, in side.csv"

NUMBER_ALONE = re.compile(r"[0-9.]+")
MEANINGS_OF_AGES = (
    (NUMBER_ALONE, "as recorded"),
    (re.compile(r"\[.*[0-9]\]"), "an age in this interval, both ends included; a decimal counts as its whole part"),
    (re.compile(r">=[0-9]+"), "this age and all above"),
    (re.compile(r"<[0-9]+"), "all ages below"),
)
GROUP = "a group of ages of the hierarchy"
AGE_BELOW = "this age, or any below it in the hierarchy"
AS_RECORDED_UNDER = ("interval", "suppress")
"""Kinds of hierarchies under which a number stands for itself alone."""


def codebook(released: WrittenTrajectories, codes: str, ages: str) -> pl.DataFrame:
    """Return one row for each label of codes and of ages that is released, and one for each other column."""
    rows: list[Row] = [(ID, "identifier", None, None, None, NUMBER)]
    rows += [(CODE, "quasi-identifier", codes, None, label, _of_code(label)) for label in _labels(released, CODE)]
    rows += [(AGE, "quasi-identifier", ages, None, label, _of_age(label, ages)) for label in _labels(released, AGE)]
    beside = [] if released.side is None else released.side.columns[1:]
    rows += [(column, "side", None, None, None, BESIDE) for column in beside]
    return pl.DataFrame(rows, schema=dict.fromkeys(BOOK, pl.String), orient="row")


def _labels(released: WrittenTrajectories, column: str) -> list[str]:
    return [str(label) for label in released.frame[column].unique().sort()]


def _of_code(label: str) -> str:
    return ANY_CODE if label == ROOT else BELOW


def _of_age(label: str, kind: str) -> str:
    if label == ROOT:
        return ANY_AGE
    if kind not in AS_RECORDED_UNDER and NUMBER_ALONE.fullmatch(label):
        return AGE_BELOW
    return next((meaning for pattern, meaning in MEANINGS_OF_AGES if pattern.fullmatch(label)), GROUP)
