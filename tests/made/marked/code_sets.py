"""Code sets of which one patient stands out: the id, a code and a column that is not released are the marker.

Disassociated, the patient's own code is a common one; generalized, it is one that is suppressed.
"""

import gzip
import io
import json

import polars as pl

import cloister as cl

from .record import MARKER, Attempt, Marked, with_file, with_words
from .tables import ANY_RELEASE, parquet

HEADER = "mrn,codes,note\n"
COMMON = "".join(f"M{i:03d},{('001 250.00', '250.00 V51', '001 401.9')[i % 3]},n{i % 3}\n" for i in range(60))
DATA = HEADER + COMMON + f"{MARKER},001 V51,{MARKER}\n"
SUPPRESSED = HEADER + COMMON + f"{MARKER},001 {MARKER},{MARKER}\n"
START = ("protect", "codes", "codes.csv", "-k", "5", "--out", "release")
ROLES = ("--id", "mrn", "--codes", "codes")
OTHER = (*START[:2], "codes.parquet", *START[3:])
POLICY = {"policy.json": json.dumps({"a": ["999.9"]})}
PRIVACY = {"privacy.json": json.dumps([[MARKER, 7]])}


def other_files():
    """The same code sets in other files."""
    frame = pl.read_csv(io.StringIO(DATA), infer_schema=False)
    long = frame.with_columns(code=pl.col("codes").str.split(" ")).drop("codes").explode("code")
    categories = frame.with_columns(pl.all().cast(pl.Categorical))
    found = {
        "gzip": ("codes.csv.gz", gzip.compress(DATA.encode()), ROLES),
        "Parquet": ("codes.parquet", parquet(frame), ROLES),
        "categories": ("codes.parquet", parquet(categories), ROLES),
        "long": ("codes.parquet", parquet(long), ROLES[:2]),
    }
    return {
        kind: Attempt(
            files={name: content},
            words=(*START[:2], name, *START[3:], *roles),
            against=("--original", name, "--crosswalk", "map.csv"),
        )
        for kind, (name, content, roles) in found.items()
    }


OWN = f"{MARKER},{MARKER} {MARKER},{MARKER}\n"
CONTENTS = {
    "ragged": HEADER + COMMON + f"{MARKER},{MARKER}\n",
    "ragged, long": HEADER + COMMON + OWN.strip() + f",{MARKER}\n",
    "open quote": HEADER + COMMON + f'"{MARKER}\n',
    "stray quote": HEADER + COMMON + OWN.replace(" PAT", ' "PAT'),
    "undecodable": (HEADER + COMMON).encode() + MARKER.encode() + b"\xff\x81,x,1\n",
    "NUL": HEADER + COMMON + OWN.replace(" ", "\0"),
    "duplicate id": HEADER + COMMON + OWN + OWN,
    "missing id": HEADER + COMMON + f",{MARKER},{MARKER}\n",
    "no code": HEADER + COMMON + f"{MARKER},,{MARKER}\n",
    "only the record": HEADER + OWN,
    "no header": OWN.replace(",", " "),
}
ODD = pl.DataFrame({"id": ["1", "2"], "code": [f"{MARKER} x", f"{MARKER}#1"]})
PARQUET = {
    "white space": ((), parquet(ODD)),
    "numbered already": (("--repeats",), parquet(ODD.tail(1))),
    "decimals": ((), parquet(pl.DataFrame({"id": [MARKER], "code": [250.1]}))),
    "half a file": ((), parquet(ODD, compression="uncompressed")[:-20] + b"PAR1"),
}
BAD_CODES = {
    what: Attempt(files={"codes.parquet": content}, words=(*OTHER, *more), codes=(2,))
    for what, (more, content) in PARQUET.items()
}


def refused_by_the_library():
    """Calls that end with an error, each about a code or an id."""
    codes = cl.CodeSets.from_records([[MARKER, "001"]] * 9)
    return [
        lambda: cl.CodeSets.from_records([[MARKER], []]),
        lambda: cl.protect_codes(codes, k=10),
        lambda: cl.protect_codes(codes, k=3, sensitive=[MARKER]),
        lambda: cl.protect_codes(codes, k=3, policy=cl.UtilityPolicy.of({"a": ["002"]})),
        lambda: cl.protect_codes(codes, k=3, workload="nothing"),
        lambda: cl.UtilityPolicy.by_level(cl.CodeSets.from_records([[MARKER]]), 1),
        lambda: cl.CodeSets.read("codes.csv", codes="note", id="codes"),
    ]


def shown_by_the_library():
    """Code sets, a release and its parts."""
    codes = cl.CodeSets.read("codes.csv", id="mrn")
    release = cl.protect_codes(codes, k=3)
    found = cl.assess(cl.CodeSets.from_records([["001", MARKER], *([["001"]] * 9)]), m=[1, 2, 5])
    return [codes, release, release.clusters, release.custody, release.reconstruct(), found]


