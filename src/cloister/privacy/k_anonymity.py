"""k-anonymity: no record can be told apart from fewer than k - 1 others by its quasi-identifiers."""

from dataclasses import dataclass
from typing import ClassVar

from cloister.errors import InputError

from .parameters import whole_number
from .rule import EquivalenceClasses, Mask


@dataclass(frozen=True)
class KAnonymity:
    """Every equivalence class of the release has at least ``k`` records.

    *Guarantee*: an adversary who knows all quasi-identifiers of a patient, and that the patient is in the data, cannot
    narrow the patient's record down to fewer than ``k``. Not promised: that the records of a class differ in
    anything else, so a diagnosis they share is disclosed; anything about columns that are not quasi-identifiers.
    Cost: one comparison a class.

    Monotone and closed: a class only grows when records are added.

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
    needs: ClassVar[str] = "sizes"
    column: ClassVar[str | None] = None
    is_monotone: ClassVar[bool] = True
    is_closed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.k, int) and self.k < 2:
            raise InputError(
                f"k is {self.k!r}, but a class of one protects nobody: k must be a whole number from 2 on."
            )
        whole_number("k", self.k, 2)

    @property
    def class_size(self) -> int:
        """Records that a class needs at least."""
        return self.k

    def holds(self, classes: EquivalenceClasses) -> Mask:
        """Return whether each class satisfies the rule, shape (n_classes,)."""
        return classes.sizes >= self.k

    def describe(self) -> dict[str, object]:
        """Return the rule as the manifest names it."""
        return {"model": self.model, "k": self.k}

    def words(self) -> str:
        """Return the rule as on the command line."""
        return f"{self.model}={self.k}"

    def sentence(self) -> str:
        """Return the rule in words."""
        return f"every combination of quasi-identifiers that occurs is shared by at least {self.k} records"
