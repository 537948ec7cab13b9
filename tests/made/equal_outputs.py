"""Pairs of originals that may lead to one release: what the releases must then not tell apart.

A second original is made from the first release on purpose: every released value is replaced by another one that its
label covers, and what was left out by something else. Where both lead to the same data files, both folders must be the
same, byte for byte. Clocks are stopped, so that nothing but `machine` is left that may differ, and it is the same here.
"""

import csv
import datetime
import json
import math
import random
import re
import time
from collections.abc import Callable
from contextlib import chdir, contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from unittest import mock

from tests.made.claims_files import PLAN

import cloister.jobs.release
import cloister.pipeline.protecting
from cloister.cli.main import run
from cloister.shapes.disassociation.format.clusters_file import read_clusters
from cloister.shapes.disassociation.method.release import reconstruct

Files = dict[str, str]
NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
CODES = ("250.00", "250.01", "272.4", "401.1", "401.9", "414.01", "428.0", "V45.81")
RARE = ("042", "340", "710.0", "135")


@dataclass(frozen=True)
class Case:
    """How originals of one shape are made, protected and made again from what was released."""

    words: tuple[str, ...]
    first: Callable[[random.Random], Files]
    second: Callable[[random.Random, Files, Path], Files]


@contextmanager
def stopped_clocks():
    """Let no time pass, so that seconds and dates are the same in every run."""
    with (
        mock.patch.object(time, "perf_counter", return_value=0.0),
        mock.patch.object(cloister.pipeline.protecting, "datetime", mock.Mock(now=lambda _zone: NOON)),
        mock.patch.object(cloister.jobs.release, "datetime", mock.Mock(now=lambda _zone: NOON)),
    ):
        yield


def released(folder: Path, files: Files, words: tuple[str, ...]) -> dict[str, bytes] | None:
    """Protect files as a user would; return the release folder, or None where nothing is safe."""
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    with chdir(folder), stopped_clocks():
        code = run([*words, *([] if "run" in words else ["--out", "release"]), "--quiet"])
    assert code in (0, 1), code
    if code == 1:
        return None
    out = folder / "release"
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


def differences(case: Case, seed: int, folder: Path, others: int = 1) -> tuple[int, list[str]]:
    """Count the pairs of different originals with equal data, and name the files in which their releases differ.

    One original is made and `others` from its release. Releases with equal data are alike two by two if each is like
    the first of them, so that n of them are n (n - 1) / 2 pairs. What a manifest says of the original as the
    releaser's word (`evidence`) is taken as part of the data.
    """
    draw = random.Random(seed)
    first = case.first(draw)
    one = released(folder / "one", first, case.words)
    if one is None:
        return 0, []
    originals, releases = [first], [one]
    for number in range(others):
        other = case.second(draw, first, folder / "one")
        made = None if other in originals else released(folder / str(number), other, case.words)
        if made is not None:
            originals.append(other)
            releases.append(made)
    alike: dict[str, list[dict[str, bytes]]] = {}
    for release in releases:
        alike.setdefault(repr((_data(release), evidence(release))), []).append(release)
    differ = {
        name
        for group in alike.values()
        for other in group[1:]
        for name in {*group[0], *other}
        if group[0].get(name) != other.get(name)
    }
    return sum(math.comb(len(group), 2) for group in alike.values()), sorted(differ)


def _data(release: dict[str, bytes]) -> dict[str, bytes]:
    """The data files of a release."""
    return {name: content for name, content in release.items() if Path(name).name in DATA}


def evidence(folder: dict[str, bytes]) -> list[object]:
    """What manifests say of the original, by decision: docs/decisions/0012-equal-outputs.md lists it."""
    return [
        [get(json.loads(content)) for get in EVIDENCE]
        for name, content in sorted(folder.items())
        if Path(name).name == "release.json"
    ]


