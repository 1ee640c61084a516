#!/usr/bin/env python3
"""What namespaces in which nothing happens cost the store: requests a second, and who asks them.

    bench/at_rest.py [--store redis]… [--namespaces 255] [--schedulers 3] [--seconds 60]

Counted at the server: MONITOR of Redis (what a script does inside is one request), etcd's counters of calls, the general log of
MariaDB (each packet is one)."""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests" / "chaos"), str(HERE.parent / "tests" / "e2e")]

from fairness import address_of, call
from harness import Process, until
import stores

SETTLE_SECONDS = 120  # A node leaves leads where they are for a minute; then shares are made even.
SHOWN = 15


def count_redis(store, seconds):
    log = pathlib.Path(store.folder) / "monitor.log"
    with log.open("w") as file, subprocess.Popen(["redis-cli", "-p", str(store.ports[0]), "MONITOR"], stdout=file) as watch:
        time.sleep(seconds)
        watch.terminate()
    asked = collections.Counter()
    for line in log.read_text(errors="replace").splitlines():
        words = re.findall(r'"((?:[^"\\]|\\.)*)"', line)
        if not words or " lua]" in line:
            continue
        script = words[0].lower() in ("evalsha", "eval")
        asked[" ".join([words[0], *(word[:24] for word in (words[1:5] if script else words[1:3]))])] += 1
    return asked


def calls_of(store):
    text = urllib.request.urlopen(f"http://127.0.0.1:{store.ports[0]}/metrics", timeout=10).read().decode()
    found = re.findall(r'^grpc_server_started_total\{grpc_method="(\w+)".*\} (\S+)$', text, re.MULTILINE)
    return collections.Counter({name: float(value) for name, value in found})


def count_etcd(store, seconds):
    before = calls_of(store)
    time.sleep(seconds)
    return calls_of(store) - before


def count_mysql(store, seconds):
    log = pathlib.Path(store.folder) / "general.log"
    def pings():
        return int(store.query("SHOW GLOBAL STATUS LIKE 'Com_admin_commands'").split()[1])

    store.query(f"SET GLOBAL general_log_file='{log}'; SET GLOBAL general_log=1")
    before = pings()
    time.sleep(seconds)
    asked = collections.Counter({"ping": pings() - before})
    store.query("SET GLOBAL general_log=0")
    for line in log.read_text(errors="replace").splitlines():
        found = re.match(r"^(?:\d{6} +[\d:]+)?\s+\d+ (?:Query|Execute|Ping)\s*(.*)$", line)
        if found and "general_log" not in line and "SHOW GLOBAL" not in line:
            asked[re.sub(r"\d+", "#", found[1])[:100]] += 1
    return asked


COUNT = {"redis": count_redis, "etcd": count_etcd, "mysql": count_mysql}


def measure(name, options, folder):
    store = stores.STORES[name](folder)
    store.start()
    processes = []
    try:
        for number in range(options.schedulers):
            processes.append(Process(folder, f"serve-{number}", [
                "serve", "--store", store.url(store.ports), "--listen", "127.0.0.1:0", "--set", f"server.node_id=n{number}"]))
        url = address_of(processes[0])
        for process in processes:
            address_of(process)
        until(lambda: json.loads(call("namespaces", "--json", url=url))["items"][0]["leader"], "default is led")
        for number in range(options.namespaces - 1):
            request = urllib.request.Request(f"{url}/api/v1/namespaces", json.dumps({"name": f"team-{number}"}).encode(),
                                             {"Content-Type": "application/json"})
            urllib.request.urlopen(request, timeout=30).close()
        until(lambda: all(row["leader"] for row in spaces(url)), "all are led", 120)
        time.sleep(options.settle)
        shares = collections.Counter(row["leader"]["node_id"] for row in spaces(url))
        asked = COUNT[name](store, options.seconds)
        print(f"{name}: {asked.total() / options.seconds:.1f} requests/s, {options.namespaces} namespaces, led {dict(shares)}")
        for what, times in asked.most_common(SHOWN):
            print(f"{times / options.seconds:9.2f}  {what}", flush=True)
    finally:
        for process in processes:
            process.kill()
        store.close()


def spaces(url):
    with urllib.request.urlopen(f"{url}/api/v1/namespaces", timeout=30) as answer:
        return json.load(answer)["items"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", action="append", choices=list(COUNT), default=[])
    parser.add_argument("--namespaces", type=int, default=255)
    parser.add_argument("--schedulers", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--settle", type=int, default=SETTLE_SECONDS)
    options = parser.parse_args()
    for name in options.store or list(COUNT):
        with tempfile.TemporaryDirectory(prefix="takt-at-rest-", ignore_cleanup_errors=True) as folder:
            measure(name, options, folder)


if __name__ == "__main__":
    main()
