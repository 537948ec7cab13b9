"""``protect table`` with levels that differ between classes, and with averages; and ``verify`` of such releases."""

import json

import pytest
from tests.made.patients import COMMON, HEADER
from tests.made.tampering import forged

SPREAD = [
    f"M8{i:02d},Name 8{i},{52 + 3 * i},{'FM'[i % 2]},{('02140', '02151', '02162', '03199')[i % 4]},V51\n"
    for i in range(12)
]
"""Records far from each other, beside those that stand in large classes."""

METHODS = {
    "local-recoding": ("--local-recoding",),
    "mondrian": ("--method", "mondrian"),
    "cluster": ("--method", "cluster"),
}
ORIGINAL = ("--original", "patients.csv")
AVERAGED = ("--microaggregate", "age=mean")


@pytest.fixture
def data(tmp_path):
    """Sixty records that stand together, and twelve that do not: levels differ between classes."""
    path = tmp_path / "patients.csv"
    path.write_text(HEADER + "".join([*COMMON, *SPREAD]))
    return path


def words_of(*words, age="age=interval:10,20/top=90/bottom=0", zip="zip=prefix:5", k="5"):
    """The words that protect these records, with roles given."""
    roles = ("--id", "mrn", "--drop", "name", "--sensitive", "diagnosis", "-k", k)
    quasi = ("--qi", age, "--qi", "sex=suppress", "--qi", zip)
    return ("protect", "table", "patients.csv", *roles, *quasi, "--suppression", "0.2", *words)


@pytest.fixture
def spread(cloister, data):
    """Run ``protect table`` on these records."""
    return lambda *words, out="release", **more: cloister(*words_of(*words, **more), "--out", out)


@pytest.fixture
def by(released, cloister):
    """The folder of a release of these records by a method."""
    return lambda *words: released(*words_of(*words), **{"patients.csv": HEADER + "".join([*COMMON, *SPREAD])})


@pytest.mark.parametrize("more", [(), AVERAGED], ids=["labels", "averages"])
@pytest.mark.parametrize("method", METHODS)
def test_a_release_by_every_method(cloister, spread, manifest, method, more):
    """Summary, manifest and report name the method; the folder verifies, alone and with the original."""
    ran = spread(*METHODS[method], *more)
    assert ran.code == 0, ran
    told = manifest()

    assert f"{method}: levels differ between classes" in ran.out
    assert any(len(described.get("levels", ())) > 1 for described in told["columns"].values())
    assert method == told["method"]
    assert (method == "local-recoding") == ("search" in told)
    for column in ("age", "sex", "zip"):
        levels = told["columns"][column]["levels"]
        assert told["columns"][column]["level"] == (levels[0] if len(levels) == 1 else None)
        assert levels == sorted(set(levels))
    report = (cloister("verify", "release"), cloister("verify", "release", "-v", *ORIGINAL))
    assert [ran.code for ran in report] == [0, 1 if more else 0], report
    assert "each released record fits a record of the original of its own" in report[1].out
    assert ("--accept-unchecked averages" in report[1].err) == bool(more)
    assert ("not truthful" in ran.out) == bool(more)


def test_averages_of_one_policy(cloister, spread, manifest, tmp_path):
    """Averages go with full-domain generalization as well; codebook and report say that they are averages."""
    assert spread(*AVERAGED, "--levels", "age=1,sex=0,zip=3", "-q").code == 0
    book = (tmp_path / "release" / "codebook.csv").read_text()
    report = (tmp_path / "release" / "report.html").read_text()

    assert "mean of the recorded values of the records with the same quasi-identifiers" in book
    assert "age is not truthful" in report
    assert "levels" not in manifest()["columns"]["age"]
    assert 0 < manifest()["utility"]["columns"]["age"]["variance_lost"] < 1
    assert cloister("verify", "release", *ORIGINAL).code == 1
    assert cloister("verify", "release", *ORIGINAL, "--accept-unchecked", "averages").code == 0


