"""Python interface for protecting code sets."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from cloister.engines.choice import is_spark, is_spark_frame
from cloister.errors import InputError, setting
from cloister.io.attributes import joined_frame
from cloister.pipeline.codes_shape import CodesShape, disassociation_of
from cloister.pipeline.protecting import protect
from cloister.settings.declaration import settings_given
from cloister.shapes.codes.data import CodeSets, GivenCodes
from cloister.shapes.codes.options import CodesOptions
from cloister.shapes.codes.request import check_codes
from cloister.shapes.disassociation.method.release import CodesRelease
from cloister.shapes.generalization.method.release import GeneralizedCodesRelease

from .keywords import NOWHERE, options_of, run_of, takes_settings

VERB = "protect_codes"
WITHOUT = ("id", "codes", "code", "separator", "repeats", "drop_empty", "attributes", "ids")
"""How codes are read; ``attributes`` are a dataframe."""


@dataclass(frozen=True, kw_only=True)
class CodesKeywords(CodesOptions):
    """The settings of code sets as Python takes them."""

    @property
    def measures_workload(self) -> bool:
        """Whether the custodian receives the error of counts: true if a workload is given."""
        return self.workload is not None


@takes_settings(CodesKeywords, WITHOUT, more={"attributes": None})
def protect_codes(codes: CodeSets | Any, **keywords: Any) -> CodesRelease | GeneralizedCodesRelease:
    """Return a verified release of code sets, by disassociation or by generalization of codes.

    Parameters
    ----------
    codes : one set a patient; for disassociation also a dataframe of Spark with the columns ``id`` and ``codes``
        (separated by spaces), or ``id`` and ``code`` (one a line)
    **keywords : attributes : of generalization: a dataframe of auxiliary attributes, one row a patient and a column
        with the ids of the codes; released as recorded

    Returns
    -------
    CodesRelease or GeneralizedCodesRelease
        Of disassociation ``clusters`` is what is released, and ``reconstruct(seed)`` draws code sets that could have
        led to it. Of the other methods ``generalized`` is what is released; ``frame`` is the same as a table.

    Raises
    ------
    InputError
        A setting is unknown or wrong, or is for another method.
    NoSafeRelease
        There are fewer than k records, a sensitive code is too frequent, or too many codes would be suppressed.

    Notes
    -----
    *Guarantee of disassociation*: whatever up to m codes an adversary knows of a patient, there is a data set that
    could have led to the release in which at least k records contain them all. Not promised: that those data sets are
    equally likely, so that probabilities can be higher than 1 / k; that a code does not give another one away, which
    ``inference_check="enforce"`` prevents within chunks alone; anything against an adversary who knows more codes or
    several patients.

    *Guarantee of the other methods*: any set of the privacy policy that a patient has, and any subset of one, matches
    no record or at least k records. Not promised: anything against an adversary who knows other codes, codes that a
    patient does not have, or the rest of a record; nor that those k records differ in their other codes.

    Cost: see `cloister.shapes.disassociation.method.protect` and `cloister.shapes.generalization.method.protect`.

    Examples
    --------
    >>> import cloister as cl
    >>> codes = cl.CodeSets.from_records([["250.00", "401.9"], ["250.00", "401.9"], ["250.00", "V58"], ["401.9"]] * 3)
    >>> release = cl.protect_codes(codes, k=3, m=2, policy="level:1")
    >>> release.summary()["records"]
    {'in': 12, 'released': 12, 'suppressed': 0}
    >>> release.reconstruct(seed=1).supports().tolist() == codes.supports().tolist()
    True
    >>> whole = cl.protect_codes(codes, k=3, method="generalization", privacy="all:2")
    >>> whole.verify().holds
    True
    """
    attributes = keywords.pop("attributes", None)
    is_on_spark = is_spark_frame(codes)
    options = options_of(VERB, CodesKeywords, keywords, WITHOUT, data=NOWHERE, out=NOWHERE)
    CodesShape().check(options)
    if is_on_spark or is_spark(options.engine):
        return _on_spark(codes if is_on_spark else check_codes(codes), options)
    check_codes(codes)
    given = GivenCodes(codes, attributes=joined_frame(attributes, codes.ids, "the codes"))
    run = run_of()
    release = protect(CodesShape().prepare(options, run, given), run)
    assert isinstance(release, CodesRelease | GeneralizedCodesRelease)
    return release


def _on_spark(codes: Any, options: CodesOptions) -> CodesRelease:
    """Disassociate code sets on Spark, one partition at a time."""
    if options.workload is not None:
        raise InputError(
            "Workloads are not answered on Spark. Leave the workload out, or take ", setting("engine", "memory")
        )
    from cloister.pipeline.disassociation_on_spark import CodesOnSpark, DisassociationOnSpark

    ask = partial(disassociation_of, settings_given(options), accuracy=False)
    release = protect(DisassociationOnSpark(CodesOnSpark(codes), ask, options.engine, seed=options.seed), run_of())
    assert isinstance(release, CodesRelease)
    return release
