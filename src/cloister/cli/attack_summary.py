"""What an attack found, on the screen."""

from collections.abc import Iterator

from rich.console import Console

from cloister.attacks.figures import Attack, Level
from cloister.attacks.parts import Link, PartsAttack
from cloister.cli.assess_ending import FOR_THE_CUSTODIAN
from cloister.cli.output import facts, grid

HEAD = ["known", "targets", "none", "<k", "least", "right", "raw alone"]
EXPLAINED = (
    "none, <k: targets who match no released patient, or at least one but fewer than k",
    "least: the fewest matches; right: the mean chance to point at the right one",
    "raw alone: targets who match one patient only in the original",
)
NOT_COVERED = " (*)"


def print_attack(screen: Console, name: str, found: Attack) -> None:
    """Print what was found in one release."""
    screen.print(facts(f"Attack on {name}", list(_facts(found))))
    screen.print(grid("What adversaries find", HEAD, [_row(level) for level in found.levels]))
    if found.inferences:
        head = ["guessed", "targets", "right", "without looking", "gain", "certain"]
        rows = [
            [each.column, f"{each.targets:,}"]
            + [f"{share:.1%}" for share in (each.accuracy, each.baseline, each.gain, each.certain)]
            for each in found.inferences
        ]
        screen.print(grid("What they learn", head, rows))
    for line in (*EXPLAINED, *_notes(found), FOR_THE_CUSTODIAN):
        screen.print(line, soft_wrap=True)


def print_links(screen: Console, found: PartsAttack) -> None:
    """Print what was found in each part of a job, and between them."""
    for name, part in found.parts:
        print_attack(screen, name, part)
    if found.links:
        head = ["parts", "targets", "<k left", "joined", "same number", "linkable"]
        screen.print(grid("What leads from one part to another", head, [_link(link) for link in found.links]))
    for first, second in found.not_compared:
        screen.print(
            f"{first} and {second} are not compared: one of them has no ids, or releases no records.",
            soft_wrap=True,
        )


def _facts(found: Attack) -> Iterator[tuple[str, str]]:
    criteria, k = found.criteria, found.k
    yield "release", f"{found.shape}, {found.method}, {found.records:,} patients, k = {k}"
    if found.holds and any(level.limit is not None for level in found.levels):
        yield "guarantee", "holds on average, for what the plan expects to be known"
    elif found.holds:
        yield "guarantee", f"holds: every target that it covers matches no released patient, or {k} or more"
    else:
        targets = "target" if found.broken == 1 else "targets"
        yield "guarantee", f"does NOT hold for {found.broken:,} {targets} that it covers"
    yield "guessing", f"{found.guess:.4f} right without knowing anything"
    yield "singling out", f"{criteria.singling_out:.4f} of the targets are found alone, at most"
    released = "" if found.is_known_who else ", if all of them are released"
    yield "linkability", f"{criteria.linkability:.4f} of the targets are linked rightly, at most{released}"
    told = (
        "nothing to guess is declared" if criteria.inference is None else f"{criteria.inference:.4f} more guessed right"
    )
    yield "inference", told


def _row(level: Level) -> list[str]:
    found, original = level.released, level.original
    counts = [f"{count:,}" for count in (found.targets, found.none, found.fewer, found.least)]
    return [
        level.known + ("" if level.is_covered else NOT_COVERED),
        *counts,
        f"{found.rate:.4f}",
        f"{original.alone:,}",
    ]


def _notes(found: Attack) -> Iterator[str]:
    if not all(level.is_covered for level in found.levels):
        yield "(*) the guarantee is not about this, or not for all of these targets"
    limits = {level.limit for level in found.levels if level.limit is not None}
    for limit in sorted(limits):
        yield f"the guarantee is about the average: rate and share below k at most {limit:g} as the plan expects"


def _link(link: Link) -> list[str]:
    same = "not known" if link.same_numbers is None else f"{link.same_numbers:.1%}"
    parts = f"{link.first} + {link.second}"
    looked = [f"{link.targets:,}", f"{link.fewer:,}"] if link.targets else ["-", "-"]
    return [parts, *looked, f"{link.joined:,}", same, "no" if link.holds else "YES"]
