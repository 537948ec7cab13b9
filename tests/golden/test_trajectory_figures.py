"""The figures of Tamersoy et al. (2012): Fig. 5's matrices, Fig. 1(c), the distances and losses that go with it."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.made.trajectories import FIGURE_1, FIGURE_3, FIGURE_4, figure_1, tree_of

import cloister as cl
from cloister.cli.main import run
from cloister.hierarchy import hierarchy_rows
from cloister.kernels.alignment import align
from cloister.shapes.trajectories.format.data import Method, TrajectoriesRequest
from cloister.shapes.trajectories.method.problem import build_problem, domain_of
from cloister.shapes.trajectories.method.protect import anonymize

CODE_LOSS = [[0, 0.5, 1, 1.5], [0.5, 1, 1.5, 2], [1, 0.5, 1, 1.5], [1.5, 1, 0.5, 1], [2, 1.5, 1, 0.5]]
AGE_LOSS = [[0, 0.5, 1, 1.5], [0.5, 0, 0.5, 1], [1, 0.5, 0.25, 0.75], [1.5, 1, 0.5, 0.75], [2, 1.5, 1, 0.5]]
CHOICES = ["G<<<", "^G<<", "^GG<", "^^GG", "^^^G"]
DISTANCES = {(1, 2): 3, (1, 4): 1, (2, 3): 1, (2, 5): 1.5, (3, 5): 2.25, (3, 6): 2, (5, 6): 0.25, (4, 5): 5, (4, 6): 5}
SYMBOLS = {0: "G", 1: "<", 2: "^"}


def numbers(tree, values):
    """Leaves by value, as int32."""
    return np.array([tree.labels.index(str(value)) for value in values], dtype=np.int32)


def aligned(codes, ages, x, y, method=Method.A_GS):
    """Matrices i, a, r and the matches of two records, losses as shares of the domain."""
    request = TrajectoriesRequest(2, FIGURE_4, FIGURE_3, method)
    domain = domain_of((codes, ages), request)
    nodes = numbers(codes, [code for code, _ in x]), numbers(ages, [age for _, age in x])
    leaves = numbers(codes, [code for code, _ in y]), numbers(ages, [age for _, age in y])
    loss, choice, match = align(domain, nodes, 1, (codes.low[leaves[0]], ages.low[leaves[1]]))
    whole = domain.code_unit * codes.n_values + domain.age_unit * ages.n_values
    return loss / whole, choice, match


def test_every_entry_of_figure_5():
    """Aligning T4 with T1 gives the matrices i, a and r of Fig. 5, all 40 entries of the losses and every choice."""
    codes = tree_of(hierarchy_rows([["401.1", "401", "*"], ["401.9", "401", "*"]]), ["401.1", "401.9"])
    loss, choice, match = aligned(codes, tree_of(FIGURE_3, range(33, 41)), FIGURE_1[3], FIGURE_1[0])

    assert loss[0].tolist() == CODE_LOSS
    assert loss[1].tolist() == AGE_LOSS
    found = ["".join(SYMBOLS[entry] for entry in row) for row in choice.tolist()]
    assert found == CHOICES  # the entry of two empty beginnings stands for nothing
    assert match.tolist() == [-1, 0, 1, 2]


@pytest.mark.parametrize(("pair", "expected"), DISTANCES.items())
def test_distances_of_figure_1(pair, expected):
    """The records of Fig. 1(a) are as far from each other as the definitions say, in both directions."""
    codes, ages = tree_of(FIGURE_4, ["401.0", "401.1", "401.9"]), tree_of(FIGURE_3, range(33, 41))
    x, y = (FIGURE_1[number - 1] for number in pair)

    for one, other in ((x, y), (y, x)):
        loss = aligned(codes, ages, one, other)[0]
        assert expected == loss[0, -1, -1] + loss[1, -1, -1]


def test_figure_1_c():
    """With k = 2, records 1 and 4, 2 and 3, 5 and 6 share the trajectories of Fig. 1(c); ILM is 0.2 and ALM 0.1."""
    found = anonymize(figure_1(), TrajectoriesRequest(2, FIGURE_4, FIGURE_3))
    rows = [found.released.rows_of(cluster) for cluster in found.alignment.cluster_of.tolist()]

    assert rows[0] == rows[3] == [("401.1", "33"), ("401.1", "34"), ("401.1", "35")]
    assert rows[1] == rows[2] == [("401", "38"), ("401.1", "40")]
    assert rows[4] == rows[5] == [("401.1", "[39-40]"), ("401.9", "40")]
    assert (found.losses.ilm, found.losses.alm) == pytest.approx((0.2, 0.1), abs=1e-15)


def test_example_1():
    """Jane's pairs, 401.1 at 38 and at 40, are those of record 2 alone; in Fig. 1(c) two patients may have them."""
    known = {("401.1", 38), ("401.1", 40)}
    rows = cl.protect_trajectories(figure_1(), k=2, code_hierarchy=FIGURE_4, age_hierarchy=FIGURE_3).frame.rows()
    released = [{(code, age) for own, code, age in rows if own == number} for number in range(1, 7)]

    assert [number for number, record in enumerate(FIGURE_1, start=1) if known <= set(record)] == [2]
    assert sum({("401", "38"), ("401.1", "40")} <= pairs for pairs in released) == 2