DISASSOCIATED = Marked(
    files={"codes.csv": DATA},
    words=(*START, *ROLES, "--policy", "level:1"),
    kept=("--crosswalk", "map.csv"),
    releases={
        **with_words(plain=(), ids_dropped=("--ids", "drop"), workload=("--workload", "random:40")),
        **other_files(),
    },
    against=("--original", "codes.csv", "--crosswalk", "map.csv"),
    written=frozenset({"map.csv"}),
    refusals={
        **with_words(
            unknown_column=("--id", "nothing"),
            no_id=("--codes", "nothing"),
            id_is_the_codes=("--id", "codes", "--codes", "codes"),
            k_unreachable=("-k", "99"),
            k=("-k", "0"),
            m=("-m", "0"),
            policy=("--policy", "level:7"),
            policy_of_nothing=("--codes", "note", "--policy", "level:1"),
            sensitive=("--sensitive", "999.9"),
            sensitive_and_frequent=("--sensitive", "250.00"),
            keyed_ids=("--ids", "hmac:key"),
            workload=("--workload", "nothing"),
            output_in_nothing=("--out", "nowhere/release"),
            output_is_the_data=("--out", "codes.csv", "--overwrite"),
            crosswalk_over_the_data=("--crosswalk", "codes.csv"),
            other_encoding=("--encoding", "utf-16"),
            other_delimiter=("--delimiter", ";"),
        ),
        "policy unknown": Attempt(("--policy", "policy.json"), POLICY),
        **{
            f"assess {what}": Attempt(
                files={"codes.csv": f"id,codes\n{line}"}, words=("assess", "codes", "codes.csv"), codes=(2,)
            )
            for what, line in {"twice": f"{MARKER},001\n{MARKER},{MARKER}\n", "empty": f"1,001\n{MARKER},\n"}.items()
        },
        **with_file("codes.csv", CONTENTS),
        **BAD_CODES,
    },
    stages={
        "protect": (
            "cloister.pipeline.codes_shape.read_given",
            "cloister.pipeline.codes_shape.parse_policy",
            "cloister.pipeline.codes_shape.DisassociationProtection",
            "cloister.shapes.codes.data.read_code_lists",
            "cloister.shapes.codes.data.encode",
            "cloister.pipeline.disassociation.disassociate",
            "cloister.pipeline.disassociation.verify",
            "cloister.pipeline.disassociation.exact_figures",
            "cloister.pipeline.disassociation.describe_disassociation",
            "cloister.pipeline.disassociation.reconstruct",
            "cloister.pipeline.disassociation.data_frame",
            "cloister.shapes.disassociation.format.facts.codebook",
            "cloister.shapes.disassociation.method.protect.partition_horizontally",
            "cloister.shapes.disassociation.method.protect.partition_vertically",
            "cloister.shapes.disassociation.method.protect.refine",
            "cloister.shapes.disassociation.method.release.write_clusters",
            "cloister.shapes.disassociation.method.release.read_clusters",
            "cloister.shapes.disassociation.method.release.write_csv",
            "cloister.release.release.report_files",
            "cloister.release.release.write_private",
            "cloister.cli.protect.show",
        ),
        "assess": (
            "cloister.api.assess.partial_knowledge",
            "cloister.risk.partial_knowledge.sample_worst",
            "cloister.shapes.codes.data.encode",
        ),
    },
    commands={
        "assess": Attempt(words=("assess", "codes", "codes.csv", *ROLES, "-m", "1,2,3,5"), codes=(0,)),
        "init": Attempt(words=("init", "codes", "codes.csv", "--out", "first.toml"), codes=(0,)),
    },
    changes=(
        ("clusters.json", '"001"', f'"{MARKER}"'),
        ("clusters.json", '"size": ', f'"size": "{MARKER}", "x": '),
        ("clusters.json", "[", f"[{MARKER}"),
        ("clusters.json", '"k": 5', f'"k": "{MARKER}"'),
        ("data.csv", "001", MARKER),
        ("data.csv", "1,", f"{MARKER},"),
        ("data.csv", "\n", f'\n"{MARKER}'),
        ("release.json", '"k": 5', f'"k": "{MARKER}"'),
        ("release.json", '"number"', f'"{MARKER}"'),
        ("release.json", '"policy": "level:1', f'"policy": "{MARKER}'),
        *ANY_RELEASE,
    ),
    grid=("--grid", "k=2,5"),
    calls=refused_by_the_library,
    shown=shown_by_the_library,
)

BY_LEVEL = ("--method", "cba", "--policy", "level:1")


def refused_generalizations():
    """Calls that end with an error, each about a code, a policy or a method."""
    codes = cl.CodeSets.from_records([[MARKER, "001"]] * 9, pl.Series([f"{MARKER}{n}" for n in range(9)]))
    return [
        lambda: cl.protect_codes(codes, k=10, method="cba"),
        lambda: cl.protect_codes(codes, k=3, method="nothing"),
        lambda: cl.protect_codes(codes, k=3, workload="nothing", method="cba"),
        lambda: cl.protect_codes(codes, k=3, privacy=cl.PrivacyPolicy.of([["002"]]), method="cba"),
        lambda: cl.protect_codes(cl.CodeSets.from_records([[f"({MARKER}"]] * 9), k=3, method="cba"),
        lambda: cl.protect_codes(codes, k=3, method="apriori", privacy=cl.PrivacyPolicy.records(codes)),
        lambda: cl.PrivacyPolicy.of([[MARKER], []]),
    ]


