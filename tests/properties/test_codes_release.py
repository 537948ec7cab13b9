"""Laws of releases of code sets: whatever the records and settings, what is written holds and reads back."""

import tempfile
from pathlib import Path

from hypothesis import assume, given
from hypothesis import strategies as st
from tests.made.examples import examples

import cloister as cl
from cloister.shapes.disassociation.format.clusters_file import read_clusters, same_release

CODES = st.sampled_from(["001", "250.00", "250.01", "401.9", "E936.1", "V58"])
RECORDS = st.lists(st.lists(CODES, min_size=1, max_size=6), min_size=4, max_size=40)
SETTINGS = st.fixed_dictionaries(
    {
        "k": st.integers(2, 4),
        "m": st.integers(1, 3),
        "refine": st.sampled_from(["tree", "paper", "off"]),
        "inference_check": st.sampled_from(["off", "report", "enforce"]),
    }
)


def released(records, options, **more):
    """A release, or None where there are too few patients."""
    repeats = more.pop("repeats", False)
    codes = cl.CodeSets.from_records(records, repeats=repeats)
    policy = cl.UtilityPolicy.by_level(codes, 1) if more.pop("policy", False) else None
    return cl.protect_codes(codes, **options, policy=policy) if len(records) >= options["k"] else None


@examples(40)
@given(RECORDS, SETTINGS, st.booleans(), st.booleans())
def test_folders_hold_on_their_own(records, options, repeats, policy):
    """Every release is written, read back as it was, and passes its check from the files alone."""
    release = released(records, options, repeats=repeats, policy=policy)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "release")
        release.write(place)

        assert same_release(release.clusters, read_clusters(place / "clusters.json"))
        assert cl.verify_folder(place).holds


@examples(40)
@given(RECORDS, SETTINGS)
def test_reconstructions_of_reconstructions_keep_the_counts(records, options):
    """A code that the chunks count exactly has that count in every reconstruction."""
    release = released(records, options)
    codes = cl.CodeSets.from_records(records)
    rebuilt = release.reconstruct(5)
    told = dict(zip(release.codebook["label"], release.codebook["meaning"]))
    for code, true, found in zip(codes.vocabulary, codes.supports().tolist(), rebuilt.supports().tolist()):
        if "in some clusters" not in told[code]:
            assert true == found


@examples(60)
@given(RECORDS, SETTINGS, st.booleans(), st.integers(2, 3), st.data())
def test_folders_with_sensitive_codes_hold_on_their_own(records, options, repeats, diversity, data):
    """With sensitive codes, repeated or not, what is written passes its check, and lists every occurrence of them."""
    common = [*records, *(["401.9"] for _ in range(12))]
    codes = cl.CodeSets.from_records(common, repeats=repeats)
    names = sorted(codes.items_by_code().keys() - {"401.9"})
    sensitive = data.draw(st.lists(st.sampled_from(names), unique=True, max_size=2)) if names else []
    try:
        release = cl.protect_codes(codes, **options, sensitive=sensitive, diversity=diversity)
    except cl.NoSafeRelease:
        assume(False)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "release")
        release.write(place)
        written = read_clusters(place / "clusters.json")

        assert cl.verify_folder(place).holds
        listed = {written.vocabulary[item] for item in written.sensitive.tolist()}
        assert {code for name in sensitive for code in written.vocabulary if code.split("#")[0] == name} == listed
