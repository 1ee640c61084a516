#!/usr/bin/env python3
"""A cluster on each store under mixed load with faults, for hours: what it uses must not grow.

usage: soak.py (--hours N | --minutes N | --seconds N) [--store S]… [--result FILE] [--plots FOLDER]

Watched are memory, descriptors and threads of the schedulers, the size of the store and how late a task starts that
is due each second. Finished executions are kept for half a minute, so that all of it has a level to come to. The
clients' histories are checked at the end as those of chaos.py are.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import time

# The cluster finds tests/e2e for what follows.
import cluster as clusters
import checker
import parts_faults
import parts_load
import stores
from harness import until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/peers"))
import plots  # noqa: E402  pylint: disable=wrong-import-position

SETTINGS = {"scheduler.retention": "30s", "scheduler.cleanup_interval": "5s"}
FAULT_EVERY = 20.0  # Seconds, about.
PARTS = 8  # Of the time, in a plot.


@dataclasses.dataclass
class Sample:
    """The largest of all schedulers, where each has its own."""
    at: float  # Seconds since the beginning.
    memory_mb: float
    descriptors: int
    threads: int
    store_mb: float
    late_ms: float  # The 99th percentile of the last runs of the task that is due each second.


# What may be more at the end than in the middle: a share, and something beside it. What grows evenly from nothing
# is 1.67 times as much there; a failover makes a few runs some seconds late.
BOUNDS = {"memory_mb": (1.2, 24), "descriptors": (1.2, 24), "threads": (1.0, 6), "store_mb": (1.3, 32),
          "late_ms": (1.3, 8000)}
UNITS = {"memory_mb": "Memory of a scheduler, MB", "descriptors": "Open descriptors of a scheduler",
         "threads": "Threads of a scheduler", "store_mb": "Size of the store, MB",
         "late_ms": "Due to start of a task that is due each second, 99th percentile in ms"}


def say(text):
    print(text, flush=True)


def read_process(pid):
    folder = pathlib.Path(f"/proc/{pid}")
    pages = int((folder / "statm").read_text(encoding="ascii").split()[1])
    status = (folder / "status").read_text(encoding="ascii")
    threads = int(status.split("Threads:")[1].split()[0])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6, len(os.listdir(folder / "fd")), threads


def size_of(folder):
    """Of all files of the store's servers, in MB; logs of processes are not the store's."""
    used = subprocess.run(["du", "-sk", "--exclude=*.out", "--exclude=ledger", folder],
                          capture_output=True, text=True, check=False).stdout.split()
    return int(used[0]) / 1e3 if used else 0.0


def lateness(cluster):
    _, _, answer = cluster.call("GET", f"/api/v1/executions?task_id={clusters.TICK}&limit=100")
    late = sorted((checker.seconds_of(row["started_at"]) - checker.seconds_of(row["scheduled_at"])) * 1e3
                  for row in (answer or {}).get("items", []) if row.get("started_at"))
    return late[int(len(late) * 0.99)] if late else 0.0


def look(cluster, began):
    try:
        each = [read_process(one.process.process.pid) for one in cluster.live()]
        return Sample(round(time.monotonic() - began, 1), round(max(one[0] for one in each), 1),
                      max(one[1] for one in each), max(one[2] for one in each),
                      round(size_of(cluster.folder), 1), round(lateness(cluster), 1))
    except (OSError, ValueError):
        return None  # One of them has just died.


# --- Faults ---------------------------------------------------------------------------------------


def kill_leader(cluster, _chance):
    leader = cluster.leader()
    leader.kill()
    time.sleep(1)
    cluster.start_again(leader)


def stop_leader(cluster, _chance):
    leader = cluster.leader()
    leader.stopped = True
    leader.process.signal(signal.SIGTERM)
    leader.process.wait(30)
    cluster.start_again(leader)


def pause_leader(cluster, chance):
    leader = cluster.leader()
    leader.process.signal(signal.SIGSTOP)
    time.sleep(chance.uniform(0.5, 5))
    leader.process.signal(signal.SIGCONT)


FAULTS = [kill_leader, stop_leader, pause_leader]


# --- The run --------------------------------------------------------------------------------------


def run(store, seconds):
    """(samples, violations, faults) of one store."""
    cluster = clusters.Cluster(stores.STORES[store], SETTINGS)
    chance = random.Random(store)
    samples, violations, faults = [], [], 0
    try:
        cluster.start()
        cluster.add_part(parts_load.LockLoad)
        began, next_fault = time.monotonic(), time.monotonic() + FAULT_EVERY / 2
        every = max(1.0, seconds / 200)
        while time.monotonic() < began + seconds:
            time.sleep(every)
            sample = look(cluster, began)
            if sample:
                samples.append(sample)
            if time.monotonic() > next_fault and time.monotonic() < began + seconds - 10:
                faults += 1
                chance.choice(FAULTS)(cluster, chance)
                next_fault = time.monotonic() + FAULT_EVERY * chance.uniform(0.5, 1.5)
        until(lambda: any(one.leads() for one in cluster.live()), "somebody leads", 60)
        healed, healed_wall = time.monotonic(), time.time()
        canary = cluster.canary(healed, "default")
        violations += cluster.settle()
        # Rows are not kept for long: what is there must be right.
        rules = checker.Rules(losses=True, lossy=True)
        violations += parts_faults.violations(cluster, checker.Rules(losses=True))
        history = cluster.history("default", healed_wall, canary)
        history.ended_badly = cluster.ended_badly()
        violations += checker.check(history, rules)
    except Exception as error:  # pylint: disable=broad-except  # One store ends no other.
        violations.append(f"run: {error!r}")
    finally:
        cluster.close(bool(violations))
        if violations:
            say(f"  logs and ledger are kept in {cluster.folder}")
    return samples, violations, faults


def thirds(samples, measure):
    """The medians of the middle and of the last third: the first one is for warming up."""
    third = len(samples) // 3
    values = [getattr(one, measure) for one in samples]
    return statistics.median(values[third:2 * third]), statistics.median(values[2 * third:])


def growth(samples):
    """A sentence for each line that is not flat."""
    if len(samples) < 9:
        return ["growth: there are too few samples to judge"]
    found = []
    for measure, (share, beside) in BOUNDS.items():
        middle, last = thirds(samples, measure)
        if last > middle * share + beside:
            found.append(f"growth: {measure} was {middle:g} in the middle and {last:g} at the end")
    return found


def summary(store, samples, violations, faults):
    row = {"store": store, "seconds": samples[-1].at if samples else 0, "faults": faults,
           "violations": violations}
    for measure in BOUNDS:
        values = [getattr(one, measure) for one in samples] or [0]
        middle, last = thirds(samples, measure) if len(samples) >= 9 else (0, 0)
        row[measure] = {"middle": middle, "last": last, "max": max(values)}
    return row


def show(rows):
    table = [["store", "result", "minutes", "faults", "memory MB", "descriptors", "threads", "store MB",
              "late ms"]]
    for row in rows:
        cells = [f"{row[one]['middle']:g} → {row[one]['last']:g}" for one in BOUNDS]
        result = f"{len(row['violations'])} violations" if row["violations"] else "flat"
        table.append([row["store"], result, f"{row['seconds'] / 60:.1f}", str(row["faults"]), *cells])
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    for line in table:
        say("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
    say("medians of the middle and of the last third")


def plot(all_samples, seconds, folder):
    """The median of each part of the time, with its range; all stores at the same places."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for measure, title in UNITS.items():
        data = {}
        for store, samples in all_samples.items():
            data[store] = []
            for part in range(PARTS):
                begin, end = seconds * part / PARTS, seconds * (part + 1) / PARTS
                values = [getattr(one, measure) for one in samples if begin <= one.at < end]
                if values:
                    data[store].append((round(end / 60, 2), statistics.median(values), min(values),
                                        max(values)))
        (folder / f"soak-{measure.replace('_', '-')}.svg").write_text(
            plots.lines(title, "under load with faults; lines: range", "minutes", data), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description="Runs for long and looks whether anything grows.")
    parser.add_argument("--hours", type=float, default=0)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--store", action="append", choices=list(stores.STORES), default=[])
    parser.add_argument("--result", help="write the outcomes to this file, as JSON")
    parser.add_argument("--plots", help="write the plots to this folder")
    options = parser.parse_args()
    seconds = options.hours * 3600 + options.minutes * 60 + options.seconds
    if seconds < 20:
        raise SystemExit("soak: say for how long, at least 20 seconds: --hours N, --minutes N or --seconds N")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    rows, all_samples = [], {}
    for store in options.store or stores.STORES:
        say(f"{store}: {seconds / 60:.1f} minutes …")
        samples, violations, faults = run(store, seconds)
        violations += growth(samples)
        for violation in violations[:20]:
            say(f"  VIOLATION {violation}")
        all_samples[store] = samples
        rows.append(summary(store, samples, violations, faults))
    show(rows)
    if options.plots:
        plot(all_samples, seconds, options.plots)
    if options.result:
        pathlib.Path(options.result).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 1 if any(row["violations"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
