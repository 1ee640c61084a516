#!/usr/bin/env python3
"""How Takt's speed depends on what waits, on what has been, on the number of workers and on the size of
payloads.

    bench/growth.py [--quick] [--only takt-embedded] [--series pending,history] [--finished 1000000]

One scheduler per store, series and round; rounds interleaved. Writes growth.json and plots to
bench/results/."""

import argparse
import contextlib
import datetime
import json
import pathlib
import statistics
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))

import growth_limits
import history
import plots
from processes import Failure, Folder, Meter
from run import commit, machine, say
from systems import ALL, NO_LATENCY, NO_TASKS, Setup, Takt, of_takt, run_bench

STORES = [system for system in ALL if isinstance(system, Takt)]
# Series over what has finished. An etcd of 8 GiB has room for some millions.
FINISHED = [0, 1_000_000, 10_000_000]
FINISHED_ON_ETCD_MAX = 1_000_000
# Of these the scheduler only finds what has finished; with retention it is to see it end.
FILLED_BEFORE = ("history", "backup")
FILL_AT_ONCE = 500_000
RETENTION_SECONDS = 30
PHASE_SECONDS = 6
LATENCY_SECONDS = 5
CAPACITY_IN_ALL = 1000  # Of all workers together, so that only their number changes.
# Neither what waits nor what is measured may be turned away.
QUEUE_SIZE = ("scheduler.queue_size", 20_000_000)
# A million on the slowest store takes some minutes.
TIMEOUT = ["--timeout", "15m", "--call-timeout", "2m"]


def sizes_of(series, store, quick, finished=None):
    if series in growth_limits.OVER_HISTORY:
        sizes = finished or ([0, 5_000] if quick else FINISHED)
        return [n for n in sizes if store.name != "takt-etcd" or n <= FINISHED_ON_ETCD_MAX]
    if series == "workers":
        return [1, 100] if quick else [1, 100, 1_000, 10_000]
    if series == "lanes":
        return [1, 100] if quick else [1, 100, 10_000]
    if series == "payload":
        return [100, 10_000, 1_000_000]
    if quick:
        return [1_000, 10_000]
    most = [5_000_000] if store.name in ("takt-embedded", "takt-redis") else []
    return [1_000, 100_000, 1_000_000, *most]


