"""The forms that a table with codes takes on its way: what is asked of its codes, the codes as read, and protected."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.codesets.data import CodeSets
from cloister.codesets.disassociation.data import DisassociationRequest, InferenceCheck, ProtectedCodes, Refine
from cloister.codesets.policy import UtilityPolicy
from cloister.errors import InputError, setting
from cloister.privacy import KAnonymity
from cloister.tabular.data import TableRequest

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class CodesAsked:
    """What is asked of the column of codes.

    Attributes
    ----------
    column : holds the codes of each patient, separated by white space; empty for patients without codes
    m : codes that somebody may know of a patient beside the quasi-identifiers, at least 1
    policy : sets of codes to keep countable together, as an object or in words (``level:1``, the name of a JSON file);
        None for none
    missing : texts in a cell that stand for a missing code
    max_cluster_size, refine, safe, inference_threshold : as of `DisassociationRequest`
    """

    column: str
    m: int = 2
    policy: UtilityPolicy | str | None = None
    missing: tuple[str, ...] = ()
    max_cluster_size: int | None = None
    refine: Refine = Refine.TREE
    inference_check: InferenceCheck = InferenceCheck.REPORT
    inference_threshold: float = 1.0

    def check(self, k: int) -> None:
        """Refuse numbers that cannot be asked for."""
        self.request(k, None)

    def request(self, k: int, policy: UtilityPolicy | None) -> DisassociationRequest:
        """Return what is asked of the codes inside the classes of a table."""
        return DisassociationRequest(
            k=k,
            m=self.m,
            max_cluster_size=self.max_cluster_size,
            policy=policy,
            refine=self.refine,
            inference_check=self.inference_check,
            inference_threshold=self.inference_threshold,
        )


@dataclass(frozen=True, eq=False, repr=False)
class ReadCodes:
    """The codes of a table as read.

    Attributes
    ----------
    codes : of the patients that have any
    records : (codes.n_records,) row of the table of each, ascending
    n_without : patients without codes
    """

    codes: CodeSets
    records: Integers
    n_without: int


@dataclass(frozen=True, eq=False, repr=False)
class ProtectedBoth:
    """A table and its codes as they are to be released, and what only the custodian may know.

    Attributes
    ----------
    frame : the protected table, with one reconstruction in the column of codes
    rows : (codes.n_records,) the rows of it that have codes, ascending
    codes : true codes of the patients of these rows, codes of nobody left out; secret
    policy : the utility policy for these codes
    protected : the codes, cut into pieces within each class
    """

    frame: pl.DataFrame
    rows: Integers
    codes: CodeSets
    policy: UtilityPolicy | None
    protected: ProtectedCodes


def k_of(request: TableRequest) -> int:
    """Return the k of a request for a table with codes."""
    found = [rule.k for rule in request.rules if isinstance(rule, KAnonymity)]
    if not found:
        raise InputError(
            f"Codes are protected within classes of k records: give k-anonymity as a rule, as with {setting('k', '5')}."
        )
    return max(found)
