"""CMS 2008-2010 Data Entrepreneurs' Synthetic Public Use File (DE-SynPUF), as CMS publishes it or prepared.

References
----------
CMS, DE-SynPUF User Manual and Codebook,
https://www.cms.gov/data-research/statistics-trends-and-reports/medicare-claims-synthetic-public-use-files.
"""

import polars as pl

from .columns import BIRTH, CODE, DATE, END, FILE, ID, ROW, SEX, Columns, as_records, list_codes, split_first_code
from .records import Files, Member, People, Profile, SourceRecords

SEXES = {"1": "M", "2": "F"}
RACES = {"1": "White", "2": "Black", "3": "Other", "5": "Hispanic"}
BENEFICIARIES = r".*beneficiary_summary.*"
# Files of CMS, by what their names hold, and where the claims in them are from
CLAIMS = {r".*inpatient_claims.*": "Inpatient Hospital", r".*outpatient_claims.*": "Outpatient Hospital"}
DIAGNOSES = tuple(f"icd9_dgns_cd_{number}" for number in range(1, 11))
PROCEDURES = tuple(f"hcpcs_cd_{number}" for number in range(1, 46))
CLAIM, SEGMENT = "clm_id", "segment"
READY = ("patient_id", "date")


def people(files: Files) -> People:
    """Return one row per beneficiary: from the latest of the yearly files, or from a prepared table."""
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
    years = [People(as_records(files.frame_of(one, tuple(named.values())), named)) for one in members]
    frame = pl.concat([year.checked().frame for year in years]).unique(ID, keep="last", maintain_order=True)
    return People(frame.with_columns(pl.col(SEX).replace(SEXES), pl.col("race").replace(RACES)))


def _ready_people(files: Files) -> People:
    name = "demographics" if files.tables("demographics") else "patients"
    optional = (BIRTH, "birth_year", SEX, "race", "state_ssa", "county_ssa")
    frame = files.table(name, (ID,), optional)
    found: Columns = {BIRTH: pl.coalesce(BIRTH, "birth_year"), SEX: SEX, "race": "race"}
    return People(as_records(frame, {ID: ID, **found, "state": "state_ssa", "county": "county_ssa"}))


def conditions(files: Files) -> SourceRecords:
    """Return one row per diagnosis of each claim."""
    frame = _claims(files).select(ID, DATE, pl.col("diagnoses").alias(CODE), FILE, ROW)
    exploded = frame.explode(CODE, empty_as_null=False, keep_nulls=False)
    return SourceRecords(exploded.filter(pl.col(CODE).is_not_null()))


def claims(files: Files) -> SourceRecords:
    """Return one row per claim."""
    frame = _claims(files).with_columns(
        *split_first_code("diagnoses", "diagnosis", "further"), *split_first_code("procedures", "procedure", "more")
    )
    places = ("place_of_service", "specialty", "provider", "vendor")
    codes = ("diagnosis", pl.col("further").alias("diagnoses"), "procedure", pl.col("more").alias("procedures"))
    return SourceRecords(frame.select(ID, DATE, pl.coalesce(END, DATE).alias(END), *codes, *places, FILE, ROW))


def _claims(files: Files) -> pl.DataFrame:
    found = [_published_column(files, one, place) for pattern, place in CLAIMS.items() for one in files.tables(pattern)]
    return _whole(pl.concat(found)).drop(CLAIM, SEGMENT) if found else _ready_claims(files)


def _whole(claims: pl.DataFrame) -> pl.DataFrame:
    """Merge the segments of each claim, and list its codes once; a claim without an id is not merged."""
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


def _published_column(files: Files, member: Member, place: str) -> pl.DataFrame:
    needed = ("desynpuf_id", "clm_from_dt", "clm_thru_dt", DIAGNOSES[0])
    frame = files.frame_of(member, needed, (*DIAGNOSES, *PROCEDURES, CLAIM, SEGMENT, "at_physn_npi", "prvdr_num"))
    # Codes of ICD-9-CM as they are written elsewhere: 250.00 for 25000, E936.1 for E9361.
    coded = [pl.col(name).str.replace(r"^(E[0-9]{3}|[0-9V][0-9]{2})([0-9]{1,2})$", "${1}.${2}") for name in DIAGNOSES]
    found: Columns = {
        ID: "desynpuf_id",
        DATE: "clm_from_dt",
        END: "clm_thru_dt",
        "diagnoses": list_codes(coded),
        "procedures": list_codes(PROCEDURES),
        "place_of_service": pl.lit(place),
        "specialty": pl.lit(None, dtype=pl.String),
        "provider": "at_physn_npi",
        "vendor": "prvdr_num",
        CLAIM: CLAIM,
        SEGMENT: SEGMENT,
    }
    return as_records(frame, found)


def _ready_claims(files: Files) -> pl.DataFrame:
    optional = ("thru_date", "icd9", "icd9_all", "hcpcs", "hcpcs_all", "place_of_service", "specialty_proxy")
    frame = files.table("claims", READY, (*optional, "pcp", "vendor"))
    found: Columns = {
        ID: ID,
        DATE: DATE,
        END: "thru_date",
        "diagnoses": _split("icd9", "icd9_all"),
        "procedures": _split("hcpcs", "hcpcs_all"),
        "place_of_service": "place_of_service",
        "specialty": "specialty_proxy",
        "provider": "pcp",
        "vendor": "vendor",
    }
    return as_records(frame, found)


def _split(first: str, others: str) -> pl.Expr:
    several = pl.concat_str([pl.col(first), pl.col(others)], separator=" ", ignore_nulls=True).str.extract_all(r"\S+")
    return several.list.unique(maintain_order=True).fill_null(pl.lit([], dtype=pl.List(pl.String)))


PROFILE = Profile(people, conditions, claims)
