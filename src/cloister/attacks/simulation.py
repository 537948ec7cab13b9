"""The attack itself: every adversary looks for every target, in the release and in the data as they were."""

from collections.abc import Iterator, Sequence

from .adversary import Adversary, Integers, Knowledge, Sights, sample_targets
from .figures import Attack, Level, level_of
from .opened import Opened

BUDGET = 1_000
"""Patients looked for at each step of knowledge, unless asked otherwise."""


def simulate(opened: Opened, *, budget: int = BUDGET, seed: int = 0) -> Attack:
    """Attack a release.

    Parameters
    ----------
    opened : a release and what it was made from
    budget : patients looked for; a random sample where there are more
    seed : of the sample, and of what is known of each target
    """
    targets = sample_targets(opened.n_patients, budget, seed)
    levels = [level for adversary in opened.adversaries for level in _levels(adversary, targets, opened.k, seed)]
    inferences = [each.infer(targets, seed) for each in opened.sensitive]
    return Attack(
        shape=opened.shape,
        method=opened.method,
        k=opened.k,
        seed=seed,
        targets=targets.size,
        budget=budget,
        records=opened.n_released,
        is_known_who=opened.is_known_who,
        levels=tuple(levels),
        inferences=tuple(inferences),
    )


def _levels(adversary: Adversary, targets: Integers, k: int, seed: int) -> Iterator[Level]:
    """What the adversary finds at each step that some target has items for."""
    for step in adversary.steps:
        known = [(target, items) for target, items in _knowing(adversary, targets, step, seed)]
        if not known:
            continue
        released = Sights.of([adversary.released.look(target, items) for target, items in known])
        original = Sights.of([adversary.original.look(target, items) for target, items in known])
        covered = [adversary.covers(target, items) for target, items in known]
        yield level_of(step.words, released, original, covered, k, step.limit)


def _knowing(
    adversary: Adversary, targets: Integers, step: Knowledge, seed: int
) -> Iterator[tuple[int, Sequence[int]]]:
    for target in targets.tolist():
        items = adversary.known(target, step, seed)
        if items is not None:
            yield target, items
