"""A first job from Python."""

from pathlib import Path

from cloister.errors import InputError
from cloister.jobs.first_job import SHAPES, FirstJob
from cloister.pipeline.first_jobs import FirstJobRequest, write_first_job


def init(data: str | Path, out: str | Path, *, shape: str = "table", k: int = 5) -> FirstJob:
    """Guess a job that protects a file, try it, and write it; the same as ``cloister init``, by the same code.

    Parameters
    ----------
    data : CSV (also gzip'd) or Parquet file
    out : where the job is written; must not exist
    shape : ``"table"``, ``"codes"`` or ``"trajectories"``
    k : patients that must look the same

    Returns
    -------
    FirstJob
        Its ``text``, ``columns`` (what each was taken for, how surely and why), and a ``problem`` if it gives no
        release as it is.

    Notes
    -----
    *Guarantee*: none by itself. What is not known of a column stands in the job, to be decided by people; the release
    of the job has the guarantee that it states. Cost: reading the file, and one release of a table.

    Examples
    --------
    >>> import os, tempfile
    >>> import polars as pl, cloister as cl
    >>> people = pl.DataFrame({"age": [31, 34, 38, 52, 57, 33] * 5, "sex": ["F", "F", "F", "M", "M", "F"] * 5})
    >>> folder = tempfile.TemporaryDirectory()
    >>> people.write_csv(os.path.join(folder.name, "people.csv"))
    >>> made = cl.init(os.path.join(folder.name, "people.csv"), os.path.join(folder.name, "job.toml"))
    >>> [(one.column, one.role) for one in made.columns]
    [('age', 'quasi-identifier'), ('sex', 'quasi-identifier')]
    >>> folder.cleanup()
    """
    if shape not in SHAPES:
        raise InputError(
            f"A first job can be of {', '.join(SHAPES)}, not of {shape!r}. Claims have a plan of their own."
        )
    return write_first_job(FirstJobRequest(shape, Path(data), Path(out), k))[0]
