"""A whole installation of real processes, and their records."""
import itertools
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

# pylint: disable=wrong-import-position
from harness import TAKT, Process, environment, until  # noqa: E402
import checker  # noqa: E402
import linear_load  # noqa: E402
import load  # noqa: E402
import mutant  # noqa: E402
import proxy  # noqa: E402
import stores  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent

# Short terms and leases, so that a fault of seconds lasts for several of them.
TERM_SECONDS = 2.0
LEASE_SECONDS = 4.0
SETTINGS = {
    "scheduler.leader_ttl": "2s", "scheduler.leader_renew_interval": "500ms",
    "scheduler.leader_acquire_interval": "200ms", "scheduler.heartbeat_interval": "500ms",
    "scheduler.worker_lease": "4s", "scheduler.takeover_grace": "4s",
    "scheduler.retry_delay": "100ms", "scheduler.stop_deadline": "3s", "log.format": "json",
}
TICK, TURNS = "tick", "turns"  # Fires each second, in parallel; and one run at a time.
WORKERS, SHELL_WORKERS = 2, 2
STORE_SECONDS = 60
SOON_SECONDS = 5
FINISH_SECONDS = 60  # For what was accepted to end, after the heal.


class Scheduler:
    def __init__(self, cluster, number, variables):
        self.number = number
        self.node = f"node-{number}"
        self.port = stores.free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.proxies = [proxy.Proxy(cluster.loop, port) for port in cluster.store.ports]
        store_url = cluster.store.url([one.port for one in self.proxies])
        self.arguments = ["serve", "--store", store_url, "--listen", f"127.0.0.1:{self.port}",
                          "--node-id", self.node]
        for key, value in {**SETTINGS, **cluster.settings}.items():
            self.arguments += ["--set", f"{key}={value}"]
        self.folder, self.variables = cluster.folder, mutant.armed(variables)
        self.stopped = False  # Whether the test stopped or killed it.
        self.start()

    def start(self):
        self.process = Process(self.folder, self.node, self.arguments,
                               {**environment(), **self.variables}, start_new_session=True)
        self.died_at = None
        threading.Thread(target=self.watch, args=(self.process.process,), daemon=True).start()

    def watch(self, process):
        process.wait()
        self.died_at = time.monotonic()

    def status(self):
        _, _, answer = load.call(self.url, "GET", "/api/v1/scheduler/status", seconds=2)
        return answer or {}

    def metric(self, name):
        """The sum over all labels of one number of /metrics."""
        with urllib.request.urlopen(self.url + "/metrics", timeout=5) as answer:
            lines = answer.read().decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines
                   if line.startswith((name + " ", name + "{")))

    def leads(self):
        return self.alive() and self.status().get("role") == "leader"

    def alive(self):
        return self.process.process.poll() is None

    def kill(self):
        self.stopped = True
        self.process.kill()

    def lines(self):
        for line in self.process.text().splitlines():
            if line.startswith("{"):
                yield json.loads(line)


