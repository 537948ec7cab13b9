"""CMS 2008-2010 Data Entrepreneurs' Synthetic Public Use File (DE-SynPUF), as CMS publishes it or made ready.

References
----------
CMS, DE-SynPUF User Manual and Codebook,
https://www.cms.gov/data-research/statistics-trends-and-reports/medicare-claims-synthetic-public-use-files.
"""

import polars as pl

from .records import (
    BIRTH,
    CODE,
    DATE,
    END,
    FILE,
    ID,
    ROW,
    SEX,
    Files,
    Member,
    People,
    Profile,
    SourceRecords,
    listed,
    parted,
)

SEXES = {"1": "M", "2": "F"}
RACES = {"1": "White", "2": "Black", "3": "Other", "5": "Hispanic"}
BENEFICIARIES = r".*beneficiary_summary.*"
CLAIMS = {r".*inpatient_claims.*": "Inpatient Hospital", r".*outpatient_claims.*": "Outpatient Hospital"}
"""Files of CMS, by what their names hold, and where the claims in them are from."""

DIAGNOSES = tuple(f"icd9_dgns_cd_{number}" for number in range(1, 11))
PROCEDURES = tuple(f"hcpcs_cd_{number}" for number in range(1, 46))
CLAIM, SEGMENT = "clm_id", "segment"
READY = ("patient_id", "date")


def people(files: Files) -> People:
    """Each beneficiary once: as the latest of the yearly files has them, or a table made ready."""
    members = files.tables(BENEFICIARIES)
    return _beneficiaries(files, members) if members else _ready_people(files)


def _beneficiaries(files: Files, members: list[Member]) -> People:
    named = {
        ID: "desynpuf_id",
        BIRTH: "bene_birth_dt",
        SEX: "bene_sex_ident_cd",
        "race": "bene_race_cd",
        "state": "sp_state_code",
        "county": "bene_county_cd",
    }
    own = [pl.col(column).alias(name) for name, column in named.items()]
    years = [People(files.frame_of(one, tuple(named.values())).select(*own, FILE, ROW)) for one in members]
    frame = pl.concat([year.checked().frame for year in years]).unique(ID, keep="last", maintain_order=True)
    return People(frame.with_columns(pl.col(SEX).replace(SEXES), pl.col("race").replace(RACES)))


def _ready_people(files: Files) -> People:
    name = "demographics" if files.tables("demographics") else "patients"
    optional = (BIRTH, "birth_year", SEX, "race", "state_ssa", "county_ssa")
    frame = files.table(name, (ID,), optional)
    return People(
        frame.select(
            ID,
            pl.coalesce(BIRTH, "birth_year").alias(BIRTH),
            *(SEX, "race"),
            pl.col("state_ssa").alias("state"),
            pl.col("county_ssa").alias("county"),
            *(FILE, ROW),
        )
    )


def conditions(files: Files) -> SourceRecords:
    """Each diagnosis of each claim."""
    frame = _claims(files).select(ID, DATE, pl.col("diagnoses").alias(CODE), FILE, ROW)
    exploded = frame.explode(CODE, empty_as_null=False, keep_nulls=False)
    return SourceRecords(exploded.filter(pl.col(CODE).is_not_null()))


def claims(files: Files) -> SourceRecords:
    """Each claim."""
    frame = _claims(files).with_columns(
        *parted("diagnoses", "diagnosis", "further"), *parted("procedures", "procedure", "more")
    )
    places = ("place_of_service", "specialty", "provider", "vendor")
    codes = ("diagnosis", pl.col("further").alias("diagnoses"), "procedure", pl.col("more").alias("procedures"))
    return SourceRecords(frame.select(ID, DATE, pl.coalesce(END, DATE).alias(END), *codes, *places, FILE, ROW))


def _claims(files: Files) -> pl.DataFrame:
    found = [_published(files, one, place) for pattern, place in CLAIMS.items() for one in files.tables(pattern)]
    return _whole(pl.concat(found)).drop(CLAIM, SEGMENT) if found else _ready_claims(files)


def _whole(claims: pl.DataFrame) -> pl.DataFrame:
    """Claims with the segments of each together, and its codes once; a claim without an id stands alone."""
    key = (CLAIM, "place_of_service")
    repeated = pl.col(CLAIM).is_not_null() & pl.struct(key).is_duplicated()
    again = claims.filter(repeated)
    if not again.height:
        return claims
    again = again.sort(pl.col(SEGMENT).cast(pl.Int64, strict=False), maintain_order=True)
    owners = again.select(pl.col(ID).first().over(key)).to_series()
    SourceRecords(again).refuse_of_others(owners, "the id of a claim")
    codes = ("diagnoses", "procedures")
    lists = (
        pl.col(name).explode(empty_as_null=False, keep_nulls=False).drop_nulls().unique(maintain_order=True)
        for name in codes
    )
    others = (pl.col(name).drop_nulls().first() for name in claims.columns if name not in (*codes, *key))
    together = again.group_by(key, maintain_order=True).agg(*lists, *others).select(claims.columns)
    return pl.concat([claims.filter(~repeated), together]).sort(FILE, ROW, maintain_order=True)


def _published(files: Files, member: Member, place: str) -> pl.DataFrame:
    needed = ("desynpuf_id", "clm_from_dt", "clm_thru_dt", DIAGNOSES[0])
    frame = files.frame_of(member, needed, (*DIAGNOSES, *PROCEDURES, CLAIM, SEGMENT, "at_physn_npi", "prvdr_num"))
    return frame.select(
        pl.col("desynpuf_id").alias(ID),
        pl.col("clm_from_dt").alias(DATE),
        pl.col("clm_thru_dt").alias(END),
        listed([pl.col(name).pipe(_with_point) for name in DIAGNOSES]).alias("diagnoses"),
        listed(PROCEDURES).alias("procedures"),
        pl.lit(place).alias("place_of_service"),
        pl.lit(None, dtype=pl.String).alias("specialty"),
        pl.col("at_physn_npi").alias("provider"),
        pl.col("prvdr_num").alias("vendor"),
        *(CLAIM, SEGMENT),
        FILE,
        ROW,
    )


def _with_point(code: pl.Expr) -> pl.Expr:
    """A code of ICD-9-CM as it is written elsewhere: 250.00 for 25000, E936.1 for E9361."""
    return code.str.replace(r"^(E[0-9]{3}|[0-9V][0-9]{2})([0-9]{1,2})$", "${1}.${2}")


def _ready_claims(files: Files) -> pl.DataFrame:
    optional = ("thru_date", "icd9", "icd9_all", "hcpcs", "hcpcs_all", "place_of_service", "specialty_proxy")
    frame = files.table("claims", READY, (*optional, "pcp", "vendor"))
    return frame.select(
        ID,
        DATE,
        pl.col("thru_date").alias(END),
        _split("icd9", "icd9_all").alias("diagnoses"),
        _split("hcpcs", "hcpcs_all").alias("procedures"),
        "place_of_service",
        pl.col("specialty_proxy").alias("specialty"),
        pl.col("pcp").alias("provider"),
        "vendor",
        FILE,
        ROW,
    )


def _split(first: str, others: str) -> pl.Expr:
    several = pl.concat_str([pl.col(first), pl.col(others)], separator=" ", ignore_nulls=True).str.extract_all(r"\S+")
    return several.list.unique(maintain_order=True).fill_null(pl.lit([], dtype=pl.List(pl.String)))


PROFILE = Profile(people, conditions, claims)
