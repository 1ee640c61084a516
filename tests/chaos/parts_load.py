"""Clients that run workflows, and clients that hold locks; both remember what they were told."""
import dataclasses
import itertools
import random
import threading
import time

import load

STEPS, SHARDS = 10, 20
RUN_LOCK, STEP_LOCK = "books", "gpu"  # Held by whole runs; by each execution of one step.
FLOW_CLIENTS = 3

LOCKS = {"ledger": 1, "pool": 3}  # Names and permits.
LOCK_CLIENTS = 10
LEASE_SECONDS = 3
WAIT_SECONDS = 5
# A waiter hears whether it has the lock within its wait, and what an outage and a takeover take.
TOLD_SECONDS = 40


@dataclasses.dataclass
class FlowRun:
    """One run of a workflow as its client knows it."""
    id: str
    locked: bool  # It holds RUN_LOCK.
    outcome: str = load.REFUSED
    cancelled_at: float = 0.0  # Monotonic: when a cancel was acknowledged.
    unexpected: str = ""


def flow_body(one):
    steps = []
    for number in range(STEPS):
        step = {"name": f"s{number}", "type": "work", "shards": SHARDS,
                "payload": {"seconds": 0.01}}
        if number:
            step["after"] = [f"s{number - 1}"]
            step["payload"]["before"] = {"$from": f"s{number - 1}"}
        steps.append(step)
    body = {"id": one.id, "name": "flow", "steps": steps}
    if one.locked:
        body["locks"] = [RUN_LOCK]
    else:
        steps[STEPS // 2]["locks"] = [STEP_LOCK]
    return body


class FlowLoad:
    """Starts runs of workflows, a few at a time, and cancels some of them."""

    def __init__(self, urls):
        self.urls = urls
        self.stopped = threading.Event()
        self.numbers = itertools.count()
        self.runs = []
        self.threads = [threading.Thread(target=self.run, args=(n,), daemon=True)
                        for n in range(FLOW_CLIENTS)]

    def start(self):
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join(load.CALL_SECONDS * load.TRIES * 3)

    def run(self, client):
        chance = random.Random(client)
        while not self.stopped.is_set():
            one = FlowRun(f"flow-{next(self.numbers)}", locked=client == 0)
            self.runs.append(one)
            self.say(chance, one, "/api/v1/tasks", flow_body(one))
            if one.outcome != load.OK:
                continue
            if chance.random() < 0.2:
                self.stopped.wait(chance.uniform(0.2, 1.0))
                self.cancel(chance, one)
            self.await_end(chance, one)

    def say(self, chance, one, path, body):
        """The same request at any scheduler until it is acknowledged."""
        while not self.stopped.is_set():
            outcome, status, answer = load.call(chance.choice(self.urls), "POST", path, body)
            if outcome == load.OK:
                one.outcome = load.OK
                return
            if outcome == load.UNKNOWN:
                one.outcome = load.UNKNOWN
            elif status not in (0, 429, 502, 503, 504):
                one.unexpected = f"{path} answered {status}: {answer}"
                return
            self.stopped.wait(0.2)

    def cancel(self, chance, one):
        outcome, _, answer = load.call(chance.choice(self.urls), "POST",
                                       f"/api/v1/executions/{one.id}/cancel")
        if outcome == load.OK and (answer or {}).get("ending") == "cancelled":
            one.cancelled_at = time.monotonic()

    def await_end(self, chance, one):
        while not self.stopped.wait(0.2):
            _, _, row = load.call(chance.choice(self.urls), "GET", f"/api/v1/executions/{one.id}")
            if row and row["status"] not in ("pending", "running"):
                return


@dataclasses.dataclass
class Hold:
    """One acquire: what its client knows of it. Times are monotonic."""
    lock: str
    client: int
    asked_at: float
    told: str = ""  # held or refused; empty: neither within TOLD_SECONDS.
    took: float = 0.0  # Until it was told.
    token: int = 0
    lock_id: str = ""
    got_at: float = 0.0
    # From when on its client must take it for lost: by its own clock, counted from the moment before
    # the last answer that it got was asked for, or when it began to let it go.
    valid_until: float = 0.0
    unexpected: str = ""


class LockLoad:
    """Acquires, renews, releases; now and then a holder sleeps beyond its lease, as one that is paused."""

    def __init__(self, urls):
        self.urls = urls
        self.stopped = threading.Event()
        self.numbers = itertools.count()
        self.holds = []
        self.threads = [threading.Thread(target=self.run, args=(n,), daemon=True)
                        for n in range(LOCK_CLIENTS)]

    def start(self):
        for name, permits in LOCKS.items():
            while load.call(random.choice(self.urls), "PUT", f"/api/v1/locks/{name}",
                            {"permits": permits})[0] != load.OK:
                time.sleep(0.1)
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join(TOLD_SECONDS + 4 * LEASE_SECONDS)

    def run(self, client):
        chance = random.Random(client)
        while not self.stopped.is_set():
            hold = Hold(chance.choice(list(LOCKS)), client, time.monotonic())
            self.holds.append(hold)
            self.acquire(chance, hold, f"{client}-{next(self.numbers)}")
            if hold.told == "held":
                self.use(chance, hold)
            time.sleep(chance.uniform(0, 0.1))

    def say(self, chance, hold, what, body, seconds=load.CALL_SECONDS):
        return load.call(chance.choice(self.urls), "POST", f"/api/v1/locks/{hold.lock}/{what}",
                         body, seconds)

    def acquire(self, chance, hold, request):
        """The same request until it is answered: who asks again with its id keeps what it got."""
        body = {"ttl": f"{LEASE_SECONDS}s", "wait": f"{WAIT_SECONDS}s", "request_id": request,
                "owner": f"client-{hold.client}"}
        while time.monotonic() < hold.asked_at + TOLD_SECONDS:
            sent = time.monotonic()
            outcome, status, answer = self.say(chance, hold, "acquire", body,
                                               WAIT_SECONDS + load.CALL_SECONDS)
            if outcome == load.OK:
                hold.told, hold.took = "held", time.monotonic() - hold.asked_at
                hold.token, hold.lock_id = answer["token"], answer["lock_id"]
                hold.got_at, hold.valid_until = time.monotonic(), sent + LEASE_SECONDS
                return
            if status == 409:
                hold.told, hold.took = "refused", time.monotonic() - hold.asked_at
                return
            if outcome == load.REFUSED and status not in (0, 429, 502, 503, 504):
                hold.unexpected = f"acquire answered {status}: {answer}"
                return
            time.sleep(0.1)

    def use(self, chance, hold):
        if chance.random() < 0.1:
            time.sleep(LEASE_SECONDS * chance.uniform(1.2, 2))  # Paused: it knows nothing of it.
            self.say(chance, hold, "release", {"lock_id": hold.lock_id})
            return
        for _ in range(chance.randrange(3)):
            time.sleep(chance.uniform(0.05, 0.5))
            sent = time.monotonic()
            if sent >= hold.valid_until:
                break
            outcome, status, answer = self.say(chance, hold, "renew", {"lock_id": hold.lock_id})
            if outcome == load.OK:
                hold.valid_until = sent + LEASE_SECONDS
            elif outcome == load.REFUSED and status not in (0, 409, 429, 502, 503, 504):
                hold.unexpected = f"renew answered {status}: {answer}"
            elif status == 409:
                # Nobody takes a lock away here, so it is lost before its time.
                if time.monotonic() < hold.valid_until:
                    hold.unexpected = f"renew within the lease answered 409: {answer}"
                break
        hold.valid_until = min(hold.valid_until, time.monotonic())
        self.say(chance, hold, "release", {"lock_id": hold.lock_id})
