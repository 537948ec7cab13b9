"""Runs killed or stopped at random moments: the old or the new release is there, whole, and nobody else can read it."""

import signal
import stat
import time

from tests.made.forms import disassociation, table
from tests.made.processes import handled

from .command import check, check_holds, cloister, started

STOPS = {signal.SIGKILL: (-9,), signal.SIGTERM: (143, -15), signal.SIGHUP: (129, -1), signal.SIGINT: (130, -2)}
"""Exit codes of a run that was stopped; negative ones before its first line ran, or where it cannot be caught."""

PYTHON_BEGAN = "Could not import runpy module"
"""What Python says, with exit code 1, where Ctrl-C meets its own start, before it has loaded a line of ours."""

TIMES = 4


def kills(draw, folder):
    """Replace a release again and again, and stop each run somewhere."""
    made = draw.choice((table, disassociation))(draw, folder, n=14)
    release, secret = folder / "release", folder / "secret"
    words = ("protect", *made.words, "--out", release, "--overwrite", *draw.choice(((), ("--custodian-dir", secret))))
    if cloister(*words).code != 0:
        return
    lasts = _seconds_of(words)
    for _ in range(TIMES):
        inodes = {path.name: path.stat().st_ino for path in (release, secret) if path.exists()}
        number = draw.choice(list(STOPS))
        with handled(signal.SIGINT):
            process = started(*words, umask=0)
        time.sleep(draw.uniform(0, lasts) if draw.random() < 0.3 else draw.uniform(lasts * 0.7, lasts * 1.05))
        process.send_signal(number)
        _, err = process.communicate(timeout=120)
        _check_end(process.returncode, number, err, inodes[release.name], release)
        _check_private(folder, made.files)
        same = {path.name for path in (release, secret) if path.exists() and inodes[path.name] == path.stat().st_ino}
        check(number == signal.SIGKILL or len(same) in (0, len(inodes)), "a release without its custodian's folder")
        check_holds(release)
        left = [path for path in folder.glob(".*") if len(list(path.iterdir())) > 0]
        check(left == [], f"the run after a kill leaves {len(left)} partial folders")


def _seconds_of(words):
    begun = time.monotonic()
    process = started(*words)
    _, err = process.communicate(timeout=300)
    check(process.returncode == 0, f"a run that nobody stopped ended with {process.returncode}: {err}")
    return time.monotonic() - begun


def _check_end(code, number, err, before, release):
    """The exit code says what happened, in one sentence, and what it says is so."""
    if err.startswith(PYTHON_BEGAN):
        return
    check(code in (0, *STOPS[number]), f"stopped by {number.name}, the exit code is {code}: {err}")
    check(code == -2 or "Traceback" not in err, f"a traceback after {number.name}: {err}")
    after = release.stat().st_ino  # two runs may end within the second that a release names
    if code == 0 or "was written before" in err:
        check(after != before, "said to be written, but it is not")
    elif code > 0:
        check(after == before, "said that nothing was written, but it is")


def _check_private(folder, ours):
    """Whatever stands there, half written or not, is for its owner alone."""
    for path in folder.rglob("*"):
        if path not in ours and stat.S_IMODE(path.lstat().st_mode) & 0o077:
            check(False, f"{path.name} can be read by others")
