"""takt worker as a supervisor sees it: refused when it cannot work, and in order when it is stopped."""
import http.server
import json
import signal
import threading
import time
import unittest

from harness import DEADLINE, TaktTest, environment, until

USAGE = 2


class WorkerTest(TaktTest):
    def test_a_stop_in_order_ends_in_order_however_often_it_is_asked_for(self):
        # An impatient supervisor: signals come while the process is about to end, too.
        for _ in range(20):
            worker = self.start("worker", "worker", "--demo", "--server", "http://127.0.0.1:1")
            until(lambda: "looks for a scheduler" in worker.text(), "the worker has started")
            end = time.monotonic() + DEADLINE
            while worker.process.poll() is None and time.monotonic() < end:
                worker.signal(signal.SIGTERM)
            self.assertEqual(worker.process.poll(), 0, worker.text())

    def test_its_token_may_stand_in_the_environment_as_for_every_command(self):
        self.serve()
        admin = self.takt_json("token", "create", "--role", "admin", "--name", "root")["token"]
        allowed = {"TAKT_TOKEN": admin}
        token = self.takt_json("token", "create", "--role", "worker", "--name", "w", env=allowed)["token"]
        self.start("w1", "worker", "--demo", "--server", self.url, "--id", "w1",
                   env=environment() | {"TAKT_TOKEN": token})
        until(lambda: any(row["id"] == "w1" for row in self.takt_json("workers", env=allowed)["items"]),
              "the worker is taken in")

    def test_a_worker_of_which_nobody_said_what_it_is_to_run_runs_what_its_token_is_for(self):
        self.serve()
        admin = self.takt_json("token", "create", "--role", "admin", "--name", "root")["token"]
        allowed = {"TAKT_TOKEN": admin}
        token = self.takt_json("token", "create", "--role", "worker", "--name", "w", "--types", "echo,resize",
                               env=allowed)["token"]
        started = ("worker", "--demo", "--server", self.url, "--token", token)
        self.start("w1", *started, "--id", "w1")
        until(lambda: [row["types"] for row in self.takt_json("workers", env=allowed)["items"]] == [["echo"]],
              "it has the one of its types that the token is for")
        chosen = self.start("w2", *started, "--id", "w2", "--types", "sleep")
        until(lambda: "the token is not for the type sleep" in chosen.text(), "a choice is not set aside")

    def test_its_server_may_stand_in_the_environment_as_for_every_command(self):
        self.serve()
        self.start("w1", "worker", "--demo", "--id", "w1",
                   env=environment() | {"TAKT_SERVER": f"http://127.0.0.1:1,{self.url}"})
        until(lambda: self.worker_row("w1").get("connected"), "the worker is attached")

    def test_what_a_service_answers_is_shown_as_deep_as_it_is_kept(self):
        class Mirror(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                text = order["payload"].encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        service = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Mirror)
        threading.Thread(target=service.serve_forever, daemon=True).start()
        self.addCleanup(service.server_close)
        self.addCleanup(service.shutdown)
        self.serve()
        self.worker("w1", "--http", f"mirror=http://127.0.0.1:{service.server_port}/")

        def ended_of(text):
            order = self.takt_json("submit", "mirror", text, "--text", "--retries", "3")
            return self.until_status(order["id"], "success", "failed")

        deep = "[" * 64 + "]" * 64
        self.assertEqual(ended_of(deep)["result"], json.loads(deep))
        refused = ended_of(f"[{deep}]")
        self.assertEqual((refused["status"], refused["attempt"]), ("failed", 1))
        self.assertIn("nested deeper than 64", refused["error"]["message"])
        self.assertEqual(ended_of(f"[{deep}")["result"], f"[{deep}", "no JSON: a text")

    def test_types_that_it_has_no_handler_for_are_refused(self):
        ended = self.run_takt("worker", "--demo", "--types", "nope,noop")
        self.assertEqual(ended.returncode, USAGE, ended.stderr)
        self.assertIn("types names 'nope', for which this worker has no handler", ended.stderr)
        self.assertIn("noop", ended.stderr)


if __name__ == "__main__":
    unittest.main()