DATA = ("data.csv", "clusters.json", "patients.csv", "claims.csv")
LOSSES = ("loss", "losses", "ilm", "alm", "ilm_exact", "alm_exact")
EVIDENCE = (
    lambda manifest: manifest.get("records"),
    lambda manifest: [manifest.get("utility", {}).get(name) for name in LOSSES],
    lambda manifest: {
        name: column.get("loss") for name, column in manifest.get("utility", {}).get("columns", {}).items()
    },
    lambda manifest: manifest["risk"] if manifest["shape"] == "claims" else None,
    lambda manifest: manifest.get("sensitivity", {}).get("attacks"),
)


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file, as text."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def text_of(header: list[str], lines: list[list[str]]) -> str:
    """A CSV file."""
    return "".join(",".join(line) + "\n" for line in [header, *lines])


# One row a patient.

AGES = "interval:10,20,40/top=90/bottom=0"
PEOPLE = ["mrn", "age", "sex", "zip", "dx"]


def people(draw: random.Random) -> Files:
    """Patients in a few large classes, and a handful who stand alone."""
    lines = [
        [
            f"A{n:03d}",
            str(30 + 10 * (n % 2) + draw.randint(0, 9)),
            "FM"[n % 2],
            f"0213{draw.randint(0, 9)}",
            "xyz"[n % 3],
        ]
        for n in range(draw.randint(16, 30))
    ]
    lines += [lone(draw, n) for n in range(draw.randint(0, 6))]
    draw.shuffle(lines)
    return {"people.csv": text_of(PEOPLE, lines)}


def lone(draw: random.Random, number: int) -> list[str]:
    """Somebody like nobody else."""
    zip_code = f"{draw.randint(3, 9)}{draw.randint(0, 9999):04d}"
    return [
        f"L{number:03d}",
        str(draw.choice([5, 15, 25, 55, 65, 75, 85])),
        draw.choice("FMX"),
        zip_code,
        draw.choice("xyzw"),
    ]


def other_people(draw: random.Random, first: Files, folder: Path) -> Files:
    """Others who fit the labels that were released, and other lone ones, about as many."""
    out = rows(folder / "release" / "data.csv")
    left_out = len(first["people.csv"].splitlines()) - 1 - len(out)
    n_lone = draw.choice([left_out, left_out, max(0, left_out + draw.choice([-1, 1]))])
    lines = [
        [
            f"B{n:03d}",
            within(draw, row["age"]),
            filled(draw, row["sex"], "FM"),
            filled(draw, row["zip"], "0123456789"),
            row["dx"],
        ]
        for n, row in enumerate(out)
    ]
    lines += [lone(draw, n) for n in range(n_lone)]
    draw.shuffle(lines)
    return {"people.csv": text_of(PEOPLE, lines)}


def edited_people(draw: random.Random, first: Files, _folder: Path) -> Files:
    """The same patients, of whom one or two are a little older or live next door."""
    lines = [line.split(",") for line in first["people.csv"].splitlines()[1:]]
    for line in draw.sample(lines, draw.randint(1, 2)):
        line[1] = str(min(89, int(line[1]) + draw.randint(0, 2)))
        line[3] = f"{line[3][:4]}{draw.randint(0, 9)}"
    return {"people.csv": text_of(PEOPLE, lines)}


def within(draw: random.Random, label: str) -> str:
    """A number that a label of an interval covers."""
    found = re.fullmatch(r"\[?(\d+)-(\d+)\]?", label)
    if found is None:
        return label if label.isdigit() else str(draw.randint(0, 89))
    return str(draw.randint(int(found[1]), min(89, int(found[2]))))


def filled(draw: random.Random, label: str, letters: str) -> str:
    """A value for a label in which stars stand for letters that were dropped."""
    if label == "*":
        return draw.choice(letters) if letters == "FM" else "".join(draw.choice(letters) for _ in range(5))
    return "".join(draw.choice(letters) if letter == "*" else letter for letter in label)


