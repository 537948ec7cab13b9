"""``protect claims`` by plans that ask for more: keyed ids, pseudonyms, weights and bounds, from plan to folder."""

import hashlib
import hmac
import json
import re

import polars as pl
import pytest
from tests.made.claims_files import PLAN, write_files
from tests.made.tampering import resealed, restated

import cloister as cl
from cloister.release.folder import json_bytes

KEY = b"k" * 40
GIVEN = ("patients.csv", "claims.csv", "--plan", "plan.toml", "-q", "--out")
MAPPED = ("--original", "patients.csv", "claims.csv", "--plan", "plan.toml", "--crosswalk", "map.csv")
MORE = '[ids]\npatients = "hmac:secret.key"\nprovider = "per-table"\npcp = "number"\nvendor = "drop"\n'


def table(path):
    """A file of a release as text."""
    return pl.read_csv(path, infer_schema=False)


def write_key(folder, key=KEY, mode=0o600):
    """A file with a key, and who may read it."""
    (folder / "secret.key").write_bytes(key)
    (folder / "secret.key").chmod(mode)


@pytest.fixture
def files(tmp_path):
    """Files whose patients and claims have physicians too, the claims a vendor, and a plan with keyed ids."""
    plan = PLAN.replace('sex = "sex"\n', 'sex = "sex"\ngp = "pcp"\n').replace(
        'note = "keep"\n', 'note = "keep"\nseen_by = "pcp"\nfacility = "vendor"\nnurse = "provider"\n'
    )
    write_files(tmp_path, plan=plan + MORE)
    for name, more in (("patients.csv", ["gp"]), ("claims.csv", ["seen_by", "facility", "nurse"])):
        lines = (tmp_path / name).read_text().splitlines()
        told = [
            f"{line},{','.join(f'{column[0]}{number % 7}' for column in more)}" for number, line in enumerate(lines)
        ]
        told[0] = ",".join([lines[0], *more])
        (tmp_path / name).write_text("\n".join(told) + "\n")
    write_key(tmp_path)
    return tmp_path


@pytest.mark.full
def test_keyed_ids_join_the_files_and_hold(cloister, files):
    """HMAC-SHA256 of the ids, alike in both files, sorted last; verified with the key and without; linking is said."""
    ran = cloister("protect", "claims", *GIVEN, "release", "--crosswalk", "map.csv")
    patients, claims = table(files / "release" / "patients.csv"), table(files / "release" / "claims.csv")
    ids = {f"P{number:04d}" for number in range(250)}
    hashes = {hmac.new(KEY, name.encode(), hashlib.sha256).hexdigest(): name for name in ids}
    told = json.loads((files / "release" / "release.json").read_text())
    alone, mapped = cloister("verify", "release"), cloister("verify", "release", "-v", *MAPPED)

    assert ran.code == 0, ran.err
    assert set(claims["mrn"]) <= set(patients["mrn"]) <= hashes.keys()
    assert dict(table(files / "map.csv").rows()) == {name: hashes[name] for name in patients["mrn"]}
    assert claims["mrn"].unique(maintain_order=True).to_list() == [
        n for n in patients["mrn"] if n in set(claims["mrn"])
    ]
    assert told["columns"]["claims"]["mrn"] == {"role": "identifier", "ids": "hmac"}
    assert "secret.key" not in (files / "release" / "release.json").read_text()
    report = (files / "release" / "report.html").read_text()
    assert "link releases made with the same key" in report
    assert "can link them" in report
    assert (alone.code, mapped.code) == (0, 0), mapped.err
    assert "every patient has the hash of the own id" in mapped.out
    # pseudonyms: physicians share their numbers, providers have others in each file, vendors are left out
    assert "facility" not in claims.columns
    assert told["columns"]["patients"]["gp"]["numbered_with"] == told["columns"]["claims"]["seen_by"]["numbered_with"]
    assert {told["columns"]["claims"][name]["numbered_with"] for name in ("doctor", "nurse")} == {"provider of claims"}
    assert patients["gp"].unique(maintain_order=True).to_list() == [str(number) for number in range(1, 8)]

    lines = (files / "release" / "patients.csv").read_text()
    resealed(files / "release", "patients.csv", lines.replace(patients["mrn"][0], "f" * 63 + "g"))
    assert "keyed hashes of 64 hexadecimal digits" in cloister("verify", "release").err
    write_key(files, b"another key, as long as it must be")
    resealed(files / "release", "patients.csv", lines)
    other = cloister("verify", "release", "-v", *MAPPED)
    assert (other.code, "ids are the keyed hashes of ids of the original" in other.err) == (1, True)


