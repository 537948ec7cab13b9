"""Laws that every form of release keeps, ours and somebody else's: a form is a function in `tests/made/forms.py`."""

import errno
import gzip
import hashlib
import json
import os
import random
import re
import shutil
import stat
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import count
from unittest import mock

import polars as pl
import pytest
from tests.made import forms, toy_shape
from tests.made.equal_outputs import stopped_clocks
from tests.made.examples import IS_FULL
from tests.made.forms import FORMS
from tests.made.tampering import reports_replaced, resealed, restated, sealed
from tests.oracles import codes_in_table, reconstruction, verified_claims
from tests.soak.command import cloister
from tests.soak.evidence import is_evidence
from tests.soak.forgeries import Target, contents
from tests.soak.leaves import at, leaves, named

from cloister.cli.main import run
from cloister.errors import CloisterError
from cloister.io import sha256
from cloister.io.write import write_csv, write_parquet
from cloister.release.earlier_names import with_earlier_names
from cloister.release.folder import json_bytes, read_manifest
from cloister.release.manifest import form_of, parse_manifest, script_of
from cloister.shapes.claims.format.manifest import ClaimsPromise
from cloister.shapes.disassociation.verify.verify import verify
from cloister.shapes.registry import FORMS as REGISTERED
from cloister.shapes.registry import load
from cloister.shapes.table.format.manifest import guarantee_of
from cloister.verification.driver import ReleaseUnderCheck, Request

MAKERS = {**FORMS, "words": forms.words}
RELEASES = [(form, number) for form in MAKERS for number in range(4 if IS_FULL and form != "claims" else 2)]
N_PAIRS = 12 if IS_FULL else 4
CHANGES = (16, 8) if IS_FULL else (8, 4)
"""So many values of each JSON file of a release are changed, and so many stretches of bytes; the soak goes on."""


@pytest.fixture(autouse=True, scope="module")
def somebody_elses_shape():
    """The shape of somebody else is in the registry."""
    with pytest.MonkeyPatch.context() as patch:
        toy_shape.register(patch)
        yield


@pytest.fixture(scope="module", params=RELEASES, ids=lambda one: f"{one[0]}-{one[1]}")
def target(request, somebody_elses_shape, tmp_path_factory):
    """A release of random data, which every test leaves as it was."""
    form, number = request.param
    for seed in count(100 * number):
        folder = tmp_path_factory.mktemp(form)
        made = MAKERS[form](random.Random(seed), folder)
        if protected(made, folder):
            return Target(made, folder / "release", contents(folder / "release"))
    raise AssertionError


def protected(made, folder, *more):
    """Whether the files, in a folder, can be released; the release and the map are written there."""
    words = ("protect", *made.elsewhere(folder), "--out", folder / "release", "--accept-empty", "-q", *more)
    with stopped_clocks():
        return cloister(*words).code == 0


@pytest.fixture
def form(request):
    """The form of the release."""
    return request.node.callspec.params["target"][0]


@pytest.fixture
def release(target, tmp_path):
    """A copy of the release, to be changed."""
    return shutil.copytree(target.release, tmp_path / "release")


@pytest.fixture
def draw(target):
    """What chooses the change."""
    return random.Random(target.before["release.json"])


def is_refused(folder):
    """Whether the verifier refuses a release: it does not hold, or cannot be read."""
    return cloister("verify", folder, "-q").code in (1, 2)


def test_what_is_released_holds(target):
    """The definition and the verifier accept it, from its files alone and beside the original; SQL finds nothing."""
    target.made.keeps(target.release)
    manifest = parse_manifest(read_manifest(target.release))

    assert cloister("verify", target.release).code == 0
    assert cloister("verify", target.release, *target.made.against).code == 0
    assert script_of(manifest) is None or broken_in_sql(target.release, manifest) == []


def test_a_manifest_is_what_its_type_writes(target):
    """Read as its type and written again, it says the same."""
    assert parse_manifest(read_manifest(target.release)).as_json() == json.loads(target.before["release.json"])


