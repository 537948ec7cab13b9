"""Made-up patients and claims on disk, with a plan, small enough to be protected in a second."""

import random

PLAN = """
[patients]
derived = ["age"]
[patients.roles]
mrn = "id"
born = "birth-date"
sex = "sex"
[patients.qi]
age = "age"
sex = "suppress"
[claims]
[claims.roles]
mrn = "id"
date = "date"
dx = "diagnosis"
pos = "place"
doctor = "provider"
note = "keep"
[claims.qi]
pos = "place"
dx = "diagnosis"
[truncation]
percentiles = ["none", 90]
[adversary]
power = 3
[risk]
threshold = 0.1
repeats = 5
"""
DIAGNOSES = ("401.9", "401.1", "250.00", "466.0", "486", "715.90")


def events(n_patients=250, seed=1, last=()):
    """Lines of both files, in any order; those of ``last`` behind."""
    draw = random.Random(seed)
    patients, claims = [], []
    for number in range(n_patients):
        patients.append(f"P{number:04d},{draw.randint(1950, 1990)}-06-15,{draw.choice('FM')}\n")
        for _ in range(draw.randint(1, 4)):
            place = draw.choice(("Office", "Inpatient Hospital"))
            code, doctor = draw.choices(DIAGNOSES, (40, 20, 15, 10, 8, 7))[0], f"D{draw.randint(1, 30)}"
            claims.append(f"P{number:04d},2024-0{draw.randint(1, 9)}-11,{code},{place},{doctor},n{number % 2}\n")
    draw.shuffle(patients)
    draw.shuffle(claims)
    return patients + [line for line in last if line.count(",") == 2], claims + [
        line for line in last if line.count(",") > 2
    ]


def write_files(folder, plan=PLAN, **more):
    """Write patients.csv, claims.csv and plan.toml."""
    patients, claims = events(**more)
    (folder / "patients.csv").write_text("mrn,born,sex\n" + "".join(patients))
    (folder / "claims.csv").write_text("mrn,date,dx,pos,doctor,note\n" + "".join(claims))
    (folder / "plan.toml").write_text(plan)
    return folder
