#!/usr/bin/env python3
"""An HTTP executor for Takt in Python, with nothing but the standard library.

    python3 executor.py --scheduler http://localhost:8080 --port 9090

It registers itself with a task, answers POST /execute with 202 at once, does the work on a thread and
reports by callback. docs/executors.md describes what is sent.
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


def daily_report(parameters, metadata):
    return {"rows": 42, "parameters": parameters}


def hourly_sync(parameters, metadata):
    return {"from": parameters.get("source"), "to": parameters.get("target")}


def broken(parameters, metadata):
    raise RuntimeError("this task always fails")


TASKS = {"daily_report": daily_report, "hourly_sync": hourly_sync, "broken": broken}


def call(url, body, headers=None, method="POST"):
    request = urllib.request.Request(url, json.dumps(body).encode(), method=method)
    request.add_header("Content-Type", "application/json")
    if os.environ.get("TAKT_TOKEN"):
        request.add_header("Authorization", "Bearer " + os.environ["TAKT_TOKEN"])
    for name, value in (headers or {}).items():
        request.add_header(name, value)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def persistently(what, url, body, headers=None, attempts=8):
    """A scheduler may be restarting: tried again for about two minutes, then given up."""
    for attempt in range(attempts):
        try:
            return call(url, body, headers)
        except urllib.error.HTTPError as refused:
            if refused.code < 500:
                print(what, "refused:", refused.code, refused.read().decode(), flush=True)
                return None
            problem = refused
        except OSError as error:
            problem = error
        print(what, "failed, once more:", problem, flush=True)
        time.sleep(min(0.5 * 2**attempt, 30))
    return None


class Executor:
    def __init__(self):
        self.pool = ThreadPoolExecutor(max_workers=10)
        self.lock = threading.Lock()
        self.seen = {}

    def take(self, order):
        """False if this attempt was taken before: the scheduler could not know, and sent it again."""
        with self.lock:
            if order["callback_token"] in self.seen:
                return False
            self.seen[order["callback_token"]] = True
            while len(self.seen) > REMEMBERED_MAX:
                del self.seen[next(iter(self.seen))]
        self.pool.submit(self.run, order)
        return True

    def run(self, order):
        try:
            result = TASKS[order["type"]](order["parameters"], order["metadata"])
            report = {"status": "success", "result": result}
        except Exception as error:  # Whatever a task throws is its failure, not ours.
            report = {"status": "failed", "error": str(error)}
        headers = {"X-Takt-Token": order["callback_token"]}
        persistently("callback", order["callback_url"], report, headers)


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
    options.add_argument("--scheduler", default="http://localhost:8080")
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
            ],
        }
        url = given.scheduler + "/api/v1/executors/register"
        # On a thread: the scheduler may look at /health before it answers.
        threading.Thread(target=persistently, args=("registration", url, registration)).start()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