def arguments_of(series, size):
    """What takt bench is told, and the rate of its single submits."""
    if series == "workers":
        return ["--sessions", size, "--capacity", max(1, CAPACITY_IN_ALL // size)], 500
    if series == "lanes":
        return ["--kinds", size], 500
    if series == "payload":
        # Half a gigabyte per second of payloads is no latency any more.
        large = size > 100_000
        return ["--payload", size, "--capacity", 50 if large else 500], 10 if large else 500
    return [], 500


@contextlib.contextmanager
def backups(setup, store_url, folder):
    """One backup after the other, from the beginning to the end of what is measured. How many there
    were, in a list."""
    over = threading.Event()
    finished, failures = [], []

    def run():
        while not over.is_set():
            target = folder / f"{len(finished)}.archive"
            command = [setup.takt, "store", "backup", target, "--store", store_url]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                return failures.append(done.stderr.strip())
            target.unlink()
            finished.append(target)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield finished
    finally:
        over.set()
        thread.join()
    if failures:
        raise Failure(f"takt store backup: {failures[0]}")


class Series:
    """One store and one question: a scheduler that is measured at each size in turn."""

    def __init__(self, name, store, setup, quick, finished=None):
        self.name = name
        self.finished = finished
        self.store = store
        self.setup = setup
        self.quick = quick
        self.tasks = {}  # By size: as many as take some seconds.
        self.execution = ""  # One of those that were put there.

    def measure(self, server, size):
        url = server.settings["url"]
        arguments, rate = arguments_of(self.name, size)
        arguments = ["--workers", 1, *TIMEOUT, *arguments]
        trial = 50 if size == 1_000_000 and self.name == "payload" else 2_000
        if size not in self.tasks:
            report = run_bench(self.setup, url, *arguments, "--tasks", trial, *NO_LATENCY)
            found = report["phases"]["end_to_end"]["per_second"]
            self.tasks[size] = trial if self.quick else max(trial, int(found * PHASE_SECONDS))
        phases = {}
        meter = Meter({"server": server.pids()})
        report = run_bench(self.setup, url, *arguments, "--tasks", self.tasks[size], *NO_LATENCY)
        of_takt(phases, report, meter)
        meter = Meter({"server": server.pids()})
        seconds = 1 if self.quick else LATENCY_SECONDS
        report = run_bench(self.setup, url, *arguments, *NO_TASKS, "--latency-for", f"{seconds}s",
                           "--rate", rate)  # fmt: skip
        of_takt(phases, report, meter)
        return {"size": size, "rate": rate, "phases": phases}

    def fill(self, server, count):
        """So many executions come and finish."""
        while count > 0:
            run_bench(self.setup, server.settings["url"], "--tasks", min(count, FILL_AT_ONCE),
                      "--workers", 1, "--capacity", 2000, *NO_LATENCY, *TIMEOUT)  # fmt: skip
            count -= FILL_AT_ONCE

    def measure_over_history(self, server, size, folder):
        if self.name != "backup":
            # First the questions: those of a file that nothing was read from yet come with it.
            asked = history.question_milliseconds(server.settings["url"], self.execution)
            return {**self.measure(server, size), "questions": asked}
        with backups(self.setup, server.settings["store_url"], folder.make(f"backups-{size}")) as finished:
            point = self.measure(server, size)
        point["backups"] = len(finished)
        return point

    def round_over_filled(self):
        """A store of its own for each size, filled before its scheduler starts."""
        points = []
        for size in sizes_of(self.name, self.store, self.quick, self.finished):
            folder = Folder(self.setup.parent_folder)
            server = None

            def fill(store_url, size=size):
                self.execution = history.fill(self.setup, store_url, size) if size > 0 else ""

            try:
                server = self.store.start(folder, self.setup, [QUEUE_SIZE], fill)
                points.append(self.measure_over_history(server, size, folder))
                self.tell(points[-1])
            finally:
                if server:
                    server.stop()
                folder.remove()
        return points

    def round(self):
        if self.name in FILLED_BEFORE:
            return self.round_over_filled()
        folder = Folder(self.setup.parent_folder)
        server = None
        points = []
        sets = [QUEUE_SIZE]
        if self.name == "retention":
            sets.append(("scheduler.retention", f"{RETENTION_SECONDS}s"))
        try:
            server = self.store.start(folder, self.setup, sets)
            waiting = 0
            for size in sizes_of(self.name, self.store, self.quick, self.finished):
                if self.name == "retention":
                    begin = time.monotonic()
                    self.fill(server, size - waiting)
                    waiting = size
                    if size > 0:
                        # Until the first of them are to go: from then on it is at work.
                        time.sleep(max(0, begin + RETENTION_SECONDS + 2 - time.monotonic()))
                    points.append(self.measure_over_history(server, size, folder))
                    self.tell(points[-1])
                    continue
                if self.name == "pending":
                    run_bench(self.setup, server.settings["url"], "--pending", size - waiting,
                              "--workers", 1, *NO_TASKS, *NO_LATENCY, *TIMEOUT)  # fmt: skip
                    waiting = size
                points.append(self.measure(server, size))
                self.tell(points[-1])
            return points
        finally:
            if server:
                server.stop()
            folder.remove()

    def tell(self, point):
        whole = point["phases"]["end_to_end"]
        ms = point["phases"]["latency"]["ms"]
        asked = point.get("questions", {})
        more = "".join(f", {name} {p99:.1f} ms" for name, p99 in asked.items())
        more += f", {point['backups']} backups" if "backups" in point else ""
        say(
            f"{self.store.name}, {point['size']:,} {self.name}: {whole['per_second']:,.0f}/s, "
            f"p50 {ms['p50']:.2f} ms, p99 {ms['p99']:.2f} ms{more}"
        )


def summary_of(rounds):
    """By size: median and range of rate, latency and the server's CPU per task."""
    found = {}
    for point in (point for points in rounds for point in points):
        whole, latency = point["phases"]["end_to_end"], point["phases"]["latency"]
        numbers = found.setdefault(point["size"], {})
        for name, value in (
            ("end_to_end", whole["per_second"]),
            ("p50", latency["ms"]["p50"]),
            ("p99", latency["ms"]["p99"]),
            ("server_cpu_us", 1e6 * whole["cpu_seconds"]["server"] / whole["tasks"]),
            *((f"p99 of {name}", p99) for name, p99 in point.get("questions", {}).items()),
        ):
            numbers.setdefault(name, []).append(value)
    return {
        size: {
            name: {"median": statistics.median(v), "min": min(v), "max": max(v)}
            for name, v in numbers.items()
        }
        for size, numbers in found.items()
    }


LABELS = {
    "pending": "tasks that wait meanwhile",
    "history": "finished before",
    "retention": "finished, being purged",
    "backup": "finished, being saved",
    "workers": "workers",
    "lanes": "kinds of tasks",
    "payload": "bytes of payload",
}
MEASURES = {
    "end_to_end": "End to end, tasks per second",
    "p50": "Submit to start of the handler, median in ms",
    "p99": "Submit to start of the handler, 99th percentile in ms",
}


def write(out, report):
    out.mkdir(parents=True, exist_ok=True)
    (out / "growth.json").write_text(json.dumps(report, indent=1) + "\n")
    note = f"median of {report['rounds']} rounds, lines: range; read README.md first"
    for series, stores in report["summary"].items():
        for measure, title in MEASURES.items():
            data = {
                store: [
                    (int(size), numbers[measure]["median"], numbers[measure]["min"],
                     numbers[measure]["max"])
                    for size, numbers in found.items()
                ]
                for store, found in stores.items()
            }  # fmt: skip
            # Nothing has no place on a logarithmic axis: it stands where one would.
            data = {
                store: [(max(size, 1), *rest) for size, *rest in points]
                for store, points in data.items()
            }
            plot = plots.lines(title, note, LABELS[series], data,
                               log_y=series == "payload" or measure != "end_to_end")  # fmt: skip
            (out / f"growth-{series}-{measure.replace('_', '-')}.svg").write_text(plot)


def print_table(report):
    for series, stores in report["summary"].items():
        print(f"\n{LABELS[series]:>26}{'end-to-end/s':>14}{'p50 ms':>9}{'p99 ms':>9}", end="")
        print(f"{'server us/task':>16}")
        for store, found in stores.items():
            for size, numbers in found.items():
                print(
                    f"{store:14}{size:>12,}{numbers['end_to_end']['median']:>14,.0f}"
                    f"{numbers['p50']['median']:>9.2f}{numbers['p99']['median']:>9.2f}"
                    f"{numbers['server_cpu_us']['median']:>16.1f}"
                )
    growth_limits.print_rows(report)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, one round: does it work?")
    parser.add_argument("--only", help="names parted by commas: " + ", ".join(s.name for s in STORES))
    parser.add_argument("--series", default=",".join(LABELS), help="[" + ", ".join(LABELS) + "]")
    parser.add_argument("--finished", help="sizes of history, retention and backup, 0 beside them "
                        f"[{','.join(map(str, FINISHED[1:]))}; on etcd up to "
                        f"{FINISHED_ON_ETCD_MAX}]")  # fmt: skip
    parser.add_argument("--rounds", type=int, help="[3, with --quick 1]")
    parser.add_argument("--takt", default=str(HERE.parent / "build/takt"), help="[build/takt]")
    parser.add_argument("--folder", help="where servers keep their files [the system's /tmp]")
    parser.add_argument("--redis-fsync", choices=["everysec", "always"], default="everysec")
    parser.add_argument("--out", default=str(HERE / "results"), type=pathlib.Path)
    options = parser.parse_args()
    chosen = options.only.split(",") if options.only else [store.name for store in STORES]
    options.series = options.series.split(",")
    unknown = set(chosen) - {store.name for store in STORES} | set(options.series) - LABELS.keys()
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    options.stores = [store for store in STORES if store.name in chosen]
    options.rounds = options.rounds or (1 if options.quick else 3)
    if options.finished:
        options.finished = sorted({0, *map(int, options.finished.split(","))})
    return options


def main():
    options = parse_arguments()
    setup = Setup(options.takt, parent_folder=options.folder, redis_fsync=options.redis_fsync)
    report = {
        "began": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": machine(),
        "quick": options.quick,
        "rounds": options.rounds,
        "failures": [],
        "runs": {},
    }
    wanted = [
        Series(name, store, setup, options.quick, options.finished)
        for name in options.series
        for store in options.stores
        # On Redis commits wait while a backup reads: one after the other, nothing is taken at all.
        if (name, store.name) != ("backup", "takt-redis")
    ]
    for turn in range(options.rounds):
        for series in wanted:
            say(f"round {turn + 1} of {options.rounds}: {series.store.name}, {series.name}")
            try:
                points = series.round()
            except (Failure, OSError, subprocess.SubprocessError, KeyError, ValueError) as error:
                failure = {"store": series.store.name, "series": series.name, "error": str(error)}
                report["failures"].append(failure)
                say(f"FAILED: {error!r}")
                continue
            runs = report["runs"].setdefault(series.name, {})
            runs.setdefault(series.store.name, []).append(points)
    report["summary"] = {
        name: {store: summary_of(rounds) for store, rounds in stores.items()}
        for name, stores in report["runs"].items()
    }
    report |= growth_limits.check(report["summary"])
    write(options.out, report)
    print_table(report)
    say(f"written to {options.out}")
    for failure in report["failures"]:
        print(f"FAILED {failure['store']}, {failure['series']}: {failure['error']}", file=sys.stderr)
    return 1 if report["failures"] or not report["runs"] else 0


if __name__ == "__main__":
    sys.exit(main())
