"""The example hospital: four shapes of data about the same made-up patients, the same for a seed."""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np
import polars as pl

from .billing import claims
from .histories import Had, MadeRecords, conditions, had, records
from .people import MadePeople, Whole, birth_dates, genotypes, people


@dataclass(frozen=True, eq=False, repr=False)
class Hospital:
    """Data of made-up patients in all shapes; the same patient has the same id in all of them.

    Attributes
    ----------
    patients : one row a patient: mrn (the id), name, age, sex, zip, ethnicity (null where unknown), admitted,
        diagnosis (what they were admitted for, ICD-10-CM)
    claims : patient_id, date, end_date, paid_date, icd9, cpt, place_of_service, specialty (null where unknown),
        provider; at least one row a patient, by patient and date
    """

    patients: pl.DataFrame = field()
    codes: pl.DataFrame = field()
    codes_icd10: pl.DataFrame = field()
    trajectories: pl.DataFrame = field()
    samples: pl.DataFrame = field()
    claim_patients: pl.DataFrame = field()
    claims: pl.DataFrame = field()

    def __repr__(self) -> str:
        return f"Hospital({self.patients.height:,} made-up patients)"

    def files(self) -> Iterator[tuple[str, pl.DataFrame]]:
        """Return each frame with the name of its file: `patients.csv` and so on, as the attributes are called."""
        for part in fields(self):
            yield f"{part.name}.csv", getattr(self, part.name)

    def write(self, folder: str | Path) -> list[Path]:
        """Write every frame as CSV into a folder, which is made if need be; return the files.

        Raises
        ------
        FileExistsError : A file of that name is there already; the ones before it were written.
        """
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        written = []
        for name, frame in self.files():
            with (place / name).open("xb") as file:
                frame.write_csv(file)
            written.append(place / name)
        return written


def hospital(seed: int = 0, n: int = 1000) -> Hospital:
    """Return a made-up hospital.

    Ages have two humps, as in hospitals; what people have depends on age and sex; conditions come in clusters
    (metabolic, heart, lung, joints, mind, cancer), and chronic ones are recorded again over the years. Codes are real
    ones of ICD-9-CM, ICD-10-CM and CPT. Every share is made up (see `cloister.testing.histories`): take nothing from
    these numbers about people.

    The same seed and n give the same frames with every version of NumPy, on every machine (see
    `cloister.testing.people`). A million patients take some 16 seconds of one core and 2 GiB.

    Parameters
    ----------
    seed : from 0
    n : number of patients, at least 1

    Examples
    --------
    >>> small = hospital(n=200)
    >>> small
    Hospital(200 made-up patients)
    >>> small.trajectories.columns
    ['patient_id', 'code', 'age']
    """
    who, what = _patients(seed, n)
    when = records(seed, who, what)
    icd9, starts = _all_codes("icd9")
    icd10, _ = _all_codes("icd10")
    return Hospital(
        patients=_frame(who, what, icd10.gather(starts[what.condition] + what.variant)),
        codes=_sets(who, when, icd9, starts),
        codes_icd10=_sets(who, when, icd10, starts),
        trajectories=_trajectories(who, when, icd9, starts),
        samples=pl.DataFrame({"patient_id": who.ids, "dna": genotypes(seed, n)}),
        claim_patients=pl.DataFrame({"patient_id": who.ids, "birth_date": birth_dates(who), "sex": who.sex}),
        claims=claims(seed, who, when, icd9, starts),
    )


def hospital_patients(seed: int = 0, n: int = 1000) -> pl.DataFrame:
    """Return the table of patients of `hospital` alone, which is quicker made.

    Examples
    --------
    >>> hospital_patients(n=3).columns
    ['mrn', 'name', 'age', 'sex', 'zip', 'ethnicity', 'admitted', 'diagnosis']
    """
    who, what = _patients(seed, n)
    icd10, starts = _all_codes("icd10")
    return _frame(who, what, icd10.gather(starts[what.condition] + what.variant))


def _patients(seed: int, n: int) -> tuple[MadePeople, Had]:
    if seed < 0 or n < 1:
        raise ValueError("seed must be a whole number from 0, and n one from 1.")
    who = people(seed, n)
    return who, had(seed, who)


def _frame(who: MadePeople, what: Had, codes: pl.Series) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "mrn": who.ids,
            "name": "Patient " + pl.Series(np.arange(1, who.n + 1)).cast(pl.String),
            "age": who.age,
            "sex": who.sex,
            "zip": who.zip,
            "ethnicity": who.ethnicity,
            "admitted": who.admitted.astype("datetime64[D]"),
            "diagnosis": codes.gather(np.flatnonzero(what.is_main)),
        }
    )


def _all_codes(kind: str) -> tuple[pl.Series, Whole]:
    """Return the codes of all conditions, one behind the other, and where those of each begin."""
    own = [getattr(condition, kind) for condition in conditions()]
    starts = np.concatenate(([0], np.cumsum([len(codes) for codes in own])[:-1]))
    return pl.Series([code for codes in own for code in codes], dtype=pl.String), starts.astype(np.int64)


def _sets(who: MadePeople, when: MadeRecords, codes: pl.Series, starts: Whole) -> pl.DataFrame:
    """Each patient's codes, once each, in order."""
    rank = codes.rank("dense").to_numpy().astype(np.int64) - 1
    names = codes.unique().sort()
    wide = len(names)
    found = np.sort(when.patient * wide + rank[starts[when.condition] + when.variant])
    found = found[np.diff(found, prepend=-1) != 0]
    listed = (
        pl.DataFrame({"patient": found // wide, "codes": names.gather(found % wide)})
        .group_by("patient", maintain_order=True)
        .agg(pl.col("codes").str.join(" "))
    )
    return pl.DataFrame({"patient_id": who.ids, "codes": listed["codes"]})


def _trajectories(who: MadePeople, when: MadeRecords, codes: pl.Series, starts: Whole) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "patient_id": who.ids.gather(when.patient),
            "code": codes.gather(starts[when.condition] + when.variant),
            "age": who.age[when.patient] - when.years_ago,
        }
    )
