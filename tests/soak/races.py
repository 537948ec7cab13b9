"""Two and four runs on one folder: one release stands there, whole, and the others say in one sentence that it does."""

from tests.made.forms import disassociation, table

from .command import check, check_holds, cloister, started


def races(draw, folder):
    """Start some runs at once, with and without an earlier release."""
    made = draw.choice((table, disassociation))(draw, folder, n=14)
    release = folder / "release"
    words = ("protect", *made.words, "--out", release)
    alone = folder / "alone"
    if cloister(*words[:-1], alone).code != 0:
        return
    overwrite = draw.choice(((), ("--overwrite",)))
    if overwrite and draw.random() < 0.5:
        check(cloister(*words, "-q").code == 0, "the same words gave a release once, and none the second time")
    runs = [started(*words, *overwrite) for _ in range(draw.choice((2, 2, 4)))]
    ended = [(run.communicate(timeout=300)[1], run.returncode) for run in runs]
    check(any(code == 0 for _, code in ended), f"none of {len(runs)} runs at once released anything: {ended[0][0]}")
    check(overwrite or sum(code == 0 for _, code in ended) == 1, "two runs say that theirs is the release")
    for err, code in ended:
        if code != 0:
            check(code == 2 and err.count("\n") == 1, f"the slower run ended with {code}: {err}")
            check("exists already" in err or "replaced" in err, f"the slower run does not say why: {err}")
    check_holds(release)
    check({path.name for path in folder.glob(".*")} == set(), "runs at once left something")
