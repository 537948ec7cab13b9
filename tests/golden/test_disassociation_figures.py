"""The paper's worked example, and the counterexamples that disassociation must not fall for.

Loukides, Liagouris, Gkoulalas-Divanis, Terrovitis (2014), "Disassociation for electronic health record privacy":
Fig. 1 (records), Fig. 3b (policy), Fig. 4 (clusters), Fig. 10 (refined); k = 3, m = 2, maximum cluster size 6. The
figures align subrecords with records; a release does not, so chunks are compared as multisets. The counterexamples are
ours: with k = m = 2 the paper's conditions hold in each, and one patient is found out.
"""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.oracles.disassociation import Cluster, Reconstructions, Shared, Written, unprotected, written

from cloister.cli.main import run
from cloister.shapes.codes.data import CodeSets
from cloister.shapes.disassociation.format.data import DisassociationRequest, InferenceCheck, Refine
from cloister.shapes.disassociation.format.ties import count_ties
from cloister.shapes.disassociation.method.protect import disassociate
from cloister.shapes.disassociation.verify.verify import DisassociationSecret, verify

FIGURE_1 = """
296.00 296.01 296.02 834.0 944.01
296.00 296.02 296.01 401.0 944.01 692.71 695.10
296.00 296.02 692.71 834.0 695.10
296.00 296.01 692.71 401.0
296.00 296.01 296.02 692.71 695.10
296.03 295.04 404.00 480.1
294.10 296.03 834.0 944.01
294.10 295.04 296.03 480.1
294.10 295.04 404.00
294.10 295.04 296.03 834.0 944.01
"""
FIGURE_3B = ("294.10 295.04 296.00 296.01 296.02 296.03", "692.71 695.10", "401.0 404.00", "480.1", "834.0 944.01")


@dataclass(frozen=True)
class Policy:
    """Constraints as they stand."""

    constraints: tuple


def sets(*lines):
    """Subrecords, one a word list."""
    return Counter(frozenset(line.split()) for line in lines)


def example(refine):
    """Fig. 1 disassociated with the settings of section 5."""
    codes = CodeSets.from_records([line.split() for line in FIGURE_1.strip().splitlines()])
    policy = Policy(tuple(frozenset(line.split()) for line in FIGURE_3B))
    protected = disassociate(codes, DisassociationRequest(3, 2, max_cluster_size=6, policy=policy, refine=refine))
    assert verify(protected.released, DisassociationSecret(codes, protected.cluster_of)).holds
    return written(protected.released)


FIRST = [
    sets("296.00 296.01 296.02", "296.00 296.01 296.02", "296.00 296.02", "296.00 296.01", "296.00 296.01 296.02"),
    sets("692.71 695.10", "692.71 695.10", "692.71", "692.71 695.10"),
]
SECOND = [sets("296.03 295.04", "294.10 296.03", "294.10 295.04 296.03", "294.10 295.04", "294.10 295.04 296.03")]


def chunks_by_items(release):
    """Record chunks of each cluster, by item chunk."""
    return {tuple(sorted(c.items)): [Counter(chunk) for chunk in c.chunks] for c in release.clusters}


def test_figure_4():
    """Without refining, the example is cut as in Fig. 4."""
    release = example(Refine.OFF)

    expected = {("401.0", "834.0", "944.01"): FIRST, ("404.00", "480.1", "834.0", "944.01"): SECOND}
    assert chunks_by_items(release) == expected
    assert release.shared == ()


@pytest.mark.parametrize("refine", [Refine.TREE, Refine.PAPER])
def test_figure_10(refine):
    """Refined, the two clusters share the chunk of Fig. 10; the same on both ways of refining."""
    release = example(refine)

    assert chunks_by_items(release) == {("401.0",): FIRST, ("404.00", "480.1"): SECOND}
    assert [shared.members for shared in release.shared] == [(0, 1)]
    both = "834.0 944.01"
    assert [Counter(shared.subrecords) for shared in release.shared] == [sets(both, "944.01", "834.0", both, both)]