@pytest.mark.full
def test_keyed_ids_decide_among_those_who_are_alike(tmp_path):
    """Forty patients of one kind come in the order of their hashes, whatever the order of the files."""
    head = {"patients.csv": "mrn,born,sex\n", "claims.csv": "mrn,date,dx,pos,doctor,note\n"}
    write_files(tmp_path, plan=PLAN + MORE)
    write_key(tmp_path)
    people = [f"P{number},1970-01-01,F\n" for number in range(40)]
    events = [f"P{number},2024-01-01,401.9,Office,D{number % 3},n\n" for number in range(40)]
    (tmp_path / "patients.csv").write_text(head["patients.csv"] + "".join(people))
    (tmp_path / "claims.csv").write_text(head["claims.csv"] + "".join(reversed(events)))
    read = {"patients": tmp_path / "patients.csv", "claims": tmp_path / "claims.csv"}
    release = cl.protect_claims(cl.Claims.read(**read, plan=cl.ClaimsPlan.read(tmp_path / "plan.toml")))
    ids = release.patients["mrn"].to_list()

    assert len(ids) == 40
    assert ids == sorted(ids) == release.claims["mrn"].to_list()
    assert release.verify().holds
    release.write(tmp_path / "release")
    first, second = (f"{name}," for name in ids[:2])
    for name in ("patients.csv", "claims.csv"):
        text = (tmp_path / "release" / name).read_text()
        swapped = text.replace(first, "other,").replace(second, first).replace("other,", second)
        resealed(tmp_path / "release", name, swapped)
    with pytest.raises(cl.GuaranteeViolation, match=r"hold: not so: patients are sorted [a-z ,]+, and by their ids"):
        cl.verify_folder(tmp_path / "release")


@pytest.mark.parametrize(
    ("key", "mode", "said"),
    [(b"k" * 31, 0o600, "31 bytes; 32 are needed"), (KEY, 0o640, "may be read by others"), (None, 0, "no file")],
)
def test_keys_that_are_none_are_refused(cloister, files, key, mode, said):
    """Too short, not private, or not there: exit 2, and nothing is written."""
    (files / "secret.key").unlink() if key is None else write_key(files, key, mode)
    ran = cloister("protect", "claims", *GIVEN, "release")

    assert (ran.code, said in ran.err) == (2, True), ran.err
    assert not (files / "release").exists()


def test_a_key_in_a_release_is_refused(cloister, files):
    """Any folder around the key that has a manifest makes it no secret."""
    (files / "old").mkdir()
    manifest = {"schema": 2, "shape": "claims", "files": {}}
    (files / "old" / "release.json").write_bytes(json_bytes(manifest))
    (files / "old" / "secret.key").write_bytes(KEY)
    (files / "plan.toml").write_text((files / "plan.toml").read_text().replace("hmac:", "hmac:old/"))
    ran = cloister("protect", "claims", *GIVEN, "release")

    assert (ran.code, "is in the release old" in ran.err) == (2, True), ran.err


def test_the_unweighted_loss_comes_first(cloister, tmp_path):
    """Whatever weights were minimized, screen, report and comparisons begin with the mean of the columns."""
    write_files(tmp_path)
    assert cloister("protect", "claims", *GIVEN, "plain").code == 0
    write_files(tmp_path, plan=PLAN + "[weights]\ndx = 50\n")
    shown = " ".join(cloister("protect", "claims", *(word for word in GIVEN if word != "-q"), "weighed").out.split())
    told = json.loads((tmp_path / "weighed" / "release.json").read_text())["utility"]
    lost = [1 - share for table in told["kept"].values() for share in table.values()]
    report = (tmp_path / "weighed" / "report.html").read_text()
    assert re.search(r" risk 0\.\d+ for the most likely candidate .* 0\.\d+ in the mean .* flagged ", shown)

    assert told["mean_loss"] != told["loss"]
    assert told["mean_loss"] >= sum(lost) / len(lost) - 0.01
    assert shown.index(f"about {told['mean_loss']:.2f} (mean of") < shown.index(f"about {told['loss']:.2f} (entropy")
    first, second = "Mean information loss of the quasi-identifiers", "Minimized loss: entropy, weights dx 50"
    assert report.index(first) < report.index(second)
    compared = json.loads(cloister("compare", "weighed", "plain", "--json").out)
    assert [one["loss"] for one in compared["releases"]] == [told["mean_loss"], mean_loss(tmp_path / "plain")]

    restated(tmp_path / "plain", lambda manifest: manifest["utility"].update(mean_loss=0.001))
    assert "utility.mean_loss" in cloister("verify", "plain").err


