"""A table, and one with a column of codes, in which one patient stands out: every text of that row is the marker."""

import gzip
import io
from functools import partial

import polars as pl

import cloister as cl

from .record import MARKER, Attempt, Marked, with_file, with_words

HEADER = "mrn,name,age,ward,diagnosis,note\n"
COMMON = "".join(
    f"M{i:03d},Name {i},{30 + 10 * (i % 2)},{'AB'[i % 2]},{('001', 'V51')[i % 2]},n{i % 3}\n" for i in range(60)
)
OWN = f"{MARKER},{MARKER},77,{MARKER},{MARKER},{MARKER}\n"
DATA = HEADER + COMMON + OWN
ID = ("--id", "mrn", "--drop", "name")
ROLES = (*ID, "--sensitive", "diagnosis", "--keep", "note", "--purpose", "one-coding")
QI = ("--qi", "age=interval:10/top=90/bottom=0", "--qi", "ward=suppress")
START = ("protect", "table", "data.csv", "-k", "5", "--out", "release")
WORDS = (*START, *ROLES, *QI)


def other_files():
    """The same table in other files, whose dictionaries would list suppressed values."""
    frame = pl.read_csv(io.StringIO(DATA), infer_schema=False)
    categories = frame.with_columns(pl.col("ward", "diagnosis", "note").cast(pl.Categorical))
    found = {"gzip": ("data.csv.gz", gzip.compress(DATA.encode()))}
    found |= {"Parquet": ("data.parquet", parquet(frame)), "categories": ("data.parquet", parquet(categories))}
    return {
        kind: Attempt(
            files={name: content}, words=(*START[:2], name, *START[3:], *ROLES, *QI), against=("--original", name)
        )
        for kind, (name, content) in found.items()
    }