class Cluster:
    def __init__(self, store_kind, settings=None):
        self.settings = settings or {}
        self.folder = tempfile.mkdtemp(prefix=f"takt-chaos-{store_kind.name}-")
        self.ledger = f"{self.folder}/ledger"
        pathlib.Path(self.ledger).touch()
        self.servers = pathlib.Path(self.folder) / "servers"  # What our own workers look into.
        self.loop = proxy.Loop()
        self.store = store_kind(self.folder)
        self.schedulers, self.workers = [], []
        self.client = None
        self.parts = []  # Loads of workflows and locks beside it.
        self.settled_wall = self.forgotten_at = 0.0  # checker.History
        self.clocks = []  # Files that shift the schedulers' clocks, if any do.
        self.spaces = ["default"]
        self.lost_leads = {}  # Namespace -> when it lost its leader, by the wall, and with which epoch.
        self.failover_from = None  # When the leader went, and the epoch that went with it.

    # --- Starting ---------------------------------------------------------------------------------

    def start(self, first=None, later=None, spaces=0):
        """`first` has variables for the first scheduler, which leads, `later` for each other. With
        so many namespaces beside the default one the load is spread over all of them."""
        self.store.start()
        self.add_scheduler(first or {})
        until(self.schedulers[0].leads, "the first scheduler leads", STORE_SECONDS)
        for variables in later or [{}] * (self.store.schedulers - 1):
            if len(self.schedulers) < self.store.schedulers:
                self.add_scheduler(variables)
        for scheduler in self.schedulers[1:]:
            until(lambda one=scheduler: one.status().get("leader"), "a follower knows the leader",
                  STORE_SECONDS)
        self.make_spaces(spaces)
        for number in range(WORKERS):
            self.add_worker(f"worker-{number}")
        shell_workers = 0 if spaces else SHELL_WORKERS
        for number in range(shell_workers):
            self.add_shell_worker(f"shell-{number}", by_store=number == 0 and self.store.servers)
        for space in self.spaces:
            self.make_recurring(space)
            until(lambda one=space: self.connected(one) == WORKERS + shell_workers,
                  f"all workers of {space} are attached")
        self.client = load.Load([one.url for one in self.schedulers], 30, self.ledger, self.spaces)
        self.client.start()
        if not spaces:
            self.add_part(linear_load.LinearLoad)
        until(lambda: self.finished() >= 30, "the load is under way", 60)

    def add_part(self, kind):
        part = kind(self.client.urls)
        part.start()
        self.parts.append(part)

    def make_spaces(self, count):
        for number in range(1, count + 1):
            space = f"team-{number}"
            until(lambda one=space: self.call("POST", "/api/v1/namespaces", {"name": one})[0]
                  == load.OK, f"{space} is made")
            self.spaces.append(space)
        until(lambda: len(self.leads()) == len(self.spaces), "all namespaces have a leader")

    def add_scheduler(self, variables):
        scheduler = Scheduler(self, len(self.schedulers) + 1, variables)
        self.schedulers.append(scheduler)
        self.servers.write_text("\n".join(one.url for one in self.schedulers if not one.stopped),
                                encoding="utf-8")
        if self.client:
            self.client.urls.append(scheduler.url)

    def start_again(self, scheduler):
        """A supervisor starts a scheduler that ended, at the same address."""
        scheduler.start()
        scheduler.stopped = False

    def add_worker(self, name):
        process = Process(self.folder, name,
                          [str(HERE / "worker.py"), self.ledger, name, str(self.servers),
                           *self.spaces],
                          program=sys.executable, start_new_session=True)
        self.workers.append(process)

    def add_shell_worker(self, name, by_store):
        """One of takt's own, that knows either the schedulers or only the store."""
        arguments = ["worker", "--id", name, "--allow-shell", "--types", "shell", "--capacity", "4"]
        if by_store:
            arguments += ["--store", self.store.url(self.store.ports)]
        else:
            for scheduler in self.schedulers:
                arguments += ["--server", scheduler.url]
        self.workers.append(Process(self.folder, name, arguments, start_new_session=True))

    def make_recurring(self, space):
        # Each missed second is to be made up for, so that the records show every one.
        common = {"type": "work", "cron_expression": "* * * * * *", "misfire_policy": "fire_all",
                  "misfires_max": 60, "backlog_max": 1000}
        for body in ({"id": TICK, "execution_mode": "parallel", "parameters": {"seconds": 0.05}},
                     {"id": TURNS, "execution_mode": "sequential", "parameters": {"seconds": 0.3}}):
            body.update(common, name=body["id"])
            path = load.path_in(space, "tasks")
            until(lambda one=body, to=path: self.call("POST", to, one)[0] == load.OK,
                  f"{body['id']} is accepted")

    # --- Looking ----------------------------------------------------------------------------------

    def live(self):
        return [one for one in self.schedulers if not one.stopped and one.alive()]

    def call(self, method, path, body=None):
        """At any scheduler that answers."""
        answer = (load.REFUSED, 0, None)
        for scheduler in self.live():
            answer = load.call(scheduler.url, method, path, body)
            if answer[0] == load.OK:
                break
        return answer

    def leader(self):
        """The scheduler that leads, by its own word; the newest term if several say so."""
        def find():
            leading = []
            for scheduler in self.live():
                status = scheduler.status()
                if status.get("role") == "leader":
                    leading.append((status["epoch"], scheduler))
            return max(leading, key=lambda pair: pair[0])[1] if leading else None

        return until(find, "somebody leads", STORE_SECONDS)

    def leads(self):
        """Namespace -> node, of those that have a leader, as any scheduler sees it."""
        _, _, answer = self.call("GET", "/api/v1/namespaces")
        return {row["name"]: row["leader"]["node_id"] for row in (answer or {}).get("items", [])
                if row["leader"]}

    def status(self):
        """What `takt status` says, at any scheduler."""
        ended = subprocess.run([TAKT, "status", "--json", "--server", self.live()[0].url],
                               capture_output=True, text=True, timeout=30, check=False,
                               env=environment())
        return json.loads(ended.stdout) if ended.returncode == 0 else {}

    def connected(self, space):
        for worker in self.workers:
            if worker.process.poll() is not None:
                raise AssertionError(f"{worker.output.name} ended: {worker.text()}")
        _, _, answer = self.call("GET", load.path_in(space, "workers"))
        return sum(1 for row in (answer or {}).get("items", []) if row.get("connected"))

    def ledger_lines(self, space=None):
        text = pathlib.Path(self.ledger).read_text(encoding="utf-8")
        # A worker killed in the middle of a line would have written none of it; the last may be
        # on its way.
        lines = [json.loads(line) for line in text.split("\n")[:-1]]
        return [line for line in lines if space in (None, line.get("space", "default"))]

    def finished(self):
        return sum(1 for line in self.ledger_lines() if line["what"] == "end")

    # --- Failover ---------------------------------------------------------------------------------

    def note_failover(self, epoch, at=None):
        self.failover_from = (at or time.monotonic(), epoch)

    def note_lost_leads(self, scheduler):
        """The scheduler is about to lose its lead of all that it leads."""
        epochs = {}
        for election in self.elections():
            epochs[election.space] = max(epochs.get(election.space, 0), election.epoch)
        for space, node in self.leads().items():
            if node == scheduler.node:
                self.lost_leads[space] = (time.time(), epochs[space])

    def failover_seconds(self):
        """From the leader's death to the first start of an attempt that its successor gave out."""
        if not self.failover_from:
            return None
        at, epoch = self.failover_from
        starts = [line["monotonic"] for line in self.ledger_lines()
                  if line["what"] == "start" and int(line["epoch"]) > epoch]
        return min(starts) - at if starts else None

    # --- Ending -----------------------------------------------------------------------------------

    def canary(self, healed, space):
        """Seconds from the heal until a task submitted after it has finished."""
        body = {"id": "canary", "name": "canary", "type": "work", "parameters": {"seconds": 0.01}}
        end = healed + checker.CANARY_SECONDS * 2
        while time.monotonic() < end:
            self.call("POST", load.path_in(space, "tasks"), body)
            _, _, row = self.call("GET", load.path_in(space, "executions/canary"))
            if row and row["status"] == "success":
                return time.monotonic() - healed
            time.sleep(0.1)
        return None

    def settle(self):
        """Ends the load and waits until all that was accepted has ended, or will not."""
        self.client.stop()
        for part in self.parts:
            part.stop()
        for space, task in itertools.product(self.spaces, (TICK, TURNS)):
            path = load.path_in(space, f"tasks/{task}/pause")
            until(lambda to=path: self.call("POST", to)[0] == load.OK, f"{task} is paused")
        end = time.monotonic() + FINISH_SECONDS
        while time.monotonic() < end:
            self.settled_wall = time.time()
            # Also what is about to become due: nothing is to begin while the records are read. What
            # was to be cancelled long before its time, and was not, is cancelled now.
            soon = self.settled_wall + SOON_SECONDS
            rows = [(space, row) for space in self.spaces for row in self.rows(space).values()
                    if row["status"] not in checker.FINAL]
            left = [(space, row) for space, row in rows if not checker.is_open(row, soon)
                    and row["id"].startswith("cancelled-")]
            for space, row in left:
                self.call("POST", load.path_in(space, f"executions/{row['id']}/cancel"))
            if not left and not any(checker.is_open(row, soon) for _, row in rows):
                break
            time.sleep(0.5)
        # Acks follow the commits; the ledger is complete when all ended runs have theirs.
        def acknowledged():
            runs = checker.runs_from(self.ledger_lines())
            running = {one.output.stem for one in self.workers if one.process.poll() is None}
            return all(run.accepted is not None or run.ended is None or run.worker not in running
                       for run in runs)

        try:
            until(acknowledged, "all results are acknowledged", 10)
        except AssertionError as error:
            return [f"ack: {error}"]
        return []

    def rows(self, space):
        rows, cursor = {}, ""
        for _ in range(1000):  # Pages; far more than a run can fill.
            def page():
                path = (load.path_in(space, "executions?details=true&children=true&limit=1000") +
                        (f"&cursor={cursor}" if cursor else ""))
                outcome, _, answer = self.call("GET", path)
                return answer if outcome == load.OK else None

            answer = until(page, "the list of executions", 30)
            rows.update((row["id"], row) for row in answer["items"])
            cursor = answer["next_cursor"]
            if not cursor:
                return rows
        raise AssertionError("the list of executions does not end")

    def elections(self):
        return [checker.Election(line["time"], scheduler.node, line["epoch"], line["namespace"])
                for scheduler in self.schedulers for line in scheduler.lines()
                if line.get("message") == "elected"]

    def history(self, space, healed_wall, canary_seconds):
        # A run is run by nobody; its parts are judged as any execution is.
        runs = {run.id for part in self.parts for run in getattr(part, "runs", [])}
        # What clients cancel and run again has a checker of its own, too.
        rows = {id: row for id, row in self.rows(space).items()
                if id not in runs and not id.startswith(linear_load.PREFIX)}
        lines = [line for line in self.ledger_lines(space)
                 if not line.get("execution", "").startswith(linear_load.PREFIX)]
        elections = [one for one in self.elections() if one.space == space]
        lost_wall, lost_epoch = self.lost_leads.get(space, (0.0, 0))
        welcomes = [checker.Welcome(line["monotonic"], line["worker"], line["node"], line["epoch"])
                    for line in lines if line["what"] == "welcome"]
        return checker.History(
            submitted=[one for one in self.client.submitted if one.space == space],
            runs=checker.runs_from(lines), welcomes=welcomes,
            elections=elections, rows=rows, cron=[TICK, TURNS], sequential=[TURNS],
            lead_lost_wall=lost_wall, lead_lost_epoch=lost_epoch,
            lead_seconds_max=TERM_SECONDS + 1,
            healed_wall=healed_wall, ended_wall=self.settled_wall, forgotten_at=self.forgotten_at,
            canary_seconds=canary_seconds)

    def ended_badly(self):
        """Stops what still runs, in order; what did not run or does not end is told."""
        found = []
        for scheduler in self.schedulers:
            if scheduler.stopped:
                continue
            if not scheduler.alive():
                found.append(f"{scheduler.node} ended by itself with "
                             f"{scheduler.process.process.returncode}")
                continue
            scheduler.process.signal(signal.SIGTERM)
            try:
                code = scheduler.process.wait(20)
            except Exception:  # pylint: disable=broad-except  # subprocess.TimeoutExpired
                found.append(f"{scheduler.node} did not stop within 20 s of SIGTERM")
                continue
            if code != 0:
                found.append(f"{scheduler.node} stopped with {code}")
        return found

    def close(self, keep):
        for one in [self.client, *self.parts]:
            if one:
                one.stopped.set()
        for process in [*self.workers, *[one.process for one in self.schedulers]]:
            process.kill()
        self.store.close()
        self.loop.close()
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)
