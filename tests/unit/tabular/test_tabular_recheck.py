"""What the manifest of a table says is checked field by field, also where it follows from nothing released."""

import json

import polars as pl
import pytest

import cloister as cl
from cloister.release_folder import json_bytes

AGES = [20, 22, 24, 31, 33, 35, 37, 41, 43, 45, 58, 71]
PEOPLE = pl.DataFrame({"age": AGES, "sex": ["F", "M"] * 6, "dx": list("abcabcabcabc")})
OPTIONS = {
    "quasi_identifiers": {"age": cl.intervals(10, top=90, bottom=0), "sex": "suppress"},
    "rules": ["k-anonymity=2"],
    "sensitive": ["dx"],
    "suppression_limit": 0.5,
}


def written(folder, **options):
    """The manifest of a release in a folder."""
    cl.anonymize(PEOPLE, **OPTIONS | options).write(folder)
    return json.loads((folder / "release.json").read_text())


def refused(folder, manifest, words):
    """The folder holds as it was written; with this manifest it is refused in these words."""
    assert cl.verify_folder(folder).holds
    (folder / "release.json").write_bytes(json_bytes(manifest))
    with pytest.raises((cl.GuaranteeViolation, cl.InputError), match=words):
        cl.verify_folder(folder)
    with pytest.raises((cl.GuaranteeViolation, cl.InputError), match=words):
        cl.verify_folder(folder, original=PEOPLE)


FIELDS = {
    "optimal as a number": (("search", "optimal", 1), "search.optimal that is neither"),
    "optimal as text": (("search", "optimal", "x"), "search.optimal that is neither"),
    "no optimal": (("search", "optimal", None), "search.optimal that is neither"),
    "a bound above the loss": (("search", "bound", 0.99), "search.bound that is no bound"),
    "a bound below 0": (("search", "bound", -0.1), "search.bound that is no bound"),
    "a bound that is no number": (("search", "bound", float("nan")), "search.bound that is no bound"),
    "a bound in a list": (("search", "bound", [0]), "search.bound that is no bound"),
    "a bound that is true": (("search", "bound", False), "search.bound that is no bound"),
    "a gap above 1": (("search", "gap", 1.5), "search.gap that is not between 0 and 1"),
    "a gap of another form": (("search", "gap", {"a": 1}), "search.gap that is not between 0 and 1"),
    "a gap beside a proof": (("search", "gap", 0.5), "search.gap that is not 0"),
    "no gap beside a proof": (("search", "gap", None), "search.gap that is not 0"),
    "nothing counted": (("search", "lattice", "many"), "search.lattice that counts nothing"),
    "more said of the search": (("search", "zzz", 1), "1 unknown keys in search"),
    "more said of the settings": (("settings", "zzz", 1), "1 unknown keys in settings"),
    "more said of the guarantee": (("guarantee", "zzz", 1), "1 unknown keys in guarantee"),
    "more said of a quasi-identifier": (("columns", "age", "zzz", 1), "1 unknown keys of column 'age'"),
    "a level of what has none": (("columns", "dx", "level", 1), "1 unknown keys of column 'dx'"),
    "no settings.rest": (("settings", "rest", "all"), "wrong settings.rest"),
    "a suppression of text": (("settings", "time_limit", "PATIENT"), "wrong settings.time_limit"),
    "weights of a sentence": (("settings", "weights", {"k = 500 holds": 1.0}), "name other columns than quasi"),
    "a switch of another kind": (("settings", "keep_suppressed", 0), "wrong settings.keep_suppressed"),
    "bounds of another form": (("settings", "level_bounds", {"age": "x"}), "wrong settings.level_bounds"),
    "a search in a sentence": (("settings", "search", "x y"), "wrong settings.search"),
    "columns that are none": (("settings", "not_released", [[1]]), "wrong settings.not_released|lacks what a table"),
    "hierarchies of another form": (
        ("settings", "hierarchies", "age", 1),
        "wrong settings.hierarchies|does not name the hierarchy",
    ),
    "a path": (("settings", "source", "/home/user/patients.csv"), "wrong settings.source"),
    "a seed of text": (("seed", "PATIENT"), "wrong seed"),
    "a date in words": (("created", "on Friday"), "wrong created"),
    "a host": (("machine", "host", "ward7"), "wrong machine"),
    "more seconds": (("seconds", "zzz", 1.0), "wrong seconds"),
    "seconds in words": (("seconds", "read", "few"), "wrong seconds"),
    "checks in words": (("guarantee", "checks", ["Certified by NIST"]), "1 unknown keys in guarantee"),
    "a way in words": (("guarantee", "verified_how", "by NIST"), "1 unknown keys in guarantee"),
    "another sentence": (("guarantee", "sentences", ["Nobody is in it"]), "guarantee.sentences do not say"),
    "patients in words": (("guarantee", "one_row_per_patient", "as P17 is"), "guarantee.one_row_per_patient"),
    "a hierarchy in words": (("settings", "hierarchies", "age", "P17 is in row 1"), "hierarchies|came from a file"),
    "a kind in words": (("columns", "age", "hierarchy", "P17 is in row 1"), "hierarchies|came from a file"),
    "a version in words": (("cloister", "the newest one"), "reads its own releases alone"),
    "more said": (("zzz", 1), "release.json has 1 unknown key"),
    "a loss more": (("utility", "losses", "dm_star", 0.5), "does not: utility.losses$|does not: utility.losses[.;]"),
}


