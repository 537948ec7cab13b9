"""Random releases of every shape and method against their definitions, and against `cloister verify`."""

from tests.made.forms import FORMS

from .command import check, check_holds, cloister


def releases(draw, folder):
    """Protect random data; what comes out keeps its promise, or nothing does."""
    for name, make in FORMS.items():
        for number in range(1 if name == "claims" else 4):
            place = folder / f"{name}-{number}"
            place.mkdir()
            made, release = make(draw, place), place / "release"
            attack = draw.choice(((), (), ("--attack",)))
            said = cloister("protect", *made.words, *made.kept, "--out", release, *attack, "-q")
            check(release.exists() == (said.code == 0), f"{name}: exit code {said.code}, but the folder says otherwise")
            if said.code == 0:
                try:
                    made.keeps(release)
                finally:
                    check(list(place.glob(".*")) == [], f"{name}: something was left beside the release")
                check_holds(release)
