"""What the manifest of a table says is checked field by field, also where it follows from nothing released."""

import json
from functools import cache

import polars as pl
import pytest
from tests.made.tampering import report_rewritten, restated

import cloister as cl
from cloister.release.folder import json_bytes

AGES = [20, 22, 24, 31, 33, 35, 37, 41, 43, 45, 58, 71]
PEOPLE = pl.DataFrame({"age": AGES, "sex": ["F", "M"] * 6, "dx": list("abcabcabcabc")})
OPTIONS = {
    "qi": {"age": cl.intervals(10, top=90, bottom=0), "sex": "suppress"},
    "rule": ["k-anonymity=2"],
    "sensitive": ["dx"],
    "suppression": 0.5,
    "purpose": "one-coding",
}


@cache
def usual():
    """The release of these options, made once."""
    return cl.protect_table(PEOPLE, **OPTIONS)


def written(folder, **options):
    """The manifest of a release in a folder."""
    (cl.protect_table(PEOPLE, **OPTIONS | options) if options else usual()).write(folder)
    return json.loads((folder / "release.json").read_text())


def refused(folder, manifest, words):
    """With this manifest the folder is refused in these words."""
    (folder / "release.json").write_bytes(json_bytes(manifest))
    report_rewritten(folder)
    with pytest.raises((cl.GuaranteeViolation, cl.InputError), match=words):
        cl.verify_folder(folder)
    with pytest.raises((cl.GuaranteeViolation, cl.InputError), match=words):
        cl.verify_folder(folder, original=PEOPLE)


FIELDS = {
    "optimal as a number": (("search", "optimal", 1), "search.optimal"),
    "optimal as text": (("search", "optimal", "x"), "search.optimal"),
    "no optimal": (("search", "optimal", None), "search.optimal"),
    "a bound above the loss": (("search", "bound", 0.99), "search.bound"),
    "a bound below 0": (("search", "bound", -0.1), "search.bound"),
    "a bound that is no number": (("search", "bound", float("nan")), "search.bound"),
    "a bound in a list": (("search", "bound", [0]), "search.bound"),
    "a bound that is true": (("search", "bound", False), "search.bound"),
    "a gap above 1": (("search", "gap", 1.5), "search.gap"),
    "a gap of another form": (("search", "gap", {"a": 1}), "search.gap"),
    "a gap beside a proof": (("search", "gap", 0.5), "search.gap"),
    "no gap beside a proof": (("search", "gap", None), "search.gap"),
    "nothing counted": (("search", "lattice", "many"), "search.lattice"),
    "more said of the search": (("search", "zzz", 1), "search, which has unknown keys"),
    "more said of the settings": (("settings", "zzz", 1), "settings, which has unknown keys"),
    "more said of the guarantee": (("guarantee", "zzz", 1), "guarantee, which has unknown keys"),
    "more said of a quasi-identifier": (("columns", "age", "zzz", 1), "columns, which has unknown keys"),
    "a level of what has none": (("columns", "dx", "level", 1), "columns, which has unknown keys"),
    "no settings.undecided": (("settings", "undecided", "all"), "settings.undecided"),
    "a suppression of text": (("settings", "time_limit", "PATIENT"), "settings.time_limit"),
    "weights of a sentence": (("settings", "weights", {"k = 500 holds": 1.0}), "settings.weights"),
    "a switch of another kind": (("settings", "keep_suppressed", 0), "settings.keep_suppressed"),
    "bounds of another form": (("settings", "level_bounds", {"age": "x"}), "settings.level_bounds"),
    "a search in a sentence": (("settings", "search", "x y"), "settings.search"),
    "columns that are none": (("settings", "not_released", [[1]]), "settings.not_released"),
    "hierarchies of another form": (("settings", "hierarchies", "age", 1), "settings.hierarchies"),
    "a path": (("settings", "source", "/home/user/patients.csv"), "settings.source"),
    "a seed of text": (("seed", "PATIENT"), "release says: seed"),
    "a date in words": (("created", "on Friday"), "release says: created"),
    "a host": (("machine", "host", "ward7"), "machine, which has unknown keys"),
    "more seconds": (("seconds", "zzz", 1.0), "seconds"),
    "seconds in words": (("seconds", "read", "few"), "seconds"),
    "checks in words": (("guarantee", "checks", ["Certified by NIST"]), "guarantee, which has unknown keys"),
    "a way in words": (("guarantee", "verified_how", "by NIST"), "guarantee, which has unknown keys"),
    "another sentence": (("guarantee", "sentences", ["Nobody is in it"]), "guarantee, which has unknown keys"),
    "patients in words": (("guarantee", "one_row_per_patient", "as P17 is"), "guarantee.one_row_per_patient"),
    "a hierarchy in words": (("settings", "hierarchies", "age", "P17 is in row 1"), "settings.hierarchies"),
    "a kind in words": (("columns", "age", "hierarchy", "P17 is in row 1"), "settings.hierarchies"),
    "a version in words": (("cloister", "the newest one"), "a release says: cloister"),
    "more said": (("zzz", 1), "release says: its keys"),
    "a loss more": (("utility", "losses", "dm_star", 0.5), "utility.losses"),
}


@pytest.mark.sampled(12)
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
    del manifest["settings"]["keep_suppressed"], manifest["seed"]

    refused(tmp_path / "release", manifest, "release says: seed, settings.keep_suppressed")


@pytest.mark.parametrize("name", ["iyengar", "arx", "precision", "discernibility", "average_class_size"])
def test_losses_are_all_told(tmp_path, name):
    """A manifest that leaves one of its losses out is refused."""
    manifest = written(tmp_path / "release")
    del manifest["utility"]["losses"][name]

    refused(tmp_path / "release", manifest, "release says: (utility.loss, )?utility.losses")


def test_a_bound_is_no_loss_more(tmp_path):
    """A key of the search that is missing is a failure too."""
    manifest = written(tmp_path / "release")
    del manifest["search"]["bound"]

    refused(tmp_path / "release", manifest, "release says: search.bound")


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
    "divergence": {"loss": "kl_divergence"},
    "in no time": {"time_limit": 1e-9, "accept_empty": True},
    "a heuristic": {"search": "datafly"},
    "fixed": {"levels": {"age": 1, "sex": 1}},
    "kept back": {"rule": ["k-anonymity=3"], "levels": {"age": 1, "sex": 1}},
    "local recoding": {"local_recoding": True},
    "mondrian": {"method": "mondrian", "microaggregate": {"age": "mean"}},
    "clusters": {"method": "cluster"},
    "stars": {"levels": {"age": 1, "sex": 1}, "keep_suppressed": True},
}


@pytest.mark.parametrize("method", ["mondrian", "cluster"])
def test_precision_is_recomputed_where_levels_differ(tmp_path, method):
    """With the original, the level of each label is known, and with it how far the values have risen."""
    folder = tmp_path / "release"
    written(folder, method=method, suppression=0, loss="precision")
    restated(folder, lambda m: (m["utility"].update(loss=0.0), m["utility"]["losses"].update(precision=0.0)))

    with pytest.raises(cl.GuaranteeViolation, match=r"utility\.losses\.precision"):
        cl.verify_folder(folder, original=PEOPLE)


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_right_releases_are_not_refused(tmp_path, options):
    """Whatever was asked for, what is written holds when it is read again."""
    written(tmp_path / "release", **options)

    assert cl.verify_folder(tmp_path / "release").holds
    unchecked = ["averages"] if "microaggregate" in options else []
    assert cl.verify_folder(tmp_path / "release", original=PEOPLE, accept_unchecked=unchecked).holds
