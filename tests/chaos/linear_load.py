"""Clients that do things to the same few executions and to one lock at once, and record what they are told.

linear.py then looks for an order in which all of that can have happened."""
import dataclasses
import random
import threading
import time

import linear
import load

PREFIX = "linear-"
LOCK_SECONDS = 30.0  # Then it is another lock: an order is looked for in each by itself.
CLIENTS = 3
ROUND_SECONDS = 2.0  # For so long all clients are at the same id.
LEASE_SECONDS = 3
# Nothing was done: the leader is being looked for, or the store is away.
NOT_NOW = (0, 429, 502, 503, 504)


class LinearLoad:
    def __init__(self, urls):
        self.urls = urls
        self.stopped = threading.Event()
        self.began = time.monotonic()
        self.executions, self.locks = [], []  # linear.Operation
        self.unexpected = []
        self.threads = [threading.Thread(target=self.run, args=(n,), daemon=True)
                        for n in range(CLIENTS)]
        self.threads += [threading.Thread(target=self.hold, args=(n,), daemon=True)
                         for n in range(CLIENTS)]

    def start(self):
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join(load.CALL_SECONDS * 3)

    def violations(self):
        return [*linear.check(self.executions, linear.ExecutionModel),
                *linear.check(self.locks, linear.LockModel),
                *(f"linear: {text}" for text in self.unexpected)]

    def call(self, chance, op, method, path, body=None):
        """The operation as it was answered, and the answer; None if it was certainly not done."""
        outcome, status, answer = load.call(chance.choice(self.urls), method, path, body)
        if outcome == load.UNKNOWN:
            return op, None
        if status in NOT_NOW:
            return None, None
        end = time.monotonic()
        if outcome == load.OK:
            return dataclasses.replace(op, end=end, outcome="ok"), answer
        if status in (404, 409):
            told = "absent" if status == 404 else "refused"
            return dataclasses.replace(op, end=end, outcome=told), answer
        self.unexpected.append(f"{op.what} of {op.subject} answered {status}: {answer}")
        return None, None

    # --- Executions -------------------------------------------------------------------------------

    def run(self, client):
        chance = random.Random(client)
        while not self.stopped.wait(chance.uniform(0.05, 0.3)):
            number = int((time.monotonic() - self.began) / ROUND_SECONDS)
            id = f"{PREFIX}{number}"
            what = chance.choices(["submit", "cancel", "retry", "read"], [4, 2, 2, 4])[0]
            op = linear.Operation(id, what, time.monotonic())
            method, path, body = "POST", f"/api/v1/executions/{id}/{what}", None
            if what == "read":
                method, path = "GET", f"/api/v1/executions/{id}"
            if what == "submit":
                path = "/api/v1/tasks"
                # Half of them end while they are being looked at.
                body = {"id": id, "name": "linear", "type": "work", "max_retry": 0,
                        "parameters": {"seconds": 0.2}, "delay": "20s" if number % 2 else "0s"}
            op, answer = self.call(chance, op, method, path, body)
            if op is None:
                continue
            if op.outcome == "ok":
                row = answer.get("execution", answer) if isinstance(answer, dict) else {}
                seen = linear.STATES.get(row.get("status"), "")
                if not seen and what in ("submit", "read"):
                    self.unexpected.append(f"{what} of {id} answered {answer}")
                op = dataclasses.replace(op, seen=seen)
            self.executions.append(op)

    # --- The lock ---------------------------------------------------------------------------------

    def hold(self, client):
        chance = random.Random(1000 + client)
        while not self.stopped.wait(chance.uniform(0.1, 0.5)):
            lock = f"{PREFIX}{int((time.monotonic() - self.began) / LOCK_SECONDS)}"
            op, answer = self.say(chance, lock, "acquire", {"ttl": f"{LEASE_SECONDS}s",
                                                            "owner": f"linear-{client}"})
            if op is None or op.outcome != "ok":
                continue
            token, lock_id = answer["token"], answer["lock_id"]
            for _ in range(chance.randrange(3)):
                time.sleep(chance.uniform(0.05, 0.4))
                self.say(chance, lock, "renew", {"lock_id": lock_id}, token)
            if chance.random() < 0.8:
                self.say(chance, lock, "release", {"lock_id": lock_id}, token)

    def say(self, chance, lock, what, body, token=0):
        op = linear.Operation(lock, what, time.monotonic(), token=token, lease=LEASE_SECONDS)
        op, answer = self.call(chance, op, "POST", f"/api/v1/locks/{lock}/{what}", body)
        if op is None:
            return None, None
        if op.outcome == "absent":
            op = dataclasses.replace(op, outcome="refused")
        if op.outcome == "ok" and what == "acquire":
            op = dataclasses.replace(op, token=answer["token"])
        self.locks.append(op)
        return op, answer
