"""Claims in which an id, a provider, what is no diagnosis, a remark and names of people are the marker."""

import json
import traceback

from tests.made.claims_data import CLAIMS as EVENTS
from tests.made.claims_data import OF_CLAIMS, OF_PATIENTS, PATIENTS, claims
from tests.made.claims_data import PLAN as STEPS_PLAN
from tests.made.claims_files import PLAN, events

from cloister.errors import InputError
from cloister.shapes.claims.method.encode import encode
from cloister.shapes.claims.method.prepare import prepare

from .record import MARKER, Attempt, Marked, with_words
from .tables import ANY_RELEASE

MARKED_PLAN = PLAN.replace('note = "keep"', 'note = "drop"') + '[population]\npatients = "register.csv"\n'


def files():
    """Patients, claims, their plan, and the register of a population."""
    own = f"{MARKER},2024-03-11,{MARKER},Office,{MARKER},n0\n"
    patients, claims = events(last=[f"{MARKER},1970-01-01,F\n", own])
    return {
        "patients.csv": "mrn,born,sex\n" + "".join(patients),
        "claims.csv": "mrn,date,dx,pos,doctor,note\n" + "".join(claims).replace(",n0\n", f",{MARKER}\n"),
        "plan.toml": MARKED_PLAN,
        "register.csv": "name,sex\n" + 400 * f"{MARKER},F\n{MARKER},M\n",
    }


FILES = files()
WARDS = {
    "patients.csv": "mrn,ward\n" + "".join(f"{i},{'AB'[i % 2]}\n" for i in range(60)) + f"{MARKER},{MARKER}\n",
    "claims.csv": "mrn,date,dx\n"
    + "".join(f"{i},2024-03-11,25{i % 3}.0\n" for i in range(60))
    + f"{MARKER},2024-01-02,401.1\n",
    "plan.toml": """
[patients]
roles = {mrn = "id", ward = "quasi-identifier"}
qi = {ward = "suppress"}
[claims]
roles = {mrn = "id", date = "date", dx = "diagnosis"}
qi = {dx = "diagnosis"}
""",
}
ASSESS = ("assess", "claims", "patients.csv", "claims.csv", "--plan", "plan.toml")
NOBODY = {**WARDS, "claims.csv": f"mrn,date,dx\n{MARKER}9,2024-01-02,401.1\n"}
ASSESSED = {
    "assess": Attempt(files=WARDS, words=(*ASSESS, "-m", "1,4"), codes=(0,)),
    "assess as released": Attempt(files=WARDS, words=(*ASSESS, "--released"), codes=(0,)),
}
NOT_ASSESSED = {
    "assess nobody's claim": Attempt(files=NOBODY, words=ASSESS, codes=(2,)),
    "assess nobody's released claim": Attempt(files=NOBODY, words=(*ASSESS, "--released"), codes=(2,)),
}
CLEAR_NAMES = {"dx": "icd9", "all_dx": "icd9_all", "pos": "place", "spec": "specialty", "born": "birth_date"}


def marked_row(row, place):
    """A row with the marker in one cell."""
    return (*row[:place], MARKER, *row[place + 1 :])


def written(columns, rows):
    """A CSV file, missing values empty."""
    names = [CLEAR_NAMES.get(name, name) for name in columns]
    return "\n".join(",".join(cell or "" for cell in row) for row in [names, *rows]) + "\n"


def first_plan(people, events, codes):
    """A proposal of a plan for such rows."""
    files = {"patients.csv": written(OF_PATIENTS, people), "claims.csv": written(OF_CLAIMS, events)}
    words = ("init", "claims", "patients.csv", "claims.csv", "--out", "first.toml")
    return Attempt(files=files, words=words, codes=codes)


def first_plans():
    """Proposals of a plan for files with the marker in any cell: without it, or refused where it is nobody's id."""
    for place in range(len(OF_PATIENTS)):
        people = [marked_row(PATIENTS[0], place), *PATIENTS[1:]]
        yield f"init with patients {place}", first_plan(people, EVENTS, (0,) if place else (2,))
    for place in range(len(OF_CLAIMS)):
        events = [marked_row(EVENTS[0], place), *EVENTS[1:]]
        yield f"init with claims {place}", first_plan(PATIENTS, events, (0,) if place else (2,))


