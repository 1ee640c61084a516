"""Real processes of the takt binary, on free ports, with stores that are gone afterwards.

Every wait polls a condition and has a deadline; nothing sleeps for a fixed time.
"""
import itertools
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.request

TAKT = os.environ.get("TAKT_BINARY", "build/takt")
# Generous, because machines that run tests are busy; only a failing test waits so long.
DEADLINE = 30.0

# Of this process: others that run beside it begin elsewhere.
FIRST_PORT, PORTS = 30_000, 2_700
NUMBERS = itertools.count(os.getpid() * 61)

# Leases short enough to lose a worker within a test.
QUICK = ["--set", "scheduler.worker_lease=2s", "--set", "scheduler.heartbeat_interval=500ms",
         "--set", "scheduler.leader_ttl=2s", "--set", "scheduler.leader_renew_interval=500ms",
         "--set", "scheduler.retry_delay=50ms"]


def until(condition, what, deadline=DEADLINE):
    """The condition's first true value."""
    end = time.monotonic() + deadline
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {deadline} s: {what}")
        time.sleep(0.02)


def free_port():
    """Below those that the kernel gives to outgoing connections, and none twice: a server that is started
    again finds its own free."""
    for _ in range(PORTS):
        port = FIRST_PORT + next(NUMBERS) % PORTS
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise AssertionError("there is no free port")


def environment():
    """Without what the person who runs the tests has set for their own scheduler."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TAKT_")}
    kept["NO_COLOR"] = "1"
    return kept


class Process:
    """One process, of takt unless another program is named; its output goes to a file."""

    def __init__(self, folder, name, arguments, env=None, program=TAKT, **options):
        self.output = pathlib.Path(folder) / f"{name}.out"
        self.file = open(self.output, "ab")
        self.process = subprocess.Popen([program, *arguments], stdout=self.file, stderr=self.file,
                                        stdin=subprocess.DEVNULL, env=env or environment(),
                                        **options)

    def text(self):
        return self.output.read_text(errors="replace")

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, deadline=DEADLINE):
        return self.process.wait(deadline)

    def kill(self):
        if self.process.poll() is None:
            # A stopped process must be continued to be reaped in order.
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait(DEADLINE)
        self.file.close()


class TaktTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="takt-e2e-")
        self.store = f"{self.folder}/store"
        self.store_url = f"file:{self.store}"
        self.url = None
        self.processes = []
        self.addCleanup(self.clean)

    def clean(self):
        for process in self.processes:
            process.kill()
        failed = any(error for _, error in getattr(self._outcome, "errors", []) or [])
        if failed:
            for process in self.processes:
                print(f"--- {process.output.name}\n{process.text()}")
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, name, *arguments, env=None):
        process = Process(self.folder, f"{len(self.processes)}-{name}", arguments, env)
        self.processes.append(process)
        return process

    def use_redis(self):
        """A Redis of the test's own is the store."""
        if not shutil.which("redis-server"):
            self.fail("redis-server is needed")
        port = free_port()
        self.processes.append(Process(
            self.folder, "redis", ["--port", str(port), "--bind", "127.0.0.1", "--dir", self.folder,
                                   "--save", "", "--appendonly", "yes"], program="redis-server"))
        self.store_url = f"redis://127.0.0.1:{port}"

        def answers():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        until(answers, "Redis answers")

    def serve(self, *arguments, port=0, env=None):
        """A scheduler that is ready; self.url is where."""
        process = self.start("serve", "serve", "--store", self.store_url, "--listen",
                             f"127.0.0.1:{port}", *arguments, env=env)
        self.url = self.address_of(process)
        until(self.is_ready, "the scheduler is ready")
        return process

    def address_of(self, process):
        def address():
            if process.process.poll() is not None:
                raise AssertionError(f"takt serve ended: {process.text()}")
            for line in process.text().splitlines():
                if " listens on " in line:
                    return line.split(" listens on ")[1].strip()
            return None

        return until(address, "the scheduler says where it listens")

    def port(self):
        return int(self.url.rsplit(":", 1)[1])

    def is_ready(self):
        try:
            with urllib.request.urlopen(self.url + "/readyz", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def worker(self, name, *arguments):
        """A worker process that is attached."""
        process = self.start(name, "worker", "--server", self.url, "--id", name, *arguments)
        until(lambda: self.worker_row(name).get("connected"), f"worker {name} is attached")
        return process

    def run_takt(self, *arguments, stdin="", env=None, timeout=DEADLINE + 10):
        """A command that ends by itself."""
        variables = environment()
        if self.url:
            variables["TAKT_SERVER"] = self.url
        variables.update(env or {})
        return subprocess.run([TAKT, *arguments], input=stdin, capture_output=True, text=True,
                              env=variables, timeout=timeout, check=False)

    def post(self, path, body):
        """For what the command line does not do: registering an executor, for example."""
        request = urllib.request.Request(f"{self.url}/api/v1/{path}", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.loads(answer.read())

    def takt(self, *arguments, **options):
        """What a command that must succeed prints."""
        ended = self.run_takt(*arguments, **options)
        self.assertEqual(ended.returncode, 0, f"takt {arguments}: {ended.stderr}{ended.stdout}")
        return ended.stdout

    def takt_json(self, *arguments, **options):
        return json.loads(self.takt(*arguments, "--json", **options))

    def refused(self, exit_code, *arguments, **options):
        """The sentence of a command that must be refused."""
        ended = self.run_takt(*arguments, **options)
        self.assertEqual(ended.returncode, exit_code, f"takt {arguments}: {ended.stderr}")
        return ended.stderr

    def get(self, execution):
        return self.takt_json("get", execution)

    def until_status(self, execution, *statuses):
        def reached():
            row = self.get(execution)
            return row if row["status"] in statuses else None

        return until(reached, f"{execution} is {' or '.join(statuses)}")

    def worker_row(self, name):
        ended = self.run_takt("workers", "--json")
        if ended.returncode != 0:
            return {}
        rows = json.loads(ended.stdout)["items"]
        return next((row for row in rows if row["id"] == name), {})

    def metric(self, name):
        """The sum over all labels of one number of /metrics."""
        with urllib.request.urlopen(self.url + "/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines
                   if line.startswith((name + " ", name + "{")))