def test_files_are_those_of_the_manifest_and_private(target):
    """What the manifest lists and what is about it, for the owner alone; no path, user or hash of the input is told."""
    listed = json.loads(target.before["release.json"])["files"]
    secrets = [str(target.release.parent), os.uname().nodename, *(sha256(path) for path in target.made.files)]

    assert target.before.keys() == {*listed, "release.json", "report.html", "report.json", "README.txt"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in target.release.iterdir()} == {0o600}
    assert stat.S_IMODE(target.release.stat().st_mode) == 0o700
    assert [name for name, content in target.before.items() if any(one.encode() in content for one in secrets)] == []


def test_a_recipient_may_expect_more(target):
    """What was promised may be asked for again; of a larger k than any it is said that it does not hold."""
    if target.made.unsafe[0] == "-k":
        assert cloister("verify", target.release, "-k", target.made.words[target.made.words.index("-k") + 1]).code == 0
        more = cloister("verify", target.release, "-k", 1000)
        assert (more.code, "1000" in more.err) == (1, True)
        assert [cloister("verify", target.release, "-k", k).code for k in (0, -3)] == [2, 2]


def test_other_patients_are_not_the_original(target, form, tmp_path):
    """Beside data of the same form that it was not made from, a release of ours does not hold."""
    others = MAKERS[form](random.Random("others"), tmp_path).files
    words = [dict(zip(target.made.files, others)).get(word, word) for word in target.made.against]

    assert cloister("verify", target.release, *words).code in ((1, 2) if form in FORMS else (0,))


FORMATS = {
    "rows turned": (lambda path: frame_of(path).reverse().write_csv(path), ()),
    "gzip": (lambda path: path.write_bytes(gzip.compress(path.read_bytes())), ()),
    "semicolons": (lambda path: frame_of(path).write_csv(path, separator=";"), ()),
    "Parquet": (lambda path: frame_of(path).write_parquet(path), ()),
    "UTF-16 with colons": (
        lambda path: path.write_bytes(frame_of(path).write_csv(separator=":").encode("utf-16")),
        ("--encoding", "utf-16", "--delimiter", ":"),
    ),
}


def frame_of(path, separator=","):
    """A table on disk, all cells as text."""
    if path.read_bytes()[:4] == b"PAR1":
        return pl.read_parquet(path).cast(pl.String)
    return pl.read_csv(path, infer_schema=False, separator=separator)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", FORMATS)
def test_the_format_of_a_file_changes_no_record(target, form, tmp_path, name):
    """However the same cells are written, they are released alike, and compared with the file as it came."""
    change, words = FORMATS[name]
    tables = [path.name for path in target.made.files if path.suffix == ".csv" and path.name != "hierarchy.csv"]
    for path in target.made.files:
        shutil.copy(path, tmp_path)
    for each in tables:
        change(tmp_path / each)
    words = words if tables else ()
    assert protected(target.made, tmp_path, *words)

    against = target.made.elsewhere(tmp_path, target.made.against)
    assert cloister("verify", tmp_path / "release", *against, *words).code == 0
    remembered = words if form == "claims" else words[:2]  # the delimiter, of all but claims
    assert cloister("verify", tmp_path / "release", *against, *remembered).code == 0
    for stem in target.made.cells:
        (before,), (path,) = (
            [one for one in folder.glob(f"{stem}.*") if one.suffix != ".json"]
            for folder in (target.release, tmp_path / "release")
        )
        mark = read_manifest(tmp_path / "release")["settings"].get("delimiter") or ","
        assert frame_of(path, mark).equals(frame_of(before))


