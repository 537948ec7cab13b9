"""Trajectories on Spark: the release of the memory engine, whoever clusters the blocks."""

import os
from contextlib import nullcontext

import numpy as np
import pytest

import cloister as cl
from cloister.engines.spark.trajectories import cluster_on
from cloister.errors import InputError, InternalError
from cloister.hierarchy import suppress
from cloister.kernels.clusters import Groups, Sequences
from cloister.pipeline.protecting import protect
from cloister.pipeline.trajectories import TrajectoriesProtection
from cloister.shapes.trajectories.format.data import Trajectories, TrajectoriesRequest
from cloister.shapes.trajectories.format.request import GivenTrajectories
from cloister.shapes.trajectories.method.protect import check_groups
from cloister.testing import hospital


@pytest.fixture(scope="module")
def trajectories():
    """The trajectories of 150 made-up patients."""
    rows = hospital(seed=5, n=150).trajectories.rows()
    patients = dict.fromkeys(row[0] for row in rows)
    return Trajectories.from_records([[(code, age) for id_, code, age in rows if id_ == one] for one in patients])


def test_blocks_on_workers_are_blocks_in_memory(spark, trajectories):
    """The same rows are released, classic or through Spark Connect."""
    here = cl.protect_trajectories(trajectories, k=3, block=15)
    there = cl.protect_trajectories(trajectories, k=3, block=15, engine=spark.word)

    assert here.summary()["clustering"]["blocks"] > 3
    assert here.frame.equals(there.frame)
    assert here.summary()["utility"] == there.summary()["utility"]
    assert there.verify().holds


def test_a_worker_that_dies(classic, trajectories, capfd, monkeypatch):
    """A worker that dies while it clusters is one error, and nothing is said on any stream."""
    request = TrajectoriesRequest(3, suppress(), suppress(), block=15)
    cluster = cluster_on(classic.session, lambda _: os._exit(3))
    monkeypatch.setattr("cloister.pipeline.trajectories.clustering_on", lambda _engine: nullcontext(cluster))
    with pytest.raises(InputError, match="a worker died or failed"):
        protect(TrajectoriesProtection(GivenTrajectories(trajectories), request))

    assert tuple(capfd.readouterr()) == ("", "")


SEQUENCES = Sequences(
    np.array([0, 1, 3]), np.array([0, 0, 1]), *[np.array([0, 1])] * 3, np.array([2, 1]), np.array([-1, -1])
)
GROUPS = Groups(
    member=np.array([0, 0, 1]),
    position=np.array([0, 0, 0, -1]),
    size=np.array([3]),
    length=np.array([1]),
    code=np.array([0]),
    age=np.array([0]),
    detail=np.array([0]),
    gained=np.zeros((1, 3)),
    cursor=np.zeros(6),
)


def test_sound_blocks_pass():
    """A block whose patients are in one cluster of three passes."""
    check_groups(SEQUENCES, GROUPS, 3)


@pytest.mark.parametrize(
    "change",
    [
        {"member": np.array([0, 1, 1])},
        {"size": np.array([2, 1]), "length": np.array([1, 0])},
        {"position": np.array([0, 0, 0, 1])},
        {"position": np.array([0, 0, 0])},
        {"code": np.array([0, 0])},
    ],
)
def test_unsound_blocks_are_our_defect(change):
    """A worker returns no block in which a patient is lost, a cluster is too small or a pair has no place."""
    with pytest.raises(InternalError, match="clustered as it must be"):
        check_groups(SEQUENCES, GROUPS._replace(**change), 3)
