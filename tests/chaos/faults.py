"""The faults that an installation has to survive. Each is one scenario.

A fault gets a running cluster under load, does its harm and mends it. When it returns, everything
is as healthy as it will be; nothing is restarted afterwards.
"""
import dataclasses
import signal
import time
import typing

from checker import Rules
# The cluster finds tests/e2e for what follows.
from cluster import LEASE_SECONDS, TERM_SECONDS
from harness import until
from levers import fail_points, faketime, is_stopped
from proxy import Proxy
from stores import EtcdOfThree, Redis, free_port

CLUSTERED = ("redis", "etcd", "mysql")
EVERY = (*CLUSTERED, "embedded")
# The pass of a fail point at which it acts: the load is under way by then.
PASSES = 400


@dataclasses.dataclass
class Fault:
    name: str
    about: str
    harm: typing.Callable  # (cluster) -> None
    stores: tuple = CLUSTERED
    rules: Rules = dataclasses.field(default_factory=Rules)
    store_kind: type | None = None  # Instead of the store's usual set-up.
    begin: typing.Callable = lambda cluster: cluster.start()


FAULTS = []


def fault(name, about, **options):
    def add(harm):
        FAULTS.append(Fault(name, about, harm, **options))
        return harm

    return add


def wait(seconds):
    """How long a fault lasts is its measure: there is nothing to wait for."""
    time.sleep(seconds)


# --- The leader's process -------------------------------------------------------------------------


@fault("none", "nothing goes wrong: nothing may be repeated", stores=EVERY)
def nothing(_cluster):
    wait(5)


@fault("leader_kill", "the leader's machine dies")
def leader_kill(cluster):
    leader = cluster.leader()
    epoch = leader.status()["epoch"]
    cluster.note_failover(epoch)
    leader.kill()


@fault("leader_term", "the leader is shut down in order")
def leader_term(cluster):
    leader = cluster.leader()
    epoch = leader.status()["epoch"]
    leader.stopped = True
    cluster.note_failover(epoch)
    leader.process.signal(signal.SIGTERM)
    code = leader.process.wait()
    if code != 0:
        raise AssertionError(f"{leader.node} stopped with {code}")


def kill_at(point):
    """The first scheduler, which leads, dies at this point while the load is under way."""
    def begin(cluster):
        cluster.start(first={"TAKT_FAILPOINTS": f"{point}:exit:{PASSES}"})

    def harm(cluster):
        leader = cluster.schedulers[0]
        until(lambda: leader.died_at, "the leader has died", 60)
        cluster.note_failover(1, leader.died_at)
        leader.stopped = True

    return {"begin": begin, "harm": harm}


def kill_at_begin(point):
    """The successor dies as soon as it begins; the third was away and comes back then."""
    def begin(cluster):
        cluster.start(later=[{"TAKT_FAILPOINTS": f"{point}:exit:1"}, {}])

    def harm(cluster):
        first, second, third = cluster.schedulers
        third.kill()
        first.kill()
        second.process.wait(60)
        second.stopped = True
        cluster.start_again(third)

    return {"begin": begin, "harm": harm}


@fault("schedulers_replaced", "all schedulers die; others, elsewhere, take their place",
       rules=Rules(losses=True))
def schedulers_replaced(cluster):
    # One worker knows only the old addresses, and is lost. Another knows only the store.
    for scheduler in cluster.schedulers:
        scheduler.kill()
    for _ in range(3):
        cluster.add_scheduler({})


for _point in fail_points():
    _how = kill_at_begin(_point) if _point.endswith(".begin") else kill_at(_point)
    FAULTS.append(Fault(f"kill_at_{_point}", f"the leader dies at {_point}", **_how))


@fault("leader_pause", "the leader is stopped for three terms, then goes on")
def leader_pause(cluster):
    leader = cluster.leader()
    cluster.note_failover(leader.status()["epoch"])
    leader.process.signal(signal.SIGSTOP)
    wait(3 * TERM_SECONDS)
    leader.process.signal(signal.SIGCONT)


