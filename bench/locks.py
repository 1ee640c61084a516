#!/usr/bin/env python3
"""Locks over REST: `takt serve` on the embedded store, or another, over loopback.

    bench/locks.py [--rounds 3] [--seconds 5] [--connections 64] [--waiters 10000] [--store redis]

Two numbers: uncontended acquire and release, in pairs per second, asked by wrk; and the CPU that the scheduler uses while so
many clients stand in the line of one lock, beside what it uses without them."""

import argparse
import asyncio
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))

from processes import Failure, Folder
from servers import start_redis, start_takt


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def pairs(options, url):
    command = ["wrk", "-t1", f"-c{options.connections}", f"-d{options.seconds}s", "-s", str(HERE / "lock.lua"), url]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in printed:
        raise Failure(printed)
    line = next(line for line in printed.splitlines() if line.startswith("Requests/sec"))
    return float(line.split()[-1]) / 2


def cpu_seconds(process):
    with open(f"/proc/{process}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def stand_in_line(options, host, port):
    """Opens the connections and sends the questions; they stay until they are closed."""
    body = json.dumps({"wait": "50s", "ttl": "10s"})
    head = (f"POST /api/v1/locks/line/acquire HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}").encode()
    writers = []
    for _ in range(options.waiters):
        _, writer = await asyncio.open_connection(host, port)
        writer.write(head)
        writers.append(writer)
    await asyncio.gather(*(writer.drain() for writer in writers))
    return writers


def waiting(options, url, process):
    """CPU of the scheduler, as a part of one core, without and with the line."""
    def used(seconds=5.0):
        before = cpu_seconds(process)
        time.sleep(seconds)
        return (cpu_seconds(process) - before) / seconds

    idle = used()
    post(f"{url}/api/v1/locks/line/acquire", {"ttl": "1h"})
    host, port = url.removeprefix("http://").rsplit(":", 1)
    loop = asyncio.new_event_loop()
    writers = loop.run_until_complete(stand_in_line(options, host, int(port)))
    end = time.monotonic() + 30
    while time.monotonic() < end:
        with urllib.request.urlopen(f"{url}/api/v1/locks/line", timeout=60) as answer:
            if json.load(answer)["waiting"] == options.waiters:
                break
        time.sleep(0.05)
    else:
        raise Failure("not all stand in line")
    full = used()
    for writer in writers:
        writer.transport.abort()
    loop.close()
    return idle, full


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--waiters", type=int, default=10_000)
    parser.add_argument("--takt", default="build/takt")
    parser.add_argument("--store", choices=["embedded", "redis"], default="embedded")
    options = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    seen = []
    for _ in range(options.rounds):
        folder = Folder(None)
        store = start_redis(folder, None) if options.store == "redis" else None
        server = start_takt(folder, None, options.takt, store)
        try:
            url = server.settings["url"]
            rate = pairs(options, url)
            idle, full = waiting(options, url, server.processes[-1].pid)
            seen.append((rate, idle, full))
            print(f"{rate:10.0f} pairs/s   idle {idle:6.1%} of a core, {options.waiters} in line {full:6.1%}", flush=True)
        finally:
            server.stop()
            folder.remove()
    print(f"median     {statistics.median(rate for rate, _, _ in seen):.0f} acquires and releases a second")


if __name__ == "__main__":
    main()
