"""How far a search has come, for whoever watches it."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """The state of a running search.

    Attributes
    ----------
    seconds : since the search began
    loss : least loss found so far
    bound : proven lower bound on the loss so far
    remaining : parts of the lattice still to be decided
    checked : policies or sets of policies decided by counting records
    """

    seconds: float
    loss: float
    bound: float
    remaining: int
    checked: int


Report = Callable[[Progress], None]
