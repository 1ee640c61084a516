#!/usr/bin/env python3
"""Takt on each store and the queues that users would pick instead, side by side.

    bench/peers/run.py [--quick] [--only takt-redis,bullmq] [--pin same|split]

Interleaved rounds, median and range. Writes peers.json and plots to bench/results/."""

import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import plots
from processes import Failure
from systems import ALL, FIRST_PLAN_TASKS, Plan, Setup
from toolchains import Missing

ROOT = pathlib.Path(__file__).resolve().parents[2]
PHASE_SECONDS = 5.5  # Aimed at; between 5 and 20 is fine.
PHASE_SECONDS_MAX = 20
LATENCY_SECONDS = 6  # 3,000 tasks: the 99th percentile is the worst thirty.
TASKS_MAX = 2_000_000  # gearmand would take more, and all memory with it.
CLEAN_FOREIGN_CORES = 0.25
CLEAN_STEAL_CORES = 0.1

# What must be reached: ours, a measure, the peer, the factor that ours must reach.
TARGETS = [
    ("takt-redis", "end_to_end", "bullmq", 4.0),
    ("takt-redis", "end_to_end", "bee-queue", 1.5),
    ("takt-redis", "p50", "bullmq", 1.0),
    ("takt-redis", "p99", "bullmq", 1.0),
    ("takt-embedded", "end_to_end", "rabbitmq-quorum", 1.5),
    ("takt-embedded", "end_to_end", "pg-boss", 1.5),
    ("takt-embedded", "end_to_end", "graphile-worker", 1.5),
    ("takt-embedded", "end_to_end", "beanstalkd-f0", 10.0),
    ("takt-embedded", "end_to_end", "beanstalkd", 1.0),
    ("takt-mysql", "end_to_end", "graphile-worker", 0.5),
    ("takt-mysql", "single", "graphile-worker", 1.0),
    ("takt-etcd", "end_to_end", None, 8000.0),
]
RATES = ["bulk", "single", "drain", "end_to_end"]
TITLES = {
    "bulk": "Enqueue in bulk, tasks per second",
    "single": "Enqueue one by one, tasks per second",
    "drain": "Drain, tasks per second",
    "end_to_end": "End to end, tasks per second",
    "p50": "Enqueue to start of the handler at 500/s, median in ms",
    "p99": "Enqueue to start of the handler at 500/s, 99th percentile in ms",
}


def say(words):
    print(f"{time.strftime('%H:%M:%S')} {words}", file=sys.stderr, flush=True)


def values_of(run):
    """The six numbers of a run."""
    phases = run["phases"]
    found = {name: phases[name]["per_second"] for name in RATES}
    return found | {name: phases["latency"]["ms"][name] for name in ("p50", "p99")}


def scaled(run, seconds, latency_seconds):
    """A plan whose phases take about `seconds` at the rates of `run`."""
    rates = values_of(run)

    def tasks(count):
        return int(min(max(count, FIRST_PLAN_TASKS), TASKS_MAX))

    fast, slow = max(rates["bulk"], rates["drain"]), min(rates["bulk"], rates["drain"])
    return Plan(
        single=tasks(seconds * rates["single"]),
        bulk=tasks(min(seconds * fast, PHASE_SECONDS_MAX * 0.8 * slow)),
        end_to_end=tasks(seconds * 1.3 * rates["end_to_end"]),
        latency_seconds=latency_seconds,
    )


def is_clean(run):
    return all(
        phase["foreign_cores"] < CLEAN_FOREIGN_CORES and phase["steal_cores"] < CLEAN_STEAL_CORES
        for phase in run["phases"].values()
    )


def megabytes_of(run, role):
    """Of servers what they hold at the end, shared memory counted once; of clients the peak."""
    field = "pss_bytes" if role == "server" else "peak_bytes"
    sizes = (
        process[field] or process["peak_bytes"] or 0
        for process in run["processes"]
        if (process["role"] == "server") == (role == "server")
    )
    return sum(sizes) / 1e6


