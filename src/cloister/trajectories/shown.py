"""What the report shows of trajectories beside their manifest: labels of codes and ages, and how many are alike."""

import polars as pl

from cloister.io import as_text
from cloister.report_figures import Counted, Shown, label_counts

from .data_file import AGE, CODE, ID, WrittenTrajectories

DATA, SIDE = "data", "side"


def shown_of(files: WrittenTrajectories, k: int) -> Shown:
    """Return what is shown of trajectories."""
    alike = files.frame.group_by(ID).agg(CODE, AGE).group_by(CODE, AGE).agg(pl.len().alias("patients"))
    texts = {DATA: pl.DataFrame([as_text(files.frame[column]) for column in (CODE, AGE)])}
    if files.side is not None and files.side.width > 1:
        texts[SIDE] = pl.DataFrame([as_text(files.side[column]) for column in files.side.columns if column != ID])
    return Shown(
        k=k,
        sizes=alike["patients"],
        of="patients",
        by="how many share their trajectory",
        columns=tuple(
            Counted(DATA, column, "pairs", label_counts(as_text(files.frame[column]))) for column in (CODE, AGE)
        ),
        files=texts,
    )
