"""No column is released by default; what becomes of ids; the policy, its bounds and its weights."""

import hashlib
import hmac
import stat

import pytest
from tests.made.patients import COMMON, HEADER


def mode(path):
    """Permissions of a file or folder."""
    return stat.S_IMODE(path.stat().st_mode)


def table(path):
    """A CSV file as its header and its rows."""
    head, *rows = [line.split(",") for line in path.read_text().splitlines()]
    return head, rows


ONE = ("-k", "5", "--purpose", "one-coding", "-q")
QI = ("-k", "5", "--purpose", "one-coding", "--qi", "age=interval:10/top=90/bottom=0", "--qi", "sex", "-q")


def test_columns_without_a_role_are_listed(bare, refused):
    """A column without a role is an error that lists it, and says how to settle it."""
    message = refused(bare(*QI, "--drop", "mrn"))

    assert "3 columns of patients.csv are undecided, so nothing is released: name, zip, diagnosis" in message
    assert "--undecided drop" in message


def test_the_rest_can_be_dropped(bare, manifest, tmp_path):
    """``--undecided drop`` releases only what has a role, and says what it left out."""
    assert bare(*QI, "--undecided", "drop").code == 0

    assert table(tmp_path / "release" / "data.csv")[0] == ["age", "sex"]
    assert manifest()["settings"]["not_released"] == ["mrn", "name", "zip", "diagnosis"]
    assert manifest()["guarantee"]["one_row_per_patient"] == "assumed"


def test_the_rest_can_be_kept(bare, manifest, tmp_path):
    """``--undecided keep`` releases other columns as recorded."""
    assert bare(*QI, "--drop", "mrn", "--drop", "name", "--undecided", "keep").code == 0

    assert table(tmp_path / "release" / "data.csv")[0] == ["age", "sex", "zip", "diagnosis"]
    assert manifest()["columns"]["zip"] == {"role": "kept"}


def test_the_rest_is_not_kept_where_it_identifies(bare, refused):
    """``--undecided keep`` refuses a column that is unique in more than 5 % of the records."""
    message = refused(bare(*QI, "--drop", "mrn", "--undecided", "keep"))

    assert "'name' (100.0%)" in message
    assert "unique in more than 5%" in message


def test_no_quasi_identifier(bare, refused):
    """A table without quasi-identifiers cannot be protected."""
    assert "No quasi-identifier" in refused(bare("-k", "5", "--undecided", "drop"))


def test_ids_must_not_repeat(protect, refused, data):
    """k counts patients: an id that repeats is an error with both counts."""
    data.write_text(HEADER + "".join([*COMMON, COMMON[0]]))

    assert "61 rows and 60 distinct values of 'mrn'" in refused(protect())


def test_ids_must_be_there(protect, refused, data):
    """A record without id is an error with the count."""
    data.write_text(HEADER + "".join(COMMON) + ",N,30,F,02130,001\n")

    assert "1 records of patients.csv have none" in refused(protect())


def test_ids_are_numbers(release):
    """The id column of a release holds 1 to n, in its order, and no original id."""
    head, rows = table(release / "data.csv")

    assert head == ["mrn", "age", "sex", "zip", "diagnosis"]
    assert [row[0] for row in rows] == [str(number) for number in range(1, 61)]


def test_ids_can_be_dropped(protect, manifest, tmp_path):
    """``--ids drop`` leaves the id column out."""
    assert protect("-q", "--ids", "drop").code == 0

    assert table(tmp_path / "release" / "data.csv")[0] == ["age", "sex", "zip", "diagnosis"]
    assert "mrn" not in manifest()["columns"]
    assert manifest()["guarantee"]["one_row_per_patient"] == "ids are unique"


@pytest.fixture
def key(tmp_path):
    """A secret key that its owner alone can read."""
    path = tmp_path / "key"
    path.write_bytes(b"k" * 32)
    path.chmod(0o600)
    return path


def test_ids_can_be_keyed_hashes(protect, data, key, tmp_path):
    """``--ids hmac:KEYFILE`` writes the HMAC of each id, the same in every release, and says that it links."""
    ran = protect("--ids", f"hmac:{key}")

    assert ran.code == 0
    assert "can be linked" in ran.err
    expected = {hmac.new(b"k" * 32, line.split(",")[0].encode(), hashlib.sha256).hexdigest() for line in COMMON}
    assert {row[0] for row in table(tmp_path / "release" / "data.csv")[1]} == expected
    assert str(key) not in (tmp_path / "release" / "release.json").read_text()


