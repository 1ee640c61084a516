#!/usr/bin/env python3
"""What a stranger without a token can do to a scheduler: a flood of pipelined requests.

    bench/flood.py [--binary build/takt] [--connections 1000] [--requests 150] [--io-threads N]

Starts a scheduler with a token on a free port of this machine, opens the connections, sends on each all
requests at once for a page that anybody may read, and asks /healthz all the while. Fails if one of these
answers takes longer than 250 ms, or if the scheduler loses its lead. Bounded in bytes and time; loopback
only."""

import argparse
import json
import multiprocessing
import pathlib
import resource
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HEALTH_MS_MAX = 250
FLOOD_SECONDS_MAX = 60
RECEIVE_BUFFER = 4096  # Small, so that answers wait at the scheduler's side.


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Scheduler:
    def __init__(self, binary, folder, io_threads):
        self.port = free_port()
        store = f"file:{folder}/data"
        made = subprocess.run(
            [binary, "token", "create", "--role", "admin", "--store", store, "--json"],
            check=True, capture_output=True, text=True)
        self.token = json.loads(made.stdout)["token"]
        command = [binary, "serve", "--store", store, "--listen", f"127.0.0.1:{self.port}"]
        if io_threads is not None:
            command += ["--set", f"server.io_threads={io_threads}"]
        self.log = open(folder / "log", "w")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        for _ in range(200):
            try:
                if self.status()["is_leader"]:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        raise SystemExit("the scheduler did not start")

    def get(self, path, timeout=30):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}",
                                         headers={"Authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.read()

    def status(self):
        return json.loads(self.get("/api/v1/scheduler/status"))

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=30)
        self.log.close()


class Health(threading.Thread):
    """Asks /healthz on fresh connections, one after the other, and keeps the slowest answer."""

    def __init__(self, scheduler):
        super().__init__(daemon=True)
        self.scheduler = scheduler
        self.done = threading.Event()
        self.took = []

    def run(self):
        while not self.done.is_set():
            began = time.monotonic()
            self.scheduler.get("/healthz", timeout=120)
            self.took.append((time.monotonic() - began) * 1000)
            self.done.wait(0.01)


def flood(port, connections, requests, path):
    """Opens, sends everything, reads until all is answered. Returns bytes read and seconds."""
    request = (f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
               "Accept-Encoding: gzip\r\n\r\n").encode()
    last = request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    selector = selectors.DefaultSelector()
    for _ in range(connections):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        client.connect(("127.0.0.1", port))
        client.setblocking(False)
        selector.register(client, selectors.EVENT_READ | selectors.EVENT_WRITE,
                          memoryview(request * (requests - 1) + last))
    began = time.monotonic()
    read = 0
    while selector.get_map() and time.monotonic() - began < FLOOD_SECONDS_MAX:
        for key, events in selector.select(1):
            try:
                if events & selectors.EVENT_WRITE:
                    rest = key.data[key.fileobj.send(key.data):]
                    selector.modify(key.fileobj, selectors.EVENT_READ |
                                    (selectors.EVENT_WRITE if rest else 0), rest)
                if events & selectors.EVENT_READ:
                    piece = key.fileobj.recv(65536)
                    read += len(piece)
                    if not piece:
                        raise ConnectionError
            except BlockingIOError:
                pass
            except OSError:
                selector.unregister(key.fileobj)
                key.fileobj.close()
    left = len(selector.get_map())
    for key in list(selector.get_map().values()):
        key.fileobj.close()
    return read, time.monotonic() - began, left


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", default="build/takt")
    parser.add_argument("--connections", type=int, default=1000)
    parser.add_argument("--requests", type=int, default=150)
    parser.add_argument("--path", default="/openapi.json")
    parser.add_argument("--io-threads", type=int)
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))
    with tempfile.TemporaryDirectory(prefix="takt-flood-") as folder:
        scheduler = Scheduler(options.binary, pathlib.Path(folder), options.io_threads)
        try:
            before = scheduler.status()
            health = Health(scheduler)
            health.start()
            # In a process of its own: it must not keep whoever measures from measuring.
            with multiprocessing.Pool(1) as pool:
                read, seconds, left = pool.apply(
                    flood, (scheduler.port, options.connections, options.requests, options.path))
            health.done.set()
            health.join(timeout=120)
            after = scheduler.status()
        finally:
            scheduler.stop()
    slowest = max(health.took)
    lost = after["epoch"] != before["epoch"]
    print(f"{options.connections} x {options.requests} {options.path}: {seconds:.1f} s, "
          f"{read / 1e6:.0f} MB read, {left} connections left over; "
          f"/healthz {len(health.took)} times, slowest {slowest:.0f} ms; "
          f"lead {'LOST' if lost else 'kept'}")
    return 1 if lost or slowest > HEALTH_MS_MAX else 0


if __name__ == "__main__":
    sys.exit(main())