def table(*words: str) -> Case:
    """A way of protecting a table."""
    asked = ("protect", "table", "people.csv", "--id", "mrn", "--sensitive", "dx", "-k", "3", "--qi", f"age={AGES}")
    asked += ("--qi", "sex=suppress", "--qi", "zip=prefix:5", "--purpose", "one-coding")
    return Case((*asked, *words), people, other_people)


CASES = {
    "table": table("--suppression", "0.3"),
    "table attacked": table("--suppression", "0.3", "--attack"),
    "local recoding": replace(table("--suppression", "0.3", "--local-recoding"), second=edited_people),
    "mondrian": replace(table("--method", "mondrian"), second=edited_people),
    "cluster": replace(table("--method", "cluster", "--attack"), second=edited_people),
    "resisting": replace(table("--resist-downcoding", "--purpose", "analysis"), second=edited_people),
    "entropy": table("--suppression", "0.3", "--loss", "entropy"),
}


# One set of codes a patient.

SETS = ["id", "codes"]


def sets(draw: random.Random) -> Files:
    """Patients with a few of a few codes, some with a code that few have, some without any."""
    lines, usual = [], CODES[: draw.randint(3, 5)]
    for number in range(draw.randint(4, 10)):
        found = set(draw.sample(usual, draw.randint(1, 3))) | ({draw.choice(RARE)} if draw.random() < 0.2 else set())
        lines.append([f"A{number:03d}", " ".join(sorted(found))])
    return {"sets.csv": text_of(SETS, without_codes(draw, lines))}


def without_codes(draw: random.Random, lines: list[list[str]]) -> list[list[str]]:
    """The same with one or two patients who have no code, in any order."""
    lines = [*lines, *([f"E{number:03d}", ""] for number in range(draw.randint(1, 2)))]
    draw.shuffle(lines)
    return lines


def reconstructed_sets(draw: random.Random, _first: Files, folder: Path) -> Files:
    """One of the data sets that the clusters may stand for."""
    released = read_clusters(folder / "release" / "clusters.json")
    codes = reconstruct(released, draw.randrange(10**6), draw.choice(["one", "below-k", "any"]))
    ends = codes.offsets.tolist()
    records = [[codes.vocabulary[item] for item in codes.items[a:b]] for a, b in pairwise(ends)]
    lines = [[f"B{number:03d}", " ".join(record)] for number, record in enumerate(records)]
    return {"sets.csv": text_of(SETS, without_codes(draw, lines))}


def edited_sets(draw: random.Random, first: Files, _folder: Path) -> Files:
    """The same patients, of whom a few have another code instead, and others who have no code or rare ones alone."""
    lines = [line.split(",") for line in first["sets.csv"].splitlines()[1:]]
    lines = [line for line in lines if line[1]]
    for line in draw.sample(lines, draw.randint(1, 3)):
        names = line[1].split()
        names[draw.randrange(len(names))] = draw.choice(RARE if set(names) & {*RARE} else CODES)
        line[1] = " ".join(sorted({*names}))
    return {"sets.csv": text_of(SETS, without_codes(draw, lines))}


def codes(second, *words: str) -> Case:
    """A way of protecting code sets."""
    asked = ("protect", "codes", "sets.csv", "-k", "3", "--drop-empty", "--accept-empty", *words)
    return Case(asked, sets, second)


# One sequence of codes and ages a patient.

EVENTS = ["id", "code", "age"]


def timelines(draw: random.Random) -> Files:
    """Patients with a few codes at a few ages; some with one that nobody else has."""
    lines = []
    for number in range(draw.randint(8, 18)):
        for code in draw.sample(CODES[:5], draw.randint(1, 3)):
            lines.append([f"A{number:03d}", code, str(draw.randint(40, 44))])
        if draw.random() < 0.3:
            lines.append([f"A{number:03d}", draw.choice(RARE), str(draw.randint(40, 80))])
    return {"timelines.csv": text_of(EVENTS, lines)}


