#!/usr/bin/env python3
"""One namespace submits as fast as it can: what does another notice that submits 100 a second?

    bench/fairness.py [--rounds 5] [--seconds 5] [--store embedded]… [--set KEY=VALUE]…

Two schedulers for each store, each with a store of its own. `submit to start` in the quiet namespace of the first is measured alone, while
the loud one of the second is flooded, and while that of the first is: by turns, so that the rest of the machine is in all of them. What
the flood of another scheduler costs is the machine's: load generators, schedulers and stores share its cores. What the flood of the same
one costs beyond that is ours. A p99 of 100 a second is five of five hundred tasks: on a machine that does anything else it tells little."""

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests" / "chaos"), str(HERE.parent / "tests" / "e2e")]

from harness import TAKT, Process, environment, until
import stores


def call(*arguments, url):
    ended = subprocess.run([TAKT, *arguments, "--server", url], capture_output=True, text=True, check=False, env=environment(),
                           timeout=120)
    if ended.returncode != 0:
        raise SystemExit(f"takt {' '.join(arguments)}: {ended.stderr}")
    return ended.stdout


def measure(url, seconds):
    """Milliseconds from submit to start: the median and the 99th of a hundred."""
    report = json.loads(call("bench", "--namespace", "quiet", "-n", "0", "--rate", "100", "--latency-for", f"{seconds}s",
                             "--workers", "1", "--json", url=url))
    return report["phases"]["latency"]["ms"]["p50"], report["phases"]["latency"]["ms"]["p99"]


def flood(folder, url):
    return Process(folder, "loud", ["bench", "--namespace", "loud", "-n", "10000000", "--latency-for", "0s", "--workers", "1",
                                    "--timeout", "10m", "--server", url], start_new_session=True)


def address_of(process):
    def told():
        lines = [line for line in process.text().splitlines() if " listens on " in line]
        return lines[0].split(" listens on ")[1].strip() if lines else None

    return until(told, "the scheduler listens", 30)


stores.Mysql.redo = "96M"  # As MariaDB has it unless told otherwise.


class Scheduler:
    """A scheduler with a store of its own and two namespaces."""

    def __init__(self, name, number, options, folder):
        self.folder = pathlib.Path(folder) / str(number)
        self.folder.mkdir()
        self.store = stores.STORES[name](str(self.folder))
        self.store.start()
        self.process = None
        settings = [word for value in options.set for word in ("--set", value)]
        self.process = Process(self.folder, "serve", ["serve", "--store", self.store.url(self.store.ports), "--listen",
                                                      "127.0.0.1:0", *settings])
        self.url = address_of(self.process)
        until(lambda: call("namespaces", url=self.url), "it leads", 30)
        for space in ("quiet", "loud"):
            call("namespaces", "create", space, url=self.url)

    def close(self):
        if self.process:
            self.process.kill()
        self.store.close()


def measure_beside(flooded, quiet, seconds):
    loud = flood(flooded.folder, flooded.url)
    try:
        measure(quiet.url, 1)
        return measure(quiet.url, seconds)
    finally:
        os.killpg(loud.process.pid, signal.SIGKILL)
        loud.kill()


def measure_store(name, options, folder):
    schedulers = []
    try:
        for number in range(2):
            schedulers.append(Scheduler(name, number, options, folder))
        own, other = schedulers
        measure(own.url, 1)
        rounds = []
        for _ in range(options.rounds):
            rounds.append((*measure(own.url, options.seconds), *measure_beside(other, own, options.seconds),
                           *measure_beside(own, own, options.seconds)))
        numbers = [statistics.median(column) for column in zip(*rounds)]
        print(f"{name:>10}" + "".join(f"{number:>9.1f}" for number in numbers) +
              f"{numbers[5] / numbers[1]:>9.1f}{numbers[5] / numbers[3]:>9.1f}", flush=True)
    finally:
        for scheduler in schedulers:
            scheduler.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--store", action="append", choices=list(stores.STORES), default=[])
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args()
    print(f"submit to start at 100/s, ms{'flood elsewhere':>21}{'flood beside':>18}{'p99 beside to':>18}")
    print(f"{'store':>10}" + f"{'p50':>9}{'p99':>9}" * 3 + f"{'alone':>9}{'other':>9}", flush=True)
    for name in options.store or list(stores.STORES):
        with tempfile.TemporaryDirectory(prefix="takt-fairness-", ignore_cleanup_errors=True) as folder:
            measure_store(name, options, folder)


if __name__ == "__main__":
    main()
