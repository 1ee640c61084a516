#!/usr/bin/env python3
"""An HTTP executor for Takt in Python, with nothing but the standard library.

    python3 executor.py --scheduler http://localhost:8080 --port 9090

It registers itself with a task, answers POST /execute with 202 at once, does the work on a thread and
reports by callback. A task is told when a lock that its execution has is taken away. docs/executors.md
describes what is sent.
"""

import argparse
import json
import os
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BODY_BYTES_MAX = 4 << 20
REMEMBERED_MAX = 10_000  # Tokens of attempts, so that one that is sent twice runs once.


# Each is given its parameters, its metadata, and an event that is set when a lock is lost.
def daily_report(parameters, metadata, lost):
    return {"rows": 42, "parameters": parameters}


def slow_report(parameters, metadata, lost):
    if lost.wait(parameters.get("seconds", 5)):
        raise RuntimeError("stopped: its lock was taken away")
    return {"rows": 42}


def hourly_sync(parameters, metadata, lost):
    return {"from": parameters.get("source"), "to": parameters.get("target")}


def broken(parameters, metadata, lost):
    raise RuntimeError("this task always fails")


TASKS = {
    "daily_report": daily_report,
    "slow_report": slow_report,
    "hourly_sync": hourly_sync,
    "broken": broken,
}


def call(url, body, headers=None, method="POST"):
    request = urllib.request.Request(url, json.dumps(body).encode(), method=method)
    request.add_header("Content-Type", "application/json")
    if os.environ.get("TAKT_TOKEN"):
        request.add_header("Authorization", "Bearer " + os.environ["TAKT_TOKEN"])
    for name, value in (headers or {}).items():
        request.add_header(name, value)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def persistently(what, urls, body, headers=None, rounds=8):
    """Tells any of the schedulers that `urls()` names, true once one has taken it or refused it for
    good. A scheduler may be restarting, or gone: all are tried, again and again for two minutes."""
    for number in range(rounds):
        for url in urls():
            try:
                call(url, body, headers)
                return True
            except urllib.error.HTTPError as refused:
                if refused.code < 500:
                    print(what, "refused:", refused.code, refused.read().decode(), flush=True)
                    return True
                problem = refused
            except OSError as error:
                problem = error
            print(what, "failed at", url, problem, flush=True)
        time.sleep(min(0.5 * 2**number, 30))
    return False


class Attempt:
    def __init__(self, order):
        self.order = order  # The newest: after a change of leaders it comes again, with new addresses.
        self.report = None  # How it ended, once it has.
        self.telling = False
        self.lost = threading.Event()

    def urls(self):
        return self.order.get("callback_urls") or [self.order["callback_url"]]


class Executor:
    def __init__(self):
        self.pool = ThreadPoolExecutor(max_workers=10)
        self.lock = threading.Lock()
        self.attempts = {}  # By token.

    def take(self, order):
        """Runs each attempt once. One that comes again is a new leader's, which cannot know that it was
        taken: the work goes on, and what it says goes to the newest addresses."""
        with self.lock:
            attempt = self.attempts.get(order["callback_token"])
            if attempt:
                # One that has fewer locks was sent by a leader that knows they were taken away.
                if len(order.get("locks", [])) < len(attempt.order.get("locks", [])):
                    attempt.lost.set()
                attempt.order = order
                if attempt.report is None or attempt.telling:
                    return
                attempt.telling = True
                self.pool.submit(self.tell, attempt)
                return
            attempt = self.attempts[order["callback_token"]] = Attempt(order)
            while len(self.attempts) > REMEMBERED_MAX:
                del self.attempts[next(iter(self.attempts))]
        self.pool.submit(self.run, attempt)

    def lose(self, token):
        """A lock of the attempt is another's by now. False if there is no such attempt."""
        with self.lock:
            attempt = self.attempts.get(token)
        if attempt:
            attempt.lost.set()
        return attempt is not None

    def run(self, attempt):
        order = attempt.order
        try:
            result = TASKS[order["type"]](order["parameters"], order["metadata"], attempt.lost)
            report = {"status": "success", "result": result}
        except Exception as error:  # Whatever a task throws is its failure, not ours.
            report = {"status": "failed", "error": str(error)}
        with self.lock:
            attempt.report = report
            attempt.telling = True
        self.tell(attempt)

    def tell(self, attempt):
        headers = {"X-Takt-Token": attempt.order["callback_token"]}
        persistently("callback", attempt.urls, attempt.report, headers)
        with self.lock:
            attempt.telling = False


def handler_for(executor):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self, status, body):
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self):
            if self.path == "/health":
                return self.answer(200, {"status": "ok"})
            self.answer(404, {"error": "no such page"})

        def do_POST(self):
            length = int(self.headers.get("Content-Length", 0))
            if length > BODY_BYTES_MAX:
                self.close_connection = True
                return self.answer(413, {"error": "too large"})
            body = self.rfile.read(length)
            if self.path == "/lock_lost":
                known = executor.lose(self.headers.get("X-Takt-Token"))
                return self.answer(200 if known else 404, {})
            if self.path != "/execute":
                return self.answer(404, {"error": "no such page"})
            order = json.loads(body)
            if order["type"] not in TASKS:
                return self.answer(404, {"error": "unknown type " + order["type"]})
            executor.take(order)
            self.answer(202, {"status": "accepted"})

        def log_message(self, *args):
            print(self.command, self.path, *args[1:], flush=True)

    return Handler


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument(
        "--scheduler", default="http://localhost:8080", help="URL; several parted by commas"
    )
    options.add_argument("--host", default="localhost", help="where the scheduler reaches this")
    options.add_argument("--port", type=int, default=9090)
    options.add_argument("--name", default="data-processor")
    options.add_argument("--instance-id", default="executor-001")
    options.add_argument("--no-register", action="store_true", help="somebody else does it")
    given = options.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", given.port), handler_for(Executor()))
    base_url = f"http://{given.host}:{server.server_port}"
    print("listening on", base_url, flush=True)
    if not given.no_register:
        registration = {
            "name": given.name,
            "instance_id": given.instance_id,
            "process_id": f"{os.getpid()}-{time.time_ns()}",
            "base_url": base_url,
            "health_check_url": base_url + "/health",
            "tasks": [
                {"task_name": "daily_report", "cron": "0 0 2 * * *", "timeout": 300},
                {"task_name": "hourly_sync"},
                {"task_name": "slow_report"},
            ],
        }
        urls = [url + "/api/v1/executors/register" for url in given.scheduler.split(",")]
        # On a thread: the scheduler may look at /health before it answers.
        threading.Thread(
            target=persistently, args=("registration", lambda: urls, registration)
        ).start()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
