"""Schedulers for the tests of the packages: one alone, or two over one Redis of which one can be killed."""
import json
import os
import pathlib
import shutil
import signal
import socket
import sys
import urllib.request

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/e2e"))
sys.path.insert(0, str(SOURCE / "sdk/python/src"))

from harness import QUICK, Process, TaktTest, until  # noqa: E402


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ClusterTest(TaktTest):
    def start_two(self):
        """Two schedulers on Redis; self.schedulers are their processes by address."""
        if not shutil.which("redis-server"):
            self.fail("redis-server is needed")
        port = free_port()
        redis = Process(self.folder, "redis", ["--port", str(port), "--dir", self.folder, "--save", "",
                                               "--appendonly", "yes"], program="redis-server")
        self.processes.append(redis)
        until(lambda: "Ready to accept" in redis.text(), "Redis is ready")
        self.store_url = f"redis://127.0.0.1:{port}"
        self.schedulers = {}
        for name in ("a", "b"):
            process = self.serve(*QUICK, "--set", f"server.node_id={name}")
            self.schedulers[self.url] = process
        self.urls = list(self.schedulers)
        return self.urls

    def leader(self):
        """The address of the scheduler that leads, of those that live."""
        def leading():
            for url, process in self.schedulers.items():
                if process.process.poll() is None and self.status_of(url).get("is_leader"):
                    return url
            return None

        return until(leading, "a scheduler leads")

    def status_of(self, url):
        try:
            with urllib.request.urlopen(url + "/api/v1/scheduler/status", timeout=5) as answer:
                return json.loads(answer.read())
        except OSError:
            return {}

    def kill_leader(self):
        """As a machine that loses its power; self.url is the one that is left."""
        url = self.leader()
        self.schedulers[url].signal(signal.SIGKILL)
        self.schedulers[url].process.wait(10)
        self.url = next(other for other in self.urls if other != url)
        return url

    def begun(self, name):
        """How often a handler wrote that it began: one line each, in a file that outlives it."""
        path = pathlib.Path(self.folder) / name
        return path.read_text().splitlines() if path.exists() else []


def note(folder, name, line):
    """Adds a line to a file at once, whole."""
    with open(pathlib.Path(folder) / name, "ab", buffering=0) as file:
        file.write(f"{line}\n".encode())
        os.fsync(file.fileno())