@pytest.mark.parametrize(("change", "words"), FIELDS.values(), ids=FIELDS)
def test_fields_say_what_a_release_can_say(tmp_path, change, words):
    """A field that no release has, or a value that none has there, is a failure, with the original and without."""
    manifest = written(tmp_path / "release")
    *path, name, value = change
    place = manifest
    for step in path:
        place = place[step]
    place[name] = value

    refused(tmp_path / "release", manifest, words)


def test_what_every_release_says_must_be_there(tmp_path):
    """A manifest without its settings' rest or its seed is none of ours."""
    manifest = written(tmp_path / "release")
    del manifest["settings"]["rest"], manifest["seed"]

    refused(tmp_path / "release", manifest, "lacks 1 key of settings.*a wrong seed")


def test_keys_stand_once(tmp_path):
    """Of a key that stands twice, others might read the first value."""
    written(tmp_path / "release")
    path = tmp_path / "release" / "release.json"
    path.write_text(path.read_text().replace('"k": ', '"k": 99, "k": ', 1))

    with pytest.raises(cl.InputError, match="cannot be read as JSON"):
        cl.verify_folder(tmp_path / "release")


@pytest.mark.parametrize("name", ["iyengar", "arx", "precision", "discernibility", "average_class_size"])
def test_losses_are_all_told(tmp_path, name):
    """A manifest that leaves one of its losses out is refused."""
    manifest = written(tmp_path / "release")
    del manifest["utility"]["losses"][name]

    refused(tmp_path / "release", manifest, "does not: .*utility.losses")


def test_a_bound_is_no_loss_more(tmp_path):
    """A key of the search that is missing is a failure too."""
    manifest = written(tmp_path / "release")
    del manifest["search"]["bound"]

    refused(tmp_path / "release", manifest, "release.json lacks search.bound")


@pytest.mark.parametrize("name", ["iyengar", "arx", "precision", "discernibility", "average_class_size"])
def test_estimates_follow_from_what_is_told(tmp_path, name):
    """Where losses are estimates and the number of suppressed records is told, losses must fit columns and classes."""
    manifest = written(tmp_path / "release", loss="dm_star", levels={"age": 1, "sex": 1})
    assert (manifest["records"]["suppressed"], manifest["utility"]["exact"]) == (2, False)
    manifest["utility"]["losses"][name] += 0.01

    refused(tmp_path / "release", manifest, f"does not: utility.losses.{name}")


KINDS = {
    "entropy": {"loss": "entropy"},
    "ambiguity": {"loss": "ambiguity"},
    "in no time": {"time_limit": 1e-9},
    "a heuristic": {"search": "datafly"},
    "fixed": {"levels": {"age": 1, "sex": 1}},
    "kept back": {"rules": ["k-anonymity=3"], "levels": {"age": 1, "sex": 1}},
    "local recoding": {"local_recoding": True},
    "mondrian": {"method": "mondrian", "microaggregate": {"age": "mean"}},
    "clusters": {"method": "cluster"},
    "stars": {"levels": {"age": 1, "sex": 1}, "keep_suppressed": True},
}


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_right_releases_are_not_refused(tmp_path, options):
    """Whatever was asked for, what is written holds when it is read again."""
    written(tmp_path / "release", **options)

    assert cl.verify_folder(tmp_path / "release").holds
    assert cl.verify_folder(tmp_path / "release", original=PEOPLE).holds
