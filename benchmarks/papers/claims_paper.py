"""Figures that the paper prints, to be shown beside ours.

El Emam et al. (2012), JMIR 14(1):e33, multimedia appendix, Tables 1 to 5; shares in percent, excluded and remaining.
"""

Bands = dict[str, tuple[float, float]]

SEX: Bands = {"F": (51.29, 53.59), "M": (48.71, 46.41)}
"""Table 1."""

MONTHS = (
    *((19.38, 25.89), (9.57, 9.52), (8.85, 8.72), (8.58, 8.24), (7.90, 7.37), (8.12, 7.46)),
    *((7.64, 6.99), (7.51, 6.80), (7.51, 6.61), (6.67, 5.63), (5.57, 4.58), (2.72, 2.00)),
)
"""Table 2: months since the first claim, from 0-1 to 11-12."""

DECADES = (
    *((3.11, 10.32), (5.16, 10.83), (5.92, 8.63), (9.77, 12.19), (16.10, 15.27)),
    *((15.55, 12.62), (17.99, 11.66), (18.84, 12.00), (7.57, 6.48)),
)
"""Table 3: ages 0-9 to 70-79, and 80 and over."""

STAYS = (
    *((48.77, 58.20), (10.30, 9.84), (7.29, 6.47), (5.09, 4.07), (3.08, 2.58), (2.14, 1.42)),
    *((0.62, 0.27), (8.27, 6.27), (7.26, 5.54), (5.92, 4.54), (0.52, 0.43), (0.75, 0.37)),
)
"""Table 4: stays of 1 to 6 days, 1-2, 2-4, 4-8, 8-12, 12-26 weeks, and 26 weeks and over."""

CLAIMS = (34, 11)
"""Section 3: median claims of an excluded and of a remaining patient."""


STAY_BANDS = (
    *("1 day", "2 days", "3 days", "4 days", "5 days", "6 days"),
    *("1-2 weeks", "2-4 weeks", "4-8 weeks", "8-12 weeks", "12-26 weeks", "26+ weeks"),
)

VARIABLES: dict[str, Bands] = {
    "sex": SEX,
    "age": {**{f"{10 * n}-{10 * n + 9}": pair for n, pair in enumerate(DECADES[:8])}, "80+": DECADES[8]},
    "days since first claim": {f"{n}-{n + 1} months": pair for n, pair in enumerate(MONTHS)},
    "length of stay": dict(zip(STAY_BANDS, STAYS, strict=True)),
}
"""Tables 1 to 4, with the bands of the custodian's figures."""

DIVERSITY = {
    ("specialty", "place_of_service"): 0.461,
    ("specialty", "length_of_stay"): 0.084,
    ("specialty", "days_since_first_claim"): 0.063,
    ("specialty", "icd9"): 0.287,
    ("specialty", "cpt"): 0.413,
    ("place_of_service", "length_of_stay"): 0.275,
    ("place_of_service", "days_since_first_claim"): -0.085,
    ("place_of_service", "icd9"): 0.140,
    ("place_of_service", "cpt"): 0.451,
    ("length_of_stay", "days_since_first_claim"): -0.44,
    ("length_of_stay", "icd9"): -0.175,
    ("length_of_stay", "cpt"): 0.306,
    ("days_since_first_claim", "icd9"): 0.215,
    ("days_since_first_claim", "cpt"): -0.064,
    ("icd9", "cpt"): 0.063,
}
"""Table 5: correlations of diversities of the columns that our data have too."""


SAME = {"hcpcs": "cpt", "specialty_proxy": "specialty"}
"""Columns of DE-SynPUF that are compared with those of the paper."""


def diversity_of(one: str, other: str) -> float | None:
    """Return the paper's correlation of two columns, in either order."""
    one, other = SAME.get(one, one), SAME.get(other, other)
    return DIVERSITY.get((one, other), DIVERSITY.get((other, one)))