@pytest.mark.parametrize("form", MAKERS)
def test_equal_patients_give_equal_folders(form, tmp_path):
    """Whatever the order of rows, the names of patients and the number of threads: the same bytes in every file."""
    for seed in range(2 if form == "claims" else N_PAIRS):
        draw, one, two = random.Random(seed), tmp_path / f"{seed}-one", tmp_path / f"{seed}-two"
        one.mkdir()
        two.mkdir()
        made, other = MAKERS[form](draw, one), {}
        for path in made.files:
            shutil.copy(path, two)
            if path.suffix != ".toml" and path.name != "hierarchy.csv":
                shuffled(two / path.name, draw, other)
        is_safe = protected(made, one)

        assert protected(made, two, "--threads", draw.randint(1, 3), "--custodian-dir", two / "secret") == is_safe
        assert not is_safe or contents(one / "release") == contents(two / "release")


def shuffled(path, draw, other):
    """Put the rows of a file in another order, and give its patients other ids."""
    if path.suffix == ".txt":
        lines = path.read_text().split("\n")
        draw.shuffle(lines)
        path.write_text("\n".join(lines))
        return
    frame = pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path, infer_schema=False)
    column = frame.columns[0]
    for name in sorted(set(frame[column]) - set(other)):
        other[name] = f"N{draw.randrange(10**9)}"
    frame = frame.with_columns(pl.col(column).replace_strict(other))
    frame = frame[draw.sample(range(frame.height), frame.height)]
    frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_csv(path)


ROWS = {
    "dropped": lambda frame, row, _columns: pl.concat([frame[:row], frame[row + 1 :]]),
    "doubled": lambda frame, row, _columns: pl.concat([frame[: row + 1], frame[row:]]),
    "of another id": lambda frame, row, _columns: with_cell(frame, row, frame.columns[0], str(frame.height + 7)),
    "with a cell of its own": lambda frame, row, columns: with_cell(
        frame, row, columns[row % len(columns)], "elsewhere"
    ),
}


def with_cell(frame, row, column, value):
    """A frame with another value in one cell."""
    cells = frame[column].to_list()
    cells[row] = int(value) if isinstance(cells[row], int) and value.isdigit() else value
    return frame.with_columns(pl.Series(column, cells, strict=False))


@pytest.mark.sampled(14)
@pytest.mark.parametrize("change", ROWS)
def test_a_changed_row_is_refused(target, release, draw, change):
    """A row less, a row twice, another id, a cell that nobody shares: hashes and report made to fit, in each table."""
    for stem, columns in (target.made.cells | {"codebook": ("role", "label", "meaning")}).items():
        (path,) = (one for one in release.glob(f"{stem}.*") if one.suffix != ".json")
        is_parquet = path.suffix == ".parquet"
        frame = pl.read_parquet(path) if is_parquet else pl.read_csv(path, infer_schema=False)
        for made in (frame, ROWS[change](frame, draw.randrange(frame.height), columns)):
            assert path.read_bytes() == target.before[path.name]
            path.unlink()
            (write_parquet if is_parquet else write_csv)(made, path)
        sealed(release, path.name)

        assert is_refused(release), stem
        put_back(target, release)


def put_back(target, release):
    """Make a copy of the release what it was."""
    for name, content in target.before.items():
        (release / name).write_bytes(content)


@pytest.mark.sampled(4)
def test_any_other_statement_is_refused(target, form, draw):
    """Another value or more in a JSON file of ours, other bytes in any: refused, but for the releaser's word."""
    changes = target.changes(*CHANGES) if form in FORMS else []
    n_refused = sum(target.try_one(change, draw) for change in changes)

    assert n_refused >= len(changes) / 4


NO_WORDS = ("/home/maria/visits.csv", {"maria": 1}, [["Maria"]])
NAMES = ("settings.not_released*", "settings.input_columns*", "settings.plan.exclusions.file")
"""What may be any text: names of columns, and a place that the plan of claims names as its owner wrote it."""


