#!/usr/bin/env python3
"""Does something while it holds a Takt lock, over REST alone.
usage: lock.py http://127.0.0.1:8080 NAME [token]

Importable: `with Lock(url, "ledger", ttl=30, wait=10) as lock: write(lock.token)`. Renews itself; `lock.lost` is an
Event that is set no later than when somebody else may have the lock."""
import json, sys, threading, time, urllib.error, urllib.request, uuid

class Lock:
    last_token = 0  # The highest so far: told with each question, so that later ones are above it whatever a store lost.

    def __init__(self, url, name, ttl=30.0, wait=0.0, permits=1, owner="lock.py", access_token=None):
        self.url, self.name, self.ttl, self.wait = f"{url}/api/v1/locks/{name}/", name, ttl, wait
        self.asked = {"ttl": ttl, "permits": permits, "owner": owner, "request_id": str(uuid.uuid4())}
        self.headers = {"Content-Type": "application/json"}
        if access_token:
            self.headers["Authorization"] = f"Bearer {access_token}"
        self.lost, self.released = threading.Event(), threading.Event()

    def post(self, action, body, timeout):
        request = urllib.request.Request(self.url + action, json.dumps(body).encode(), self.headers)
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.load(answer)

    def __enter__(self):
        end = time.monotonic() + self.wait
        while True:
            sent = time.monotonic()
            left = max(0.0, min(end - sent, 20.0))
            try:
                given = self.post("acquire", {**self.asked, "wait": left, "last_token": Lock.last_token}, left + 10)
                break
            except urllib.error.HTTPError as error:
                # 409: others hold it. 503: ask again, the same request_id finds what it was given.
                if error.code not in (409, 503) or time.monotonic() >= end:
                    raise
                time.sleep(0.2 if error.code == 503 else 0)
            except OSError:
                if time.monotonic() >= end:
                    raise
                time.sleep(0.2)
        self.lock_id, self.token = given["lock_id"], given["token"]
        Lock.last_token = max(Lock.last_token, self.token)
        # The lease may have begun when the question was sent; after a long wait renew it at once.
        self.valid_until = sent + self.ttl
        self.renewer = threading.Thread(target=self.renew, daemon=True)
        self.renewer.start()
        return self

    def renew(self):
        pause = 0.0 if time.monotonic() > self.valid_until - self.ttl * 2 / 3 else self.ttl / 3
        while not self.released.wait(pause):
            sent = time.monotonic()
            try:
                self.post("renew", {"lock_id": self.lock_id}, self.ttl / 3)
                self.valid_until, pause = sent + self.ttl, self.ttl / 3
            except urllib.error.HTTPError as error:
                if error.code == 409:
                    break
                pause = self.ttl / 10
            except OSError:
                pause = self.ttl / 10
            if time.monotonic() + pause >= self.valid_until:
                self.released.wait(max(0.0, self.valid_until - time.monotonic()))
                break
        self.lost.set()

    def __exit__(self, *_):
        self.released.set()
        self.renewer.join()
        try:
            self.post("release", {"lock_id": self.lock_id}, 10)
        except urllib.error.HTTPError as error:
            if error.code != 409:  # 409: it was lost before.
                raise

if __name__ == "__main__":
    with Lock(sys.argv[1], sys.argv[2], wait=10, access_token=(sys.argv[3:] or [None])[0]) as lock:
        print("token", lock.token, flush=True)