def test_example_4():
    """Of eight ages, generalizing [33-34] to [33-36] costs 0.25."""
    ages = tree_of(FIGURE_3, range(33, 41))
    small, large = (ages.labels.index(label) for label in ("[33-34]", "[33-36]"))

    assert (ages.leaves[large] - ages.leaves[small]) / ages.n_values == 0.25


def test_figure_1_from_files(tmp_path, monkeypatch):
    """By the command line the leaves of the files are the domain, whether they occur or not: ILM 0.2, ALM 0.1."""
    monkeypatch.chdir(tmp_path)
    pairs = [f"{number},{code},{age}" for number, record in enumerate(FIGURE_1) for code, age in record]
    Path("visits.csv").write_text("\n".join(["id,code,age", *pairs]))
    for name, hierarchy in (("ages", FIGURE_3), ("codes", FIGURE_4)):
        Path(f"{name}.csv").write_text("\n".join(";".join(row) for row in hierarchy.rows))
    files = ["--code-hierarchy", "codes.csv", "--age-hierarchy", "ages.csv"]
    words = ["protect", "trajectories", "visits.csv", "-k", "2", *files, "--custodian-dir", "own", "--out", "out"]
    assert run([*words, "--crosswalk", "map.csv", "--quiet"]) == 0
    exact = json.loads(Path("own/internal.json").read_text())

    assert (exact["ilm"], exact["alm"]) == pytest.approx((0.2, 0.1), abs=1e-15)
    assert Path("out/data.csv").read_text().count("[39-40]") == 2
    assert run(["verify", "out", "--original", "visits.csv", "--crosswalk", "map.csv", *files]) == 0


@pytest.mark.parametrize(
    ("pairs", "expected"), [(["401.1@39"], 1.0), (["401.1@38", "401.1@40"], 0.667), (["401.1@38", "401.9@38"], 0.0)]
)
def test_queries_of_the_paper_by_the_command_line(tmp_path, monkeypatch, capsys, pairs, expected):
    """Appendix B answers 1 on Fig. 1(c). Jane's pairs (Example 1) are those of one of three codes for two patients."""
    monkeypatch.chdir(tmp_path)
    cl.protect_trajectories(figure_1(), k=2, code_hierarchy=FIGURE_4, age_hierarchy=FIGURE_3).write("out")
    for name, hierarchy in (("ages", FIGURE_3), ("codes", FIGURE_4)):
        Path(f"{name}.csv").write_text("\n".join(";".join(row) for row in hierarchy.rows))
    asked = [word for pair in pairs for word in ("--pair", pair)]
    files = ["--hierarchy", "code=codes.csv", "--hierarchy", "age=ages.csv"]
    assert run(["query", "out", *asked, *files, "--json"]) == 0

    assert json.loads(capsys.readouterr().out)["answers"][0]["expected"] == pytest.approx(expected)


def test_units_are_whole_leaves():
    """What a leaf of either attribute is worth is exact, whatever the weights."""
    request = TrajectoriesRequest(2, FIGURE_4, FIGURE_3, weights=(Fraction(1, 3), Fraction(2, 3)))
    trees = tree_of(FIGURE_4, ["401.0", "401.1", "401.9"]), tree_of(FIGURE_3, range(33, 41))
    domain = build_problem(figure_1(), trees, request).domain

    assert (domain.code_unit, domain.age_unit) == (4, 3)  # (1/3)/3 : (2/3)/8