def summary_of(runs):
    """Median, least and most of each number."""
    found = {}
    for name in [*RATES, "p50", "p99"]:
        values = sorted(values_of(run)[name] for run in runs)
        found[name] = {"median": statistics.median(values), "min": values[0], "max": values[-1]}
    for role in ("server", "client"):
        found[f"{role}_megabytes"] = max(megabytes_of(run, role) for run in runs)
        used = [
            sum(
                seconds
                for name, seconds in run["phases"]["end_to_end"]["cpu_seconds"].items()
                if (name == "server") == (role == "server")
            )
            / run["phases"]["end_to_end"]["tasks"]
            for run in runs
        ]
        found[f"{role}_cpu_microseconds_per_task"] = 1e6 * statistics.median(used)
    found["clean_runs"] = sum(map(is_clean, runs))
    found["runs"] = len(runs)
    return found


def check_targets(summaries):
    rows = []
    for ours, measure, peer, factor in TARGETS:
        if ours not in summaries or (peer and peer not in summaries):
            continue
        mine = summaries[ours][measure]["median"]
        if peer is None:
            rows.append((f"{ours} {measure}: {factor:,.0f}/s", f"{mine:,.0f}/s", mine >= factor))
            continue
        theirs = summaries[peer][measure]["median"]
        if measure in ("p50", "p99"):  # Less is better.
            ratio, wanted = mine / theirs, f"at most {factor:g}"
            rows.append((f"{ours} {measure} / {peer}: {wanted}", f"{ratio:.2f}", ratio <= factor))
        else:
            ratio = mine / theirs
            wanted = f"at least {factor:g}"
            rows.append((f"{ours} {measure} / {peer}: {wanted}", f"{ratio:.2f}", ratio >= factor))
    return [{"target": name, "found": found, "met": met} for name, found, met in rows]


def machine():
    model = "unknown"
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "load_before": os.getloadavg()[0],
    }


def commit():
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True,
                          text=True, check=False)  # fmt: skip
    return done.stdout.strip() or "unknown"


def print_table(summaries, targets):
    head = f"{'':16}{'bulk/s':>11}{'single/s':>10}{'drain/s':>10}{'end-to-end/s':>30}"
    head += f"{'p50 ms':>9}{'p99 ms':>9}{'MB s/c':>10}{'us/task s/c':>13}{'clean':>7}"
    print(head)
    for name, found in summaries.items():
        whole = found["end_to_end"]
        spread = f"{whole['median']:,.0f} [{whole['min']:,.0f}-{whole['max']:,.0f}]"
        sizes = f"{found['server_megabytes']:.0f}/{found['client_megabytes']:.0f}"
        used = [
            f"{found[f'{role}_cpu_microseconds_per_task']:.0f}" for role in ("server", "client")
        ]
        print(
            f"{name:16}{found['bulk']['median']:>11,.0f}{found['single']['median']:>10,.0f}"
            f"{found['drain']['median']:>10,.0f}{spread:>30}{found['p50']['median']:>9.2f}"
            f"{found['p99']['median']:>9.2f}{sizes:>10}{'/'.join(used):>13}"
            f"{found['clean_runs']:>5}/{found['runs']}"
        )
    runs = sum(found["runs"] for found in summaries.values())
    clean = sum(found["clean_runs"] for found in summaries.values())
    if clean < runs:
        print(f"the machine was busy with something else in {runs - clean} of {runs} runs")
    for row in targets:
        print(f"{'met   ' if row['met'] else 'MISSED'} {row['target']}  →  {row['found']}")