def test_mdav_says_everywhere_that_it_is_not_truthful(cloister, by, tmp_path):
    """Terminal, README, codebook, report and manifest state the average of each column; the folder verifies."""
    folder = by("--method", "mdav", "--microaggregate", "zip=mode", "--microaggregate", "age=median")
    told = json.loads((folder / "release.json").read_text())
    read_me, report = (" ".join((folder / name).read_text().split()) for name in ("README.txt", "report.html"))
    book = (folder / "codebook.csv").read_text()

    assert told["settings"]["microaggregate"] == {"sex": "mode", "age": "median", "zip": "mode"}
    assert told["records"]["suppressed"] == 0
    assert "No quasi-identifier is truthful" in read_me
    assert "levels differ" not in report
    for column, how in told["settings"]["microaggregate"].items():
        assert told["columns"][column]["average"] == how
        assert f"{column} contains the {how}" in read_me
        assert f"{column} is not truthful" in report
    assert (book.count("median of the recorded"), book.count("most frequent of the recorded")) == (1, 2)
    assert cloister("verify", "release").code == 0
    assert cloister("verify", "release", *ORIGINAL).code == 1
    assert cloister("verify", "release", *ORIGINAL, "--accept-unchecked", "averages").code == 0
    assert cloister("attack", "release", *ORIGINAL).code == 0


def test_what_averages_cannot_answer_is_refused(cloister, by):
    """No number of patients is bounded by averages, and nothing is to be imputed; other columns are answered."""
    folder = by("--method", "mdav")

    for where in ("age=40..49", "sex=F"):
        assert "has averages of classes" in cloister("query", folder.name, "--where", where).err
    assert cloister("query", folder.name, "--where", "diagnosis=V51").code == 0
    assert "nothing to impute" in cloister("impute", folder.name, "--out", "complete").err


def test_a_cell_put_back_is_refused(cloister, by):
    """A value as recorded among the averages is in no class of k: the folder does not verify, and no script says so."""
    folder = by("--method", "mdav")
    head, first, *rows = (folder / "data.csv").read_text().splitlines()
    number, sex, _, *others = first.split(",")
    changed = [head, ",".join([number, sex, "52", *others]), *rows]
    (folder / "data.csv").write_text("\n".join(changed) + "\n")
    forged(folder)
    ran = cloister("verify", "release")

    assert (ran.code, "have fewer than 5" in ran.out + ran.err) == (1, True), ran


def test_suppressed_records_can_be_written(cloister, spread, manifest):
    """Where levels are bounded, records are suppressed and stand as rows of stars."""
    ran = spread("--local-recoding", "--keep-suppressed", "-q", zip="zip=prefix:5@0-3")

    assert ran.code == 0, ran
    assert manifest()["records"]["suppressed"] >= 5
    assert cloister("verify", "release", *ORIGINAL).code == 0


WRONG = {
    "unknown method": (("--method", "mondriaan"), "--method must be full-domain, mondrian"),
    "local recoding of a method": (("--method", "cluster", "--local-recoding"), "follows full-domain"),
    "fixed levels": (("--method", "mondrian", "--levels", "age=1,sex=0,zip=2"), "Fixed levels are for"),
    "fixed levels, local": (("--local-recoding", "--levels", "age=1,sex=0,zip=2"), "Fixed levels are for"),
    "time limit": (("--method", "mondrian", "--time-limit", "5"), "makes none"),
    "search": (("--method", "mondrian", "--search", "optimal"), "The search optimal was asked for, but the method"),
    "search of clusters": (("--method", "cluster", "--search", "flash"), "makes none. Leave it out."),
    "loss of one transformation": (("--method", "mondrian", "--loss", "dm_star"), "needs one transformation"),
    "average of nothing": (("--microaggregate", "age"), "COLUMN=mean, COLUMN=median or COLUMN=mode"),
    "unknown average": (("--microaggregate", "age=most"), "COLUMN=mean, COLUMN=median or COLUMN=mode"),
    "twice": (("--microaggregate", "age=mean", "--microaggregate", "age=median"), "twice"),
    "average of a diagnosis": (("--microaggregate", "diagnosis=mean"), "is no quasi-identifier"),
    "average of text": (("--microaggregate", "sex=mean"), "72 of 72 records hold something else than a number"),
    "population": (("--method", "mondrian", "--rule", "delta-presence:census.csv=0,0.8"), "compares classes with a"),
}