@pytest.mark.sampled(4)
def test_the_releasers_word_says_nothing_else(target, release, draw):
    """Where the releaser is believed, it is a word of ours, a number or a name, and no text of one's own."""
    manifest = json.loads(target.before["release.json"])
    words = [place for place in leaves(manifest) if is_evidence(f"release.json {named(place)}")]
    words = [place for place in words if not any(fnmatchcase(named(place), one) for one in NAMES)]
    for place in draw.sample(words, min(CHANGES[0], len(words))):
        other = json.loads(target.before["release.json"])
        at(other, place[:-1])[place[-1]] = draw.choice(NO_WORDS)
        with suppress(Exception):  # where no report can be made of it, the one that is there stays
            restated(release, lambda stated, other=other: stated.update(other))
        assert is_refused(release), named(place)
        put_back(target, release)


WORDED = ("report.html", "README.txt", "verify.sql")


@pytest.mark.sampled(4)
def test_other_words_with_their_hash_hold(target, release):
    """A sentence that another version words otherwise changes no fact, nor another warning; a script is named."""
    manifest = json.loads(target.before["release.json"])
    texts = {name: content + b"\n" for name, content in target.before.items() if name in WORDED}
    numbers = json.loads(target.before["report.json"]) | {"warnings": ["so worded"]}
    if "verify.sql" in texts:
        numbers["release"]["files"]["verify.sql"] = f"sha256:{hashlib.sha256(texts['verify.sql']).hexdigest()}"
    texts["report.json"] = json_bytes(numbers)
    reports_replaced(release, manifest, texts)

    alone = cloister("verify", release)
    has_script = "verify.sql" in texts  # another script may check nothing, and is named
    assert (alone.code, "verify.sql checks the promises" in alone.err) == (int(has_script), has_script), alone.err
    accepted = ("--accept-unchecked", "script") if has_script else ()
    assert cloister("verify", release, *accepted).code == 0


@pytest.mark.sampled(4)
@pytest.mark.parametrize("names", [dict, with_earlier_names])
def test_reports_that_no_hash_binds_were_not_checked(target, release, names):
    """A release of schema 2 holds for whoever does not ask for its reports, by earlier names too; it must have them."""
    manifest = names(json.loads(target.before["release.json"]) | {"schema": 2})
    for name in ("report.html", "report.json", "README.txt"):
        del manifest["files"][name]
    (release / "release.json").write_bytes(json_bytes(manifest))
    numbers = names(json.loads(target.before["report.json"]) | {"schema": 2, "release": manifest})
    (release / "report.json").write_bytes(json_bytes(numbers))
    alone = cloister("verify", release)

    assert (alone.code, "report.html and README.txt" in alone.err) == (1, True), alone.err
    assert "--original" not in alone.err  # which has no report
    assert cloister("verify", release, "--accept-unchecked", "report").code == 0
    (release / "README.txt").unlink()
    assert "README.txt is missing" in refusal(release)


@pytest.mark.sampled(4)
def test_a_changed_file_is_refused(target, release):
    """Whichever file has another character, is not there, or is one too many: it is named, or counted."""
    for name, content in target.before.items():
        (release / name).write_bytes(content + b" ")
        assert name in refusal(release)
        if name not in (*WORDED, "report.json", "release.json"):  # or its hash is made to fit
            place = content.rindex(b"e")
            (release / name).write_bytes(content[:place] + b"a" + content[place + 1 :])
            sealed(release, name)
            assert is_refused(release), name
        put_back(target, release)
        (release / name).unlink()
        assert name in refusal(release)
        put_back(target, release)
    (release / "data.xlsx").write_text("")

    assert "1 file does not belong to the release" in refusal(release)


OTHER_TEXTS = {
    "carriage returns": lambda text: text.replace("\n", "\r\n"),
    "quotes": lambda text: re.sub(r"\n(\w+)", r'\n"\1"', text, count=1),
    "a blank line": lambda text: text + "\n",
    "no last newline": lambda text: text[:-1],
    "a byte order mark": lambda text: "\ufeff" + text,
}


