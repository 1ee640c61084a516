#!/usr/bin/env python3
"""Requests per second of the REST API: `takt serve` on the embedded store, asked by wrk over loopback.

    bench/rest.py [--rounds 3] [--seconds 5] [--connections 64]

wrk takes a core of its own where there are two; the scheduler has the rest."""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))

from processes import Failure, Folder
from servers import start_takt

BULK = 10_000  # Tasks in one request.
BULK_REQUESTS = 20


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def wrk(options, url, *arguments):
    command = ["wrk", "-t1", f"-c{options.connections}", f"-d{options.seconds}s", *arguments, url]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in printed or "Socket errors" in printed:
        raise Failure(f"{' '.join(command)}: {printed}")
    return float(re.search(r"Requests/sec:\s+([\d.]+)", printed)[1])


def bulk(options, url):
    """Tasks per second, while their queue is paused."""
    command = [options.takt, "bench", "--server", url, "--json", "--tasks", "0", "--latency-for", "0s"]
    command += ["--drain", str(BULK * BULK_REQUESTS), "--batch", str(BULK), "--workers", "1"]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return report["phases"]["bulk"]["per_second"]


def one_round(options):
    folder = Folder(None)
    server = None
    try:
        server = start_takt(
            folder, None, options.takt, None, [("scheduler.queue_size", 100_000_000)]
        )
        url = server.settings["url"]
        post(f"{url}/api/v1/tasks", {"id": "bench-1", "name": "report"})
        return {
            "GET /executions/{id}": wrk(options, f"{url}/api/v1/executions/bench-1"),
            "POST /tasks": wrk(options, f"{url}/api/v1/tasks", "-s", str(HERE / "post_task.lua")),
            "POST /tasks/bulk, tasks": bulk(options, url),
        }
    finally:
        if server:
            server.stop()
        folder.remove()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="[3]")
    parser.add_argument("--seconds", type=int, default=5, help="of each measurement [5]")
    parser.add_argument("--connections", type=int, default=64, help="[64]")
    parser.add_argument("--takt", default=str(HERE.parent / "build/takt"), help="[build/takt]")
    options = parser.parse_args()
    rounds = [one_round(options) for _ in range(options.rounds)]
    print(f"{'':24} {'median/s':>10} {'least':>10} {'most':>10}")
    for name in rounds[0]:
        rates = [of_round[name] for of_round in rounds]
        print(f"{name:24} {statistics.median(rates):>10,.0f} {min(rates):>10,.0f} {max(rates):>10,.0f}")


if __name__ == "__main__":
    main()
