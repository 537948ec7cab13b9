"""Protecting code sets from Python."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from cloister.engines.choice import is_spark, is_spark_frame
from cloister.errors import InputError, setting
from cloister.hierarchy import Hierarchy
from cloister.io.attributes import joined_frame
from cloister.kernels.compiling import say_first_call
from cloister.pipeline.codes import protect_codes
from cloister.pipeline.codes_shape import USUAL_M, disassociation_of, generalization_of
from cloister.pipeline.generalized_codes import protect_by_generalization
from cloister.settings.declaration import check_word
from cloister.shapes.codes.data import CodeSets, GivenCodes
from cloister.shapes.codes.policy import UtilityPolicy
from cloister.shapes.codes.request import check_codes, check_seed
from cloister.shapes.disassociation.format.data import InferenceCheck, Refine
from cloister.shapes.disassociation.method.release import CodesRelease
from cloister.shapes.generalization.format.data import GeneralizationMethod, TermLoss, Uncovered
from cloister.shapes.generalization.format.privacy_policy import PrivacyPolicy
from cloister.shapes.generalization.method.release import GeneralizedCodesRelease

MEMORY = ("auto", "memory")  # Engines that work in this process


def disassociate(
    codes: CodeSets | Any,
    *,
    k: int,
    m: int = 2,
    policy: UtilityPolicy | None = None,
    max_cluster_size: int | None = None,
    refine: str = "tree",
    inference_check: str = "report",
    inference_threshold: float = 1.0,
    sensitive: Sequence[str] = (),
    diversity: int = 2,
    workload: str | None = None,
    seed: int = 0,
    engine: str = "auto",
) -> CodesRelease:
    """Return a release of code sets by disassociation, verified: all codes as recorded, records in parts.

    Parameters
    ----------
    codes : one set a patient; or a dataframe of Spark with the columns ``id`` and ``codes`` (separated by spaces), or
        ``id`` and ``code`` (one a line)
    k : candidates that must be left to an adversary who knows codes of a patient
    m : codes that somebody may know of a patient
    policy : sets of codes to keep countable together
    max_cluster_size : clusters of fewer records are not split; 2k unless given
    refine : how codes that are rare in their cluster are shared: ``"tree"``, ``"paper"`` or ``"off"``
    inference_check, inference_threshold : ``"report"`` or ``"enforce"`` what is done about codes that give others
        away with at least this confidence, or ``"off"``
    sensitive, diversity : codes that nobody outside knows, kept apart from all others; each of them is in at most one
        record in ``diversity`` of a cluster, so in exactly one of a cluster of fewer than twice as many
    workload : case counts whose error the custodian gets: ``"frequent:5"`` (percent) or ``"random:1000"``
    seed : of the reconstruction in ``data.csv``; nothing that protects is random
    engine : where the work is done: ``"memory"``, or on Spark: ``"spark"``, ``"local[2]"``, ``"spark://host:port"``,
        ``"sc://host:port"``; a dataframe of Spark is worked on where it is

    Returns
    -------
    CodesRelease
        ``clusters`` is what is released; ``reconstruct(seed)`` draws code sets that could have led to it.

    Raises
    ------
    NoSafeRelease
        There are fewer than k records, or a sensitive code is too frequent.

    Notes
    -----
    *Guarantee*: whatever up to m codes an adversary knows of a patient, there is a data set that could have led to the
    release in which at least k records hold them all. Not promised: that those data sets are equally likely, so that
    probabilities can be higher than 1 / k; that a code does not give another one away, unless ``safe`` is
    ``"enforce"``; anything against an adversary who knows more codes or several patients. Cost: see
    `cloister.shapes.disassociation.method.protect`.

    Examples
    --------
    >>> import cloister as cl
    >>> codes = cl.CodeSets.from_records([["250.00", "401.9"], ["250.00", "401.9"], ["250.00", "V58"], ["401.9"]] * 3)
    >>> release = cl.disassociate(codes, k=3, m=2, policy=cl.UtilityPolicy.by_level(codes, level=1))
    >>> release.summary()["records"]
    {'in': 12, 'released': 12, 'suppressed': 0}
    >>> release.reconstruct(seed=1).supports().tolist() == codes.supports().tolist()
    True
    >>> release.verify().holds
    True
    """
    keywords = locals() | {"seed": check_seed(seed)}
    check_word("refine", refine, Refine)
    check_word("inference_check", inference_check, InferenceCheck)
    if is_spark_frame(codes) or is_spark(engine):
        if workload is not None:
            raise InputError(
                f"Workloads are not answered on Spark. Leave the workload out, or take {setting('engine', 'memory')}."
            )
        from cloister.pipeline.codes_on_spark import (  # loads nothing where not needed
            CodesOnSpark,
            protect_codes_on_spark,
        )

        source = CodesOnSpark(codes if is_spark_frame(codes) else check_codes(codes))
        return protect_codes_on_spark(
            source, partial(disassociation_of, keywords, accuracy=False), engine, seed=keywords["seed"]
        )
    check_word("engine", engine, MEMORY)
    given = GivenCodes(check_codes(codes))
    request = disassociation_of(keywords, given, accuracy=workload is not None)
    say_first_call("disassociation")
    return protect_codes(given, request, seed=keywords["seed"])


def generalize_codes(
    codes: CodeSets,
    *,
    k: int,
    privacy: PrivacyPolicy | None = None,
    method: str = "cba",
    policy: UtilityPolicy | None = None,
    uncovered: str = "generalize",
    loss: str = "ilm",
    hierarchy: Hierarchy | None = None,
    code_weights: Sequence[float] | None = None,
    attributes: object = None,
    workload: str | None = None,
    accept_empty: bool = False,
    seed: int = 0,
) -> GeneralizedCodesRelease:
    """Return a release of code sets by generalization, verified: one record a patient, codes in terms or suppressed.

    Parameters
    ----------
    codes : one set a patient
    k : patients that every set of the privacy policy must lead to
    privacy : sets of codes by which an adversary might recognize a patient; all pairs unless given
    method : ``"generalization"`` (loses least), ``"cba"``, ``"ugaclip"`` or ``"apriori"``; the last
        follows the hierarchy and needs all sets of m codes
    policy : codes are generalized only with codes of the same set; with any if there is none
    uncovered : codes of no set are one more set (``"generalize"``), or are suppressed where they cannot stay as they
        are (``"suppress"``)
    loss : what is kept low: ``"ilm"``, or ``"ul"``, which grows exponentially with the codes of a term
    hierarchy : how close codes are; ICD-9-CM or ICD-10-CM, whichever knows more of the codes, unless given
    code_weights : weight in the loss of a set of codes whose lowest common node is at each level of the hierarchy, from
        the lowest, at most two decimals, rising to 1; in equal steps unless given
    attributes : auxiliary attributes, one row a patient and a column with the ids of the codes; released as they are
    workload : case counts whose error the custodian gets: ``"frequent:5"`` (percent) or ``"random:1000"``
    accept_empty : release although nearly everything is lost: a normalized certainty penalty above 0.9
    seed : of a random workload; nothing that protects is random

    Returns
    -------
    GeneralizedCodesRelease
        ``generalized`` is what is released; ``frame`` is the same as a table.

    Raises
    ------
    NoSafeRelease
        There are fewer than k records, or too many codes would have to be suppressed.

    Notes
    -----
    *Guarantee*: any set of the privacy policy that a patient has, and any subset of one, matches no record or at least
    k records. Not promised: anything against an adversary who knows other codes, codes that a patient does not have, or
    the rest of a record; nor that those k records differ in their other codes.
    Cost: see `cloister.shapes.generalization.method.protect`.

    Examples
    --------
    >>> import cloister as cl
    >>> codes = cl.CodeSets.from_records([["296.00", "401.9"], ["296.01", "401.9"], ["296.02", "401.9"], ["401.9"]] * 2)
    >>> privacy = cl.PrivacyPolicy.all_combinations(codes, m=2)
    >>> release = cl.generalize_codes(codes, k=3, privacy=privacy, policy=cl.UtilityPolicy.by_level(codes, level=1))
    >>> release.frame.rows()[0]
    ('(296.00,296.01,296.02) 401.9',)
    >>> release.verify().holds
    True
    """
    keywords = locals() | {"seed": check_seed(seed)}
    check_codes(codes)
    check_word("method", method, GeneralizationMethod)
    check_word("uncovered", uncovered, Uncovered)
    check_word("loss", loss, TermLoss)
    # one of all sets is made anew, since it promises something of all sets of these codes
    m = USUAL_M if privacy is None else privacy.m
    keywords["privacy"] = privacy if m is None else PrivacyPolicy.all_combinations(codes, m)
    given = GivenCodes(codes, attributes=joined_frame(attributes, codes.ids, "the codes"))
    say_first_call("generalization")
    return protect_by_generalization(given, generalization_of(keywords, given), seed=keywords["seed"])
