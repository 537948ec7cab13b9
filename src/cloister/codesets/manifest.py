"""The manifest of code sets: what does not depend on the method."""

from typing import Any

from cloister.masking import mask_records
from cloister.release_folder import same
from cloister.results import Manifest

from .data import CODES, ID
from .request import CodesRequest, GivenCodes, MethodRequest


def input_settings(given: GivenCodes, request: CodesRequest[MethodRequest]) -> dict[str, Any]:
    """Return how the input was read, what is asked about it, and which of its columns are released."""
    return {
        "repeats": given.codes.repeats,
        "drop_empty": request.drop_empty,
        "workload": None if request.workload is None else request.workload.spec,
        "ids": "number" if request.numbered else "drop",
        "input_columns": {"id": given.columns.id, "codes": given.columns.codes, "code": given.columns.code},
        "not_released": list(given.not_released),
    }


def columns_of(numbered: bool) -> dict[str, Any]:
    """Return what the columns of the data file are."""
    ids = {ID: {"role": "identifier", "ids": "number"}} if numbered else {}
    return ids | {CODES: {"role": "codes"}}


def records_agree(manifest: Manifest, released: int, k: int) -> bool:
    """Return whether the numbers of records of a manifest fit together, and none counts fewer than k."""
    records = manifest["records"]
    left_out = records["suppressed"]
    if isinstance(left_out, str):
        return same(records, mask_records(released, 1, k)) and k > 1
    drops = type(left_out) is int and (left_out == 0 or (left_out > 0 and manifest["settings"]["drop_empty"] is True))
    return drops and same(records, mask_records(released, left_out, k))


def one_row(column: str | None, has_ids: bool) -> str:
    """Return what makes sure that every record is another patient."""
    if column is not None:
        return f"ids in {column!r} are unique"
    return "ids are unique" if has_ids else "assumed"
