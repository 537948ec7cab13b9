"""Data as they come: a file, or a collection of files that a profile makes into the inputs of all shapes."""

from cloister.sources.read import (
    NAMES,
    Form,
    Profiled,
    form_of,
    profiled,
    read_claim_tables,
    read_code_events,
    read_code_lists,
    read_table,
)

__all__ = [
    "NAMES", "Form", "Profiled", "form_of", "profiled", "read_claim_tables", "read_code_events", "read_code_lists",
    "read_table",
]  # fmt: skip
