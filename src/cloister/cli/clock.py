"""When this process began to load cloister."""

import time

STARTED = time.perf_counter()
