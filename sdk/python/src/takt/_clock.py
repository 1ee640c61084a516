"""The clock of leases and locks. Where there is such a one it goes on while the machine is suspended, as the scheduler's does:
time.monotonic() stands still meanwhile, and what has been given to others since would be taken for one's own."""
import time


def now() -> float:
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()
