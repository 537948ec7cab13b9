"""The promises of released trajectories, checked without SQL: text is grouped with Polars."""

import numpy as np
import polars as pl

from cloister.shapes.trajectories.format.data import AGE, CODE, ID

BETWEEN, KEY = "\0", "trajectory\0"


def broken(released, guarantee):
    """The promises that released trajectories break."""
    frame, attributes = released.frame, released.attributes
    if not frame.height or any(frame.null_count().row(0)):
        return ["form"]
    if frame[ID][0] != 1 or not frame[ID].diff().slice(1).is_in([0, 1]).all():
        return ["numbers"]
    if attributes is not None and not np.array_equal(attributes[ID], np.arange(1, int(frame[ID][-1]) + 1)):
        return ["attributes"]
    names = [name for name in frame.columns if name != ID]
    if names != [CODE, AGE, "detail"][: 3 if guarantee.has_details else 2]:
        return ["columns"]
    pair = pl.concat_str(names, separator=BETWEEN)
    patients = frame.group_by(ID, maintain_order=True).agg(pair.str.join(BETWEEN).alias(KEY))
    content = patients.select(KEY)
    if attributes is not None:
        content = content.hstack(attributes.drop(ID))
    rows = frame.with_columns(pl.len().over(ID).alias("rows\0"))
    empty = rows.select(pl.all_horizontal(*(pl.col(name) == "*" for name in names), pl.col("rows\0") > 1)).to_series()
    found = {
        "order": not content.equals(content.sort(content.columns, nulls_last=False)),
        "k": patients.group_by(KEY).len()["len"].min() < guarantee.k,
        "empty pairs": guarantee.drop_empty and empty.any(),
        "diversity": not _is_diverse(patients, attributes, guarantee.diversity),
    }
    return [promise for promise, is_broken in found.items() if is_broken]


def _is_diverse(patients, attributes, diversity):
    """Whether no value is that of more than one in l; a missing one is none."""
    if diversity is None or diversity.column is None:
        return True
    if attributes is None or diversity.column not in attributes.columns:
        return False
    rows = patients.select(KEY, pl.len().over(KEY).alias("of\0")).with_columns(
        attributes[diversity.column].alias("value\0")
    )
    held = rows.drop_nulls("value\0").group_by(KEY, "value\0").agg(pl.len().alias("held\0"), pl.col("of\0").first())
    return not (held["held\0"] * diversity.l > held["of\0"]).any()
