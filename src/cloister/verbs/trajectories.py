"""Protecting trajectories from Python."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from cloister.codesets.data import CodeSets
from cloister.codesets.policy import GWAS, UtilityPolicy, gwas_diseases, parse_policy
from cloister.codesets.policy_words import as_told
from cloister.engines.choice import is_spark
from cloister.errors import InputError
from cloister.flow.trajectories import protect_trajectories
from cloister.hierarchy import Hierarchy
from cloister.io import as_text, from_native
from cloister.settings import asked
from cloister.trajectories.data import (
    Constraint,
    Cost,
    Diversity,
    Method,
    Number,
    Trajectories,
    TrajectoriesRequest,
    weights_of,
)
from cloister.trajectories.domain import USUAL_AGES, Unknown, usual_codes
from cloister.trajectories.protect import ClusterBlocks, load_kernels
from cloister.trajectories.release import TrajectoriesRelease
from cloister.trajectories.request import GivenTrajectories, ReleaseSettings, SideTable, check_trajectories, joined

USUAL_DIVERSITY = 2


def anonymize_trajectories(
    trajectories: Trajectories,
    *,
    k: int,
    weights: tuple[Number, Number] = (0.5, 0.5),
    method: str = "a-gs",
    cost: str = "paper",
    code_hierarchy: Hierarchy | None = None,
    age_hierarchy: Hierarchy | None = None,
    side: Any = None,
    block: int | Literal["auto", "off"] = "auto",
    drop_empty_pairs: bool = False,
    on_unknown_code: str = "error",
    sensitive: str | None = None,
    sensitive_codes: Sequence[str] | None = None,
    diversity: int | None = None,
    policy: UtilityPolicy | None = None,
    workload: str | None = None,
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
    side : a dataframe of what rides along, one row a patient, with the ids of the trajectories; released as it is
    block : most patients that are compared with each other; ``"off"``: all; ``"auto"``: all where that is feasible
    drop_empty_pairs : leave out pairs of which neither code nor age is told
    on_unknown_code : what becomes of codes that the hierarchy does not have: ``"error"``, ``"root"`` (they become `*`
        where they cannot stay) or ``"drop"``
    sensitive, diversity : a side column of which at most one in ``diversity`` patients who share a trajectory may have
        the same value; 2 unless given
    sensitive_codes : in place of ``sensitive``: codes of which one may stand behind a released code of at most one in
        ``diversity`` patients who share a trajectory; some may not occur in the data
    policy : sets of codes that must not be generalized with others
    workload : pairs and sets of pairs whose counts are answered from the release, for the custodian: ``"frequent:1"``
        (percent of the patients who have them)
    seed : written down; nothing that protects is random
    engine : where blocks are clustered: ``"memory"``, or on Spark: ``"spark"``, ``"local[2]"``, ``"spark://host:port"``,
        ``"sc://host:port"``

    Returns
    -------
    TrajectoriesRelease
        ``frame`` is what is released, one row a pair; ``side`` what rides along.

    Raises
    ------
    InputError
        The trajectories or the settings cannot be used.
    NoSafeRelease
        There are fewer than k patients, or a sensitive value is too frequent.

    Notes
    -----
    *Guarantee*: any combination of a patient's codes and ages matches no released trajectory or those of at least k
    patients. Not promised: anything against an adversary who knows a side column, which is released as it is; that the
    k patients differ in their codes. Cost: see `cloister.trajectories.protect`.

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
    told = locals()
    check_trajectories(trajectories)
    _check_words(("method", method, tuple(Method)), ("cost", cost, tuple(Cost)))
    _check_words(("on_unknown_code", on_unknown_code, tuple(Unknown)))
    request = asked(
        TrajectoriesRequest,
        told,
        code_hierarchy=usual_codes(trajectories) if code_hierarchy is None else code_hierarchy,
        age_hierarchy=USUAL_AGES if age_hierarchy is None else age_hierarchy,
        weights=weights_of(*weights),
        drop_empty=drop_empty_pairs,
        diversity=diversity_of(sensitive, sensitive_codes, diversity),
        constraints=() if policy is None else constraints_of(policy),
    )
    given = GivenTrajectories(trajectories)
    if side is not None:
        given = _with_side(given, side)
    spec = None if policy is None else as_told(policy, _code_set(trajectories)).spec
    settings = ReleaseSettings(Unknown(on_unknown_code), workload, spec)
    with clustering_on(engine) as cluster:
        return protect_trajectories(given, request, settings, seed=seed, load=load_kernels, cluster=cluster)


@contextmanager
def clustering_on(engine: str) -> Iterator[ClusterBlocks | None]:
    """Yield what clusters blocks on an engine: the workers of Spark; None for threads of this process."""
    if not is_spark(engine):
        _check_words(("engine", engine, ("auto", "memory")))
        yield None
        return
    from cloister.engines.spark.session import spark_session
    from cloister.engines.spark.trajectories import cluster_on

    with spark_session(engine) as session:
        yield cluster_on(session)


def diversity_of(column: str | None, codes: Sequence[str] | None, share: int | None) -> Diversity | None:
    """Return what is asked of a sensitive side column or of sensitive codes; None where nothing is.

    Sensitive codes may be those of a list that others made: which of them occur in the data is not said.

    Parameters
    ----------
    share : l of the diversity; `USUAL_DIVERSITY` if None

    Raises
    ------
    InputError
        A diversity is asked of nothing, or codes are no texts, or there are none.
    """
    if column is None and codes is None:
        if share is not None:
            raise InputError("A diversity is about something sensitive. Name a side column or codes.")
        return None
    if isinstance(codes, str) or (codes is not None and not all(isinstance(code, str) for code in codes)):
        raise InputError("Sensitive codes are a list of texts, as in ['042', 'V08']. Give them so.")
    words = frozenset(code.strip() for code in codes or ())
    if codes is not None and (not words or "" in words):
        raise InputError("Sensitive codes were asked for, but none or an empty one is named. Name them, or leave it.")
    return Diversity(USUAL_DIVERSITY if share is None else share, words, column)


def parse_constraints(text: str, trajectories: Trajectories) -> UtilityPolicy:
    """Return the utility policy that words or a JSON file name.

    Raises
    ------
    InputError
        There is no such policy.
    """
    return as_told(parse_policy(text, _code_set(trajectories)), _code_set(trajectories))


def constraints_of(policy: UtilityPolicy) -> tuple[Constraint, ...]:
    """Return the sets of a policy, all of them, so that how many there are tells nothing of the data.

    Raises
    ------
    InputError
        The sets are frequent ones, which are those of code sets.
    """
    if policy.support is not None:
        raise InputError("Frequent sets (sup:) are for code sets. Name the codes, or take level:1, sim:5 or gwas.")
    sets = dict(zip(policy.names, policy.constraints, strict=True))
    if policy.spec == GWAS:
        sets = {disease: sets.get(disease, frozenset()) for disease in gwas_diseases()}
    return tuple(Constraint(name, codes) for name, codes in sets.items())


def _code_set(trajectories: Trajectories) -> CodeSets:
    """All codes as one set, of which policies are made."""
    items = np.arange(len(trajectories.vocabulary), dtype=np.int32)
    return CodeSets(trajectories.vocabulary, np.array([0, items.size], dtype=np.int64), items)


def _with_side(given: GivenTrajectories, side: Any) -> GivenTrajectories:
    ids = given.trajectories.ids
    if ids is None:
        raise InputError("Side columns are joined by id, but the trajectories have none.")
    table: SideTable = joined(from_native(side).frame, as_text(ids), "side", None, "the trajectories")
    return replace(given, side=table)


def _check_words(*settings: tuple[str, str, tuple[str, ...]]) -> None:
    """Refuse words that no setting has."""
    for name, word, known in settings:
        if word not in known:
            raise InputError(f"{name} can be {', '.join(known)}, not {word!r}.")