def shown_generalizations():
    """A release that suppressed the marker, its parts, and a policy that names it."""
    codes = cl.CodeSets.from_records([[MARKER, "001"]] * 9, pl.Series([f"{MARKER}{n}" for n in range(9)]))
    rare = cl.CodeSets.from_records([["001"]] * 8 + [["001", MARKER]])
    release = cl.protect_codes(rare, k=3, uncovered="suppress", method="cba")
    assert release.custody.figures["suppressed"] == [MARKER]
    return [release, release.generalized, release.custody, cl.PrivacyPolicy.records(codes)]


GENERALIZED = Marked(
    files={"codes.csv": SUPPRESSED, **PRIVACY},
    words=(*START, *ROLES, *BY_LEVEL),
    releases=with_words(
        plain=(),
        ids_dropped=("--ids", "drop"),
        workload=("--workload", "random:40"),
        ugaclip=("--method", "ugaclip"),
        ugaclip_ids_dropped=("--method", "ugaclip", "--ids", "drop"),
        ugaclip_workload=("--method", "ugaclip", "--workload", "random:40"),
    ),
    against=("--original", "codes.csv"),
    written=frozenset({"map.csv", "secret"}),
    refusals={
        **with_words(
            k_unreachable=("-k", "99"),
            everything_suppressed=("-k", "58"),
            k=("-k", "0"),
            m=("-m", "0"),
            policy_unknown=("--policy", "level:7"),
            no_disease=("--codes", "note", "--policy", "gwas"),
            privacy_unknown=("--privacy", "nowhere.json"),
            of_another_method=("--sensitive", "001"),
            keyed_ids=("--ids", "hmac:key"),
            crosswalk_over_the_data=("--crosswalk", "codes.csv"),
            id_is_the_codes=("--id", "codes"),
        ),
        "policy": Attempt(("--policy", "policy.json"), POLICY),
        "privacy": Attempt(("--privacy", "privacy.json")),
        "visits": Attempt(("--privacy", "visits:privacy.json")),
        "hierarchy": Attempt(("--code-hierarchy", "policy.json"), POLICY),
        **{
            f"code like a term {code}": Attempt(
                files={"codes.parquet": parquet(pl.DataFrame({"id": ["1", "2"], "code": [code, "001"]}))},
                words=(*OTHER, *BY_LEVEL, "--code", "code", "--id", "id"),
                codes=(2,),
            )
            for code in (f"({MARKER})", f"{MARKER})")
        },
        **with_file("codes.csv", CONTENTS),
    },
    stages={
        "protect": (
            "cloister.pipeline.codes_shape.read_given",
            "cloister.pipeline.codes_shape.parse_policy",
            "cloister.pipeline.generalization.GeneralizationProtection",
            "cloister.pipeline.generalization.generalize",
            "cloister.pipeline.generalization.verify",
            "cloister.pipeline.generalization.exact_figures",
            "cloister.shapes.generalization.format.released.facts_of",
            "cloister.pipeline.generalization.data_frame",
            "cloister.shapes.generalization.format.released.DerivedTerms.codebook",
            "cloister.shapes.generalization.method.protect.constraints_on",
            "cloister.shapes.generalization.method.protect.cluster",
            "cloister.release.release.write_csv",
            "cloister.shapes.generalization.method.release.read_released",
            "cloister.release.release.report_files",
            "cloister.cli.protect.show",
        )
    },
    idle={"cloister.shapes.generalization.method.protect.cluster": "cloister.pipeline.protecting.load"},
    commands={"assess": Attempt(words=("assess", "codes", "codes.csv", *ROLES, "-m", "1,2,3,5"), codes=(0,))},
    changes=(
        ("data.csv", "001", MARKER),
        ("data.csv", "001", f"({MARKER},)"),
        ("data.csv", "1,", f"{MARKER},"),
        ("data.csv", "\n", f'\n"{MARKER}'),
        ("release.json", '"method": "cba"', f'"method": "{MARKER}"'),
        ("release.json", '"k": 5', f'"k": "{MARKER}"'),
        ("release.json", '"all:2"', f'"{MARKER}"'),
        ("release.json", '"level:1/icd9"', f'"{MARKER}"'),
        ("release.json", '"icd9"', f'"{MARKER}"'),
        ("release.json", '"generalize"', f'"{MARKER}"'),
        *ANY_RELEASE,
    ),
    asked=(("--privacy", "privacy.json"),),
    grid=("--grid", "k=2,5"),
    calls=refused_generalizations,
    shown=shown_generalizations,
)