def shown_by_steps():
    """What is told of claims that were taken through steps 1 to 6, with the marker in any cell, or the refusal."""
    people = [marked_row(("P9", "1950-01-01", "F"), place) for place in range(len(OF_PATIENTS))]
    events = [marked_row(EVENTS[0], place) for place in range(len(OF_CLAIMS))]
    return [steps([*PATIENTS, one], EVENTS) for one in people] + [steps(PATIENTS, [*EVENTS, one]) for one in events]


def steps(people, events):
    """Data, their parts after each step, and what is published and kept of it; or the refusal and its traceback."""
    try:
        data = claims(people, events, STEPS_PLAN + '[[top_coding]]\ncolumn = "pay_delay"\n')
        done = prepare(data)
        encoding = encode(done.claims)
    except InputError as refusal:
        return refusal.message + "".join(traceback.format_exception(refusal))
    told = [line.masked(20).as_json() for line in done.lines] + [line.exact() for line in done.lines]
    return [data, done, encoding, encoding.claims, done.representativeness, data.plan, json.dumps(told)]


KEPT = ("--crosswalk", "map.csv")
AGAINST = ("--original", "patients.csv", "claims.csv", "--plan", "plan.toml", *KEPT)
CLAIMS = Marked(
    files=FILES,
    words=("protect", "claims", "patients.csv", "claims.csv", "--plan", "plan.toml", "--out", "release"),
    kept=KEPT,
    releases=with_words(plain=()),
    against=AGAINST,
    written=frozenset({"map.csv"}),
    refusals={
        **with_words(
            keyed_ids=("--ids", "hmac:key"),
            output_in_nothing=("--out", "nowhere/release"),
            crosswalk_over_the_data=("--crosswalk", "claims.csv"),
            other_encoding=("--encoding", "utf-16"),
            other_delimiter=("--delimiter", ";"),
        ),
        "nothing safe": Attempt(files={"plan.toml": MARKED_PLAN.replace("threshold = 0.1", "threshold = 0.0001")}),
        **NOT_ASSESSED,
        "no plan": Attempt(files={"plan.toml": "[patients"}, codes=(2,)),
        **{
            what: Attempt(files={"claims.csv": FILES["claims.csv"] + line}, codes=(2,))
            for what, line in {
                "nobody's claim": f"{MARKER}2,2024-03-11,401.9,Office,D1,n\n",
                "no date": f"P0001,{MARKER},401.9,Office,D1,n\n",
                "ragged": f"{MARKER},{MARKER}\n",
            }.items()
        },
        **{
            f"patient {what}": Attempt(files={"patients.csv": FILES["patients.csv"] + line}, codes=(2,))
            for what, line in {
                "twice": f"{MARKER},1970-01-01,F\n",
                "without an id": f",1970-01-01,{MARKER}\n",
                "of no age": f"P9999,{MARKER},F\n",
            }.items()
        },
    },
    commands={**ASSESSED, **dict(first_plans())},
    stages={
        "protect": (
            "cloister.shapes.claims.format.facts.codebook",
            *(
                f"cloister.pipeline.claims.{stage}"
                for stage in (
                    *("prepare", "read_population", "encode", "deidentify", "lay_out", "verify"),
                    *("facts_of", "evaluate", "describe_claims", "exact_figures", "complete_manifest"),
                )
            ),
        ),
        "assess": (
            "cloister.api.assess.prepare",
            "cloister.api.assess.cells_of",
            "cloister.risk.assessment.measure_risk",
            "cloister.cli.assess.show",
        ),
    },
    shown=shown_by_steps,
    changes=(
        ("patients.csv", "F", MARKER),
        ("claims.csv", "OFFICE", MARKER),
        ("claims.csv", "\n", f'\n"{MARKER}'),
        *ANY_RELEASE,
    ),
)
