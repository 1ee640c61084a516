#!/usr/bin/env python3
"""One namespace submits as fast as it can: what does another notice that submits 100 a second?

    bench/fairness.py [--rounds 5] [--seconds 5] [--store embedded]… [--set KEY=VALUE]…

One scheduler for each store. Its `submit to start` in the quiet namespace is measured alone and beside the loud one, by turns, so that
the rest of the machine is in both. The ratio of the medians counts, and only on a machine that does nothing else: a p99 of 100 a
second is five of five hundred tasks."""

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


def measure_store(name, options, folder):
    store = stores.STORES[name](folder)
    store.start()
    settings = [word for value in options.set for word in ("--set", value)]
    scheduler = Process(folder, "serve", ["serve", "--store", store.url(store.ports), "--listen", "127.0.0.1:0", *settings])
    loud = None
    try:
        url = address_of(scheduler)
        until(lambda: call("namespaces", url=url), "it leads", 30)
        for space in ("quiet", "loud"):
            call("namespaces", "create", space, url=url)
        measure(url, 1)
        alone, beside = [], []
        for _ in range(options.rounds):
            alone.append(measure(url, options.seconds))
            loud = flood(folder, url)
            measure(url, 1)
            beside.append(measure(url, options.seconds))
            os.killpg(loud.process.pid, signal.SIGKILL)
            loud.kill()
        numbers = [statistics.median(column) for rows in (alone, beside) for column in zip(*rows)]
        print(f"{name:>10} {numbers[0]:>10.1f} {numbers[1]:>10.1f} {numbers[2]:>12.1f} {numbers[3]:>12.1f} "
              f"{numbers[3] / numbers[1]:>8.1f}", flush=True)
    finally:
        if loud:
            loud.kill()
        scheduler.kill()
        store.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--store", action="append", choices=list(stores.STORES), default=[])
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args()
    print("submit to start at 100/s, ms             beside one that floods")
    print(f"{'store':>10} {'p50 alone':>10} {'p99 alone':>10} {'p50':>12} {'p99':>12} {'ratio':>8}", flush=True)
    for name in options.store or list(stores.STORES):
        with tempfile.TemporaryDirectory(prefix="takt-fairness-", ignore_cleanup_errors=True) as folder:
            measure_store(name, options, folder)
    stores.forget_installed()


if __name__ == "__main__":
    main()
