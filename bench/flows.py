#!/usr/bin/env python3
"""Workflows beside plain tasks: `takt serve` on the embedded store, or another, and workers that do nothing.

    bench/flows.py [--rounds 3] [--tasks 20000] [--turns 2] [--waiting 100000] [--store redis] [--steps-only]

Three ratios, each of one round on one scheduler: what runs of ten steps, one after the other, cost beside ten times as many tasks
(time with all of them at once, and CPU of scheduler and store); how fast 10,000 shards of one task start and end beside as many
tasks; and the bytes that a child takes which waits for a worker beside those of a task which waits. Tasks and runs come in
turns, and every other round the runs come first: whatever comes later finds a larger store.

`--steps-only` leaves shards and memory out."""

import argparse
import json
import pathlib
import statistics
import sys
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))

from processes import Failure, Folder, Process, cpu_seconds
from servers import start_redis, start_takt

STEPS = 10
SHARDS = 10_000
BATCH = 1_000
DEADLINE = 600


def ask(url, body=None):
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def submit(url, task, count):
    for first in range(0, count, BATCH):
        answer = ask(f"{url}/api/v1/tasks/bulk", [task] * min(BATCH, count - first))
        if answer["failed"]:
            raise Failure(next(item["problem"]["detail"] for item in answer["items"] if "problem" in item))


def left(url):
    """Executions that are not finished: runs, steps and tasks."""
    counts = ask(f"{url}/api/v1/metrics")
    return sum(counts[f"tasks_{status}"] for status in ("pending", "scheduled", "running", "retrying"))


def wait_until(url, wanted):
    end = time.monotonic() + DEADLINE
    while not wanted(left(url)):
        if time.monotonic() > end:
            raise Failure("the executions did not come where they should in time")
        time.sleep(0.01)


def measure(url, pids, task, count):
    """Seconds, and CPU seconds of scheduler and store, from the first submit to the end of the last execution."""
    begin, before = time.monotonic(), sum(map(cpu_seconds, pids))
    submit(url, task, count)
    wait_until(url, lambda left: left == 0)
    return time.monotonic() - begin, sum(map(cpu_seconds, pids)) - before


def added(all_measured):
    return tuple(map(sum, zip(*all_measured)))


def chain():
    steps = [{"name": f"s{i}", "type": "noop", **({"after": [f"s{i - 1}"]} if i else {})} for i in range(STEPS)]
    return {"name": "chain", "steps": steps}


def resident(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise Failure("no VmRSS")


def steps_beside_tasks(options, url, pids, number):
    """What tasks and runs of as many steps took, each measured several times in turn."""
    kinds = [({"name": "plain", "type": "noop"}, options.tasks), (chain(), options.tasks // STEPS)]
    order = kinds if number % 2 == 0 else kinds[::-1]
    seen = {name: [] for name in ("plain", "chain")}
    for _ in range(options.turns):
        for task, count in order:
            seen[task["name"]].append(measure(url, pids, task, count // options.turns))
    return added(seen["plain"]), added(seen["chain"])


def running(options, start, number):
    """Ratios of steps and shards."""
    folder, server = start()
    try:
        url, pids = server.settings["url"], [process.pid for process in server.processes]
        for worker in range(2):
            command = [options.takt, "worker", "--server", url, "--demo", "--capacity", "500", "--log-level", "error"]
            server.processes.append(Process("worker", command, folder.path / f"worker{worker}.log"))
        measure(url, pids, {"name": "warm", "type": "noop"}, BATCH)
        plain, runs = steps_beside_tasks(options, url, pids, number)
        ratios = {
            "plain_rate": options.tasks / plain[0],
            "plain_cpu_us": plain[1] / options.tasks * 1e6,
            "step_cpu_us": runs[1] / options.tasks * 1e6,
            "steps_time": runs[0] / plain[0],
            "steps_cpu": runs[1] / plain[1],
        }
        if options.steps_only:
            return ratios
        few = measure(url, pids, {"name": "plain", "type": "noop"}, SHARDS)
        shards = measure(url, pids, {"name": "shards", "type": "noop", "shards": SHARDS}, 1)
        return ratios | {"shards_rate": few[0] / shards[0], "shards_cpu": shards[1] / few[1]}
    finally:
        server.stop()
        folder.remove()


def waiting(options, start, task, count, each):
    """Bytes of each of so many that wait for a worker of a type that none serves."""
    folder, server = start()
    try:
        url, pid = server.settings["url"], server.processes[-1].pid
        before = resident(pid)
        submit(url, task, count)
        wait_until(url, lambda left: left == count * each + (count if each > 1 else 0))
        time.sleep(2)  # Until what the last batches needed is given back.
        return (resident(pid) - before) / (count * each)
    finally:
        server.stop()
        folder.remove()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tasks", type=int, default=20_000)
    parser.add_argument("--turns", type=int, default=2, help="the tasks, and the runs, of a round in so many parts")
    parser.add_argument("--steps-only", action="store_true")
    parser.add_argument("--waiting", type=int, default=100_000, help="children; 0 leaves the memory out")
    parser.add_argument("--takt", default="build/takt")
    parser.add_argument("--store", choices=["embedded", "redis"], default="embedded")
    options = parser.parse_args()

    def start():
        folder = Folder(None)
        store = start_redis(folder, None) if options.store == "redis" else None
        return folder, start_takt(folder, None, options.takt, store)

    seen = []
    for number in range(options.rounds):
        seen.append(running(options, start, number))
        print("   ".join(f"{name} {value:.2f}" for name, value in seen[-1].items()), flush=True)
    for name in seen[0]:
        print(f"median {name:12} {statistics.median(one[name] for one in seen):10.2f}")
    if options.waiting == 0 or options.steps_only:
        return
    plain = waiting(options, start, {"name": "plain", "type": "nobody"}, options.waiting, 1)
    fan = {"name": "fan", "type": "nobody", "shards": STEPS}
    child = waiting(options, start, fan, options.waiting // STEPS, STEPS)
    print(f"bytes of a task that waits {plain:.0f}, of a child {child:.0f} with a tenth of its run: {child - plain:+.0f}")


if __name__ == "__main__":
    main()