def parquet(frame, **options):
    """The bytes of a Parquet file."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, **options)
    return buffer.getvalue()


AVERAGED = ("--original", "data.csv", "--accept-unchecked", "averages")
RELEASES = {
    **with_words(
        plain=(), another_loss=("--loss", "arx"), ids_dropped=("--ids", "drop"), local_recoding=("--local-recoding",)
    ),
    "averages": Attempt(("--microaggregate", "age=mean"), against=AVERAGED),
    "modes": Attempt(("--microaggregate", "ward=mode"), against=AVERAGED),
    "both": Attempt(("--local-recoding", "--microaggregate", "age=median"), against=AVERAGED),
    **other_files(),
    "hierarchy file": Attempt(
        files={"hierarchy.csv": f"A;low;*\nB;low;*\n{MARKER};high;*\n"},
        words=(*START, *ROLES, *QI[:2], "--qi", "ward=hierarchy.csv"),
        against=("--original", "data.csv", "--qi", "ward=hierarchy.csv", "--qi", "age"),
    ),
}

NOTE = (*START, *ROLES[:6], "--qi")
SETTINGS = {
    **with_words(
        unknown_column=("--keep", "nothing"),
        k_unreachable=("-k", "99"),
        fixed_levels=("--levels", "age=0,ward=0", "--suppression", "0"),
        suppression=("--suppression", "5"),
        two_roles=("--keep", "ward"),
        stars=("--keep-suppressed",),
        output_in_nothing=("--out", "nowhere/release"),
        output_is_the_data=("--out", "data.csv", "--overwrite"),
        crosswalk_over_the_data=("--crosswalk", "data.csv"),
        other_encoding=("--encoding", "utf-16"),
        other_delimiter=("--delimiter", ";"),
        weights=("--weight", "note=2"),
    ),
    "no role": Attempt(words=(*START, *QI)),
    "kept rest": Attempt(words=(*START, *QI, "--undecided", "keep")),
    "no quasi-identifier": Attempt(words=(*START, *ROLES)),
    "no such builder": Attempt(words=(*START, *ROLES, "--qi", "ward=nothing")),
    "id is the note": Attempt(words=(*START, "--id", "note", "--undecided", "drop", *QI)),
    "too short a key": Attempt(("--ids", "hmac:key"), {"key": "short"}),
    **{
        f"outside {builder}": Attempt(words=(*NOTE, f"note={builder}"))
        for builder in ("interval:5", "prefix:3", "date:month", "icd9", "icd10")
    },
    "outside listed": Attempt(
        files={"outside.csv": ""}, words=(*NOTE, "note=icd10", "--unmatched-values", "outside.csv")
    ),
    "outside not listable": Attempt(words=(*NOTE, "note=icd10", "--unmatched-values", "nowhere/outside.csv")),
}
BOUNDED = (*START, *ROLES, "--qi", "age=interval:10/top=90/bottom=0@0", "--qi", "ward=suppress@0", "--suppression", "0")
METHODS = {
    f"{' '.join(method)} {what}": attempt
    for method in ((), ("--local-recoding",), ("--method", "mondrian"), ("--method", "cluster"), ("--method", "mdav"))
    for what, attempt in {
        "averages text": Attempt((*method, "--microaggregate", "ward=mean"), codes=(2,)),
        "finds nothing safe": Attempt(words=(*BOUNDED, *method), codes=(2,) if "mdav" in method else (1,)),
    }.items()
}
CONTENTS = {
    "ragged": HEADER + COMMON + f"{MARKER},{MARKER}\n",
    "ragged, long": HEADER + COMMON + OWN.strip() + f",{MARKER}\n",
    "open quote": HEADER + COMMON + f'"{MARKER}\n',
    "stray quote": HEADER + COMMON + OWN.replace(",77,", f',7"7{MARKER},'),
    "undecodable": DATA.encode() + MARKER.encode() + b"\xff\x81,x,1,A,B,C\n",
    "NUL": HEADER + COMMON + OWN.replace(",77", "\0,77"),
    "duplicate id": DATA + OWN,
    "missing id": HEADER + COMMON + OWN.replace(MARKER, "", 1),
    "value outside": HEADER + COMMON + OWN.replace(",77,", f",{MARKER},"),
    "only the record": HEADER + OWN,
}
ODD = pl.DataFrame({"ward": ["A"] * 9 + [MARKER], "codes": [[MARKER]] * 10, "bytes": [MARKER.encode() + b"\xff"] * 10})
PARQUET = {
    "nested": parquet(ODD.select("ward", "codes")),
    "bytes": parquet(ODD.select("ward", "bytes")),
    "half a file": parquet(ODD.select("ward"), compression="uncompressed")[:-20] + b"PAR1",
}
LADDERS = {
    "not nested": f"A;x;{MARKER};*\nB;x;y;*\n{MARKER};z;y;*\n",
    "two roots": f"A;x;*\nB;x;*\n{MARKER};x;{MARKER}\n",
    "twice": f"A;*\nB;*\n{MARKER};*\n{MARKER};*\n",
    "ragged labels": f"A;x;*\nB;x;*\n{MARKER}\n",
    "not listed": "A;x;*\nB;x;*\n",
    "not text": f"A;x;*\nB;\x81{MARKER};*\n",
}
FILES = {
    **with_file("data.csv", CONTENTS),
    **{
        what: Attempt(
            files={"data.parquet": content},
            words=(*START[:2], "data.parquet", *START[3:], "--qi", "ward", "--undecided", "keep"),
            codes=(2,),
        )
        for what, content in PARQUET.items()
    },
    **{
        f"hierarchy {what}{of}": Attempt(files={"hierarchy.csv": content.encode("latin-1")}, words=words, codes=(2,))
        for what, content in LADDERS.items()
        for of, words in {
            "": (*START, *ROLES, *QI[:2], "--qi", "ward=hierarchy.csv"),
            ", checked": ("hierarchy", "check", "hierarchy.csv", "data.csv", "--column", "ward"),
        }.items()
    },
}
STAGES = (
    "cloister.pipeline.table_shape.read_table",
    "cloister.pipeline.table_shape.TableProtection",
    "cloister.pipeline.tables.encode",
    "cloister.pipeline.tables.protect",
    "cloister.pipeline.tables.verify",
    "cloister.shapes.table.method.describe.facts_of",
    "cloister.shapes.table.method.describe.public_utility",
    "cloister.pipeline.tables.describe_table",
    "cloister.shapes.table.format.facts.codebook",
    "cloister.shapes.table.method.encode.distinct_rows",
    "cloister.shapes.table.method.recoding.choice.search",
    "cloister.shapes.table.method.recoding.choice.at_level",
    "cloister.release.release.write_csv",
    "cloister.release.release.read_data",
    "cloister.release.release.report_files",
    "cloister.release.release.write_private",
    "cloister.io.folder.make_private",
    "cloister.cli.protect.show",
)
ASSESSED = ("assess", "table", "data.csv", "--qi", "age", "--qi", "ward", "--qi", "note", "--qi", "diagnosis")
PEOPLE = {"people.csv": DATA + COMMON}
ROWS = "mrn,age,ward,note\n" + "".join(f"M{i:03d},{30 + i % 5},{'AB'[i % 2]},n{i % 3}\n" for i in range(60))
UNDECIDED = ("assess", "table", "data.csv")
COMMANDS = {
    "assess": Attempt(words=(*ASSESSED, "--sampling-fraction", "0.1"), codes=(0,)),
    "assess every column": Attempt(
        files={"data.csv": ROWS + f"{MARKER},{MARKER},{MARKER},{MARKER}\n"},
        words=(*UNDECIDED, "--qi", "age", "--qi", "ward", "--qi", "note"),
        codes=(0,),
    ),
    "assess without roles": Attempt(words=UNDECIDED, codes=(0,)),
    "assess to a file": Attempt(words=(*ASSESSED, "--out", "risk.json"), codes=(0,)),
    "assess among people": Attempt(files=PEOPLE, words=(*ASSESSED, "--population", "people.csv"), codes=(0,)),
    "init": Attempt(words=("init", "table", "data.csv", "--out", "first.toml"), codes=(0,)),
}
NOT_ASSESSED = {
    "assess no such column": Attempt(words=("assess", "table", "data.csv", "--qi", "agee"), codes=(2,)),
    "assess a sample larger than its people": Attempt(
        files={"people.csv": DATA + COMMON},
        words=("assess", "table", "people.csv", "--qi", "ward", "--population", "data.csv"),
        codes=(2,),
    ),
    "assess ragged": Attempt(files={"data.csv": CONTENTS["ragged"]}, words=ASSESSED, codes=(2,)),
}
ASSESSING = (
    "cloister.risk.assessment.look_for_identifiers",
    "cloister.risk.assessment.group",
    "cloister.risk.assessment.estimate_risk",
    "cloister.risk.assessment.find_special_uniques",
    "cloister.cli.assess.show",
)
ANY_RELEASE = (
    ("codebook.csv", "as recorded", MARKER),
    ("codebook.csv", "\n", f"\n{MARKER}\n"),
    ("release.json", '"schema": 3', f'"schema": "{MARKER}"'),
    ("release.json", '"released"', f'"{MARKER}"'),
    ("release.json", "{", f"{{{MARKER}"),
    ("report.json", '"schema"', f'"{MARKER}": 1, "schema"'),
    ("report.html", "<h1>", f"<h1>{MARKER}"),
    ("README.txt", "FILES", f"FILES{MARKER}"),
    ("verify.sql", "SELECT", f"{MARKER} SELECT"),
)
"""Where the marker may be written into a release of any form."""


def refused_by_the_library():
    """Calls that end with an error: values outside, a role that is missing or wrong, nothing safe, a short key."""
    frame = pl.read_csv(io.StringIO(DATA), infer_schema=False)
    ward = {"qi": {"ward": "suppress"}}
    asked = (
        {"qi": {"note": "interval:5"}, "undecided": ["drop"]},
        {**ward, "undecided": ["keep"]},
        {**ward, "id": "note", "undecided": ["drop"]},
        {**ward, "undecided": ["drop"], "suppression": 0, "levels": {"ward": 0}},
        {**ward, "undecided": ["drop"], "id": "mrn", "ids": "hmac", "id_key": b"short"},
    )
    return [
        *(partial(cl.protect_table, frame, rule=["k-anonymity=5"], **options) for options in asked),
        partial(cl.assess, frame, qi=["ward"], population=frame.head(60)),
    ]


def shown_by_the_library():
    """A release, what its custodian keeps, and an assessment with its parts."""
    frame = pl.read_csv(io.StringIO(DATA), infer_schema=False)
    ward = {"ward": "suppress"}
    release = cl.protect_table(frame, qi=ward, rule=["k-anonymity=5"], id="mrn", undecided="drop")
    found = cl.assess(frame, qi=["age", "ward", "note", "mrn"])
    return [release, release.custody, found, found.summary(), found.special_uniques, found.findings]


TABLE = Marked(
    files={"data.csv": DATA},
    words=WORDS,
    releases=RELEASES,
    against=("--original", "data.csv"),
    refusals={**SETTINGS, **METHODS, **FILES, **NOT_ASSESSED},
    commands=COMMANDS,
    stages={"protect": STAGES, "assess": ASSESSING},
    changes=(
        ("data.csv", "A,001", f"{MARKER},001"),
        ("data.csv", "001", MARKER),
        ("data.csv", "n0\n", f"n0,{MARKER}\n"),
        ("data.csv", "1,30", f"{MARKER},30"),
        ("data.csv", "\n", f'\n"{MARKER}'),
        ("codebook.csv", ",A,", f",{MARKER},"),
        ("release.json", '"k": 5\n', f'"k": "{MARKER}"\n'),
        ("release.json", '"level": 0', f'"level": "{MARKER}"'),
        *ANY_RELEASE,
    ),
    grid=("--grid", "k=2,5"),
    calls=refused_by_the_library,
    shown=shown_by_the_library,
)

CODED = HEADER.replace("diagnosis", "codes") + "".join(
    f"M{i:03d},Name {i},{30 + 10 * (i % 2)},{'AB'[i % 2]},{('001 250.00', '250.00 V51', '001 401.9')[i % 3]},n\n"
    for i in range(60)
)
OF_CODES = ("--codes", "codes", "-m", "2", "--drop", "note")
WITH_CODES = Marked(
    files={"data.csv": CODED + f"{MARKER},{MARKER},77,{MARKER},001 V51,{MARKER}\n"},
    words=(*START, *ID, *OF_CODES, *QI),
    releases=with_words(
        plain=(), ids_dropped=("--ids", "drop"), mondrian=("--method", "mondrian"), merged=("--merge-classes", "0.6")
    ),
    against=("--original", "data.csv"),
    refusals={
        **with_words(
            k_unreachable=("-k", "99"),
            m=("-m", "0"),
            policy=("--policy", "level:7"),
            two_roles=("--keep", "codes"),
            no_such_codes=("--codes", "nothing"),
            crosswalk_over_the_data=("--crosswalk", "data.csv"),
        ),
        **with_file(
            "data.csv",
            {
                "ragged": CODED + f"{MARKER},{MARKER}\n",
                "duplicate id": CODED + 2 * f"{MARKER},{MARKER},77,A,001,n\n",
                "code with a blank": CODED + f'{MARKER},{MARKER},77,A,,n\n"{MARKER}',
                "undecodable": CODED.encode() + MARKER.encode() + b"\xff\x81,x,1,A,B,C\n",
            },
        ),
    },
    stages={
        "protect": (
            "cloister.pipeline.tables_with_codes.describe_release",
            "cloister.pipeline.tables_with_codes.record_codes",
            "cloister.pipeline.tables_with_codes.protect_codes_of",
            "cloister.pipeline.tables_with_codes.exact_figures",
            "cloister.pipeline.tables_with_codes.verify_both",
            "cloister.release.release.write_csv",
            "cloister.release.release.report_files",
            "cloister.cli.protect.show",
        )
    },
    changes=(
        ("data.csv", "001", MARKER),
        ("data.csv", "\n", f'\n"{MARKER}'),
        ("clusters.json", '"001"', f'"{MARKER}"'),
        ("clusters.json", "[", f"[{MARKER}"),
        ("release.json", '"k": 5', f'"k": "{MARKER}"'),
        *ANY_RELEASE,
    ),
    grid=("--grid", "k=2,5"),
)

BY_TERMS = (*START, *ID, *OF_CODES, *QI, "--codes-method", "cba")
WITH_TERMS = Marked(
    files=WITH_CODES.files,
    words=BY_TERMS,
    releases=with_words(
        plain=(),
        ids_dropped=("--ids", "drop"),
        policy=("--policy", "level:1"),
        improved=("--codes-method", "generalization", "--method", "mondrian"),
    ),
    against=("--original", "data.csv"),
    refusals={
        **with_words(
            m=("-m", "0"),
            policy=("--policy", "level:7"),
            no_method=("--codes-method", "nothing"),
            clusters=("--max-cluster-size", "20"),
        ),
        **{name: WITH_CODES.refusals[name] for name in ("ragged", "duplicate id", "undecodable")},
        "code with a bracket": Attempt(
            files={"data.csv": CODED + f'{MARKER},{MARKER},77,A,"({MARKER},001)",n\n'}, codes=(2,)
        ),
    },
    stages={
        "protect": (
            "cloister.pipeline.tables_with_codes.describe_release",
            "cloister.pipeline.tables_with_codes.protect_terms_of",
            "cloister.pipeline.tables_with_codes.verify_terms",
            "cloister.shapes.table_with_codes.method.terms.find_terms",
            "cloister.release.release.write_csv",
        )
    },
    changes=(
        ("data.csv", "001", MARKER),
        ("data.csv", "\n", f'\n"{MARKER}'),
        ("release.json", '"m": 2', f'"m": "{MARKER}"'),
        *ANY_RELEASE,
    ),
    grid=("--grid", "k=2,5"),
)