def other_timelines(draw: random.Random, first: Files, _folder: Path) -> Files:
    """The same patients, of whom a few have another code or age instead."""
    lines = [line.split(",") for line in first["timelines.csv"].splitlines()[1:]]
    for line in draw.sample(lines, draw.randint(1, 3)):
        if line[1] in RARE:
            line[1:] = [draw.choice(RARE), str(draw.randint(40, 80))]
        elif draw.random() < 0.5:
            line[1] = draw.choice([code for code in CODES[:5] if code[:3] == line[1][:3]])
        else:
            line[2] = str(draw.randint(40, 44))
    return {"timelines.csv": text_of(EVENTS, lines)}


def trajectories(*words: str) -> Case:
    """A way of protecting trajectories."""
    return Case(
        ("protect", "trajectories", "timelines.csv", "-k", "2", "--accept-empty", *words), timelines, other_timelines
    )


# A table with a column of codes.


def people_with_codes(draw: random.Random) -> Files:
    """Patients with a column of codes."""
    lines = [line.split(",") for line in people(draw)["people.csv"].splitlines()[1:]]
    lines = [[*line[:2], line[2], " ".join(sorted(draw.sample(CODES[:4], draw.randint(0, 2))))] for line in lines]
    return {"people.csv": text_of(["mrn", "age", "sex", "codes"], lines)}


def other_people_with_codes(draw: random.Random, first: Files, folder: Path) -> Files:
    """Others under the same labels, with the codes of one reconstruction."""
    out = rows(folder / "release" / "data.csv")
    left_out = len(first["people.csv"].splitlines()) - 1 - len(out)
    lines = [
        [f"B{n:03d}", within(draw, row["age"]), filled(draw, row["sex"], "FM"), row["codes"]]
        for n, row in enumerate(out)
    ]
    lines += [[*lone(draw, n)[:2], draw.choice("FMX"), draw.choice(CODES)] for n in range(left_out)]
    draw.shuffle(lines)
    return {"people.csv": text_of(["mrn", "age", "sex", "codes"], lines)}


WITH_CODES = ("protect", "table", "people.csv", "--id", "mrn", "-k", "3", "-m", "2", "--codes", "codes")
WITH_CODES = (*WITH_CODES, "--suppression", "0.3", "--qi", f"age={AGES}", "--qi", "sex=suppress", "--attack")


def others_by_terms(draw: random.Random, first: Files, _folder: Path) -> Files:
    """The same people, some of whom have another code of the same category instead."""
    lines = [line.split(",") for line in first["people.csv"].splitlines()[1:]]
    for line in draw.sample(lines, draw.randint(1, 3)):
        codes = [draw.choice([code for code in CODES[:4] if code[:3] == one[:3]]) for one in line[3].split()]
        line[3] = " ".join(sorted({*codes}))
    draw.shuffle(lines)
    return {"people.csv": text_of(["mrn", "age", "sex", "codes"], lines)}


# Patients and their claims.

DIAGNOSES = {"401": ("401.9", "401.1"), "250": ("250.00", "250.01"), "466": ("466.0", "466.1")}
DIAGNOSES |= {"715": ("715.90", "715.91")}


def bills(draw: random.Random) -> Files:
    """Patients with a few claims."""
    patients, claims = [], []
    for number in range(draw.randint(24, 36)):
        patients.append([f"A{number:03d}", f"{draw.randint(1950, 1990)}-06-15", draw.choice("FM")])
        for _ in range(draw.randint(1, 3)):
            code = draw.choice(DIAGNOSES[draw.choice(sorted(DIAGNOSES))])
            place = draw.choice(("Office", "Inpatient Hospital"))
            day = f"2024-0{draw.randint(1, 9)}-11"
            claims.append([f"A{number:03d}", day, code, place, f"D{draw.randint(1, 9)}", "n"])
    return written_bills(draw, patients, claims)


