"""The example hospital as the systems would export it whose files have profiles: OMOP, FHIR, Synthea, DE-SynPUF."""

import gzip
import json
import zipfile
from pathlib import Path

import polars as pl

OMOP_PLACES = {
    "Inpatient Hospital": "9201",
    "Outpatient Hospital": "9202",
    "Office": "581477",
    "Home": "581476",
    "Independent Lab": "32036",
    "Urgent Care": "8782",
}
SYNTHEA_PLACES = {"Inpatient Hospital": "inpatient", "Outpatient Hospital": "outpatient", "Office": "wellness"}
SYNTHEA_PLACES |= {"Home": "home", "Urgent Care": "urgentcare"}
CLASSES = {"Inpatient Hospital": "IMP", "Outpatient Hospital": "AMB", "Home": "HH"}
ICD9 = "http://hl7.org/fhir/sid/icd-9-cm"
SNOMED = "http://snomed.info/sct"
CPT = "http://www.ama-assn.org/go/cpt"
CORE = "http://hl7.org/fhir/us/core/StructureDefinition/us-core-"


def history(hospital):
    """Codes of patients with a date at which each was recorded: the day after a birthday."""
    born = hospital.trajectories.join(hospital.claim_patients.select("patient_id", "birth_date"), on="patient_id")
    date = pl.col("birth_date").dt.offset_by(pl.format("{}y", pl.col("age"))).dt.offset_by("1d")
    return born.select("patient_id", "code", date.cast(pl.String).alias("date"))


def people(hospital):
    """Patients with what all systems record of them."""
    own = hospital.patients.select(pl.col("mrn").alias("patient_id"), "zip", "ethnicity")
    return hospital.claim_patients.join(own, on="patient_id", maintain_order="left")


def numbered(frame, name):
    """The frame with a number for each row, as text."""
    return frame.with_row_index(name, offset=1).with_columns(pl.col(name).cast(pl.String))


def omop(hospital):
    """The tables of OMOP, by name; each concept of a condition stands for one ICD-9 code, and has a SNOMED code."""
    who = people(hospital)
    claims = numbered(hospital.claims, "visit")
    codes = sorted({*hospital.trajectories["code"], *hospital.claims["icd9"]})
    number = {code: str(1000 + place) for place, code in enumerate(codes)}
    source = {code: str(500000 + place) for place, code in enumerate(codes)}
    past = history(hospital)
    first = past.unique(["patient_id", "code"], keep="first", maintain_order=True)
    billed = claims.select("patient_id", pl.col("icd9").alias("code"), "visit")
    had = pl.concat([past, billed.join(first, on=["patient_id", "code"], how="left")], how="diagonal")
    concepts = [(number[code], f"Concept {code}", "SNOMED", f"S{code}") for code in codes]
    concepts += [(source[code], f"Source {code}", "ICD9CM", code) for code in codes]
    concepts += [("0", "No matching concept", "None", "No matching concept")]
    ids = who["patient_id"].to_list()
    return {
        "PERSON": pl.DataFrame(
            {
                "person_id": ids,
                "gender_concept_id": [{"F": "8532", "M": "8507"}[sex] for sex in who["sex"]],
                "year_of_birth": who["birth_date"].dt.year(),
                "month_of_birth": who["birth_date"].dt.month(),
                "day_of_birth": who["birth_date"].dt.day(),
                "race_concept_id": ["0"] * len(ids),
                "race_source_value": [None] * len(ids),
                "ethnicity_concept_id": ["0"] * len(ids),
                "ethnicity_source_value": who["ethnicity"],
                "location_id": [f"L{name}" for name in ids],
            }
        ),
        "LOCATION": pl.DataFrame({"location_id": [f"L{name}" for name in ids], "zip": who["zip"]}),
        "CONDITION_OCCURRENCE": pl.DataFrame(
            {
                "person_id": had["patient_id"],
                "condition_concept_id": [number[code] for code in had["code"]],
                "condition_start_date": had["date"],
                "condition_source_value": had["code"],
                "condition_source_concept_id": [source[code] for code in had["code"]],
                "visit_occurrence_id": had["visit"],
            }
        ),
        "VISIT_OCCURRENCE": pl.DataFrame(
            {
                "visit_occurrence_id": claims["visit"],
                "person_id": claims["patient_id"],
                "visit_concept_id": [OMOP_PLACES[place] for place in claims["place_of_service"]],
                "visit_start_date": claims["date"],
                "visit_end_date": claims["end_date"],
                "provider_id": claims["provider"],
            }
        ),
        "PROCEDURE_OCCURRENCE": pl.DataFrame(
            {
                "person_id": claims["patient_id"],
                "procedure_concept_id": ["0"] * claims.height,
                "procedure_source_value": claims["cpt"],
                "visit_occurrence_id": claims["visit"],
            }
        ),
        "CONCEPT": pl.DataFrame(
            concepts, schema=["concept_id", "concept_name", "vocabulary_id", "concept_code"], orient="row"
        ),
    }


