"""takt executor-test: our executors keep all rules, and one that breaks a rule is told which."""
import json
import os
import subprocess
import sys
import unittest

from cluster import SOURCE
from harness import environment

TAKT = os.path.abspath(os.environ.get("TAKT_BINARY", "build/takt"))
EXECUTOR = SOURCE / "examples/executor/executor.py"

# The executor of the examples with one rule taken out: it calls back once, and only where it was told first.
CARELESS = f"""
import sys
sys.path.insert(0, {str(EXECUTOR.parent)!r})
import executor

def once(what, urls, body, headers=None, rounds=8):
    try:
        executor.call(urls()[0], body, headers)
    except OSError:
        pass
    return True

executor.persistently = once
executor.main()
"""

# One that answers with the end of the task at once.
AT_ONCE = """
import http.server, json

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_error(404)

    def do_POST(self):
        order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps({"status": "failed" if order["type"] == "broken" else "success"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"listens on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
"""


def executor_test(*arguments):
    return subprocess.run([TAKT, "executor-test", *arguments], capture_output=True, text=True, check=False,
                          timeout=120, env=environment())


class ExecutorKitTest(unittest.TestCase):
    def verdicts(self, *command):
        process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        port = process.stdout.readline().rsplit(":", 1)[1].strip()
        ended = executor_test(f"http://127.0.0.1:{port}", "--task", "daily_report", "--fail", "broken", "--json")
        rules = json.loads(ended.stdout)["rules"]
        broken = {rule["rule"] for rule in rules if rule["verdict"] == "broken"}
        self.assertEqual(ended.returncode, 1 if broken else 0, ended.stdout)
        return broken, {rule["rule"] for rule in rules if rule["verdict"] == "not_tested"}

    def test_the_executor_of_the_examples_keeps_all_rules(self):
        self.assertEqual(self.verdicts(EXECUTOR, "--port", "0", "--no-register"), (set(), set()))

    def test_one_that_calls_back_once_is_told_so(self):
        broken, _ = self.verdicts("-c", CARELESS, "--port", "0", "--no-register")
        # The newest order is lost on it only if that comes while it tells of the one before.
        self.assertEqual(broken - {"same_order"}, {"callback_again", "callback_urls"})

    def test_one_that_answers_at_once_has_nobody_to_call(self):
        self.assertEqual(self.verdicts("-c", AT_ONCE), (set(), {"callback_again", "callback_urls", "health"}))

    def test_nobody_there_breaks_no_rule(self):
        ended = executor_test("http://127.0.0.1:1", "--task", "x")
        self.assertEqual((ended.returncode, ended.stdout), (5, ""))
        self.assertEqual(executor_test("http://127.0.0.1:1", "--task", "x", "--parameters", "{").returncode, 2)


if __name__ == "__main__":
    unittest.main()
