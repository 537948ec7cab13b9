"""Properties of policies that are inherited by all coarser, or all finer ones, kept by the policies they were found at.

Four stores, interchangeable: those that the paper compares.
"""

from .store import STORES, CompiledStore, make_store

__all__ = ["STORES", "CompiledStore", "make_store"]
