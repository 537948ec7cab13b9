"""Protecting trajectories from Python."""

from collections.abc import Sequence
from typing import Literal

from cloister.hierarchy import Hierarchy
from cloister.io.attributes import joined_frame
from cloister.kernels.compiling import say_first_call
from cloister.pipeline.trajectories import protect_trajectories
from cloister.pipeline.trajectories_shape import clustering_on, code_set, request_of
from cloister.settings.declaration import check_word
from cloister.shapes.codes.policy import UtilityPolicy, as_published
from cloister.shapes.trajectories.format.data import Cost, Method, Number, Trajectories, Unknown
from cloister.shapes.trajectories.format.request import GivenTrajectories, check_trajectories
from cloister.shapes.trajectories.method.release import TrajectoriesRelease


def anonymize_trajectories(
    trajectories: Trajectories,
    *,
    k: int,
    weights: tuple[Number, Number] = (0.5, 0.5),
    method: str = "a-gs",
    cost: str = "paper",
    code_hierarchy: Hierarchy | None = None,
    age_hierarchy: Hierarchy | None = None,
    attributes: object = None,
    block: int | Literal["auto", "off"] = "auto",
    max_loss: float | None = None,
    drop_empty_pairs: bool = False,
    on_unknown_code: str = "error",
    sensitive: str | None = None,
    sensitive_codes: Sequence[str] | None = None,
    diversity: int | None = None,
    policy: UtilityPolicy | None = None,
    workload: str | None = None,
    accept_empty: bool = False,
    seed: int = 0,
    engine: str = "auto",
) -> TrajectoriesRelease:
    """Return a release of trajectories, verified: every released trajectory is that of at least k patients.

    Parameters
    ----------
    trajectories : one sequence of (code, age) pairs a patient
    k : patients that share every released trajectory
    weights : of codes and of ages in the loss that is kept low; each from 0 on, together 1
    method : how two trajectories are aligned: ``"a-gs"`` (least loss), or ``"baseline"`` (pairs in the same places)
    cost : ``"paper"``, or ``"exact"``: a merged pair's further loss counts for each patient that it stands for
    code_hierarchy : what codes are generalized to; ICD-9-CM or ICD-10-CM, whichever knows more of the codes, unless
        given
    age_hierarchy : what ages are generalized to; 1, 5, 10, 20 years and 90 and over together unless given
    attributes : a dataframe of auxiliary attributes, one row a patient, with the ids of the trajectories
    block : most patients that are compared with each other; ``"off"``: all; ``"auto"``: all where that is feasible
    max_loss : leave out clusters whose pairs lose more than this share in the mean, by the weights
    drop_empty_pairs : leave out pairs whose code and age are both suppressed
    on_unknown_code : what becomes of codes that the hierarchy does not have: ``"error"``, ``"root"`` (they become `*`
        where they cannot stay) or ``"drop"``
    sensitive, diversity : an auxiliary column of which at most one in ``diversity`` patients who share a trajectory
        have the same value; 2 unless given
    sensitive_codes : in place of ``sensitive``: codes of which one may stand behind a released code of at most one in
        ``diversity`` patients who share a trajectory; some may not occur in the data
    policy : sets of codes that must not be generalized with others
    workload : pairs and sets of pairs whose counts are answered from the release, for the custodian: ``"frequent:1"``
        (percent of the patients who have them)
    accept_empty : release although nearly everything is lost: more than 0.9 of codes and ages in the mean
    seed : written down; nothing that protects is random
    engine : where blocks are clustered: ``"memory"``, or on Spark: ``"spark"``, ``"local[2]"``, ``"spark://host:port"``,
        ``"sc://host:port"``

    Returns
    -------
    TrajectoriesRelease
        ``frame`` is what is released, one row a pair; ``attributes`` auxiliary attributes.

    Raises
    ------
    NoSafeRelease
        There are fewer than k patients, or a sensitive value is too frequent.

    Notes
    -----
    *Guarantee*: any combination of a patient's codes and ages matches no released trajectory or those of at least k
    patients. Not promised: anything against an adversary who knows an auxiliary column, which is released as it is;
    that the k patients differ in their codes. Cost: see `cloister.shapes.trajectories.method.protect`.

    Examples
    --------
    >>> import cloister as cl
    >>> records = [[("401.1", 38), ("401.1", 40)], [("401.9", 38), ("401.1", 40)], [("401.1", 38), ("401.9", 40)]]
    >>> release = cl.anonymize_trajectories(cl.Trajectories.from_records(records), k=3, weights=(0.5, 0.5))
    >>> release.frame.rows()[:2]
    [(1, '401', '38'), (1, '401', '40')]
    >>> release.verify().holds
    True
    """
    keywords = locals()
    check_trajectories(trajectories)
    check_word("method", method, Method)
    check_word("cost", cost, Cost)
    check_word("on_unknown_code", on_unknown_code, Unknown)
    if policy is not None:
        policy = as_published(policy, code_set(trajectories))
    given = GivenTrajectories(trajectories, joined_frame(attributes, trajectories.ids, "the trajectories"))
    request = request_of(keywords, trajectories, policy)
    say_first_call("trajectories")
    with clustering_on(engine) as cluster:
        return protect_trajectories(given, request, seed=seed, cluster=cluster)
