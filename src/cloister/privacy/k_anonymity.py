"""k-anonymity: no record can be told apart from fewer than k - 1 others by its quasi-identifiers."""

from dataclasses import dataclass
from typing import ClassVar

from cloister.errors import InputError

MOST_RECORDS = 2**62
"""No table has more, and counts stay exact."""


@dataclass(frozen=True)
class KAnonymity:
    """Every equivalence class of the release has at least ``k`` records.

    *Guarantee*: somebody who knows all quasi-identifiers of a patient, and that the patient is in the data, cannot
    narrow the patient's record down to fewer than ``k``. Not promised: that the records of a class differ in
    anything else, so a diagnosis they share is disclosed; anything about columns that are not quasi-identifiers.

    Parameters
    ----------
    k : records per class, at least 2

    References
    ----------
    Sweeney (2002), "k-anonymity: a model for protecting privacy".
    """

    k: int

    model: ClassVar[str] = "k-anonymity"
    counts: ClassVar[str] = "records"
    is_monotone: ClassVar[bool] = True
    """A coarser policy never violates the rule where a finer one satisfies it, also after suppression."""

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 2:
            raise InputError(
                f"k is {self.k!r}, but a class of one protects nobody: k must be a whole number from 2 on."
            )
        if self.k > MOST_RECORDS:
            raise InputError(f"k is more than {MOST_RECORDS}, but no table has as many records. Give a smaller one.")

    def describe(self) -> dict[str, object]:
        """Return the rule as the manifest names it."""
        return {"model": self.model, "k": self.k}

    def sentence(self) -> str:
        """Return the rule in words."""
        return f"every combination of quasi-identifiers that occurs is shared by at least {self.k} records"