def write(out, report):
    out.mkdir(parents=True, exist_ok=True)
    (out / "peers.json").write_text(json.dumps(report, indent=1) + "\n")
    note = f"median of {report['rounds']} interleaved rounds, whiskers: range; "
    note += f"{report['placement']}; logarithmic; blue is Takt; read README.md first"
    for measure, title in TITLES.items():
        rows = [
            (name, found[measure]["median"], found[measure]["min"], found[measure]["max"],
             name.startswith("takt"))
            for name, found in report["summary"].items()
        ]  # fmt: skip
        rows.sort(key=lambda row: row[1], reverse=measure not in ("p50", "p99"))
        name = f"peers-{measure.replace('_', '-')}.svg"
        (out / name).write_text(plots.dots(title, note, rows))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2,000 tasks, 1 round: does it work?")
    parser.add_argument("--only", help="names parted by commas: " + ", ".join(s.name for s in ALL))
    parser.add_argument("--rounds", type=int, help="[3, with --quick 1]")
    parser.add_argument("--pin", choices=["none", "same", "split"], default="none",
                        help="all on one core, or servers and clients on one each [none]")  # fmt: skip
    parser.add_argument("--redis-fsync", choices=["everysec", "always"], default="everysec")
    parser.add_argument("--takt", default=str(ROOT / "build/takt"), help="[build/takt]")
    parser.add_argument("--folder", help="where servers keep their files [the system's /tmp]")
    parser.add_argument("--out", default=str(ROOT / "bench/results"), type=pathlib.Path)
    options = parser.parse_args()
    chosen = options.only.split(",") if options.only else [system.name for system in ALL]
    unknown = set(chosen) - {system.name for system in ALL}
    if unknown:
        parser.error(f"--only: there is no {', '.join(sorted(unknown))}")
    options.systems = [system for system in ALL if system.name in chosen]
    options.rounds = options.rounds or (1 if options.quick else 3)
    return options


def plan_for(system, setup, quick):
    """Sizes by two trials; the second one because programs are slow when they have just started."""
    plan = Plan()
    if quick:
        return plan
    for seconds, latency_seconds in ((1.5, 1), (PHASE_SECONDS, LATENCY_SECONDS)):
        plan = scaled(system.run(plan, setup), seconds, latency_seconds)
    return plan


def main():
    options = parse_arguments()
    cores = sorted(os.sched_getaffinity(0))
    placement = {"none": (None, None), "same": ({cores[0]}, {cores[0]}),
                 "split": ({cores[0]}, {cores[-1]})}[options.pin]  # fmt: skip
    setup = Setup(options.takt, *placement, options.folder, options.redis_fsync)
    report = {
        "began": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": machine(),
        "placement": {"none": "no process pinned", "same": "all on one core",
                      "split": "servers on one core, clients on another"}[options.pin],
        "quick": options.quick,
        "rounds": options.rounds,
        "skipped": {},
        "failures": [],
        "plans": {},
        "runs": {},
    }  # fmt: skip
    plans = {}

    def guarded(system, what, action):
        try:
            return action()
        except Missing as reason:
            report["skipped"][system.name] = str(reason)
            say(f"{system.name} is skipped: {reason}")
            return None
        except (Failure, OSError, subprocess.SubprocessError, KeyError, ValueError) as error:
            report["failures"].append({"system": system.name, "when": what, "error": str(error)})
            say(f"{system.name}, {what}, FAILED: {error!r}")
            return None

    for system in options.systems:
        say(f"{system.name}: finding sizes")
        plan = guarded(system, "finding sizes", lambda: plan_for(system, setup, options.quick))
        if plan:
            plans[system] = plan
            report["plans"][system.name] = vars(plan)
    for turn in range(options.rounds):
        # Each round begins elsewhere, so that nobody always runs after the same neighbour.
        order = list(plans)
        shift = turn * len(order) // options.rounds
        for system in order[shift:] + order[:shift]:
            run = guarded(system, f"round {turn + 1}", lambda: system.run(plans[system], setup))
            if run:
                report["runs"].setdefault(system.name, []).append(run)
                shown = ", ".join(f"{name} {value:,.4g}" for name, value in values_of(run).items())
                say(f"round {turn + 1} of {options.rounds}: {system.name}: {shown}")
    names = [system.name for system in options.systems if system.name in report["runs"]]
    report["summary"] = {name: summary_of(report["runs"][name]) for name in names}
    # Two thousand tasks tell that everything works, not how fast it is.
    report["targets"] = [] if options.quick else check_targets(report["summary"])
    write(options.out, report)
    print_table(report["summary"], report["targets"])
    say(f"written to {options.out}")
    for reason in sorted(set(report["skipped"].values())):
        those = [name for name, why in report["skipped"].items() if why == reason]
        print(f"skipped {', '.join(those)}: {reason}", file=sys.stderr)
    for failure in report["failures"]:
        print(f"FAILED {failure['system']}, {failure['when']}: {failure['error']}", file=sys.stderr)
    return 1 if report["failures"] or not names else 0


if __name__ == "__main__":
    sys.exit(main())