@pytest.mark.parametrize(
    ("content", "bits", "words"), [(b"k" * 31, 0o600, "at least 32 bytes"), (b"k" * 32, 0o640, "0600")]
)
def test_weak_keys_are_refused(protect, refused, key, content, bits, words):
    """A key that is short, or that others can read, is refused."""
    key.write_bytes(content)
    key.chmod(bits)

    assert words in refused(protect("--ids", f"hmac:{key}"), new=frozenset({"key"}))


def test_a_key_is_all_of_its_bytes(protect, key, tmp_path):
    """Random bytes are a key as they are, a line feed among them."""
    key.write_bytes(b"\n" * 32)

    assert protect("-q", "--ids", f"hmac:{key}").code == 0
    expected = hmac.new(b"\n" * 32, b"M000", hashlib.sha256).hexdigest()
    assert expected in (tmp_path / "release" / "data.csv").read_text()


def test_crosswalk(protect, tmp_path):
    """``--crosswalk`` writes the secret map from released to original ids, for its owner alone."""
    assert protect("-q", "--crosswalk", "map.csv").code == 0
    secret = tmp_path / "map.csv"
    head, rows = table(secret)
    originals = {line.split(",")[0]: line.strip().split(",")[2:] for line in COMMON}
    released = {row[0]: row[1:] for row in table(tmp_path / "release" / "data.csv")[1]}

    assert mode(secret) == 0o600
    assert head == ["released", "original"]
    assert [row[0] for row in rows] == [str(number) for number in range(1, 61)]
    assert all(released[new] == originals[old] for new, old in rows)


def test_a_crosswalk_needs_ids(bare, refused):
    """Without ids there is nothing to map."""
    assert "nothing to map" in refused(bare(*QI, "--undecided", "drop", "--crosswalk", "map.csv"))


def test_suppressed_records_can_be_kept_as_stars(protect, data, manifest, tmp_path):
    """``--keep-suppressed`` writes them as rows of ``*`` in every column; the release still verifies."""
    data.write_text(HEADER + "".join(COMMON) + "".join(f"M90{i},N,{70 + i},F,{i}9999,00{i}\n" for i in range(6)))
    assert protect("-q", "--keep-suppressed", "--suppression", "0.1").code == 0
    _, rows = table(tmp_path / "release" / "data.csv")

    assert rows.count(["*"] * 5) == 6
    assert len(rows) == 66
    assert manifest()["records"] == {"in": 66, "released": 60, "suppressed": 6}


def test_stars_that_would_tell_a_small_number_are_refused(protect, refused):
    """Fewer than k suppressed records are kept back, so they cannot stand in the data as rows either."""
    message = refused(protect("--keep-suppressed"), 1)

    assert "fewer than 5" in message


def test_levels_can_be_fixed(protect, manifest):
    """``--levels`` fixes the policy."""
    assert protect("-q", "--levels", "age=1,sex=0,zip=2").code == 0

    assert manifest()["search"]["levels"] == {"age": 1, "sex": 0, "zip": 2}
    assert manifest()["settings"]["search"] == "fixed"


def test_levels_can_be_those_of_another_release(protect, manifest):
    """``--levels-from DIR`` uses the levels of an earlier release."""
    assert protect("-q", "--levels", "age=1,sex=0,zip=2").code == 0
    assert protect("-q", "--levels-from", "release", out="again").code == 0

    assert manifest("again")["search"]["levels"] == {"age": 1, "sex": 0, "zip": 2}


@pytest.mark.parametrize(("bounds", "levels"), [("@1-2", {1, 2}), ("@2", {2}), ("@0-1", {0, 1}), ("@3-5", {3, 4, 5})])
def test_levels_can_be_bounded(bare, manifest, bounds, levels):
    """``--qi COLUMN=HIERARCHY@LOW-HIGH`` keeps the search between two levels, ``@LEVEL`` at one."""
    assert bare(*ONE, "--undecided", "drop", "--qi", f"zip=prefix:5{bounds}", "--qi", "sex").code == 0

    assert manifest()["search"]["levels"]["zip"] == min(levels)
    assert manifest()["search"]["lattice"] == 2 * len(levels)


def test_bounds_of_a_file_and_a_file_named_like_bounds(bare, manifest, tmp_path):
    """Bounds may follow a file; a file whose own name looks like bounds is that file."""
    hierarchy = "02130;0213*;*\n02131;0213*;*\n99999;99999;*\n88888;88888;*\n"
    (tmp_path / "zip.csv").write_text(hierarchy)
    (tmp_path / "zip.csv@1").write_text(hierarchy.replace(";*", ";+;*"))
    words = (*ONE, "--undecided", "drop", "--qi", "sex")

    assert bare(*words, "--qi", "zip=zip.csv@1-2").code == 0
    assert manifest()["search"]["lattice"] == 4
    assert bare(*words, "--qi", "zip=zip.csv@1", out="other").code == 0
    assert manifest("other")["search"]["lattice"] == 8
    assert manifest("other")["settings"]["hierarchies"]["zip"] == "zip.csv@1"


