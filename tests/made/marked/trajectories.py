"""Trajectories of which one is that of a patient whose id and ward are the marker; beside them a side file."""

import cloister as cl

from .record import MARKER, Attempt, Marked, with_words
from .tables import ANY_RELEASE

CODES = ("001", "250.00", "401.9", "V51")
VISITS = (
    "mrn,code,age,ward\n"
    + "".join(f"M{i:03d},{CODES[(i + j) % 4]},{60 + i % 7 + j},n{i % 3}\n" for i in range(40) for j in range(1 + i % 3))
    + f"{MARKER},401.9,61,{MARKER}\n{MARKER},250.00,103,{MARKER}\n"
)
SIDE = "mrn,sex\n" + "".join(f"M{i:03d},{'FM'[i % 2]}\n" for i in range(40)) + f"{MARKER},F\n"
SIDE_WORDS = ("--attributes", "samples.csv")
BARE = ("protect", "trajectories", "visits.csv", "-k", "4", "--out", "release", "--id", "mrn")
ASSESSED = ("assess", "trajectories", "visits.csv")
CODED = "id,code,age\n" + "".join(f"{i},25{i % 3}.0,{30 + i % 4}\n" for i in range(60)) + f"{MARKER},{MARKER},41\n"
LINES = {
    "code": f"M001,{MARKER},33,n\n",
    "age": f"M001,001,{MARKER},n\n",
    "no code": f"{MARKER},,33,n\n",
    "no age": f"{MARKER},001,,n\n",
    "no patient": f",{MARKER},33,n\n",
    "negative": f"{MARKER},001,-33,n\n",
    "root": f"{MARKER},*,33,n\n",
    "ragged": f"{MARKER},001\n",
    "unknown to the side": f"{MARKER}2,001,33,n\n",
}
SIDES = {"twice": f"{MARKER},F\n", "another": f"{MARKER}2,F\n", "nobody": f",{MARKER}\n", "half": f"{MARKER}\n"}


def refused_by_the_library():
    """Calls that end with an error: a code that the hierarchy lacks, and weights that are none."""
    trajectories = cl.Trajectories.from_records([[(MARKER, 33)], [(MARKER, 34)], [(MARKER, 35)]])
    return [
        lambda: cl.protect_trajectories(trajectories, k=2),
        lambda: cl.protect_trajectories(trajectories, k=2, code_hierarchy=cl.icd9()),
        lambda: cl.protect_trajectories(trajectories, k=2, code_hierarchy=cl.suppress(), weights=(MARKER, 1)),
    ]


def shown_by_the_library():
    """Trajectories, a release, what it is made of, and its summary."""
    trajectories = cl.Trajectories.from_records([[(MARKER, 33)], [(MARKER, 34)], [(MARKER, 35)]])
    release = cl.protect_trajectories(trajectories, k=2, code_hierarchy=cl.suppress())
    return [trajectories, release, release.anonymized, release.summary()]


TRAJECTORIES = Marked(
    files={"visits.csv": VISITS, "samples.csv": SIDE},
    words=(*BARE, *SIDE_WORDS),
    releases=with_words(plain=(), baseline=("--method", "baseline")),
    against=("--original", "visits.csv", *SIDE_WORDS),
    written=frozenset({"map.csv"}),
    refusals={
        **with_words(
            k_unreachable=("-k", "99"),
            k=("-k", "0"),
            weights=("--weights", "2,-1"),
            hierarchy=("--code-hierarchy", "icd10"),
            dates=("--date", "ward", "--anchor", "first"),
            age_is_text=("--age", "ward"),
            ids_dropped=("--ids", "drop"),
            keyed_ids=("--ids", "hmac:key"),
            crosswalk_over_the_data=("--crosswalk", "visits.csv"),
            id_is_the_code=("--id", "code"),
            sensitive=("--sensitive", "sex", "--diversity", "9"),
            no_such_sensitive=("--sensitive", "dna"),
            side_is_the_data=("--attributes", "visits.csv"),
            side_is_no_file=("--attributes", "nowhere.csv"),
        ),
        "assess no age": Attempt(files={"visits.csv": f"id,code,age\n1,001,{MARKER}\n"}, words=ASSESSED, codes=(2,)),
        "hierarchy file": Attempt(("--code-hierarchy", "codes.csv"), {"codes.csv": f"{MARKER};*\n"}),
        "ages": Attempt(("--age-hierarchy", "codes.csv"), {"codes.csv": f"{MARKER};*\n"}),
        **{what: Attempt(files={"visits.csv": VISITS + line}, codes=(2,)) for what, line in LINES.items()},
        **{f"side {what}": Attempt(files={"samples.csv": SIDE + line}, codes=(2,)) for what, line in SIDES.items()},
    },
    stages={
        "protect": (
            "cloister.pipeline.trajectories_shape.read_given",
            "cloister.pipeline.trajectories_shape.usual_codes",
            "cloister.pipeline.trajectories_shape.TrajectoriesProtection",
            "cloister.pipeline.trajectories.fit_hierarchies",
            "cloister.pipeline.trajectories.anonymize",
            "cloister.pipeline.trajectories.order_of",
            "cloister.pipeline.trajectories.write_patients",
            "cloister.pipeline.trajectories.verify",
            "cloister.pipeline.trajectories.exact_figures",
            "cloister.shapes.trajectories.format.facts.DerivedTrajectories.parts",
            "cloister.shapes.trajectories.format.facts.codebook",
            "cloister.release.release.write_csv",
            "cloister.shapes.trajectories.method.release.write_csv",
            "cloister.shapes.trajectories.method.release.read_data",
            "cloister.release.release.report_files",
            "cloister.cli.protect.show",
        ),
        "assess": ("cloister.cli.assess.read_code_events", "cloister.risk.assessment.partial_knowledge"),
    },
    commands={
        "assess": Attempt(files={"visits.csv": CODED}, words=(*ASSESSED, "-m", "1,4"), codes=(0,)),
        "assess as released": Attempt(files={"visits.csv": CODED}, words=(*ASSESSED, "--released"), codes=(0,)),
        "init": Attempt(words=("init", "trajectories", "visits.csv", "--out", "first.toml"), codes=(0,)),
    },
    changes=(
        ("data.csv", "1,", f"{MARKER},"),
        ("attributes.csv", "F", MARKER),
        ("release.json", '"a-gs"', f'"{MARKER}"'),
        ("release.json", '"k": 4', f'"k": "{MARKER}"'),
        ("release.json", '"icd9"', f'"{MARKER}"'),
        ("release.json", '"role": "auxiliary"', f'"role": "{MARKER}"'),
        *ANY_RELEASE,
    ),
    grid=("--grid", "k=2,4"),
    calls=refused_by_the_library,
    shown=shown_by_the_library,
)
