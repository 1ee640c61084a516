"""How busy this machine is, for strategies that look at it."""
from __future__ import annotations

import os


def cpu_load() -> float:
    try:
        return min(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    except OSError:
        return 0.0


def memory_load() -> float:
    """Of the machine's memory, what is in use; 0 where that cannot be read."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            rows = dict(line.split(":") for line in file)
        return round(1 - int(rows["MemAvailable"].split()[0]) / int(rows["MemTotal"].split()[0]), 4)
    except (OSError, KeyError, ValueError):
        return 0.0