@pytest.mark.parametrize("name", WRONG)
def test_settings_that_do_not_fit(protect, refused, name, tmp_path, data):
    """What a method cannot do is refused in a sentence, and no value is told."""
    words, said = WRONG[name]
    (tmp_path / "census.csv").write_text(data.read_text())
    message = refused(protect(*words), 2, new=frozenset({"census.csv"}))

    assert said in message


def test_a_release_to_be_like(protect, refused):
    """A release whose levels differ between classes has none to be taken over."""
    assert protect("--local-recoding", "-q").code == 0

    assert "levels that differ between classes" in refused(
        protect("--levels-from", "release", out="other"), new=frozenset({"release"})
    )


def test_no_safe_release(spread, refused):
    """Where levels are bounded too low, nothing can be released, and both methods say so."""
    bounded = {"age": "age=interval:10/top=90/bottom=0@0-0", "k": "30"}

    assert "Even the coarsest allowed levels" in refused(spread("--method", "mondrian", **bounded), 1)
    assert "Even the coarsest allowed levels" in refused(spread("--method", "cluster", **bounded), 1)


TAMPERED = {
    "method": (lambda m: m.update(method="mondrian"), "release says: method"),
    "fewer levels": (lambda m: m["columns"]["age"].update(levels=[0], level=0), "codebook"),
    "other columns searched": (lambda m: m["search"].update(levels={"age": 0}), "search.levels"),
    "full-domain": (
        lambda m: (
            m.update(method="full-domain"),
            m["settings"].update(local_recoding=False),
            [m["columns"][c].pop("levels") for c in ("age", "sex", "zip")],
            [m["columns"][c].update(level=1) for c in ("age", "sex", "zip")],
        ),
        "search.levels",
    ),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_a_manifest_that_was_changed(cloister, by, name):
    """What a manifest says of method and levels must fit what it says elsewhere."""
    change, said = TAMPERED[name]
    forged(by("--local-recoding"), change)
    ran = cloister("verify", "release")

    assert ran.code in (1, 2), ran
    assert said in ran.out + ran.err


def test_averages_that_a_manifest_makes_up(cloister, spread, tmp_path):
    """A manifest that calls a column averaged is refused where the release was not; so is one that keeps it back."""
    assert spread(*METHODS["mondrian"], "-q").code == 0
    assert spread(*METHODS["mondrian"], *AVERAGED, "-q", out="averaged").code == 0
    path = tmp_path / "release" / "release.json"
    made_up = json.loads(path.read_text())
    made_up["settings"]["microaggregate"] = {"age": "mean"}
    path.write_text(json.dumps(made_up))
    forged(tmp_path / "averaged", lambda m: m["columns"]["age"].pop("average"))

    assert cloister("verify", "release").code in (1, 2)
    assert cloister("verify", "averaged").code in (1, 2)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("found", "written", "said"),
    [
        (",30,", ",[31-49],", "labels occur nowhere in the hierarchies"),
        (",30,", ",31,", "fit no record of the original of their own"),
        ("250.10", "V51", "fit no record of the original of their own"),
    ],
)
def test_releases_that_were_changed(cloister, by, method, found, written, said):
    """Labels that no level has, too many records beneath a label, other values: the original gives them away."""
    folder = by(*METHODS[method])
    head, *rows = (folder / "data.csv").read_text().splitlines()
    rows = sorted((row.replace(found, written).partition(",")[2] for row in rows), key=str.encode)
    changed = [head, *(f"{number},{row}" for number, row in enumerate(rows, start=1))]
    (folder / "data.csv").write_text("\n".join(changed) + "\n")
    forged(folder)
    ran = cloister("verify", "release", *ORIGINAL)

    assert ran.code == 1
    assert said in ran.out + ran.err
