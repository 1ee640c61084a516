"""What is measured: one class for the peers with a driver in drivers/, one for Takt. Both do the
same work in the same order and give the same numbers."""

import dataclasses
import functools
import json
import pathlib
import queue
import subprocess
import threading

import servers
import toolchains
from processes import Failure, Folder, Meter, Process, describe

HERE = pathlib.Path(__file__).parent
ANSWER_SECONDS = 180  # Of one command; a phase is planned to take 20 s at most.
FIRST_PLAN_TASKS = 2_000


@dataclasses.dataclass
class Plan:
    """How much of each phase."""

    single: int = 500
    bulk: int = FIRST_PLAN_TASKS
    end_to_end: int = FIRST_PLAN_TASKS
    latency_seconds: float = 2
    rate: int = 500
    payload: int = 100


@dataclasses.dataclass
class Setup:
    """Where it runs."""

    takt: str
    server_cpus: set | None = None
    client_cpus: set | None = None
    parent_folder: str | None = None
    redis_fsync: str = "everysec"


class Host:
    """A side of a peer's queue: a host program with one driver, such as node host.mjs."""

    def __init__(self, driver, command, role, settings, folder, cpus):
        self.process = Process(
            f"{driver} ({role})", command, folder.path / f"{role}.log",
            cpus, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=HERE,
        )  # fmt: skip
        self.answers = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()
        self.version = self.call("open", settings={**settings, "role": role})["version"]

    def _listen(self):
        for line in self.process.popen.stdout:
            self.answers.put(json.loads(line))
        self.answers.put({"error": "it ended"})

    def ask(self, command, **arguments):
        self.process.popen.stdin.write(json.dumps({"do": command, **arguments}).encode() + b"\n")
        self.process.popen.stdin.flush()

    def answer(self):
        try:
            answer = self.answers.get(timeout=ANSWER_SECONDS)
        except queue.Empty:
            answer = {"error": f"no answer in {ANSWER_SECONDS} s"}
        if "error" in answer:
            raise Failure(f"{self.process.name}: {answer['error']} {self.process.tail()}")
        return answer

    def call(self, command, **arguments):
        self.ask(command, **arguments)
        return self.answer()


def phase(count, seconds, meter):
    return {"tasks": count, "seconds": seconds, "per_second": count / seconds, **meter.read()}


def run_bench(setup, url, *arguments):
    """takt bench against a scheduler that is there; its report."""
    pinned = []
    if setup.client_cpus:
        pinned = ["taskset", "-c", ",".join(map(str, sorted(setup.client_cpus)))]
    command = [*pinned, setup.takt, "bench", "--server", url, "--json", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1200)
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))}: {done.stderr.strip() or done.stdout.strip()}")
    return json.loads(done.stdout)


NO_TASKS = ["--tasks", 0]
NO_LATENCY = ["--latency-for", "0s"]


def of_takt(phases, report, meter):
    """Adds the phases of a report of takt bench."""
    clients = {"client": sum(process["cpu_seconds"] for process in report["processes"])}
    reading = meter.read(clients)
    for name, found in report["phases"].items():
        phases[name] = {**found, **reading}


def add_clients(clients, report):
    """Sums up the processes of takt bench, which are new ones for each part."""
    for process in report["processes"]:
        empty = {"role": "client", "name": process["name"], "cpu_seconds": 0.0, "pss_bytes": None,
                 "peak_bytes": 0}  # fmt: skip
        known = clients.setdefault(process["name"], empty)
        known["cpu_seconds"] += process["cpu_seconds"]
        known["peak_bytes"] = max(known["peak_bytes"], process["memory_peak_bytes"])


# What one worker may hold at once, as RabbitMQ's prefetch: the best of 500, 1,000 and 2,000.
CAPACITY = 2000


class Takt:
    """Scheduler and store started here, workers and submitters by takt bench. Its workers refuse what
    comes twice or uncalled for."""

    history = "every execution, with indexes by status, task and time"

    def __init__(self, name, start_store):
        self.name = name
        self.start_store = start_store

    def start(self, folder, setup, sets=(), prepare=None):
        store = None
        if self.start_store:
            options = {"fsync": setup.redis_fsync} if self.start_store is servers.start_redis else {}
            store = self.start_store(folder, setup.server_cpus, **options)
        try:
            return servers.start_takt(
                folder, setup.server_cpus, setup.takt, store, sets, prepare
            )
        except BaseException:
            if store:
                store.stop()
            raise

    def run(self, plan, setup):
        folder = Folder(setup.parent_folder)
        server = None
        try:
            server = self.start(folder, setup)
            return self.measure(plan, setup, server)
        finally:
            if server:
                server.stop()
            folder.remove()

    def measure(self, plan, setup, server):
        groups = {"server": server.pids()}
        phases, clients = {}, {}
        for arguments in (
            ["--single", plan.single, *NO_TASKS, *NO_LATENCY],
            ["--drain", plan.bulk, *NO_TASKS, *NO_LATENCY],
            ["--tasks", plan.end_to_end, *NO_LATENCY],
            [*NO_TASKS, "--latency-for", f"{plan.latency_seconds}s", "--rate", plan.rate],
        ):
            meter = Meter(groups)
            report = run_bench(
                setup,
                server.settings["url"],
                *("--workers", 1, "--capacity", CAPACITY, "--payload", plan.payload),
                *arguments,
            )
            of_takt(phases, report, meter)
            add_clients(clients, report)
        return {
            "version": server.version,
            "durability": server.durability,
            "history": self.history,
            "phases": phases,
            "processes": describe(groups) + list(clients.values()),
        }


