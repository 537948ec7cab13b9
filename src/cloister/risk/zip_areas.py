"""Three-digit ZIP areas with 20,000 people or fewer, which Safe Harbor wants changed to 000."""

from dataclasses import dataclass

from cloister.errors import InputError


@dataclass(frozen=True)
class ZipAreas:
    """Areas of one census.

    Attributes
    ----------
    year : of the census
    prefixes : first three digits
    source : who published the list
    """

    year: int
    prefixes: frozenset[str]
    source: str


CENSUS_2000 = ZipAreas(
    2000,
    frozenset(
        ("036", "059", "063", "102", "203", "556", "692", "790", "821", "823", "830", "831", "878", "879", "884", "890",
         "893")
    ),
    "US Department of Health and Human Services, guidance on de-identification (2012), from 67 FR 53182, 53233-53234 "
    "(14 August 2002): 2000 census, ZIP code tabulation areas",
)  # fmt: skip

CENSUS_2010 = ZipAreas(
    2010,
    frozenset(
        ("036", "059", "102", "202", "203", "204", "205", "369", "556", "692", "753", "772", "821", "823", "878", "879",
         "884", "893")
    ),
    "2010 census, ZIP code tabulation areas, as data users have published it: the department has published no list of "
    "2010; 202, 204, 753 and 772 are not in every version",
)  # fmt: skip

CENSUSES = {"2000": (CENSUS_2000,), "2010": (CENSUS_2010,), "both": (CENSUS_2000, CENSUS_2010)}
"""By the word that asks for them."""

EVERY = "both"


def small_areas(census: str = EVERY) -> frozenset[str]:
    """Return the three-digit areas that are too small by one census, or by either of them.

    Raises
    ------
    InputError
        The census is not known.

    Examples
    --------
    >>> "369" in small_areas("2000"), "369" in small_areas()
    (False, True)
    """
    if census not in CENSUSES:
        raise InputError(f"Lists of small ZIP areas are of the census {', '.join(CENSUSES)}; ask for one of these.")
    return frozenset().union(*(areas.prefixes for areas in CENSUSES[census]))
