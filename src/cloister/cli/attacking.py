"""``protect --attack``: the written files are attacked before the release appears."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from cloister.cli.claims_options import ClaimsOptions
from cloister.cli.release_options import ReleaseOptions
from cloister.errors import InternalError
from cloister.hierarchy import Hierarchy
from cloister.release import Release
from cloister.results import Manifest

AnyRelease = TypeVar("AnyRelease", bound=Release)


def with_attack(
    release: AnyRelease,
    options: ReleaseOptions | ClaimsOptions,
    original: Any,
    *,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    privacy: Any = None,
    missing: Sequence[str] | None = None,
) -> AnyRelease:
    """Return a release that is attacked as it is written, if that was asked for.

    Parameters
    ----------
    original : what it was made from, as read
    hierarchies : by column
    privacy : of generalized code sets, the privacy policy
    missing : texts of the original that stand for a missing value; those of the options if None
    """
    if not options.attack:
        return release
    from cloister.attacks.simulation import simulate  # loaded only where it is asked for
    from cloister.originals import Words
    from cloister.verbs.attack import Known, open_folder

    words = Words(tuple((options.missing or ()) if missing is None else missing))
    known = Known(hierarchies, release.custody.crosswalk, privacy=privacy, words=words)
    seed = options.seed or 0

    def attack(folder: Path, manifest: Manifest) -> dict[str, Any]:
        found = simulate(open_folder(folder, manifest, original, known, seed), seed=seed)
        if not found.holds:
            raise InternalError(
                f"An attack on what was written found {found.broken} of {found.targets} targets with fewer than "
                f"{found.k} matches."
            )
        return found.as_manifest()

    return replace(release, attack=attack)
