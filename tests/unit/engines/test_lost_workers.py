"""What is said where Spark ends because its workers do."""

import pytest

from cloister.engines.spark.tasks import call_spark
from cloister.errors import InputError


class UnwordedError(Exception):
    """An error of Java that cannot be worded any more."""

    def __str__(self):
        raise ConnectionError


def failing(error):
    """An action that Spark ends."""

    def action():
        raise error

    return action


@pytest.mark.parametrize(
    "words",
    ["ExecutorLostFailure (executor 3 exited) value-7", "Job 5 cancelled as part of cancellation of all jobs value-7"],
)
def test_lost_workers_are_named(words):
    """The sentence says that workers were lost, not that a file cannot be read, and nothing of what Spark says."""
    with pytest.raises(InputError, match="lost its workers") as caught:
        call_spark(failing(RuntimeError(words)), "Spark could not read visits.csv.")

    assert "value-7" not in caught.value.message


@pytest.mark.parametrize("error", [RuntimeError("no such column"), UnwordedError()])
def test_other_failures_are_said_as_before(error):
    """Where workers are not the cause, or it is not known, the sentence is that of what was done."""
    with pytest.raises(InputError, match="could not read"):
        call_spark(failing(error), "Spark could not read visits.csv.")
