"""What generalization lost: figures for the recipient, and exact ones for the custodian alone."""

from dataclasses import asdict
from math import isfinite
from typing import Any

import numpy as np
import polars as pl

from cloister.codesets.encode import plain_code
from cloister.codesets.policy import is_built
from cloister.codesets.request import CodesRequest, GivenCodes
from cloister.utility import Reading

from .data import Generalization, GeneralizationFigures, GeneralizationRequest, GeneralizedCodes, PolicySetOutcome
from .losses import workload_errors
from .manifest import GeneralizationUtility, TermFigures
from .release import order_in_file, record_texts


def utility_of(
    counts: TermFigures, request: CodesRequest[GeneralizationRequest], protected: GeneralizedCodes
) -> GeneralizationUtility:
    """Return what was lost, beside what the data file says: as far as the released records tell it."""
    figures, policy = protected.figures, request.policy
    outcomes = None if policy is None or policy.support is not None else outcomes_told(figures, policy.spec)
    codes, suppressed = _codes(protected.released)
    return GeneralizationUtility(
        **counts.model_dump(),
        constraints=None if outcomes is None else len(outcomes),
        constraints_satisfied=None if outcomes is None else sum(each.satisfied for each in outcomes),
        constraints_preserved=None if outcomes is None else sum(each.fully_preserved for each in outcomes),
        codes=codes,
        suppressed_codes=suppressed,
        ilm=None if suppressed else figures.ilm_terms,
        ilm_terms=figures.ilm_terms,
        are=None,
    )


def outcomes_told(figures: GeneralizationFigures, policy: str) -> tuple[PolicySetOutcome, ...]:
    """Return what became of the sets of a utility policy, of those that may be counted.

    Sets that a builder makes of the data's own codes are counted if one of their codes is released. How many others
    there are tells which suppressed codes belong together, and everybody knows the diseases of ``gwas``.
    """
    if not is_built(policy):
        return figures.outcomes
    return tuple(outcome for outcome in figures.outcomes if outcome.suppressed < outcome.codes)


def exact_figures(
    given: GivenCodes, request: CodesRequest[GeneralizationRequest], protected: GeneralizedCodes
) -> dict[str, Any]:
    """Return figures for the custodian alone."""
    released, figures = protected.released, protected.figures
    exact: dict[str, Any] = {"records": given.codes.n_records + given.n_empty, "without_codes": given.n_empty}
    exact |= asdict(figures)
    exact["log_ul"] = figures.log_ul if isfinite(figures.log_ul) else None
    exact["statuses"] = {str(status): count for status, count in figures.statuses.items()}
    exact["suppressed"] = [released.vocabulary[code] for code in released.suppressed.tolist()]
    if request.workload is not None:
        exact["accuracy"] = {
            str(reading): asdict(workload_errors(protected.original, released, request.workload, reading))
            for reading in Reading
        }
    return exact


def _codes(released: Generalization) -> tuple[int, int]:
    """Codes of the original, and those of which something is suppressed; one that repeats counts once.

    The suppressed occurrences of one code would tell how often some patient has it.
    """
    plain = [plain_code(code, repeats=released.repeats) for code in released.vocabulary]
    return len(set(plain)), len({plain[code] for code in released.suppressed.tolist()})


def crosswalk(given: GivenCodes, protected: GeneralizedCodes) -> pl.DataFrame:
    """Return the secret map: the number of each released record, and the patient's id, or the record in the file."""
    codes = given.codes
    origin = protected.origin[order_in_file(record_texts(protected.released))]
    lines = np.arange(codes.n_records) if given.lines is None else given.lines
    original = pl.Series(lines + 1) if codes.ids is None else codes.ids
    return pl.DataFrame(
        [pl.Series("released", np.arange(1, len(origin) + 1)), original.gather(origin).alias("original")]
    )