@pytest.mark.sampled(7)
@pytest.mark.parametrize("change", OTHER_TEXTS)
def test_there_is_one_text_for_one_table(target, release, change):
    """The same cells written otherwise could carry a message: refused, by name, in every CSV file and of clusters."""
    endings = (".csv",) if change in ("quotes", "a byte order mark") else (".csv", "clusters.json")
    for name in (one for one in target.before if one.endswith(endings)):
        (release / name).write_bytes(OTHER_TEXTS[change](target.before[name].decode()).encode())
        sealed(release, name)
        assert name in refusal(release)
        put_back(target, release)


@pytest.mark.sampled(4)
def test_there_is_one_manifest(target, release):
    """Broken, with a part less, a key twice or white space more it is no manifest."""
    path, text = release / "release.json", target.before["release.json"].decode()
    stated = json.loads(text)
    for key in stated:
        restated(release, lambda manifest, key=key: manifest.pop(key))
        assert is_refused(release), key
        put_back(target, release)
    for broken in ("{", text.replace('"schema"', '"schema": 1, "schema"', 1)):
        path.write_text(broken)
        assert "cannot be read as JSON" in refusal(release)
    for old in ("{", "schema", ",\n"):
        path.write_text(text.replace(old, old + " ", 1))
        assert refusal(release)


def refusal(folder):
    """What is said of a release that is refused."""
    said = cloister("verify", folder)
    assert said.code in (1, 2)
    return said.err


@pytest.mark.sampled(4)
def test_a_release_is_whole_or_not_at_all(target, tmp_path, monkeypatch):
    """If anything fails at the end nothing appears, an earlier release stays, and nothing is left beside it."""
    words = ["protect", *map(str, target.made.words), "--out", str(tmp_path / "release"), "-q", "--accept-empty"]
    for error, code in ((OSError(errno.ENOSPC, "full"), 2), (ZeroDivisionError(), 3)):
        monkeypatch.setattr("cloister.release.release.report_files", mock.Mock(side_effect=error))
        assert run(words) == code
        assert list(tmp_path.iterdir()) == []

        shutil.copytree(target.release, tmp_path / "release")
        assert run([*words, "--overwrite"]) == code
        assert run([*words, *map(str, target.made.unsafe), "--overwrite"]) == 1
        assert contents(tmp_path / "release") == target.before
        assert [path.name for path in tmp_path.iterdir()] == ["release"]
        shutil.rmtree(tmp_path / "release")


def test_how_a_command_ends(target, tmp_path):
    """0 with a release; 1 where nothing is safe; 2 where a file is missing or a folder is there; nothing is written."""
    words = ("protect", *target.made.words)
    missing = (*words[:2], tmp_path / "nowhere.csv", *words[3:])

    assert cloister(*words, *target.made.unsafe, "--out", tmp_path / "release").code == 1
    assert cloister(*missing, "--out", tmp_path / "release").code == 2
    assert list(tmp_path.iterdir()) == []
    taken = cloister(*words, "--out", target.release)
    assert (taken.code, "exists already" in taken.err) == (2, True)
    assert contents(target.release) == target.before
    assert cloister("verify", tmp_path / "release").code == 2


NOT_IN_SQL = ("clusters are in the order of their contents", "classes are told apart, in order")
"""What SQL does not check of clusters, and says so."""

LINES = ("data.csv", "clusters", "attributes", "patients.csv", "claims.csv")
N_LINES = 8 if IS_FULL else 4


def changed(draw, text):
    """A text with one line changed: a cell of another one, two lines exchanged, one lost or doubled, a character."""
    lines = text.split("\n")
    one, other = (draw.randrange(1, max(2, len(lines) - 1)) for _ in range(2))
    kind = draw.choice(["cell", "swap", "drop", "double", "character"])
    if kind == "cell":
        cells, others = lines[one].split(","), lines[other].split(",")
        place = draw.randrange(min(len(cells), len(others)))
        cells[place] = others[place]
        lines[one] = ",".join(cells)
    elif kind == "swap":
        lines[one], lines[other] = lines[other], lines[one]
    elif kind == "drop":
        del lines[one]
    elif kind == "double":
        lines.insert(one, lines[one])
    elif lines[one]:
        place = draw.randrange(len(lines[one]))
        lines[one] = lines[one][:place] + draw.choice('0123456789abZ*," ') + lines[one][place + 1 :]
    return "\n".join(lines)


