"""The figures of a release of generalized code sets: those for the recipient, and those for the custodian alone."""

from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

import numpy as np
import polars as pl

from cloister.codesets.encode import plain_code
from cloister.codesets.request import CodesRequest, GivenCodes
from cloister.utility import Reading

from .data import Generalization, GeneralizationRequest, GeneralizedCodes
from .manifest import outcomes_told, risk_of, utility_of
from .measure import measure_terms, workload_errors
from .written import order_in_file, record_texts


@dataclass(frozen=True)
class GeneralizedFigures:
    """Numbers about a release.

    Attributes
    ----------
    told : ``utility`` and ``risk``, for the manifest
    exact : for the custodian alone
    """

    told: dict[str, dict[str, Any]]
    exact: dict[str, Any]

    def __repr__(self) -> str:
        return "GeneralizedFigures()"


def work_out(
    given: GivenCodes, request: CodesRequest[GeneralizationRequest], protected: GeneralizedCodes
) -> GeneralizedFigures:
    """Return the figures of a release."""
    released, figures, policy = protected.released, protected.figures, request.policy
    terms = measure_terms(released)
    is_frequent = policy is not None and policy.support is not None
    told = None if policy is None or is_frequent else outcomes_told(figures, policy.spec)
    utility = utility_of(terms, figures, told, _codes(released))
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
    return GeneralizedFigures({"utility": utility, "risk": risk_of(terms)}, exact)


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