def pause_at(point):
    """It stops between its decision and its write, and wakes up when another leads."""
    def begin(cluster):
        cluster.start(first={"TAKT_FAILPOINTS": f"{point}:stop:{PASSES}"})

    def harm(cluster):
        leader = cluster.schedulers[0]
        until(lambda: is_stopped(leader.process), "the leader has stopped itself", 60)
        cluster.note_failover(1)
        wait(3 * TERM_SECONDS)
        leader.process.signal(signal.SIGCONT)

    return {"begin": begin, "harm": harm}


FAULTS.append(Fault("pause_before_commit", "the leader is paused between decision and write",
                    **pause_at("node.commit.before")))
FAULTS.append(Fault("pause_before_release", "the leader is paused between commit and dispatch",
                    **pause_at("node.release.before")))


# --- The leader's way to the store ----------------------------------------------------------------


def network(name, about, harm, terms):
    def apply(cluster):
        leader = cluster.leader()
        for proxy in leader.proxies:
            harm(proxy)
        wait(terms * TERM_SECONDS)
        for proxy in leader.proxies:
            proxy.heal()

    FAULTS.append(Fault(name, about, apply))


network("cut", "the leader's connections to the store are reset", lambda proxy: proxy.cut(), 3)
network("black_hole", "nothing passes between leader and store; late writes arrive at the heal",
        lambda proxy: proxy.freeze(), 3)
network("half_close", "the store's side of the leader's connections is closed",
        lambda proxy: proxy.half_close(), 3)
network("slow", "the way to the store takes half a second longer",
        lambda proxy: proxy.delay(0.25), 4)


@fault("replies_lost", "commits arrive and their replies do not, four times")
def replies_lost(cluster):
    for _ in range(4):
        leader = cluster.leader()
        for proxy in leader.proxies:
            proxy.lose_replies()
        wait(0.5)
        for proxy in leader.proxies:
            proxy.heal()
        wait(1)


# --- Workers --------------------------------------------------------------------------------------


@fault("worker_kill", "two of four workers die with what they run", stores=EVERY,
       rules=Rules(losses=True))
def worker_kill(cluster):
    for number in (0, 2):
        cluster.workers[number].kill()
    wait(LEASE_SECONDS)


@fault("worker_pause", "two workers are stopped beyond their lease and report late", stores=EVERY,
       rules=Rules(losses=True))
def worker_pause(cluster):
    stopped = [cluster.workers[0], cluster.workers[2]]
    for worker in stopped:
        worker.signal(signal.SIGSTOP)
    wait(2 * LEASE_SECONDS)
    for worker in stopped:
        worker.signal(signal.SIGCONT)


# --- The store ------------------------------------------------------------------------------------


@fault("store_kill", "the store is killed, is away for two terms and comes back")
def store_kill(cluster):
    cluster.store.kill()
    wait(2 * TERM_SECONDS)
    for server in cluster.store.servers:
        server.start()


@fault("store_stall", "the store does not answer for ten seconds")
def store_stall(cluster):
    cluster.store.stall()
    wait(10)
    cluster.store.resume()


@fault("scheduler_kill", "the only scheduler dies and is started again by its supervisor",
       stores=("embedded",))
def scheduler_kill(cluster):
    first = cluster.schedulers[0]
    first.kill()
    wait(1)
    cluster.start_again(first)
    until(first.leads, "it leads again", 30)


@fault("etcd_leader", "one of three members of etcd dies, the one that leads etcd",
       stores=("etcd",), store_kind=EtcdOfThree)
def etcd_leader(cluster):
    cluster.store.servers[cluster.store.leader()].kill()


@fault("etcd_quorum", "two of three members of etcd die; after two terms they come back",
       stores=("etcd",), store_kind=EtcdOfThree)
def etcd_quorum(cluster):
    leader = cluster.store.leader()
    dead = [cluster.store.servers[(leader + step) % 3] for step in (0, 1)]
    for server in dead:
        server.kill()
    wait(2 * TERM_SECONDS)
    for server in dead:
        server.start()


class RedisWithReplica(Redis):
    """A primary, and a replica that is reached through a proxy so that it can lag."""

    def __init__(self, folder):
        super().__init__(folder)
        self.replica_port = free_port()
        self.add("replica", self.replica_port)
        self.link = None  # What the replica takes for its primary.