def check_once(name, report, count):
    wrong = {key: report[key] for key in ("twice", "stray") if report[key]}
    if report["distinct"] != count or wrong:
        raise Failure(f"{name}: of {count} tasks {report['distinct']} came, and {wrong or 'no more'}")


class Peer:
    """A queue whose driver `host` runs: one of toolchains, which gives the command."""

    def __init__(self, name, driver, start, history, redis=False, host=toolchains.node):
        self.name = name
        self.driver = driver
        self.start = start
        self.history = history
        self.redis = redis
        self.host = host

    def run(self, plan, setup):
        command = self.host(self.driver)  # Builds what is not there yet.
        folder = Folder(setup.parent_folder)
        server, hosts = None, []
        try:
            options = {"fsync": setup.redis_fsync} if self.redis else {}
            server = self.start(folder, setup.server_cpus, **options)
            open_host = functools.partial(
                Host, self.driver, command, settings=server.settings, folder=folder,
                cpus=setup.client_cpus,
            )  # fmt: skip
            hosts.append(open_host(role="producer"))
            hosts.append(open_host(role="consumer"))
            return self.measure(plan, server, *hosts)
        finally:
            for host in hosts:
                host.process.stop()
            if server:
                server.stop()
            folder.remove()

    def measure(self, plan, server, producer, consumer):
        groups = {"server": server.pids(), "producer": [producer.process.pid],
                  "consumer": [consumer.process.pid]}  # fmt: skip
        phases = {}
        number = 0

        def timed(command, count, **arguments):
            meter = Meter(groups)
            where = {"from": number, "count": count, "bytes": plan.payload}
            return producer.call(command, **where, **arguments), meter

        answer, meter = timed("single", plan.single)
        phases["single"] = phase(plan.single, answer["at"] - answer["begin"], meter)
        number += plan.single
        answer, meter = timed("bulk", plan.bulk)
        phases["bulk"] = phase(plan.bulk, answer["at"] - answer["begin"], meter)
        number += plan.bulk

        consumer.call("expect", **{"from": 0}, count=number)
        meter = Meter(groups)
        begin = consumer.call("consume")["begin"]
        report = consumer.call("await_all")
        check_once(self.name, report, number)
        phases["drain"] = phase(number, report["at"] - begin, meter)

        consumer.call("expect", **{"from": number}, count=plan.end_to_end)
        consumer.ask("await_all")
        answer, meter = timed("bulk", plan.end_to_end)
        report = consumer.answer()
        check_once(self.name, report, plan.end_to_end)
        phases["end_to_end"] = phase(plan.end_to_end, report["at"] - answer["begin"], meter)
        number += plan.end_to_end

        count = int(plan.latency_seconds * plan.rate)
        consumer.call("expect", **{"from": number}, count=count)
        consumer.ask("await_all")
        answer, meter = timed("evenly", count, rate=plan.rate)
        report = consumer.answer()
        check_once(self.name, report, count)
        phases["latency"] = phase(count, answer["at"] - answer["begin"], meter)
        phases["latency"] |= {"ms": report["latency_ms"]}
        return {
            "version": f"{server.version}, {producer.version}",
            "durability": server.durability,
            "history": self.history,
            "phases": phases,
            "processes": describe(groups),
        }


REMOVED = "nothing: finished jobs are removed"
KEPT = "finished jobs, in the same table"
LOGGED = "every message, in the order of the stream"
ALL = [
    Takt("takt-embedded", None),
    Takt("takt-redis", servers.start_redis),
    Takt("takt-etcd", servers.start_etcd),
    Takt("takt-mysql", servers.start_mariadb),
    Peer("bullmq", "bullmq", servers.start_redis, REMOVED, redis=True),
    Peer("bee-queue", "bee_queue", servers.start_redis, REMOVED, redis=True),
    Peer("beanstalkd", "beanstalkd", servers.start_beanstalkd, REMOVED),
    Peer("beanstalkd-f0", "beanstalkd", servers.start_beanstalkd_synced, REMOVED),
    Peer("gearmand", "gearmand", servers.start_gearmand, REMOVED),
    Peer("graphile-worker", "graphile_worker", servers.start_postgres, REMOVED),
    Peer("pg-boss", "pg_boss", servers.start_postgres, KEPT),
    Peer("rabbitmq-quorum", "rabbitmq", servers.start_rabbitmq, REMOVED),
    Peer("asynq", "asynq", servers.start_redis, REMOVED, redis=True, host=toolchains.go),
    Peer("river", "river", servers.start_postgres, KEPT, host=toolchains.go),
    Peer("nats", "nats", servers.start_nats, LOGGED, host=toolchains.go),
    Peer("nats-synced", "nats", servers.start_nats_synced, LOGGED, host=toolchains.go),
    Peer("db-scheduler", "db_scheduler", servers.start_postgres, REMOVED, host=toolchains.java),
    Peer("quartz", "quartz", servers.start_postgres, REMOVED, host=toolchains.java),
]
