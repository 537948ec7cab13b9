"""All profiles by name."""

from collections.abc import Mapping

from . import fhir, omop, synpuf, synthea
from .records import Profile

PROFILES: Mapping[str, Profile] = {
    "omop": omop.PROFILE,
    "fhir": fhir.PROFILE,
    "synthea": synthea.PROFILE,
    "synpuf": synpuf.PROFILE,
}