def mean_loss(folder):
    """The mean loss that a release states."""
    return json.loads((folder / "release.json").read_text())["utility"]["mean_loss"]


def test_a_release_that_states_no_mean_loss_holds(cloister, tmp_path):
    """Releases of before state what was minimized alone, which is the mean where nothing is weighed."""
    write_files(tmp_path, plan=PLAN + "[weights]\ndx = 50\n")
    assert cloister("protect", "claims", *GIVEN, "weighed").code == 0
    write_files(tmp_path)
    assert cloister("protect", "claims", *GIVEN, "plain").code == 0
    stated = mean_loss(tmp_path / "plain")
    for name in ("weighed", "plain"):
        restated(tmp_path / name, lambda manifest: manifest["utility"].pop("mean_loss"))
        assert cloister("verify", name).code == 0

    compared = json.loads(cloister("compare", "weighed", "plain", "--json").out)
    assert [one["loss"] for one in compared["releases"]] == [None, stated]


@pytest.mark.full
def test_weights_draws_and_a_bounded_search(cloister, tmp_path):
    """Weights are told and weigh; a search that its bound ended says so, and its levels written down give it again."""
    write_files(
        tmp_path, plan=PLAN.replace("repeats = 5", "repeats = 50\ndraws = 1500") + "[weights]\ndx = 50\nage = 0.1\n"
    )
    plain = PLAN.replace("repeats = 5", "repeats = 50\ndraws = 1500")
    weighed = cloister("protect", "claims", *GIVEN, "weighed")
    told = json.loads((tmp_path / "weighed" / "release.json").read_text())
    assert weighed.code == 0, weighed.err
    assert (told["settings"]["plan"]["weights"], told["choice"]["optimal"]) == ({"dx": 50, "age": 0.1}, True)
    assert told["risk"]["draws"] % 1500 == 0
    assert "dx 50, age 0.1" in (tmp_path / "weighed" / "report.html").read_text()

    restated(tmp_path / "weighed", lambda manifest: manifest["settings"]["plan"]["weights"].update(pos=-1))
    assert "settings.plan." in cloister("verify", "weighed").err

    def change(manifest):
        manifest["choice"]["optimal"] = False
        manifest["settings"]["plan"]["weights"].pop("pos")
        manifest["settings"]["plan"]["ids"]["patients"] = "hmac"

    restated(tmp_path / "weighed", change)
    assert "what a release says: choice.optimal, columns." in cloister("verify", "weighed").err

    (tmp_path / "plan.toml").write_text(plain + "[search]\nnodes = 26\ntime_limit_s = 600\n")
    ended = cloister("protect", "claims", *GIVEN[:4], "--out", "ended")
    told = json.loads((tmp_path / "ended" / "release.json").read_text())
    assert ended.code == 0, ended.err
    assert told["choice"]["optimal"] is False
    assert "reached its limit" in ended.out
    assert "before the search reached its limit" in (tmp_path / "ended" / "report.html").read_text()
    assert cloister("verify", "ended").code == 0

    levels = told["choice"]["levels"]["patients"] | told["choice"]["levels"]["claims"]
    fixed = plain.replace('["none", 90]', f'["{told["choice"]["truncation"]}"]'.replace('"90"', "90"))
    for name, word in (("age", "age"), ("sex", "suppress"), ("pos", "place"), ("dx", "diagnosis")):
        fixed = f'{name} = "{word}@{levels[name]}-{levels[name]}"'.join(fixed.rsplit(f'{name} = "{word}"', 1))
    (tmp_path / "plan.toml").write_text(fixed)
    assert cloister("protect", "claims", *GIVEN, "again").code == 0
    for name in ("patients.csv", "claims.csv"):
        assert (tmp_path / "ended" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


@pytest.mark.full
def test_patients_of_whom_nothing_is_released_are_verified(cloister, tmp_path):
    """A file of patients that has their numbers alone holds, with the original and its map and without the map."""
    plan = PLAN.replace('derived = ["age"]\n', "").replace('age = "age"\nsex = "suppress"\n', "")
    write_files(tmp_path, plan=plan.replace('sex = "sex"', 'sex = "drop"'))

    assert cloister("protect", "claims", *GIVEN, "release", "--crosswalk", "map.csv").code == 0
    assert table(tmp_path / "release" / "patients.csv").columns == ["mrn", "claims_truncated"]
    assert (cloister("verify", "release", *MAPPED).code, cloister("verify", "release", *MAPPED[:-2]).code) == (0, 0)


def test_levels_can_be_those_of_another_release_of_claims(cloister, tmp_path):
    """``--levels-from DIR`` leaves nothing to be chosen for other patients; who verifies names the plan as it was."""
    write_files(tmp_path)
    assert cloister("protect", "claims", *GIVEN, "first").code == 0
    write_files(tmp_path, seed=2)
    assert cloister("protect", "claims", *GIVEN, "second", "--crosswalk", "map.csv", "--levels-from", "first").code == 0
    first, second = (json.loads((tmp_path / name / "release.json").read_text()) for name in ("first", "second"))
    plan = second["settings"]["plan"]

    assert second["choice"]["levels"] == first["choice"]["levels"]
    assert second["choice"]["lattice"] == 1
    assert plan["truncation"]["percentiles"] in (["none"], [90.0])
    assert all(
        words.endswith(f"@{second['choice']['levels']['claims'][name]}") for name, words in plan["claims"]["qi"].items()
    )
    assert cloister("verify", "second", *MAPPED).code == 0


def test_levels_that_the_plan_does_not_allow_are_refused(cloister, tmp_path):
    """Neither a release of other columns, of another shape, nor of levels outside the plan's bounds can be followed."""
    write_files(tmp_path, plan=PLAN.replace('pos = "place"\n', 'pos = "drop"\n', 1).replace('pos = "place"\n', ""))
    assert cloister("protect", "claims", *GIVEN, "columns").code == 0
    for name, low, percentile in (("levels", 0, "none"), ("truncation", 1, 90)):
        given = f'percentiles = ["{percentile}"]' if low == 0 else f"percentiles = [{percentile}]"
        fixed = PLAN.replace('pos = "place"\ndx', f'pos = "place@{low}"\ndx').replace(
            'percentiles = ["none", 90]', given
        )
        write_files(tmp_path, plan=fixed)
        assert cloister("protect", "claims", *GIVEN, name, "--crosswalk", f"{name}.csv").code == 0
    table = ("patients.csv", "--qi", "sex", "--undecided", "drop", "-k", "2", "-q", "--out", "table")
    assert cloister("protect", "table", *table).code == 0
    write_files(tmp_path, plan=fixed.replace("[90]", '["none"]'))

    for name in ("columns", "levels", "truncation", "table"):
        refused = cloister("protect", "claims", *GIVEN, "second", "--levels-from", name)
        said = f"cloister: The plan does not allow the columns, levels or truncation of the release {name}."
        assert (refused.code, refused.err.strip()) == (2, said)
    other = ("--original", "patients.csv", "claims.csv", "--plan", "plan.toml", "--crosswalk", "levels.csv")
    assert "not the one that the release names" in cloister("verify", "levels", *other).err


def test_grids_go_on_from_the_levels_of_another_release(cloister, tmp_path):
    """What a grid asks for is tried, and not what the other release has in its place."""
    write_files(tmp_path)
    assert cloister("protect", "claims", *GIVEN, "first").code == 0
    asked = ("--levels-from", "first", "--grid", "patients.qi.sex=suppress@0,suppress@1", "-q", "--out", "tried")
    ran = cloister("explore", "claims", "patients.csv", "claims.csv", "--plan", "plan.toml", *asked)
    tried = json.loads((tmp_path / "tried" / "exploration.json").read_text())["settings"]

    assert ran.code == 0, ran.err
    assert len({one["figures"]["loss"] for one in tried}) == 2


@pytest.mark.sampled(1)
@pytest.mark.parametrize("names", [("count", "len"), ("there", "taken"), ("label", "owner")])
def test_columns_may_have_any_names(cloister, tmp_path, names):
    """Names that frames are counted by are names of columns like others, for who protects and who verifies."""
    plan = (
        PLAN.replace("pos =", f"{names[0]} =").replace("sex =", f"{names[1]} =").replace('"sex"', '"quasi-identifier"')
    )
    write_files(tmp_path, plan=plan)
    for file, name, other in (("claims.csv", "pos", names[0]), ("patients.csv", "sex", names[1])):
        head, rest = (tmp_path / file).read_text().split("\n", 1)
        (tmp_path / file).write_text(f"{head.replace(name, other)}\n{rest}")

    assert cloister("protect", "claims", *GIVEN, "release", "--crosswalk", "map.csv").code == 0
    assert cloister("verify", "release", *MAPPED).code == 0
    assert cloister("verify", "release", *MAPPED[:-2]).code == 0
