"""What the heuristics share: from the finest policy upwards, one level at a time, until a policy is safe."""

from collections.abc import Callable

from cloister.results import SearchResult

from .course import Course
from .exhaustive import no_safe_policy
from .problem import Candidate

Step = Callable[[Candidate], Candidate | None]
"""The next policy after one that is not safe; None at the top, or where the time is up."""


def first_safe(course: Course, step: Step) -> SearchResult:
    """Take steps from the finest policy until one is safe.

    Raises
    ------
    NoSafeRelease
        None is, or the time was up before.
    """
    current: Candidate | None = course.measure(tuple(course.problem.lowest.tolist()))
    assert current is not None
    bound, last = current.bound, current.levels
    while current is not None and not course.problem.is_safe(current):
        last = current.levels
        current = None if course.is_over else step(current)
    if current is None:
        raise no_safe_policy(course.problem, complete=last == course.problem.top)
    return course.result(complete=True, bound=bound, among=[current])
