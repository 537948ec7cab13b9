"""Small random data of every shape, the words that protect them by any method, and what the release must then keep."""

import csv
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
from tests.made import claims_files
from tests.made.tables_with_codes import in_class
from tests.oracles import disassociation as oracle
from tests.oracles import terms_in_classes
from tests.soak.command import check

from cloister.shapes.disassociation.format.clusters_file import read_clusters
from cloister.testing import assert_combinations_are_shared, assert_every_patient_shares, assert_k_anonymous

CODES = ("a", "b", "c", "d", "e", "f", "g")
WEIGHTS = ((1,) * 7, (9, 3, 3, 1, 1, 1, 1), (5, 5, 5, 1, 0, 0, 0))


@dataclass(frozen=True)
class Made:
    """Data on disk.

    Attributes
    ----------
    words : of ``protect``, all but ``--out``
    files : that were written; first those with the patients
    keeps : raises what a release folder does not keep of the promise, by its definition
    cells : columns of each released file, by its name without ending, that the promise is about
    against : words of ``verify`` that compare a release with its original
    kept : further words of ``protect``, which write what ``against`` needs
    unsafe : words of ``protect`` for which nothing is safe, where that is not a large k
    """

    words: tuple[object, ...]
    files: tuple[Path, ...]
    keeps: Callable[[Path], None]
    cells: Mapping[str, tuple[str, ...]]
    against: tuple[object, ...]
    kept: tuple[object, ...] = ()
    unsafe: tuple[object, ...] = ("-k", 10_000)

    def elsewhere(self, folder, words=None):
        """The words of ``protect``, or these, if the same files were in another folder."""
        words = (*self.words, *self.kept) if words is None else words
        return tuple(folder / word.name if isinstance(word, Path) else word for word in words)


def table(draw, folder, n=None):
    """One row a patient, by any method for tables."""
    rows = _patients(draw, n or draw.randint(6, 60))
    path = _written(folder / draw.choice(("patients.csv", "patients.parquet")), rows)
    k = draw.randint(2, 5)
    mdav = ("--method", "mdav", "--accept-empty")
    methods = (
        (),
        ("--local-recoding",),
        ("--method", "mondrian"),
        ("--resist-downcoding",),
        ("--method", "cluster"),
        ("--keep-suppressed",),
        mdav,
    )
    method = draw.choice(methods)
    k = max(k, 3) if method == ("--resist-downcoding",) else k
    words = ("table", path, "-k", k, "--id", "id", "--drop", "name", "--sensitive", "dx", *method)
    words += ("--qi", "age=interval:5,20/top=90/bottom=0", "--qi", "sex", "--qi", "zip=prefix:5")
    words += ("--suppression", draw.choice((0, 0.1, 0.3, 1)))

    def keeps(release):
        frame = _frame(release)
        kept = frame.filter(~pl.all_horizontal(pl.col("age", "sex", "zip").cast(pl.String) == "*"))
        if kept.height:
            assert_k_anonymous(kept, ["age", "sex", "zip"], k)

    against = ("--original", path, *(("--accept-unchecked", "averages") if method == mdav else ()))
    return Made(words, (path,), keeps, {"data": ("age", "sex", "zip")}, against)


def disassociation(draw, folder, n=None):
    """One set of codes a patient, disassociated; an exact solver tries every data set that it may stand for."""
    records = _code_sets(draw, n or draw.randint(3, 14))
    path = _written(folder / "codes.csv", [{"id": f"P{i}", "codes": " ".join(own)} for i, own in enumerate(records)])
    k, m = draw.randint(2, 3), draw.randint(1, 3)
    words = ("codes", path, "-k", k, "-m", m, "--refine", draw.choice(("tree", "paper", "off")))
    words += ("--inference-check", draw.choice(("off", "report", "enforce")))

    def keeps(release):
        written = oracle.written(read_clusters(release / "clusters.json"))
        # Codes without any candidate are of records that a changed release is not of.
        few = {codes: most for codes, most in oracle.unprotected(records, written, k, m).items() if most}
        check(few == {}, "codes have fewer candidates than k in every data set")

    kept = ("--crosswalk", folder / "map.csv")
    return Made(words, (path,), keeps, {"data": ("codes",)}, ("--original", path, *kept), kept)


def generalization(draw, folder, n=None):
    """One set of codes a patient, generalized."""
    records = _code_sets(draw, n or draw.randint(5, 40))
    path = _written(folder / "codes.csv", [{"id": f"P{i}", "codes": " ".join(own)} for i, own in enumerate(records)])
    k, m = draw.randint(2, 5), draw.randint(1, 3)
    method = draw.choice(("cba", "ugaclip", "apriori"))
    hierarchy = folder / "hierarchy.csv"
    hierarchy.write_text("".join(f"{code};{'abc' if code in 'abc' else 'defg'};*\n" for code in CODES))
    words = ("codes", path, "-k", k, "-m", m, "--method", method, "--code-hierarchy", hierarchy)
    words += () if method == "apriori" else ("--uncovered", draw.choice(("generalize", "suppress")))

    def keeps(release):
        cells = [(text or "").split() for text in _frame(release)["codes"].to_list()]
        assert_combinations_are_shared(cells, m, k)

    return Made(words, (path, hierarchy), keeps, {"data": ("codes",)}, ("--original", path))


