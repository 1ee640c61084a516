"""Steady load from clients that remember what they were told.

Each submit has an id of the client's own and is repeated with it while its outcome is bad or
unknown, at any of the schedulers, as docs/api.md tells clients to do.
"""
import collections
import dataclasses
import http.client
import itertools
import json
import random
import threading
import time
import urllib.parse

# Long enough for a store that stalls a little; what takes longer has an unknown outcome.
CALL_SECONDS = 4
TRIES = 4
CLIENTS = 6  # Some may hang for CALL_SECONDS while the others go on.

OK, REFUSED, UNKNOWN = "ok", "refused", "unknown"


def call(url, method, path, body=None, seconds=CALL_SECONDS):
    """(outcome, status, answer). Refused is only what certainly was not done."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=seconds)
    try:
        try:
            connection.connect()
        except OSError:
            return REFUSED, 0, None  # Nothing was sent.
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, {"Content-Type": "application/json"})
            response = connection.getresponse()
            raw = response.read()
        except (OSError, http.client.HTTPException):
            return UNKNOWN, 0, None
        try:
            answer = json.loads(raw) if raw else None
        except ValueError:
            return UNKNOWN, response.status, None
        if response.status < 300:
            return OK, response.status, answer
        code = (answer or {}).get("code")
        return (UNKNOWN if code == "unknown" or response.status == 500 else REFUSED,
                response.status, answer)
    finally:
        connection.close()


def path_in(space, path):
    """Where something of a namespace is. Whoever has the default one alone need not name it."""
    return f"/api/v1/{path}" if space == "default" else f"/api/v1/namespaces/{space}/{path}"


@dataclasses.dataclass
class Submitted:
    """One task as its client knows it."""
    id: str
    kind: str  # work, fails_first, delayed, cancelled, shell
    outcome: str = REFUSED  # The best of all tries: ok, else unknown, else refused.
    acknowledged_at: float = 0.0  # Monotonic, of the first ok.
    cancel_acknowledged_at: float = 0.0
    missing_at: str = ""  # Where a read after the acknowledgement did not find it.
    unexpected: str = ""  # An answer that no fault explains.
    space: str = "default"


def shell_command(ledger):
    """A task for takt's own worker that writes the same ledger, without a process per line."""
    note = (f'read up idle < /proc/uptime; '
            f'echo "{{\\"what\\": \\"%s\\", \\"worker\\": \\"shell\\", '
            f'\\"execution\\": \\"$TAKT_EXECUTION_ID\\", \\"attempt\\": $TAKT_ATTEMPT, '
            f'\\"epoch\\": $TAKT_EPOCH, \\"monotonic\\": $up, \\"run\\": \\"shell/$$\\", '
            f'\\"success\\": true}}" >> {ledger}')
    return f"{note % 'start'}; sleep 0.1; {note % 'end'}"


class Load:
    """Clients that submit until they are told to stop."""

    def __init__(self, urls, per_second, ledger, spaces=("default",)):
        self.urls = urls
        self.spaces = spaces
        # Only takt's own workers run commands, and they serve the default namespace.
        self.kinds = {"work": 80, "fails_first": 5, "delayed": 6, "cancelled": 4}
        if len(spaces) == 1:
            self.kinds["shell"] = 5
        self.command = shell_command(ledger)
        self.pause = CLIENTS / per_second
        self.stopped = threading.Event()
        # Counted in each namespace for itself: what has the same id in two is not the same.
        self.numbers = collections.defaultdict(itertools.count)
        self.lock = threading.Lock()
        self.submitted = []
        self.threads = [threading.Thread(target=self.run, args=(n,), daemon=True)
                        for n in range(CLIENTS)]

    def start(self):
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join(CALL_SECONDS * TRIES * 3)

    def acknowledged(self):
        with self.lock:
            return [one for one in self.submitted if one.outcome == OK]

    def run(self, client):
        chance = random.Random(client)
        while not self.stopped.wait(self.pause * chance.uniform(0.5, 1.5)):
            self.submit(chance)

    def submit(self, chance):
        kind = chance.choices(list(self.kinds), list(self.kinds.values()))[0]
        space = chance.choice(self.spaces)
        with self.lock:
            one = Submitted(f"{kind}-{next(self.numbers[space])}", kind, space=space)
            self.submitted.append(one)
        self.repeat(chance, one, "POST", path_in(space, "tasks"), self.body(one, chance))
        if one.outcome != OK:
            return
        if kind == "cancelled":
            self.cancel(chance, one)
        elif chance.random() < 0.5:
            self.read(chance, one)

    def body(self, one, chance):
        body = {"id": one.id, "name": one.kind, "type": "work",
                "parameters": {"seconds": round(chance.uniform(0.01, 0.3), 2)}}
        if one.kind == "fails_first":
            body["parameters"]["fail_first"] = True
        if one.kind in ("delayed", "cancelled"):
            body["delay"] = "2s" if one.kind == "delayed" else "20s"
        if one.kind == "shell":
            body.update(type="shell", parameters={"command": self.command})
        return body

    def repeat(self, chance, one, method, path, body):
        """The same request at any scheduler until it is acknowledged, a few times."""
        for attempt in range(TRIES):
            outcome, status, answer = call(chance.choice(self.urls), method, path, body)
            if outcome == OK:
                with self.lock:
                    one.outcome, one.acknowledged_at = OK, time.monotonic()
                return
            if outcome == UNKNOWN:
                one.outcome = UNKNOWN
            elif status not in (0, 429, 502, 503, 504):
                one.unexpected = f"{method} {path} answered {status}: {answer}"
                return
            if self.stopped.wait(0.2 * 2 ** attempt):
                return

    def cancel(self, chance, one):
        outcome, status, answer = call(chance.choice(self.urls), "POST",
                                       path_in(one.space, f"executions/{one.id}/cancel"))
        if outcome == OK:
            one.cancel_acknowledged_at = time.monotonic()
        elif outcome == REFUSED and status not in (0, 429, 502, 503, 504):
            one.unexpected = f"cancel answered {status}: {answer}"

    def read(self, chance, one):
        """Whoever was told that a task was taken can read it anywhere from then on."""
        url = chance.choice(self.urls)
        _, status, _ = call(url, "GET", path_in(one.space, f"executions/{one.id}"))
        if status == 404:
            one.missing_at = url
