"""Python interface for jobs: suggest a first job, and run a complete one."""

from pathlib import Path

from cloister.errors import InputError
from cloister.io import from_native
from cloister.jobs.first_jobs import (
    SHAPES,
    FirstJob,
    FirstJobRequest,
    SuggestedSettings,
    suggest_settings,
    write_first_job,
)
from cloister.jobs.job_file import job_of, read_job
from cloister.jobs.running import JobRun, try_job, write_job
from cloister.results import Figures
from cloister.settings.declaration import Keywords

THE_JOB = "the job"


def run_job(
    job: str | Path | Keywords,
    *,
    dry_run: bool = False,
    out: str | Path | None = None,
    overwrite: bool = False,
    custodian_dir: str | Path | None = None,
) -> Figures:
    """Run a complete job: several sources, several protections, one folder whose parts cannot be joined.

    The same as ``cloister run``, by the same code. While it runs, the working directory of the process is the
    folder of the job file: names of files in the job are relative to it.

    Parameters
    ----------
    job : a job file, or its content as a dictionary, in which names of files are relative to the working directory
    dry_run : read and check everything, say what would be done, and write nothing
    out : folder for the release; default: the output of the job
    overwrite : replace an earlier release of a job
    custodian_dir : folder, outside the release, for what only the custodian may see

    Returns
    -------
    dict
        Its ``warnings``, the manifest of the job, its folder as ``out`` and what a user should know as ``notes``; of a
        dry run its ``parts`` and ``notes``.

    Raises
    ------
    NoSafeRelease
        A part has no safe release, or rows of two parts can be joined.

    Notes
    -----
    *Guarantee*: each part has its own; in addition, no row of one part leads to a row of another by columns that both
    release as recorded. Cost: that of the parts.

    Examples
    --------
    >>> import os, tempfile
    >>> import polars as pl, cloister as cl
    >>> people = pl.DataFrame({"age": [31, 34, 38, 52, 57], "sex": ["F", "F", "F", "M", "M"]})
    >>> folder = tempfile.TemporaryDirectory()
    >>> people.write_csv(os.path.join(folder.name, "people.csv"))
    >>> done = cl.run_job({
    ...     "name": "a trial", "output": os.path.join(folder.name, "release"), "k": 2,
    ...     "sources": {"people": {"file": os.path.join(folder.name, "people.csv")}},
    ...     "protect": [{"shape": "table", "source": "people", "qi": {"age": "interval:10,50", "sex": "suppress"}}],
    ... })
    >>> [(part["name"], part["risk"]) for part in done["parts"]], sorted(os.listdir(done["out"]))[0]
    ([('people', 0.5)], 'README.txt')
    >>> folder.cleanup()
    """
    asked = job_run(job, custodian_dir, out)
    if dry_run:
        return try_job(asked, overwrite=overwrite).summary(str)
    written = write_job(asked, overwrite=overwrite)
    notes = [*map(str, written.notes)]
    return {"warnings": [*written.warnings], **written.manifest, "out": str(asked.out), "notes": notes}


def job_run(
    job: str | Path | Keywords, custodian_dir: str | Path | None = None, out: str | Path | None = None
) -> JobRun:
    """Return the run of a job that a file or a dictionary states."""
    if isinstance(job, str | Path):
        path, read = Path(job).absolute(), read_job(Path(job))
    else:
        path, read = Path(THE_JOB).absolute(), job_of(job, THE_JOB)
    secret = None if custodian_dir is None else Path(custodian_dir).absolute()
    return JobRun(read, path, path.parent / read.output if out is None else Path(out).absolute(), secret)


def init(
    data: object, out: str | Path | None = None, *, shape: str = "table", k: int = 5
) -> FirstJob | SuggestedSettings:
    """Suggest settings that protect a dataframe, or a job that protects a file; see ``cloister init``.

    Parameters
    ----------
    data : a dataframe; or a CSV (also gzip'd) or Parquet file
    out : of a file: where the job is written; must not exist
    shape : ``"table"``, ``"codes"`` or ``"trajectories"``
    k : patients that must look the same

    Returns
    -------
    SuggestedSettings or FirstJob
        Of a dataframe ``columns`` (the suggested role of each, how surely and why), ``undecided`` and the
        ``keywords`` for `protect_table`. Of a file the job as ``text``, its ``columns``, and a ``problem`` if it gives
        no release as it is.

    Notes
    -----
    *Guarantee*: none by itself. What is not known of a column is in the job, to be decided by people; the release
    of the job has the guarantee that it states. Cost: reading the file, and one release of a table.

    Examples
    --------
    >>> import os, tempfile
    >>> import polars as pl, cloister as cl
    >>> people = pl.DataFrame({"age": [31, 34, 38, 52, 57, 33] * 5, "sex": ["F", "F", "F", "M", "M", "F"] * 5})
    >>> folder = tempfile.TemporaryDirectory()
    >>> people.write_csv(os.path.join(folder.name, "people.csv"))
    >>> suggested = cl.init(people, k=2)
    >>> sorted(suggested.keywords["qi"]), suggested.undecided
    (['age', 'sex'], ())
    >>> cl.protect_table(people, **suggested.keywords).verify().holds
    True
    >>> made = cl.init(os.path.join(folder.name, "people.csv"), os.path.join(folder.name, "job.toml"))
    >>> [(one.column, one.role) for one in made.columns]
    [('age', 'quasi-identifier'), ('sex', 'quasi-identifier')]
    >>> folder.cleanup()
    """
    if not isinstance(data, str | Path):
        if out is not None or shape != "table":
            raise InputError("Output and shape are for files. Leave them out for a dataframe.")
        return suggest_settings(from_native(data).frame, k)
    if out is None:
        raise InputError("Name the file that the job is written to, as in cl.init('patients.csv', 'job.toml').")
    if shape not in SHAPES:
        raise InputError(
            f"A first job can be of {', '.join(SHAPES)}, not of {shape!r}. Claims have a plan of their own."
        )
    return write_first_job(FirstJobRequest(shape, Path(data), Path(out), k))[0]
