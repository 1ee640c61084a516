#!/usr/bin/env python3
"""A worker that keeps an independent ledger of what it was given, ran and was answered.

It follows docs/worker_protocol.md and nothing else. Every line of the ledger is one write to a file
opened for appending, so it survives a kill of this process. Times are of the monotonic clock, which
all processes of a machine share, and of the wall clock.

A task of type `work` says in its payload what to do: {"seconds": 0.1, "fail_first": true}.
usage: worker.py LEDGER ID FILE [NAMESPACE]…, a file with the URLs of schedulers, looked into before each
try; several namespaces have a worker each, under the same id
"""
import heapq
import itertools
import json
import os
import random
import sys
import threading
import time
import uuid

import websocket

CAPACITY = 16
# Waits between tries double up to the last; docs/worker_protocol.md, Reconnecting.
BACKOFF_SECONDS, BACKOFF_MAX_SECONDS = 0.1, 1.0


class Ledger:
    def __init__(self, path, worker, space):
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.worker, self.space = worker, space

    def write(self, what, **fields):
        line = {"what": what, "worker": self.worker, "space": self.space, "monotonic": time.monotonic(),
                "wall": time.time(), **fields}
        os.write(self.file, (json.dumps(line) + "\n").encode())


class Worker:
    def __init__(self, ledger, worker_id, servers):
        self.ledger = ledger
        space = "" if ledger.space == "default" else f"namespaces/{ledger.space}/"
        self.path = f"/api/v1/{space}workers/attach"
        self.worker_id = worker_id
        self.servers = servers
        self.instance = str(uuid.uuid4())
        self.epoch = 0
        self.held = {}  # (execution, attempt) -> {"attempt", "run", "result" once it ended}
        self.runs = itertools.count(1)
        self.due = []  # heap of (when it ends, order, assign, run)
        self.outbox = []
        self.changed = threading.Condition()
        self.socket = None
        self.heartbeat_seconds = 1.0
        self.silence_seconds = 5.0  # Until a welcome says how long the lease is.

    def act(self):
        """Ends runs when they are due, and sends what there is to send. The only sender."""
        beat = 0.0
        while True:
            with self.changed:
                now = time.monotonic()
                while self.due and self.due[0][0] <= now:
                    _, _, assign, run = heapq.heappop(self.due)
                    self.finish(assign, run)
                frames, self.outbox = self.outbox, []
                socket = self.socket
                if socket and not frames and now >= beat:
                    frames = [{"heartbeat": {}}]
                if not frames or not socket:
                    next_due = self.due[0][0] if self.due else now + 60
                    self.changed.wait(max(0.0, min(next_due, beat if socket else next_due) - now))
                    continue
                beat = now + self.heartbeat_seconds
            try:
                for frame in frames:
                    socket.send(json.dumps(frame))
            except (OSError, websocket.WebSocketException):
                # The reader notices too, and what has no ack is sent again.
                with self.changed:
                    if self.socket is socket:
                        self.socket = None

    def finish(self, assign, run, reason=None):
        name = assign["attempt"]
        entry = self.held.get((name["execution_id"], name["attempt"]))
        if entry is None or "result" in entry or entry["run"] != run:
            return
        payload = json.loads(assign["payload"] or "null") or {}
        success = reason is None and not (payload.get("fail_first") and assign["failures"] == 0)
        result = {"attempt": name, "success": success}
        if success:
            result["data"] = json.dumps({"run": run})
        else:
            result.update(code=1, message="as it was told",
                          reason="cancelled" if reason else "handler_failed")
        self.ledger.write("end", execution=name["execution_id"], attempt=name["attempt"], run=run,
                          success=success, reason=reason)
        entry["result"] = result
        self.outbox.append({"results": [result]})

    def begin(self, assign):
        name = assign["attempt"]
        key = name["execution_id"], name["attempt"]
        if int(assign["epoch"]) < self.epoch or key in self.held:
            self.ledger.write("ignored", execution=key[0], attempt=key[1], epoch=assign["epoch"])
            return
        self.epoch = int(assign["epoch"])
        order = next(self.runs)
        run = f"{self.worker_id}/{self.instance[:8]}/{order}"
        self.held[key] = {"attempt": name, "assign": assign, "run": run}
        self.ledger.write("start", execution=key[0], attempt=key[1], epoch=self.epoch, run=run,
                          task=assign["task_id"],
                          locks={one["name"]: int(one["token"]) for one in assign.get("locks", [])})
        self.outbox.append({"started": [{"attempt": name}]})
        seconds = (json.loads(assign["payload"] or "null") or {}).get("seconds", 0)
        heapq.heappush(self.due, (time.monotonic() + seconds, order, assign, run))

    def take(self, frame, socket):
        if "welcome" in frame:
            welcome = frame["welcome"]
            epoch = int(welcome["epoch"])
            if epoch < self.epoch:
                self.ledger.write("stale_welcome", epoch=epoch, node=welcome["node_id"])
                raise ConnectionError("a leader of the past")
            self.ledger.write("welcome", epoch=epoch, node=welcome["node_id"])
            self.epoch = epoch
            self.heartbeat_seconds = int(welcome["heartbeat_ms"]) / 1000
            self.silence_seconds = int(welcome["lease_ms"]) / 1000
            socket.settimeout(self.silence_seconds)
            self.outbox = [{"results": [e["result"]]} for e in self.held.values() if "result" in e]
            self.outbox += [{"started": [{"attempt": e["attempt"]}]}
                            for e in self.held.values() if "result" not in e]
            self.socket = socket
        for assign in frame.get("assigns", []):
            self.begin(assign)
        for cancel in frame.get("cancels", []):
            name = cancel["attempt"]
            entry = self.held.get((name["execution_id"], name["attempt"]))
            if entry:
                self.finish(entry["assign"], entry["run"], cancel["reason"])
        for ack in frame.get("acks", []):
            name = ack["attempt"]
            entry = self.held.pop((name["execution_id"], name["attempt"]), None)
            if entry:
                self.ledger.write("ack", execution=name["execution_id"], attempt=name["attempt"],
                                  run=entry["run"], accepted=ack["accepted"])

    def serve(self, url):
        """One session. Returns where to go next, if it was told."""
        socket = websocket.create_connection(
            url.replace("http", "ws", 1) + self.path, timeout=self.silence_seconds)
        try:
            with self.changed:
                holding = [entry["attempt"] for entry in self.held.values()]
            socket.send(json.dumps({"hello": {
                "protocol": 1, "worker_id": self.worker_id, "instance": self.instance,
                "capacity": CAPACITY, "types": ["work"], "epoch_seen": str(self.epoch),
                "holding": holding}}))
            while True:
                text = socket.recv()
                if not text:
                    return None
                frame = json.loads(text)
                if "moved" in frame:
                    return frame["moved"]["address"] or None
                if "refused" in frame:
                    self.ledger.write("refused", **frame["refused"])
                    return None
                with self.changed:
                    self.take(frame, socket)
                    self.changed.notify()
        finally:
            with self.changed:
                self.socket = None
            socket.shutdown()  # close() would wait for an answer, from whoever was lost.

    def server(self, turn):
        with open(self.servers, encoding="utf-8") as file:
            urls = file.read().split()
        return urls[turn % len(urls)]

    def run(self):
        threading.Thread(target=self.act, daemon=True).start()
        tries, moves, turn = 0, 0, random.randrange(100)
        url = self.server(turn)
        while True:
            began, moved = time.monotonic(), None
            try:
                moved = self.serve(url)
            except (OSError, ValueError, websocket.WebSocketException) as error:
                print(f"{time.time():.3f} {url}: {error}", file=sys.stderr, flush=True)
            tries = 0 if time.monotonic() - began > 5 else tries + 1
            moves = moves + 1 if moved else 0
            if moved and moves <= 3:
                url = moved
                continue
            turn += 1
            if self.server(turn) == url:
                turn += 1  # Not who was lost: a machine without power does not even refuse.
            url = self.server(turn)
            time.sleep(random.uniform(0, min(BACKOFF_SECONDS * 2 ** tries, BACKOFF_MAX_SECONDS)))


if __name__ == "__main__":
    WORKERS = [threading.Thread(target=Worker(Ledger(sys.argv[1], sys.argv[2], space), sys.argv[2],
                                              sys.argv[3]).run)
               for space in sys.argv[4:] or ["default"]]
    for thread in WORKERS:
        thread.start()
    for thread in WORKERS:
        thread.join()
