"""``clusters.json``: one text for one release, read back as it was, refused where it is none."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloister.errors import InputError
from cloister.shapes.disassociation.format import clusters_file as module
from cloister.shapes.disassociation.format.clusters_file import (
    cluster_lines,
    read_clusters,
    same_release,
    write_clusters,
)

CHUNK_1 = {
    "domain": ["296.00", "296.01", "296.02"],
    "subrecords": [["296.00", "296.01"], *[["296.00", "296.01", "296.02"]] * 3, ["296.00", "296.02"]],
}
CHUNK_2 = {"domain": ["692.71", "695.10"], "subrecords": [["692.71"], *[["692.71", "695.10"]] * 3]}
CHUNK_3 = {
    "domain": ["294.10", "295.04", "296.03"],
    "subrecords": [
        ["294.10", "295.04"],
        *[["294.10", "295.04", "296.03"]] * 2,
        ["294.10", "296.03"],
        ["295.04", "296.03"],
    ],
}
FIGURE_10 = {
    "schema": 1,
    "method": "disassociation",
    "k": 3,
    "m": 2,
    "clusters": [
        {"size": 5, "record_chunks": [CHUNK_3], "item_chunk": ["404.00", "480.1"]},
        {"size": 5, "record_chunks": [CHUNK_1, CHUNK_2], "item_chunk": ["401.0"]},
    ],
    "joint_clusters": [{"clusters": [0, 1], "joint": [], "size": 10}],
    "shared_chunks": [
        {"joint": 0, "domain": ["834.0", "944.01"], "subrecords": [["834.0"], *[["834.0", "944.01"]] * 3, ["944.01"]]}
    ],
}
"""Fig. 10 of Loukides et al. (2014), in the form of a release."""


def text_of(released):
    """The whole file."""
    return b"".join(cluster_lines(released)).decode()


@pytest.fixture
def read(tmp_path):
    """Write a document, laid out as given, and read it as a release."""

    def reading(document, **options):
        path = tmp_path / "clusters.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document, **options))
        return read_clusters(path)

    return reading


def test_what_is_written_is_the_document(read):
    """The file is the JSON document that the release form asks for, nothing more and nothing less."""
    assert json.loads(text_of(read(FIGURE_10))) == FIGURE_10


def test_one_part_a_line(read):
    """Each cluster, joint cluster and shared chunk has a line of its own, spaced as Python's json does."""
    lines = text_of(read(FIGURE_10)).splitlines()

    assert lines[0] == '{"schema": 1, "method": "disassociation", "k": 3, "m": 2,'
    assert [lines[1], lines[4], lines[6]] == [' "clusters": [', ' "joint_clusters": [', ' "shared_chunks": [']
    parts = [*FIGURE_10["clusters"], *FIGURE_10["joint_clusters"], *FIGURE_10["shared_chunks"]]
    written = [line.strip() for line in lines if line.startswith("  {")]
    assert [json.dumps(part) for part in parts] == [
        line.rstrip(",") if line.endswith("},") else line[: len(json.dumps(part))] for line, part in zip(written, parts)
    ]


def test_read_back_as_it_was(read, tmp_path):
    """Reading what was written, line by line or as one document, gives the same release and the same text."""
    released = read(FIGURE_10)
    write_clusters(released, tmp_path / "again.json")
    again = read_clusters(tmp_path / "again.json")

    assert same_release(released, again)
    assert same_release(released, read(FIGURE_10, indent=3))
    assert (tmp_path / "again.json").read_text() == text_of(again)
    assert (tmp_path / "again.json").stat().st_mode & 0o777 == 0o600


def test_lists_may_be_empty(read):
    """A release without joint clusters, shared chunks, chunks or item chunks is written and read."""
    small = FIGURE_10 | {
        "clusters": [{"size": 5, "record_chunks": [], "item_chunk": ["a"]}],
        "joint_clusters": [],
        "shared_chunks": [],
    }
    released = read(text_of(read(small)))

    assert json.loads(text_of(released)) == small


