"""A made-up hospital on disk with a job file that protects it in all shapes, small enough for a second or two."""

import random

CODES = ("250.00", "401.9", "414.01", "272.4", "428.0", "V45.81")
HEAD = """name = "night-run"
output = "release"
k = 5
attack = true

[sources.patients]
file = "patients.csv"
id = "mrn"

[sources.diagnoses]
file = "diagnoses.csv"

[sources.visits]
file = "visits.csv"
"""
TABLE = """
[[protect]]
shape = "table"
source = "patients"
drop = ["name", "ward"]
sensitive = ["diagnosis"]
purpose = "one-coding"
suppression = 0.1
crosswalk = "patients.map.csv"
[protect.qi]
age = "interval:10,20/top=90/bottom=0"
sex = "suppress"
"""
OF_CODES = """
[[protect]]
shape = "codes"
source = "diagnoses"
m = 2
"""
OF_VISITS = """
[[protect]]
shape = "trajectories"
source = "visits"
crosswalk = "visits.map.csv"
"""
BOTH = """
[[protect]]
name = "both"
shape = "table"
source = "patients"
undecided = ["drop"]
codes = "diagnoses"
m = 2
[protect.qi]
age = "interval:40"
"""
JOB = HEAD + TABLE + OF_CODES + OF_VISITS + BOTH


def hospital(n=90, seed=3):
    """Lines of three files, by name, a patient in the same place of each list."""
    draw = random.Random(seed)
    patients, diagnoses, visits = [], [], []
    for number in draw.sample(range(1000), n):
        age, codes = draw.randint(30, 69), sorted(draw.sample(CODES, draw.randint(1, 3)))
        patients.append(f"M{number},Name {number},{age},{draw.choice('FM')},W{number % 2},{codes[0]}\n")
        diagnoses.append(f"M{number},{' '.join(codes)}\n")
        visits.append("".join(f"M{number},{code},{age + draw.randint(0, 2)}\n" for code in codes))
    return {"patients.csv": patients, "diagnoses.csv": diagnoses, "visits.csv": visits}


HEADERS = {"patients.csv": "mrn,name,age,sex,ward,diagnosis\n", "diagnoses.csv": "id,codes\n"}
HEADERS |= {"visits.csv": "id,code,age\n"}


def write_hospital(folder, job=JOB, lines=None):
    """Write the three files and job.toml."""
    for name, rows in (lines or hospital()).items():
        (folder / name).write_text(HEADERS[name] + "".join(rows))
    (folder / "job.toml").write_text(job)
    return folder