def begin_replica(cluster):
    store = cluster.store
    store.link = Proxy(cluster.loop, store.ports[0])
    cluster.start()
    store.cli(store.replica_port, "REPLICAOF", "127.0.0.1", str(store.link.port))
    until(lambda: "master_link_status:up" in store.cli(store.replica_port, "INFO", "replication"),
          "the replica has caught up", 30)


@fault("redis_promote", "Redis' primary dies and a replica that is two seconds behind takes over",
       stores=("redis",), store_kind=RedisWithReplica, begin=begin_replica,
       rules=Rules(losses=True, lossy=True))
def redis_promote(cluster):
    store = cluster.store
    wait(2)
    store.link.freeze()
    wait(2)
    store.servers[0].kill()
    store.link.cut()
    store.cli(store.replica_port, "REPLICAOF", "NO", "ONE")
    for scheduler in cluster.schedulers:
        for proxy in scheduler.proxies:
            proxy.cut()
    # From here on nothing of the old primary can be acknowledged.
    cluster.forgotten_at = time.monotonic()
    for scheduler in cluster.schedulers:
        for proxy in scheduler.proxies:
            proxy.heal(target=store.replica_port)


@fault("mysql_kill_session", "the session that holds the leader's lock is killed, three times",
       stores=("mysql",))
def mysql_kill_session(cluster):
    lock = "CONCAT('takt:', LEFT(SHA2('takt.takt_', 256), 16), ':', LEFT(SHA2(node, 256), 32))"
    leader = "takt.takt_leases WHERE partition_id = 0 AND nonce <> 0"
    for _ in range(3):
        holder = until(lambda: cluster.store.query(f"SELECT IS_USED_LOCK({lock}) FROM {leader}").strip()
                       .replace("NULL", ""), "somebody holds the lock", 30)
        cluster.store.query(f"KILL {holder}")
        wait(TERM_SECONDS)


# --- Clocks ---------------------------------------------------------------------------------------


def begin_with_clocks(*offsets):
    def begin(cluster):
        cluster.clocks = []
        variables = []
        for number, offset in enumerate(offsets):
            one, file = faketime(cluster.folder, f"node-{number + 1}", offset)
            variables.append(one)
            cluster.clocks.append(file)
        cluster.start(first=variables[0], later=variables[1:])

    return begin


@fault("clocks_apart", "clocks are ten seconds apart, and the leader dies twice",
       begin=begin_with_clocks("+0s", "+10s", "-10s"), rules=Rules(clocks_agree=False))
def clocks_apart(cluster):
    cluster.leader().kill()
    wait(2 * TERM_SECONDS)
    cluster.leader().kill()


@fault("clock_jumps", "the leader's clock jumps an hour ahead, and back", stores=EVERY,
       begin=begin_with_clocks("+0s", "+0s", "+0s"), rules=Rules(clocks_agree=False))
def clock_jumps(cluster):
    file = cluster.clocks[cluster.leader().number - 1]
    file.write_text("+3600s", encoding="utf-8")
    wait(4)
    file.write_text("+0s", encoding="utf-8")
    wait(2)


# --- The slice that is always run -----------------------------------------------------------------


@fault("slice", "in short: the leader dies after a commit, a worker dies, the store restarts",
       begin=kill_at("node.release.before")["begin"], rules=Rules(losses=True), stores=EVERY)
def brief(cluster):
    leader = cluster.schedulers[0]
    until(lambda: leader.died_at, "the leader has died", 60)
    leader.stopped = True
    cluster.workers[0].kill()
    if len(cluster.schedulers) == 1:
        # A supervisor would start it again, and without what made it die.
        leader.variables = {}
        cluster.start_again(leader)
    cluster.leader()
    cluster.store.kill()
    for server in cluster.store.servers:
        server.start()


def named(names):
    known = {one.name: one for one in FAULTS}
    for name in names:
        if name not in known:
            raise SystemExit(f"chaos: there is no fault '{name}'; --list shows all")
    return [known[name] for name in names] if names else FAULTS