@pytest.mark.parametrize(
    ("refine", "items", "shared"),
    [
        ("off", [["404.00", "480.1", "834.0", "944.01"], ["401.0", "834.0", "944.01"]], []),
        ("tree", [["404.00", "480.1"], ["401.0"]], [["834.0", "944.01"]]),
    ],
)
def test_figures_4_and_10_by_the_command_line(tmp_path, monkeypatch, refine, items, shared):
    """The command line writes the clusters of Fig. 4, and refined those of Fig. 10; the folder is verified."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{number},{record}" for number, record in enumerate(FIGURE_1.strip().splitlines())]
    Path("codes.csv").write_text("\n".join(["id,codes", *rows]))
    Path("policy.json").write_text(json.dumps({f"u{n}": u.split() for n, u in enumerate(FIGURE_3B)}))
    words = ["-k", "3", "-m", "2", "--policy", "policy.json", "--max-cluster-size", "6", "--refine", refine]
    own = ["--crosswalk", "map.csv"]
    assert run(["protect", "codes", "codes.csv", *words, *own, "--out", "out", "--quiet"]) == 0
    written = json.loads(Path("out/clusters.json").read_text())

    assert [cluster["item_chunk"] for cluster in written["clusters"]] == items
    chunks = [[Counter(map(frozenset, c["subrecords"])) for c in one["record_chunks"]] for one in written["clusters"]]
    assert chunks == [SECOND, FIRST]
    assert [chunk["domain"] for chunk in written["shared_chunks"]] == shared
    assert run(["verify", "out", "--original", "codes.csv", *own, "--quiet"]) == 0


def test_figure_4_is_safe():
    """No two codes of a record of Fig. 1 leave fewer than three candidates, before and after refining."""
    records = [frozenset(line.split()) for line in FIGURE_1.strip().splitlines()]

    assert unprotected(records, example(Refine.OFF), 3, 2) == {}
    assert unprotected(records, example(Refine.TREE), 3, 2) == {}


def test_ties_of_figure_4():
    """Fig. 4 gives codes away: 296.01 and 296.02 each tell 296.00, and 695.10 tells 692.71; nothing else."""
    codes = CodeSets.from_records([line.split() for line in FIGURE_1.strip().splitlines()])
    policy = Policy(tuple(frozenset(line.split()) for line in FIGURE_3B))
    request = DisassociationRequest(3, 2, max_cluster_size=6, policy=policy, refine=Refine.OFF)
    ties = count_ties(disassociate(codes, request).released)

    assert (ties.pairs, ties.codes, ties.by_cluster.tolist()) == (3, 3, [0, 3])


def test_ties_of_figure_4_are_removed():
    """Enforced, no code of the example gives another away, and every occurrence outside item chunks is kept."""
    codes = CodeSets.from_records([line.split() for line in FIGURE_1.strip().splitlines()])
    policy = Policy(tuple(frozenset(line.split()) for line in FIGURE_3B))
    request = DisassociationRequest(3, 2, max_cluster_size=6, policy=policy, inference_check=InferenceCheck.ENFORCE)
    protected = disassociate(codes, request)

    assert (count_ties(protected.released).pairs, protected.figures.in_item_chunks) == (0, 6)
    assert verify(protected.released, DisassociationSecret(codes, protected.cluster_of)).holds


def test_a_cluster_whose_chunks_fill_all_records_is_repaired():
    """Records ab, a, a, b, b: the chunks of a and b leave one record for both, so a goes to the item chunk."""
    records = [list(word) for word in ("ab", "a", "a", "b", "b")]
    protected = disassociate(CodeSets.from_records(records), DisassociationRequest(2, 2, max_cluster_size=6))
    release = written(protected.released)

    assert release.clusters == (Cluster(5, ((frozenset("b"),) * 3,), frozenset("a")),)
    assert protected.figures.repaired == 1
    assert unprotected(records, release, 2, 2) == {}


def test_what_the_paper_would_release_of_it_is_unsafe():
    """Without the repair whoever knows ab finds one candidate: the oracle sees what the paper omits."""
    release = Written((Cluster(5, ((frozenset("a"),) * 3, (frozenset("b"),) * 3), frozenset()),), ())

    assert Reconstructions(release).most_candidates("ab") == 1


SENSITIVE = [("abs a a b b", 2, 5, ("ab", 2)), ("abcs a a b b c c", 3, 2, ("abc", 2))]


@pytest.mark.parametrize(("records", "m", "diversity", "known"), SENSITIVE)
def test_a_sensitive_code_does_not_fill_an_item_chunk(records, m, diversity, known):
    """With s alone in the item chunk, and in few records as published, ab (abc) has two candidates; so a goes there."""
    records = [list(word) for word in records.split()]
    request = DisassociationRequest(3, m, 100, sensitive=("s",), diversity=diversity)
    codes = CodeSets.from_records(records)
    protected = disassociate(codes, request)
    bound = {"sensitive": frozenset("s"), "diversity": diversity}
    codes_told = known[0]
    chunks = tuple((frozenset(code),) * 3 for code in codes_told)
    bare = Written((Cluster(len(records), chunks, frozenset("s")),), ())

    assert Reconstructions(bare, **bound).most_candidates(codes_told) == known[1]
    assert written(protected.released).clusters[0].items == frozenset("as")
    assert verify(protected.released, DisassociationSecret(codes, protected.cluster_of, diversity)).holds
    assert unprotected(records, written(protected.released), 3, m, **bound) == {}


def test_a_code_of_k_minus_one_records_hides_nobody_without_item_chunks():
    """Five records of a and one of z, k = 3: z stays in the item chunk, and nothing is published of its number."""
    records = [["a", "b"], ["a", "c"], ["a", "d"], ["a", "b"], ["a"], ["z"]]
    protected = disassociate(CodeSets.from_records(records), DisassociationRequest(3, 2))
    release = written(protected.released)

    assert [cluster.size for cluster in release.clusters] == [6]
    assert "z" in release.clusters[0].items
    assert unprotected(records, release, 3, 2) == {}


def cluster(size, items, *chunks):
    """A cluster of chunks written as words."""
    return Cluster(size, tuple(tuple(frozenset(word) for word in chunk.split()) for chunk in chunks), frozenset(items))


def shared(members, *words):
    """A shared chunk of subrecords written as words."""
    return Shared(members, frozenset("".join(words)), tuple(frozenset(word) for word in words))


FIRST_COUNTEREXAMPLE = (
    Written(
        (cluster(2, "s", "Aab Aab"), cluster(2, "d", "B B"), cluster(3, "t", "C C C")),
        (shared((0, 1, 2), "a", "a", "b", "b", "c", "c"),),
    ),
    "Cc",
)
SECOND_COUNTEREXAMPLE = (
    Written(
        (cluster(2, "y", "z z"), cluster(2, "w", "q q"), cluster(2, "v", "r r")), (shared((0, 1, 2), "t", "yt", "yt"),)
    ),
    "zt",
)


@pytest.mark.parametrize(("release", "known"), [FIRST_COUNTEREXAMPLE, SECOND_COUNTEREXAMPLE])
def test_a_shared_chunk_with_foreign_codes_is_unsafe(release, known):
    """Shared chunks that hold codes which members hold elsewhere leave one candidate, though they are k-anonymous."""
    assert Reconstructions(release).most_candidates(known) == 1


@pytest.mark.parametrize("records", ["Aab Aabcs Bbd Ba Cat Cb Cc", "zt zy qyt qw ryt rv"])
@pytest.mark.parametrize("refine", [Refine.TREE, Refine.PAPER])
def test_the_records_of_the_counterexamples_are_released_safely(records, refine):
    """Of the records behind the counterexamples we release something safe, on either way of refining."""
    records = [list(word) for word in records.split()]
    codes = CodeSets.from_records(records)
    protected = disassociate(codes, DisassociationRequest(2, 2, max_cluster_size=3, refine=refine))

    assert verify(protected.released, DisassociationSecret(codes, protected.cluster_of)).holds
    assert unprotected(records, written(protected.released), 2, 2) == {}
