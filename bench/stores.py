#!/usr/bin/env python3
"""What is left of a store's own speed when whole executions go through Takt.

    bench/stores.py [--rounds 3] [--only takt-redis]

Raw: lifecycles of the same changes in the best batch size, written to the store by hand, without
Takt (build/bench/*_bench). End to end: submitted, given to a worker, completed (takt bench). Both in
each round, store after store."""

import argparse
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))

from processes import Failure, Folder
from run import say
from systems import ALL, NO_LATENCY, Setup, Takt, run_bench

STORES = [system for system in ALL if isinstance(system, Takt)]
TRIAL_TASKS = 5_000
PHASE_SECONDS = 6
RAW_SECONDS = 2  # Of each cell of the table of a store's own benchmark.
# By store: its benchmark, and the column of its table with the raw rate.
RAW = {
    "takt-embedded": ("store_bench", 2),
    "takt-redis": ("redis_bench", 2),
    "takt-etcd": ("etcd_bench", 5),
    "takt-mysql": ("mysql_bench", 2),
}


def raw_rate(store):
    """The best raw rate of the table, in lifecycles per second."""
    program, column = RAW[store.name]
    with tempfile.TemporaryDirectory() as folder:
        place = [f"{folder}/data"] if store.name == "takt-embedded" else []
        command = [HERE.parent / "build/bench" / program, *place, str(RAW_SECONDS)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    rates = []
    for line in done.stdout.splitlines():
        # Rows begin with the size of the batch; what stands in brackets is something else.
        if re.match(r"\s*\d+\s", line):
            numbers = re.findall(r"\d+(?:\.\d+)?", re.sub(r"\([^)]*\)", "", line))
            rates.append(float(numbers[column]))
    if not rates:
        raise Failure(f"{program} printed no table: {done.stdout}")
    return max(rates)


def end_to_end_rate(store, setup):
    folder = Folder(setup.parent_folder)
    server = None
    try:
        server = store.start(folder, setup)
        url = server.settings["url"]
        tasks = TRIAL_TASKS
        for _ in range(2):
            report = run_bench(setup, url, "--workers", 1, "--tasks", tasks, *NO_LATENCY)
            rate = report["phases"]["end_to_end"]["per_second"]
            tasks = int(rate * PHASE_SECONDS)
        return rate
    finally:
        if server:
            server.stop()
        folder.remove()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="names parted by commas: " + ", ".join(RAW))
    parser.add_argument("--takt", default=str(HERE.parent / "build/takt"), help="[build/takt]")
    parser.add_argument("--folder", help="where servers keep their files [the system's /tmp]")
    options = parser.parse_args()
    chosen = options.only.split(",") if options.only else list(RAW)
    if unknown := set(chosen) - RAW.keys():
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    setup = Setup(options.takt, parent_folder=options.folder)
    stores = [store for store in STORES if store.name in chosen]
    found = {store.name: [] for store in stores}
    for turn in range(options.rounds):
        for store in stores:
            pair = raw_rate(store), end_to_end_rate(store, setup)
            found[store.name].append(pair)
            say(f"round {turn + 1}: {store.name}: raw {pair[0]:,.0f}/s, end to end {pair[1]:,.0f}/s")
    print(f"{'':15}{'raw lifecycles/s':>18}{'end to end/s':>14}{'of raw':>8}")
    for name, pairs in found.items():
        raw, whole = (statistics.median(column) for column in zip(*pairs, strict=True))
        part = statistics.median(pair[1] / pair[0] for pair in pairs)
        print(f"{name:15}{raw:>18,.0f}{whole:>14,.0f}{part:>8.0%}")


if __name__ == "__main__":
    main()