def trajectories(draw, folder, n=None):
    """Codes with ages."""
    n = n or draw.randint(4, 30)
    rows = [
        {"id": f"P{i}", "code": draw.choice(("250.00", "250.01", "401.9", "428.0", "486")), "age": draw.randint(30, 70)}
        for i in range(n)
        for _ in range(draw.randint(1, 4))
    ]
    path = _written(folder / "visits.csv", rows)
    k = draw.randint(2, 4)
    words = ("trajectories", path, "-k", k, "--method", draw.choice(("a-gs", "baseline")))
    words += draw.choice(((), ("--drop-empty-pairs",), ("--cost", "exact")))

    def keeps(release):
        assert_every_patient_shares(_frame(release), "id", k)

    return Made(words, (path,), keeps, {"data": ("code", "age")}, ("--original", path))


def claims(draw, folder, n=None):
    """One row a patient, many claims; who keeps to its plan is for the verifier, which simulates its adversary."""
    claims_files.write_files(folder, seed=draw.randrange(10**6), n_patients=n or draw.randint(80, 200))
    files = tuple(folder / name for name in ("patients.csv", "claims.csv", "plan.toml"))
    strict = folder / "strict.toml"
    strict.write_text(files[2].read_text().replace("threshold = 0.1", "threshold = 0.0001"))
    words = (*files[:2], "--plan", files[2])
    cells = {"patients": ("age", "sex"), "claims": ("dx", "pos")}
    return Made(
        ("claims", *words), files, lambda _release: None, cells, ("--original", *words), unsafe=("--plan", strict)
    )


def table_with_codes(draw, folder, n=None):
    """One row a patient, with a column of codes."""
    n = n or draw.randint(6, 20)
    records = _code_sets(draw, n)
    rows = [
        {"id": f"P{i}", "age": draw.randint(20, 59), "sex": draw.choice("FM"), "codes": " ".join(codes)}
        for i, codes in enumerate(records)
    ]
    path = _written(folder / "patients.csv", rows)
    k, m = 2, draw.randint(1, 3)
    methods = ((), ("--local-recoding",), ("--method", "mondrian"), ("--method", "cluster"), ("--merge-classes", "0.6"))
    words = ("table", path, "-k", k, "--codes", "codes", "-m", m, "--id", "id", *draw.choice(methods))
    words += ("--qi", "age=interval:5,10/top=90/bottom=0", "--qi", "sex", "--suppression", "0.3")

    def keeps(release):
        with (folder / "map.csv").open(newline="") as file:
            original = {row["released"]: int(row["original"][1:]) for row in csv.DictReader(file)}
        classes = {}
        for number, age, sex, codes in _frame(release).select("id", "age", "sex", "codes").cast(pl.String).rows():
            classes.setdefault((age, sex, bool(codes)), []).append(records[original[number]])
        check(min(map(len, classes.values())) >= k, "a class has fewer than k patients")
        clusters = read_clusters(release / "clusters.json")
        for number, labels in enumerate(clusters.classes):
            part = in_class(oracle.written(clusters), clusters.class_of, number)
            check(oracle.unprotected(classes[(*labels, True)], part, k, m) == {}, "codes of a class have fewer than k")

    kept = ("--crosswalk", folder / "map.csv")
    return Made(words, (path,), keeps, {"data": ("age", "sex", "codes")}, ("--original", path), kept)


def table_with_terms(draw, folder, n=None):
    """One row a patient, with a column of codes that are generalized inside classes."""
    made = table_with_codes(draw, folder, n)
    k, m = 2, made.words[made.words.index("-m") + 1]
    words = (*made.words, "--codes-method", draw.choice(("cba", "ugaclip", "generalization", "apriori")))

    def keeps(release):
        shown = _frame(release).select("age", "sex", "codes").cast(pl.String).rows()
        rows = [((age, sex), cell) for age, sex, cell in shown if cell != "*"]
        sizes = Counter((labels, bool(cell)) for labels, cell in rows)
        check(min(sizes.values()) >= k, "a class has fewer than k patients")
        check(terms_in_classes.unprotected(rows, k, m) == {}, "terms of a class have fewer than k")
        check(terms_in_classes.malformed(rows, k) == set(), "terms of a class share a code, or few have none")

    return replace(made, words=words, keeps=keeps)


def words(draw, folder, n=None):
    """A text with one word a patient: the shape of `tests/made/toy_shape.py`."""
    path = folder / "notes.txt"
    path.write_text("\n".join(draw.choice(("cough", "fever", "rash", "fall", "ache")) for _ in range(n or 60)))
    k = draw.randint(2, 4)

    def keeps(release):
        assert_k_anonymous(_frame(release), ["word"], k)

    return Made(("words", path, "-k", k), (path,), keeps, {"data": ("word",)}, ("--original", path))


FORMS = {
    form.__name__: form
    for form in (table, table_with_codes, table_with_terms, disassociation, generalization, trajectories, claims)
}
"""How a small release of each of our forms is made."""


def _patients(draw, n):
    zips = draw.choice((("02134", "02139", "02215"), ("02134", "99999")))
    return [
        {
            "id": f"M{number:04d}",
            "name": f"Name {number}",
            "age": draw.choice((30, 31, 32, 45, 46, 77)),
            "sex": draw.choices(("F", "M", "X"), (9, 9, 1))[0],
            "zip": draw.choice(zips),
            "dx": draw.choice(("001", "250.10", "401.9", "V51")),
        }
        for number in range(n)
    ]


def _code_sets(draw, n):
    weights = draw.choice(WEIGHTS)
    return [frozenset(draw.choices(CODES, weights, k=draw.randint(1, 5))) for _ in range(n)]


def _written(path, rows):
    frame = pl.DataFrame(rows)
    frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_csv(path)
    return path


def _frame(release):
    """The released records, read without cloister; every cell of a CSV file as text."""
    parquet = release / "data.parquet"
    return pl.read_parquet(parquet) if parquet.exists() else pl.read_csv(release / "data.csv", infer_schema=False)
