"""``protect --attack``: the written files are attacked before the release appears."""

from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from cloister.cli.claims_options import ClaimsOptions
from cloister.cli.prepared import Original
from cloister.cli.release_options import ReleaseOptions
from cloister.errors import InternalError
from cloister.release import Attacked, Release
from cloister.results import Manifest

AnyRelease = TypeVar("AnyRelease", bound=Release)


def with_attack(release: AnyRelease, options: ReleaseOptions | ClaimsOptions, original: Original) -> AnyRelease:
    """Return a release that is attacked as it is written, if that was asked for."""
    if not options.attack:
        return release
    from cloister.attacks.simulation import simulate  # loaded only where it is asked for
    from cloister.originals import Words
    from cloister.verbs.attack import Known, open_folder

    words = Words(original.missing)
    known = Known(original.hierarchies, release.custody.crosswalk, privacy=original.privacy, words=words)
    seed = options.seed or 0

    def attack(folder: Path, manifest: Manifest) -> Attacked:
        found = simulate(open_folder(folder, manifest, original.data, known, seed), seed=seed)
        if not found.holds:
            raise InternalError(
                f"An attack on what was written found {found.broken} of {found.targets} targets with fewer than "
                f"{found.k} matches."
            )
        return found

    return replace(release, attack=attack)
