"""A release folder of code sets that somebody changed, hashes and report with it: the check says no, and why."""

import json

import pytest
from tests.made.tampering import forged

import cloister as cl
from cloister.errors import CloisterError, GuaranteeViolation, InputError
from cloister.shapes.codes.policy import parse_policy
from cloister.shapes.disassociation.format.clusters_file import cluster_lines, read_clusters
from cloister.shapes.disassociation.method.release import reconstruct

RECORDS = [["250.00", "401.9", "V58.66"]] * 9 + [["250.00", "401.9"]] * 8 + [["001", "250.01"]] * 6 + [["001", "042"]]
REPEATED = [["250.00", "250.00", "401.9"]] * 9 + [["250.00", "401.9", "042", "042"]] + [["250.00", "401.9"]] * 8


@pytest.fixture
def folder(tmp_path):
    """A release with a policy."""
    codes = cl.CodeSets.from_records(RECORDS)
    cl.protect_codes(codes, k=3, m=2, policy=cl.UtilityPolicy.by_level(codes, level=1)).write(tmp_path / "release")
    return tmp_path / "release"


@pytest.fixture
def repeated(tmp_path):
    """A release of occurrences, with a sensitive code."""
    codes = cl.CodeSets.from_records(REPEATED, repeats=True)
    cl.protect_codes(codes, k=3, m=2, sensitive=["042"], diversity=3).write(tmp_path / "repeated")
    return tmp_path / "repeated"


def clusters_replaced(folder, old, new):
    """Replace a text in the clusters, and write them as a release does where they can be read."""
    path = folder / "clusters.json"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    try:
        written = b"".join(cluster_lines(read_clusters(path)))
    except InputError:
        return
    path.write_bytes(written)


def test_repeats_and_sensitive_codes_hold(repeated):
    """A sensitive code that repeats is asked for by its name, and each of its occurrences is listed."""
    head = json.loads((repeated / "clusters.json").read_text())

    assert head["sensitive"] == ["042#1", "042#2"]
    assert cl.verify_folder(repeated).holds


@pytest.mark.parametrize("listed", ["042#1", "042#2"])
def test_every_occurrence_of_a_sensitive_code_is_sensitive(repeated, listed):
    """One that is not listed would be open to a chunk of its own."""
    clusters_replaced(repeated, '"sensitive": ["042#1", "042#2"]', f'"sensitive": ["{listed}"]')
    forged(repeated)

    with pytest.raises(GuaranteeViolation, match="lists all occurrences of a sensitive code as sensitive"):
        cl.verify_folder(repeated)


@pytest.mark.parametrize(
    "code", ["250.00", "250.00#", "#2", "250.00#02", "250.00#+2", "250.00#²", "250.00#٢", "250.00#" + "9" * 5000]
)
def test_numbers_of_occurrences(repeated, code):
    """A code that is not numbered as a release numbers it is refused, and not quoted."""
    clusters_replaced(repeated, '"250.00#2"', f'"{code}"')
    forged(repeated)

    with pytest.raises(GuaranteeViolation, match="codes that repeat are numbered") as refusal:
        cl.verify_folder(repeated)
    assert "250" not in str(refusal.value)


def test_codes_said_to_repeat(folder):
    """Plain codes under a head that says that they are numbered are refused, not read as if they were."""
    clusters_replaced(folder, '"m": 2,', '"m": 2, "repeats": true,')
    forged(folder, lambda manifest: manifest["settings"].update(repeats=True))

    with pytest.raises(GuaranteeViolation, match="codes that repeat are numbered"):
        cl.verify_folder(folder)
    with pytest.raises(CloisterError):
        reconstruct(read_clusters(folder / "clusters.json"))


def test_more_diversity_than_there_are_records(repeated):
    """At most one record in l has a sensitive code, so that its cluster has l records or more."""

    def change(manifest):
        manifest["settings"]["diversity"] = manifest["guarantee"]["rules"][1]["l"] = 19

    forged(repeated, change)

    with pytest.raises(GuaranteeViolation, match="sensitive codes are only listed, and in clusters of at least"):
        cl.verify_folder(repeated)


FIELDS = {
    "a small cluster size": (("settings", "max_cluster_size", 1), "says: settings"),
    "no level": (("settings", "policy", "level:9"), "settings.policy"),
    "another level": (("settings", "policy", "level:3"), "utility in release.json does not follow"),
    "neighbours": (("settings", "policy", "sim:4"), "utility in release.json does not follow"),
    "support": (("settings", "policy", "sup:5"), "utility.constraints"),
    "more sets than codes": (("utility", "constraints", 1000), "utility in release.json does not follow"),
    "no set satisfied": (("utility", "constraints_satisfied", 0), "says: utility"),
    "a threshold that is true": (("settings", "inference_threshold", True), "inference_threshold"),
    "diversity of nothing": (("settings", "diversity", 5), "says: settings"),
    "a long delimiter": (("settings", "delimiter", "ab"), "settings.delimiter"),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("change", "words"), FIELDS.values(), ids=FIELDS)
def test_fields_say_what_a_release_can_say(folder, change, words):
    """A value that no release has there, or that does not follow from the files, is a failure."""
    *path, name, value = change

    def changed(manifest):
        for step in path:
            manifest = manifest[step]
        manifest[name] = value

    forged(folder)
    assert cl.verify_folder(folder).holds
    forged(folder, changed)

    with pytest.raises((GuaranteeViolation, InputError), match=words):
        cl.verify_folder(folder)


@pytest.mark.parametrize("spec", ["level:1", "sim:2", "sup:5", "level:9", "sim:x", "level", "mine"])
def test_words_that_make_another_policy(tmp_path, spec):
    """Whoever calls sets of their own as others are called has a release that holds: the words are left out."""
    codes = cl.CodeSets.from_records(RECORDS)
    policy = cl.UtilityPolicy.of({"mine": ["250.00", "042"], "rest": ["401.9"]}, spec)
    release = cl.protect_codes(codes, k=3, policy=policy)
    release.write(tmp_path / "release")

    assert cl.verify_folder(tmp_path / "release").holds
    assert release.summary()["settings"]["policy"] == (spec if spec in ("level", "mine") else "given")
    assert release.summary()["utility"]["constraints"] == 2


@pytest.mark.sampled(4)
@pytest.mark.parametrize("spec", ["level:1", "level:2/icd9", "level:3", "sim:1", "sim:3/icd9", "sim:99"])
@pytest.mark.parametrize("repeats", [False, True])
def test_policies_made_of_the_codes_are_counted_anew(tmp_path, spec, repeats):
    """What became of their sets is recomputed, and any other number refused."""
    codes = cl.CodeSets.from_records(RECORDS + REPEATED, repeats=repeats)
    release = cl.protect_codes(codes, k=3, policy=parse_policy(spec, codes))
    release.write(tmp_path / "release")

    assert release.summary()["settings"]["policy"] == spec
    assert cl.verify_folder(tmp_path / "release").holds
    for name in ("constraints", "constraints_satisfied", "constraints_preserved"):
        told = release.summary()["utility"][name]
        forged(
            tmp_path / "release", lambda manifest, name=name, told=told: manifest["utility"].update({name: told + 1})
        )
        with pytest.raises(GuaranteeViolation, match="utility"):
            cl.verify_folder(tmp_path / "release")
        forged(tmp_path / "release", lambda manifest, name=name, told=told: manifest["utility"].update({name: told}))
    assert cl.verify_folder(tmp_path / "release").holds