def written_bills(draw: random.Random, patients: list[list[str]], claims: list[list[str]]) -> Files:
    """Both files and the plan, with a patient or two who are excluded for what they have."""
    for number in range(draw.randint(1, 2)):
        patients = [*patients, [f"E{number:03d}", f"{draw.randint(1950, 1990)}-06-15", draw.choice("FM")]]
        claims = [*claims, [f"E{number:03d}", "2024-03-11", "042", "Office", "D1", "n"]]
    draw.shuffle(patients)
    return {
        "patients.csv": text_of(["mrn", "born", "sex"], patients),
        "claims.csv": text_of(["mrn", "date", "dx", "pos", "doctor", "note"], claims),
        "plan.toml": PLAN.replace("threshold = 0.1", "threshold = 0.34"),
    }


def other_bills(draw: random.Random, first: Files, _folder: Path) -> Files:
    """Birthdays in the same years, other codes of the same categories, other excluded patients."""
    patients = [line.split(",") for line in first["patients.csv"].splitlines()[1:] if not line.startswith("E")]
    claims = [line.split(",") for line in first["claims.csv"].splitlines()[1:] if not line.startswith("E")]
    born = {line[0]: f"{line[1][:4]}-{draw.choice(['06-15', '06-14', '06-16'])}" for line in patients}
    patients = [[line[0], born[line[0]], line[2]] for line in patients]
    claims = [[*line[:2], draw.choice(DIAGNOSES[line[2][:3]]), *line[3:]] for line in claims]
    return written_bills(draw, patients, claims)


# A job of several parts.

JOB = f"""name = "night"
output = "release"
k = 3
attack = true
[sources.people]
file = "people.csv"
id = "mrn"
[sources.sets]
file = "sets.csv"
[[protect]]
shape = "table"
source = "people"
purpose = "one-coding"
suppression = 0.3
sensitive = ["dx"]
[protect.qi]
age = "{AGES}"
sex = "suppress"
zip = "prefix:5"
[[protect]]
shape = "codes"
source = "sets"
m = 2
drop_empty = true
"""


def several(draw: random.Random) -> Files:
    """A table and code sets, and the job that protects both."""
    return people(draw) | sets(draw) | {"job.toml": JOB}


def other_several(draw: random.Random, first: Files, folder: Path) -> Files:
    """Both made again, each from what its part released."""
    for name, part in (("table", "people"), ("codes", "sets")):
        if not (folder / name).exists():
            (folder / name).mkdir()
            (folder / name / "release").symlink_to(folder / "release" / part)
    table, codes = other_people(draw, first, folder / "table"), reconstructed_sets(draw, first, folder / "codes")
    return table | codes | {"job.toml": JOB}


CLAIMS = ("protect", "claims", "patients.csv", "claims.csv", "--plan", "plan.toml")

CASES |= {
    "disassociation": codes(reconstructed_sets, "--method", "disassociation", "-m", "2"),
    "disassociation attacked": codes(reconstructed_sets, "--method", "disassociation", "-m", "2", "--attack"),
    "cba": codes(edited_sets, "--method", "cba", "-m", "2", "--attack"),
    "ugaclip": codes(edited_sets, "--method", "ugaclip", "-m", "2"),
    "apriori": codes(edited_sets, "--method", "apriori", "-m", "2"),
    "trajectories": trajectories(),
    "trajectories attacked": trajectories("--attack"),
    "trajectories baseline": trajectories("--method", "baseline"),
    "table with codes": Case(WITH_CODES, people_with_codes, other_people_with_codes),
    "table with terms": Case((*WITH_CODES, "--codes-method", "cba"), people_with_codes, others_by_terms),
    "claims": Case((*CLAIMS, "--attack"), bills, other_bills),
    "job": Case(("run", "job.toml"), several, other_several),
}