def broken_by_comparing(folder, manifest, form):
    """What the comparing verifier finds broken: of the promise, and else of what follows from the files."""
    checker = load(REGISTERED[form].checker)()
    try:
        files = checker.read_files(folder, manifest)
        opened = ReleaseUnderCheck(
            folder, manifest, files, checker.read_original(Request(), manifest, files), Request()
        )
        if form == "disassociation":
            # Only clusters whose numbers fit each other can be counted.
            broken = list(verify(files).failures) or reconstruction.broken(folder, manifest, files)
        elif form == "claims":
            broken = verified_claims.broken(files, ClaimsPromise.of(manifest))
        else:
            broken = list(checker.verify(opened).failures)
            if form == "table_with_codes" and not broken:
                column, promised = manifest.codes.column, guarantee_of(manifest)
                broken = codes_in_table.broken(files.frame, promised, column, files.released)
        return broken, broken or checker.derive(opened).differing(manifest.as_json()) + checker.contradictions(opened)
    except CloisterError as error:
        return None, [str(error)]


def broken_in_sql(folder, manifest):
    """What the script finds broken."""
    try:
        return [
            one.promise for one in script_of(manifest).run(folder, ["release.json", *manifest.files]) if one.violations
        ]
    except CloisterError as error:
        return [str(error)]


@pytest.mark.sampled(4)
def test_both_verifiers_find_a_changed_line(target, release, draw):
    """What breaks a promise breaks it in SQL as well, and SQL finds nothing else; with hashes as they were."""
    stated = read_manifest(release)
    manifest, form = parse_manifest(stated), form_of(stated)
    texts = [name for name in target.before if name.startswith(LINES)]
    for name in (draw.choice(texts) for _ in range(N_LINES if texts and script_of(manifest) else 0)):
        (release / name).write_text(changed(draw, target.before[name].decode()))
        of_promise, of_any = broken_by_comparing(release, manifest, form)
        in_sql = broken_in_sql(release, manifest)
        put_back(target, release)

        assert of_any or not in_sql, f"SQL alone: {in_sql}"
        assert in_sql or not of_promise or all(any(each in one for each in NOT_IN_SQL) for one in of_promise), (
            f"not found in SQL: {of_promise}"
        )


DIVERSE = {"table": (), "table_with_codes": ("--codes", "codes", "-m", "2")}


@pytest.mark.parametrize("form", DIVERSE)
def test_missing_values_never_count_as_diverse(form, tmp_path):
    """A class of one diagnosis and missing ones is not 2-diverse: it is not released, and not accepted."""
    words = ("protect", "table", tmp_path / "people.csv", "-k", "2", "--id", "id", "--qi", "age=suppress@0")
    words += ("--sensitive", "dx", "--rule", "l-diversity:dx=2", "--suppression", "0", *DIVERSE[form])
    for dx, code in (("", 1), ("y", 0)):
        rows = [f"{n},{30 + n % 2},{'x' if n < 8 else dx}" + ",a b" * bool(DIVERSE[form]) for n in range(16)]
        head = "id,age,dx" + ",codes" * bool(DIVERSE[form])
        (tmp_path / "people.csv").write_text("\n".join([head, *rows]) + "\n")
        assert cloister(*words, "--out", tmp_path / "release", "-q").code == code
    text = (tmp_path / "release" / "data.csv").read_text().replace(",y", ",")
    resealed(tmp_path / "release", "data.csv", text)

    rejected = cloister("verify", tmp_path / "release")
    assert rejected.code == 1
    assert "diversity" in rejected.err
