"""Any release folder, checked again from its files: `verify_folder`. Loads neither the search nor the kernels."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cloister.errors import GuaranteeViolation, InputError
from cloister.hierarchy import Hierarchy
from cloister.io import from_native
from cloister.privacy import KAnonymity
from cloister.release import read_manifest
from cloister.results import Verdict
from cloister.tabular.recheck import Expectation, recheck


def verify_folder(
    folder: str | Path,
    *,
    original: Any = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    populations: Mapping[str, Any] | None = None,
    k: int | None = None,
    quasi_identifiers: Sequence[str] = (),
) -> Verdict:
    """Return the verdict on a release folder, from its files alone or compared with the original.

    Parameters
    ----------
    folder : a release
    original : dataframe it was made from
    hierarchies : by column, those that came from files; needed with ``original`` and ``populations``
    populations : dataframes of the population tables that rules compare with, by the name that the rules call them
    k, quasi_identifiers : what the recipient expects, whatever the manifest says; k is at least 2

    Raises
    ------
    InputError
        The folder is not a release that this version can check.
    GuaranteeViolation
        It does not hold; says what failed, in counts.
    """
    place = Path(folder)
    if not os.path.isdir(place):
        raise InputError(f"There is no folder {place.name}.", file=place.name)
    manifest = read_manifest(place)
    if manifest.get("shape") != "table":
        raise InputError(f"{place.name} is not a release of a table, the one shape this version can check.")
    frame = None if original is None else from_native(original).frame
    expectation = Expectation(None if k is None else KAnonymity(k).k, tuple(quasi_identifiers))
    people = {name: from_native(table).frame for name, table in (populations or {}).items()}
    verdict = recheck(place, manifest, expectation, frame, hierarchies, people)
    if not verdict.holds:
        raise GuaranteeViolation(f"{place.name} does not hold: {'; '.join(verdict.failures)}.")
    return verdict