def synthea(hospital):
    """The files of Synthea, by name."""
    who, had, claims = people(hospital), history(hospital), numbered(hospital.claims, "number")
    visit, nothing = "V" + claims["number"], [None] * claims.height
    return {
        "patients": pl.DataFrame(
            {
                "Id": who["patient_id"],
                "BIRTHDATE": who["birth_date"],
                "GENDER": who["sex"],
                "ETHNICITY": who["ethnicity"],
            }
            | {"ZIP": who["zip"]}
        ),
        "conditions": pl.DataFrame({"START": had["date"], "PATIENT": had["patient_id"], "CODE": had["code"]}),
        "encounters": pl.DataFrame(
            {
                "Id": visit,
                "PATIENT": claims["patient_id"],
                "STOP": claims["end_date"].cast(pl.String) + "T10:00:00Z",
                "ENCOUNTERCLASS": claims["place_of_service"].replace(SYNTHEA_PLACES),
            }
        ),
        "procedures": pl.DataFrame({"PATIENT": claims["patient_id"], "ENCOUNTER": visit, "CODE": claims["cpt"]}),
        "claims": pl.DataFrame(
            {
                "Id": claims["number"],
                "PATIENTID": claims["patient_id"],
                "PROVIDERID": claims["provider"],
                "DIAGNOSIS1": claims["icd9"],
                "DIAGNOSIS2": pl.Series(nothing, dtype=pl.String),
                "APPOINTMENTID": visit,
                "SERVICEDATE": claims["date"].cast(pl.String) + "T09:00:00Z",
            }
        ),
    }


def synpuf(hospital):
    """The files of CMS, by name: codes without points, dates run together, a beneficiary in each of two years."""
    who, claims = people(hospital), numbered(hospital.claims, "number")
    people_of_cms = pl.DataFrame(
        {
            "DESYNPUF_ID": who["patient_id"],
            "BENE_BIRTH_DT": who["birth_date"].dt.strftime("%Y%m%d"),
            "BENE_SEX_IDENT_CD": who["sex"].replace({"M": "1", "F": "2"}),
            "BENE_RACE_CD": ["1"] * who.height,
            "SP_STATE_CODE": ["39"] * who.height,
            "BENE_COUNTY_CD": who["zip"].str.head(3),
        }
    )
    claims_of_cms = pl.DataFrame(
        {
            "DESYNPUF_ID": claims["patient_id"],
            "CLM_ID": claims["number"],
            "CLM_FROM_DT": claims["date"].dt.strftime("%Y%m%d"),
            "CLM_THRU_DT": claims["end_date"].dt.strftime("%Y%m%d"),
            "AT_PHYSN_NPI": claims["provider"],
            "ICD9_DGNS_CD_1": claims["icd9"].str.replace(".", "", literal=True),
            "HCPCS_CD_1": claims["cpt"],
        }
    )
    inside = claims["place_of_service"] == "Inpatient Hospital"
    return {
        "DE1_0_2008_Beneficiary_Summary_File_Sample_1": people_of_cms,
        "DE1_0_2009_Beneficiary_Summary_File_Sample_1": people_of_cms,
        "DE1_0_2008_to_2010_Inpatient_Claims_Sample_1": claims_of_cms.filter(inside),
        "DE1_0_2008_to_2010_Outpatient_Claims_Sample_1": claims_of_cms.filter(~inside),
    }


