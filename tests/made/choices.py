"""What a method chooses for a table of few columns."""

from decimal import Decimal

import polars as pl
from hypothesis import assume

from cloister.errors import NoSafeRelease
from cloister.privacy import KAnonymity
from cloister.shapes.table.format.options import CLUSTER, FULL_DOMAIN, MONDRIAN
from cloister.shapes.table.method.data import QuasiIdentifier, TableRequest
from cloister.shapes.table.method.encode import encode
from cloister.shapes.table.method.recoding.choice import Choice, choose

JOINING = {
    "cluster": {"method": CLUSTER},
    "strata": {"method": CLUSTER, "strata": ("sex",)},
    "mondrian": {"method": MONDRIAN},
    "local-recoding": {"method": FULL_DOMAIN, "local_recoding": True},
}
"""Settings of the methods that join labels."""


def chosen(frame: pl.DataFrame, quasi: dict[str, QuasiIdentifier], k: int, **settings: object) -> Choice:
    """What a method chooses under k-anonymity; assumes that there is a safe release."""
    request = TableRequest(quasi_identifiers=quasi, rules=(KAnonymity(k),), suppression=Decimal("0.3"), **settings)
    try:
        return choose(encode(frame, request), request)
    except NoSafeRelease:
        assume(False)
        raise
