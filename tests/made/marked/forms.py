"""The records that the contract of no patient's values runs on: one for each form of release, and the toy shape."""

from tests.made import toy_shape

from .claims import CLAIMS
from .code_sets import DISASSOCIATED, GENERALIZED
from .record import MARKER, Attempt, Marked, with_words
from .tables import ANY_RELEASE, TABLE, WITH_CODES, WITH_TERMS
from .trajectories import TRAJECTORIES

NOTES = "\n".join(("cough", "fever", "rash", "fall")[i % 4] for i in range(60))
WORDS = Marked(
    files={"notes.txt": f"{NOTES}\n{MARKER}"},
    words=("protect", "words", "notes.txt", "-k", "3", "--out", "release"),
    releases=with_words(plain=(), shouted=("--shout",)),
    against=("--original", "notes.txt"),
    refusals={
        **with_words(no_k=("-k", "x"), output_in_nothing=("--out", "nowhere/release")),
        "undecodable": Attempt(files={"notes.txt": MARKER.encode() + b"\xff\x81\n"}, codes=(2, 3)),
    },
    stages={
        "protect": (
            "tests.made.toy_shape.words_in",
            "tests.made.toy_shape.verified",
            "cloister.release.release.write_csv",
        )
    },
    changes=(("data.csv", "cough", MARKER), ("release.json", '"k": 3', f'"k": "{MARKER}"'), *ANY_RELEASE[:-1]),
    grid=("--grid", "k=2,3"),
    register=toy_shape.register,
)

MARKED: dict[str, Marked] = {
    "table": TABLE,
    "table_with_codes": WITH_CODES,
    "table_with_terms": WITH_TERMS,
    "disassociation": DISASSOCIATED,
    "generalization": GENERALIZED,
    "trajectories": TRAJECTORIES,
    "claims": CLAIMS,
    "words": WORDS,
}