def fhir(hospital):
    """Resources, by their kind."""
    claims = numbered(hospital.claims, "number")
    return {
        "Patient": [
            {"resourceType": "Patient", "id": row["patient_id"], "birthDate": str(row["birth_date"])}
            | {"gender": {"F": "female", "M": "male"}[row["sex"]], "address": [{"postalCode": row["zip"]}]}
            | ({"extension": [_extension("ethnicity", row["ethnicity"])]} if row["ethnicity"] else {})
            for row in people(hospital).iter_rows(named=True)
        ],
        "Condition": [
            {
                "resourceType": "Condition",
                "id": f"c{number}",
                "subject": {"reference": f"Patient/{row['patient_id']}"},
                "code": {"coding": [_coding(ICD9, row["code"]), _coding(SNOMED, "S" + row["code"])]},
                "onsetDateTime": f"{row['date']}T09:00:00-05:00",
            }
            for number, row in enumerate(history(hospital).iter_rows(named=True))
        ],
        "Encounter": [
            {"resourceType": "Encounter", "id": row["number"], "subject": {"reference": f"Patient/{row['patient_id']}"}}
            | {"class": {"code": CLASSES.get(row["place_of_service"], row["place_of_service"])}}
            for row in claims.iter_rows(named=True)
        ],
        "Claim": [
            {
                "resourceType": "Claim",
                "id": row["number"],
                "status": "active",
                "use": "claim",
                "patient": {"reference": f"urn:uuid:{row['patient_id']}"},
                "billablePeriod": {"start": str(row["date"]), "end": str(row["end_date"])},
                "provider": {"reference": f"Organization?identifier=https://example.org|{row['provider']}"},
                "diagnosis": [{"sequence": 1, "diagnosisCodeableConcept": {"coding": [_coding(ICD9, row["icd9"])]}}],
                "item": [
                    {"productOrService": {"coding": [_coding(CPT, row["cpt"])]}}
                    | {"encounter": [{"reference": f"Encounter/{row['number']}"}]}
                ],
            }
            for row in claims.iter_rows(named=True)
        ],
    }


def _coding(system, code):
    return {"system": system, "code": code}


def _extension(name, text):
    return {"url": CORE + name, "extension": [{"url": "text", "valueString": text}]}


def lines(resources):
    """Resources as lines of JSON."""
    return "".join(json.dumps(one) + "\n" for one in resources).encode()


def write_tables(tables, place):
    """Write tables as CSV, into a folder or a zip archive, and return its path."""
    place = Path(place)
    if place.suffix == ".zip":
        with zipfile.ZipFile(place, "w") as archive:
            for name, frame in tables.items():
                archive.writestr(f"cdm/{name}.csv", frame.write_csv())
            archive.writestr("__MACOSX/._PERSON.csv", "of no use")
    else:
        place.mkdir()
        for name, frame in tables.items():
            frame.write_csv(place / f"{name}.csv")
    return place


def write_resources(resources, place):
    """Write resources into a folder, a file for each kind, or all into one gzip'd file; return the path."""
    place = Path(place)
    if place.suffix == ".gz":
        place.write_bytes(gzip.compress(b"".join(lines(each) for each in resources.values())))
    else:
        place.mkdir()
        for kind, each in resources.items():
            (place / f"{kind}.ndjson").write_bytes(lines(each))
    return place
