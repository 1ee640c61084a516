"""HTTP executors and the schedulers that call them, as real processes."""
import http.server
import json
import pathlib
import signal
import sys
import threading
import unittest
import urllib.error
import urllib.request

from harness import QUICK, Process, TaktTest, until

EXECUTOR = pathlib.Path(__file__).parents[2] / "examples" / "executor" / "executor.py"


class ExecutorTest(TaktTest):
    def executor(self):
        """The example in Python, which has registered."""
        process = Process(self.folder, "executor", ["-u", str(EXECUTOR), "--scheduler", self.url,
                                                    "--port", "0"], program=sys.executable)
        self.processes.append(process)
        until(lambda: self.takt_json("executors")["items"], "the executor has registered")
        return process

    def test_a_result_survives_the_leader_that_gave_the_order(self):
        # The scheduler dies while the executor works, and another one comes up elsewhere. The call has
        # long been answered by then: executors.timeout is over.
        quick = ["--set", "executors.timeout=1s", "--set", "scheduler.leader_ttl=2s", "--set",
                 "scheduler.leader_renew_interval=500ms"]
        first = self.serve(*quick)
        executor = self.executor()
        task = self.takt_json("submit", "slow_report", '{"seconds": 4}')["id"]
        until(lambda: "POST /execute" in executor.text(), "the executor has the order")
        first.kill()

        self.serve(*quick)

        until(lambda: self.takt_json("get", task)["status"] == "success", "the result arrives")
        ended = self.takt_json("get", task)
        self.assertEqual(ended["result"], {"rows": 42})
        self.assertEqual(ended["attempt"], 1)

    def test_an_executor_hears_that_an_operator_took_its_lock_away(self):
        self.serve()
        executor = self.executor()
        task = self.takt_json("submit", "slow_report", '{"seconds": 120}', "--lock", "ledger",
                              "--max-retry", "0")["id"]
        until(lambda: "POST /execute" in executor.text(), "the executor has the order")

        self.takt("locks", "release", "ledger")

        until(lambda: self.takt_json("get", task)["status"] == "failed", "the task has stopped")
        self.assertIn("its lock was taken away", self.takt_json("get", task)["error"]["message"])

    # An executor goes by the id and the address of another service's, by mistake or not: what is that one's would
    # be its own from then on.
    def test_a_token_of_another_service_takes_no_executor_from_it(self):
        self.serve()

        def ask(token, path, body=None):
            """The status and the field at fault."""
            request = urllib.request.Request(f"{self.url}/api/v1/{path}", json.dumps(body or {}).encode(),
                                             {"Content-Type": "application/json", "Authorization": f"Bearer {token}"})
            try:
                with urllib.request.urlopen(request, timeout=10) as answer:
                    return answer.status, json.loads(answer.read())
            except urllib.error.HTTPError as refused:
                return refused.code, json.loads(refused.read()).get("field")

        def token_for(service):
            made = ask(admin, "tokens", {"name": service, "role": "executor", "services": [service]})
            return made[1]["token"]

        def enter(service, token):
            return ask(token, "executors/register", {"name": service, "instance_id": "r-1",
                                                     "base_url": "http://127.0.0.1:9"})

        admin = self.post("tokens", {"name": "mine", "role": "admin"})["token"]
        reports, bills = token_for("reports"), token_for("bills")
        self.assertEqual(enter("reports", reports)[0], 200)
        self.assertEqual(enter("bills", bills), (403, "instance_id"))
        self.assertEqual(ask(bills, "executors/r-1/heartbeat")[0], 403)
        self.assertEqual(enter("reports", reports)[1]["name"], "reports")
        # One that was forgotten registers again, if it hears that.
        self.assertEqual(ask(bills, "executors/b-1/heartbeat")[0], 404)

    # Somebody starts a copy of a service with its configuration, elsewhere. It is refused, and what the service does
    # at night it goes on doing at night.
    def test_a_registration_that_is_refused_changes_no_task(self):
        self.serve()

        class Healthy(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_arguments):
                pass

        def service():
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Healthy)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.addCleanup(server.server_close)
            self.addCleanup(server.shutdown)
            return f"http://127.0.0.1:{server.server_port}"

        def enter(url, cron):
            return self.post("executors/register", {"name": "reports", "instance_id": "r-1", "base_url": url,
                                                    "health_check_url": url + "/health",
                                                    "tasks": [{"task_name": "nightly", "cron": cron}]})

        enter(service(), "0 2 * * *")
        with self.assertRaises(urllib.error.HTTPError) as refused:
            enter(service(), "* * * * *")
        self.assertEqual(refused.exception.code, 409)
        with urllib.request.urlopen(f"{self.url}/api/v1/tasks/reports.nightly", timeout=10) as answer:
            self.assertEqual(json.loads(answer.read())["cron_expression"], "0 2 * * *")

    # Anybody who can reach the port may send a callback. The words of the store name its host.
    def test_a_callback_of_a_stranger_is_not_told_where_the_store_is(self):
        self.use_redis()
        self.serve("--set", "scheduler.leader_ttl=4s", "--set", "scheduler.leader_renew_interval=1s")
        self.post("tokens", {"name": "mine", "role": "admin"})
        with self.assertRaises(urllib.error.HTTPError):
            self.post("executions/cancel", {"status": "pending"})  # The token has shut the door.
        codes = set()

        def call_back():
            with self.assertRaises(urllib.error.HTTPError) as refused:
                self.post("executions/x/callback", {"status": "success", "callback_token": "0" * 32})
            answer = json.loads(refused.exception.read())
            codes.add(answer["code"])
            self.assertNotIn("redis", answer["detail"])
            self.assertNotIn("127.0.0.1", answer["detail"])
            return answer["code"] == "no_leader"

        self.processes[0].kill()
        until(call_back, "nobody leads")
        self.assertIn("unavailable", codes, "it could not be looked up")

    # A rolling restart, while a service works for some seconds on an order whose answer is the result.
    def test_a_scheduler_that_is_stopped_passes_on_the_answer_to_an_open_call(self):
        self.use_redis()
        leader = self.serve(*QUICK, "--set", "scheduler.stop_deadline=20s")
        orders = []
        go_on = threading.Event()

        class Slow(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                orders.append(order)
                if order["parameters"] == "slow":
                    go_on.wait(30)
                self.answer({"status": "success", "result": {"rows": 7}})

            def do_GET(self):
                self.answer({})

            def answer(self, body):
                text = json.dumps(body).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_arguments):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.addCleanup(go_on.set)
        self.post("executors/register", {"name": "slow", "instance_id": "i1",
                                         "tasks": [{"task_name": "report"}],
                                         "base_url": f"http://127.0.0.1:{server.server_port}"})
        self.serve(*QUICK)
        # Once it knows of the other one it names both as places to call back.
        until(lambda: self.takt("submit", "report", "--wait") and
              len(orders[-1]["callback_urls"]) == 2, "the leader knows of the other scheduler")
        task = self.takt_json("submit", "report", '"slow"')["id"]
        until(lambda: orders[-1]["execution_id"] == task, "the service has the order")

        leader.signal(signal.SIGTERM)
        until(lambda: self.takt_json("status")["role"] == "leader", "the other one leads")
        self.assertIsNone(leader.process.poll(), "it waits for the answer")
        go_on.set()

        until(lambda: self.takt_json("get", task)["status"] == "success", "the answer is passed on")
        ended = self.takt_json("get", task)
        self.assertEqual((ended["result"], ended["attempt"]), ({"rows": 7}, 1))
        self.assertEqual([order["execution_id"] for order in orders].count(task), 1)
        self.assertEqual(leader.wait(), 0)

    def service(self, types):
        """A service in this process that takes orders and answers none; the orders that it was given."""
        orders = []

        class Service(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if self.path == "/execute":
                    orders.append((json.loads(body), self.headers["X-Takt-Token"]))
                self.answer()

            def do_GET(self):
                self.answer()

            def answer(self):
                self.send_response(202)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_arguments):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.post("executors/register", {
            "name": "svc", "instance_id": "i1",
            "tasks": [{"task_name": name} for name in types],
            "base_url": f"http://127.0.0.1:{server.server_port}"})
        return orders

    def fetch(self, url, token):
        """Status and answer."""
        request = urllib.request.Request(url, headers={"X-Takt-Token": token})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            return refused.code, json.load(refused)

    def test_results_that_are_too_large_for_an_order_are_fetched(self):
        self.serve()
        self.worker("w1", "--demo")
        orders = self.service(["use"])
        large = "x" * 100_000
        flows = []
        for name in ("one", "two"):
            flows.append(self.post("tasks", {"name": name, "id": name, "steps": [
                {"name": "make", "type": "echo", "shards": 4, "payload": large + name},
                {"name": "use", "type": "use", "after": ["make"],
                 "labels": {"takt.link": "push"}, "payload": {"parts": {"$from": "make"}}}]}))
        until(lambda: len(orders) == 2, "both orders have come")
        found = {order["parent_id"]: (order, token) for order, token in orders}
        order, token = found["one"]
        self.assertEqual(order["parameters"]["parts"], {"$results": {"step": "make", "count": 4}})

        parts, first = [], 0
        while first is not None:
            status, page = self.fetch(f"{order['results_url']}?step=make&first={first}", token)
            self.assertEqual(status, 200, page)
            self.assertEqual((page["total"], page["list"]), (4, True))
            parts, first = parts + page["items"], page["next"]
        self.assertEqual(parts, [large + "one"] * 4)

        # Nobody but this attempt, and nothing but a step of its own run that is over.
        self.assertEqual(self.fetch(order["results_url"] + "?step=make", "0" * 32)[0], 401)
        self.assertEqual(self.fetch(order["results_url"] + "?step=make", found["two"][1])[0], 401)
        self.assertEqual(self.fetch(order["results_url"] + "?step=use", token)[0], 404)
        self.assertEqual(self.fetch(order["results_url"] + "?step=none", token)[0], 404)
        self.assertEqual(self.fetch(order["results_url"] + "?step=make&first=9", token)[0], 400)
        ended = urllib.request.Request(order["callback_url"], b'{"status": "success"}',
                                       {"Content-Type": "application/json", "X-Takt-Token": token})
        with urllib.request.urlopen(ended, timeout=10) as answer:
            self.assertEqual(answer.status, 200)
        self.assertIn(self.fetch(order["results_url"] + "?step=make", token)[0], (401, 409))


if __name__ == "__main__":
    unittest.main()
