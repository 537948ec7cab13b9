"""Python interface for protecting trajectories."""

from typing import Any

from cloister.io.attributes import joined_frame
from cloister.pipeline.protecting import protect
from cloister.pipeline.trajectories_shape import TrajectoriesShape
from cloister.shapes.trajectories.format.data import Trajectories
from cloister.shapes.trajectories.format.options import TrajectoriesOptions
from cloister.shapes.trajectories.format.request import GivenTrajectories, check_trajectories
from cloister.shapes.trajectories.method.release import TrajectoriesRelease

from .keywords import NOWHERE, options_of, run_of, takes_settings

VERB = "protect_trajectories"
WITHOUT = ("id", "code", "age", "date", "anchor", "age_unit", "detail", "attributes", "ids")
"""How trajectories are read; ``attributes`` are a dataframe."""


@takes_settings(TrajectoriesOptions, WITHOUT, more={"attributes": None})
def protect_trajectories(trajectories: Trajectories, **keywords: Any) -> TrajectoriesRelease:
    """Return a verified release of trajectories: at least k patients share every released trajectory.

    Parameters
    ----------
    trajectories : one sequence of (code, age) pairs a patient
    **keywords : attributes : a dataframe of auxiliary attributes, one row a patient, with the ids of the trajectories;
        released as recorded

    Returns
    -------
    TrajectoriesRelease
        ``frame`` is what is released, one row a pair; ``attributes`` auxiliary attributes.

    Raises
    ------
    InputError
        A setting is unknown or wrong.
    NoSafeRelease
        There are fewer than k patients, or a sensitive value is too frequent.

    Notes
    -----
    *Guarantee*: any combination of a patient's codes, ages and details matches no released trajectory or those of at
    least k patients. Not promised: anything against an adversary who knows an auxiliary column, which is released as it
    is; that the k patients differ in their codes. Cost: see `cloister.shapes.trajectories.method.protect`.

    Examples
    --------
    >>> import cloister as cl
    >>> records = [[("401.1", 38), ("401.1", 40)], [("401.9", 38), ("401.1", 40)], [("401.1", 38), ("401.9", 40)]]
    >>> release = cl.protect_trajectories(cl.Trajectories.from_records(records), k=3, weights=(0.5, 0.5))
    >>> release.frame.rows()[:2]
    [(1, '401', '38'), (1, '401', '40')]
    >>> release.verify().holds
    True
    """
    attributes = keywords.pop("attributes", None)
    if isinstance(column := keywords.get("sensitive"), str):
        keywords["sensitive"] = (column,)
    options = options_of(VERB, TrajectoriesOptions, keywords, WITHOUT, data=NOWHERE, out=NOWHERE)
    TrajectoriesShape().check(options)
    check_trajectories(trajectories)
    given = GivenTrajectories(trajectories, joined_frame(attributes, trajectories.ids, "the trajectories"))
    run = run_of()
    release = protect(TrajectoriesShape().prepare(options, run, given), run)
    assert isinstance(release, TrajectoriesRelease)
    return release