def test_codes_of_all_kinds(read):
    """Codes may hold quotes, backslashes and letters of any script; the head tells repeats and sensitive codes."""
    codes = ['"', "\\", "é", "語", "a#2"]
    chunk = {"domain": sorted(codes[:3]), "subrecords": [[code] for code in sorted(codes[:3])]}
    document = {"schema": 1, "method": "disassociation", "k": 1, "m": 1, "repeats": True, "sensitive": ["語"]}
    document |= {"clusters": [{"size": 9, "record_chunks": [chunk], "item_chunk": ["a#2", "語"]}]}
    document |= {"joint_clusters": [], "shared_chunks": []}
    released = read(document)

    assert released.vocabulary == tuple(sorted(codes))
    assert released.repeats
    assert json.loads(text_of(released)) == document


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_chunks_are_written_in_pieces(read, monkeypatch, at_once):
    """However many chunks are put into words at a time, the text is the same."""
    released = read(FIGURE_10)
    whole = text_of(released)
    monkeypatch.setattr(module, "CHUNKS_AT_ONCE", at_once)

    assert whole == text_of(released)


def broken():
    """Documents that are no release, each with what is wrong."""
    cluster, joint, shared = (FIGURE_10[name][0] for name in ("clusters", "joint_clusters", "shared_chunks"))
    yield "no method", {key: value for key, value in FIGURE_10.items() if key != "method"}
    yield "other method", FIGURE_10 | {"method": "cba"}
    yield "other schema", FIGURE_10 | {"schema": 2}
    yield "k is text", FIGURE_10 | {"k": "3"}
    yield "k is true", FIGURE_10 | {"k": True}
    yield "negative size", FIGURE_10 | {"clusters": [cluster | {"size": -1}]}
    yield "size is a fraction", FIGURE_10 | {"clusters": [cluster | {"size": 5.0}]}
    yield "huge size", FIGURE_10 | {"clusters": [cluster | {"size": 10**30}]}
    yield "clusters is an object", FIGURE_10 | {"clusters": {"0": cluster}}
    yield "a cluster is a list", FIGURE_10 | {"clusters": [[5]]}
    yield "item chunk is text", FIGURE_10 | {"clusters": [cluster | {"item_chunk": "ab"}]}
    yield "a code is a number", FIGURE_10 | {"clusters": [cluster | {"item_chunk": [401]}]}
    yield "a subrecord is text", FIGURE_10 | {"shared_chunks": [shared | {"subrecords": ["ab"]}]}
    yield "child after its parent", FIGURE_10 | {"joint_clusters": [joint | {"joint": [0]}]}
    yield "child that is none", FIGURE_10 | {"joint_clusters": [joint | {"clusters": [0, 7]}]}
    yield "no shared chunks", {key: value for key, value in FIGURE_10.items() if key != "shared_chunks"}
    yield "half a code point", FIGURE_10 | {"clusters": [cluster | {"item_chunk": ["\ud800"]}]}
    yield "a list", [FIGURE_10]
    yield "not JSON", "{"
    yield "nothing", ""
    yield "deep", "[" * 100_000


@pytest.mark.parametrize("document", [document for _, document in broken()], ids=[name for name, _ in broken()])
def test_what_is_no_release_is_refused(read, document):
    """Anything else is refused, without a word of what stands in it."""
    with pytest.raises(InputError) as caught:
        read(document)

    assert caught.value.message == "clusters.json cannot be read as disassociated code sets."


@given(st.data())
def test_cut_or_doubled_lines_never_pass(data):
    """A file that lost or doubled a line is refused or reads as another release, and never crashes."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "clusters.json")
        path.write_text(json.dumps(FIGURE_10))
        released = read_clusters(path)
        lines = text_of(released).splitlines(keepends=True)
        place = data.draw(st.integers(0, len(lines) - 1))
        changed = lines[:place] + [lines[place]] * data.draw(st.sampled_from([0, 2])) + lines[place + 1 :]
        path.write_text("".join(changed))
        try:
            found = read_clusters(path)
        except InputError:
            return
        assert not same_release(released, found)
