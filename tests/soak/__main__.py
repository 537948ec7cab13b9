"""Run the soak: ``python -m tests.soak``, bounded by SOAK_S seconds; ends at the first promise that is broken.

Each round has a seed of its own, which is printed. SOAK_SEED repeats the rounds of one seed, with SOAK_SUBJECT that of
one subject; those of `kills` and `races` depend on the machine as well.
"""

import os
import random
import secrets
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

from .command import Found
from .equal import equal
from .forgeries import forgeries
from .kills import kills
from .races import races
from .readers import readers
from .releases import releases

SUBJECTS = {each.__name__: each for each in (releases, equal, forgeries, readers, kills, races)}
LONGEST_ROUND = 600


def main():
    """Return the exit code: 0 if nothing was found."""
    seconds, seed = float(os.environ.get("SOAK_S", "3600")), os.environ.get("SOAK_SEED")
    subjects = [os.environ["SOAK_SUBJECT"]] if "SOAK_SUBJECT" in os.environ else list(SUBJECTS)
    spent, rounds = dict.fromkeys(subjects, 0.0), dict.fromkeys(subjects, 0)
    until = time.monotonic() + seconds
    for subject in subjects if seed is not None else _by_turns(spent, until):
        number = int(seed) if seed is not None else secrets.randbits(32)
        started = time.monotonic()
        if not _tried(subject, number):
            print(f"Found by {subject}. To repeat: make soak SOAK_SUBJECT={subject} SOAK_SEED={number}")
            return 1
        spent[subject] += time.monotonic() - started
        rounds[subject] += 1
        print(f"{subject} {number}: nothing found in {time.monotonic() - started:.1f} s", flush=True)
    print("Nothing found: " + ", ".join(f"{rounds[each]} rounds of {each} ({spent[each]:.0f} s)" for each in subjects))
    return 0


def _by_turns(spent, until):
    """Subjects, always the one that had least time so far."""
    while time.monotonic() < until:
        yield min(spent, key=spent.get)


def _tried(subject, seed):
    """Whether a round found nothing; what it found is printed, and its files stay."""
    folder = tempfile.mkdtemp(prefix=f"soak-{subject}-{seed}-")
    signal.alarm(LONGEST_ROUND)
    try:
        SUBJECTS[subject](random.Random(seed), Path(folder))
    except Exception:
        traceback.print_exc()
        print(f"Its files are in {folder}.")
        return False
    finally:
        signal.alarm(0)
    shutil.rmtree(folder)
    return True


def _too_long(*_):
    raise Found(f"a round took longer than {LONGEST_ROUND} s")


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, _too_long)
    sys.exit(main())