def test_bounds_outside_the_hierarchy(bare, refused):
    """Levels that a hierarchy does not have cannot be asked for."""
    assert "levels 0 to 5" in refused(bare("-k", "5", "--undecided", "drop", "--qi", "zip=prefix:5@1-9"))
    assert "levels 0 to 5" in refused(bare("-k", "5", "--undecided", "drop", "--qi", "zip=prefix:5@3-1"))


def test_weights_move_the_loss(bare, data, manifest):
    """A column of more weight is spared, at the cost of another."""
    data.write_text("a,b\n" + "x,1\nx,2\ny,1\ny,2\n" * 2)
    words = ("-k", "3", "-q", "--purpose", "one-coding", "--qi", "a", "--qi", "b", "--suppression", "0")
    for heavy, out in (("a", "one"), ("b", "two")):
        assert bare(*words, "--weight", f"{heavy}=3", out=out).code == 0
        levels = manifest(out)["search"]["levels"]
        assert levels[heavy] == 0
        assert sum(levels.values()) == 1
        assert manifest(out)["utility"]["loss"] == pytest.approx(0.25)


def test_all_rules_hold(bare, manifest, data):
    """Of several rules, all hold."""
    words = ("-q", "--undecided", "drop", "--qi", "age=interval:10/top=90/bottom=0", "--rule", "k-anonymity=20")
    assert bare("-k", "5", *words).code == 0

    assert manifest()["risk"]["smallest_class"] >= 20
    assert manifest()["guarantee"]["rules"] == [{"model": "k-anonymity", "k": 5}, {"model": "k-anonymity", "k": 20}]


def test_missing_texts(bare, data, manifest, tmp_path):
    """A ``?`` is plain text until ``--missing`` says otherwise; missing values are released as empty cells."""
    data.write_text("sex,zip\n" + "F,?\n" * 5 + "F,02130\n" * 5)
    words = ("-k", "5", "-q", "--qi", "sex", "--qi", "zip=prefix:5")

    assert bare(*words, out="text").code == 0
    assert "F,?\n" in (tmp_path / "text" / "data.csv").read_text()
    assert bare(*words, "--missing", "?", out="missing").code == 0
    assert (tmp_path / "missing" / "data.csv").read_text() == "sex,zip\n" + "F,\n" * 5 + "F,02130\n" * 5


def test_missing_in_a_hierarchy_file(bare, refused, data, tmp_path):
    """A hierarchy file must list missing, or ``--missing-as`` say under which name it does."""
    data.write_text("sex\n" + "F\n" * 5 + '""\n' * 5)
    (tmp_path / "sex.csv").write_text("F;*\nunknown;*\n")
    words = ("-k", "5", "--qi", "sex=sex.csv")

    assert "--missing-as" in refused(bare(*words), new=frozenset({"sex.csv"}))
    assert bare(*words, "-q", "--missing-as", "unknown").code == 0
    assert (tmp_path / "release" / "data.csv").read_text() == "sex\n" + '""\n' * 5 + "F\n" * 5


def test_hierarchies_of_a_folder(bare, data, manifest, tmp_path):
    """Files named for the data and a column make that column a quasi-identifier; files of no column are told."""
    folder = tmp_path / "hierarchies"
    folder.mkdir()
    (folder / "patients_hierarchy_sex.csv").write_text("F;*\nM;*\nX;*\n")
    (folder / "patients_hierarchy_height.csv").write_text("1;*\n")
    (folder / "zip.csv").write_text("not a hierarchy")
    ran = bare("-k", "5", "--purpose", "one-coding", "--undecided", "drop", "--hierarchies", folder)

    assert ran.code == 0
    assert "patients_hierarchy_height.csv" in ran.err
    assert list(manifest()["search"]["levels"]) == ["sex"]
    assert manifest()["settings"]["hierarchies"] == {"sex": "patients_hierarchy_sex.csv"}


def test_hierarchies_of_a_folder_for_named_columns(bare, refused, manifest, tmp_path):
    """With ``--qi COLUMN`` the folder supplies the hierarchy of that column; one that it lacks is an error."""
    folder = tmp_path / "hierarchies"
    folder.mkdir()
    (folder / "sex.csv").write_text("F;*\nM;*\nX;*\n")
    words = (*ONE, "--undecided", "drop", "--hierarchies", folder, "--qi", "sex")

    assert bare(*words).code == 0
    assert manifest()["columns"] == {"sex": {"role": "quasi-identifier", "hierarchy": "file", "level": 0}}
    assert "no hierarchy file in hierarchies" in refused(
        bare(*words, "--qi", "zip", out="other"), new=frozenset({"hierarchies", "release"})
    )
