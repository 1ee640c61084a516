"""Several namespaces in real processes: schedulers, workers, the command line."""
import http.server
import json
import signal
import subprocess
import threading
import time
import unittest
import urllib.error
import urllib.request

from harness import QUICK, TaktTest, environment, until

SPACES = ["billing", "images", "mail"]
REST_SECONDS = 4


class SlowExecutor:
    """Answers each call when it is told to, with a result of its own."""

    def __init__(self):
        self.runs = []  # Of which namespace each was.
        self.finish = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # pylint: disable=invalid-name
                order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.runs.append(order["parameters"]["of"])
                outer.finish.wait(60)
                body = json.dumps({"status": "success", "result": order["parameters"]}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments):  # pylint: disable=arguments-differ
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.finish.set()
        self.server.shutdown()
        self.server.server_close()


class NamespacesTest(TaktTest):
    def setUp(self):
        super().setUp()
        self.use_redis()

    def serve_as(self, name):
        process = self.serve(*QUICK, "--set", f"server.node_id={name}")
        return process, self.url

    def spaces(self):
        return {row["name"]: row for row in self.takt_json("namespaces")["items"]}

    def led(self):
        rows = self.spaces()
        return rows if all(row["leader"] for row in rows.values()) else None

    def work(self, space):
        name = f"w-{space}"
        return self.start(name, "worker", "-n", space, "--server", self.url, "--id", name, "--demo")

    def submit(self, space, name, *more):
        return self.takt("-n", space, "submit", "echo", json.dumps({"of": space}), "--id", name,
                         *more)

    def status(self, space, name):
        ended = self.run_takt("-n", space, "get", name, "--json")
        return json.loads(ended.stdout) if ended.returncode == 0 else {}

    def until_done(self, space, name):
        return until(lambda: (row := self.status(space, name)).get("status") == "success" and row,
                     f"{name} of {space} succeeds")

    # Two teams use the same id. Neither sees the other's, whatever it asks for.
    def test_one_sees_nothing_of_another(self):
        self.serve_as("a")
        self.takt("namespaces", "create", "billing")
        self.takt("namespaces", "create", "images", "--quota", "executions_waiting=1")
        self.submit("billing", "report")
        self.assertEqual(self.run_takt("get", "report").returncode, 3)
        self.assertEqual(self.run_takt("-n", "images", "get", "report").returncode, 3)
        self.submit("images", "report")
        self.assertIn("executions_waiting", self.refused(5, "-n", "images", "submit", "x"))
        self.submit("default", "report")
        for space in ["billing", "images", "default"]:
            row = self.status(space, "report")
            self.assertEqual(row["parameters"], {"of": space})
        self.work("billing")
        self.until_done("billing", "report")
        self.assertEqual(self.status("default", "report")["status"], "pending")
        self.assertEqual(self.status("images", "report")["status"], "pending")
        self.assertIn("no namespace", self.refused(3, "-n", "nobody", "list"))

    # Every scheduler has its share; one dies, and its share goes on elsewhere.
    def test_a_scheduler_dies_and_its_namespaces_go_on(self):
        nodes = {}
        for name in ["a", "b", "c"]:
            nodes[name] = self.serve_as(name)
        for space in SPACES:
            self.takt("namespaces", "create", space)
        until(self.led, "all namespaces have a leader")
        for space in SPACES:
            self.work(space)
            self.submit(space, "before")
        for space in SPACES:
            self.until_done(space, "before")
        victim = self.spaces()["billing"]["leader"]["node_id"]
        nodes[victim][0].kill()
        self.url = next(url for name, (_, url) in nodes.items() if name != victim)

        def moved():
            rows = self.led()
            return rows and all(row["leader"]["node_id"] != victim for row in rows.values())

        until(moved, "others lead what it led")
        for space in SPACES:
            self.submit(space, "after")
        for space in SPACES:
            self.until_done(space, "after")
            listed = self.takt_json("-n", space, "list")["items"]
            self.assertEqual(sorted(row["id"] for row in listed), ["after", "before"])

    # A second scheduler comes, and is handed its share while executors work on calls of the first.
    def test_a_hand_over_disturbs_no_executor(self):
        executor = SlowExecutor()
        self.addCleanup(executor.close)
        quick = environment() | {"TAKT_FAILPOINTS": "server.shares.quick:error"}
        self.serve(*QUICK, "--set", "server.node_id=a", env=quick)
        for space in SPACES:
            self.takt("namespaces", "create", space)
        until(self.led, "all namespaces have a leader")
        for space in SPACES:
            self.post(f"namespaces/{space}/executors/register",
                      {"instance_id": "reports-1", "name": "reports", "base_url": executor.url})
        for space in SPACES:
            self.submit(space, "report")
        until(lambda: len(executor.runs) == len(SPACES), "all of them run")
        self.serve(*QUICK, "--set", "server.node_id=b", env=quick)

        def moved():
            leaders = [row["leader"]["node_id"] for row in self.spaces().values() if row["leader"]]
            return len(leaders) == len(SPACES) + 1 and leaders.count("b") == 2

        until(moved, "the second scheduler leads its share")
        self.assertIn("LEADS", self.takt("status"))
        executor.finish.set()
        for space in SPACES:
            row = self.until_done(space, "report")
            self.assertEqual(row["result"], {"of": space})
        self.assertEqual(sorted(executor.runs), sorted(SPACES), "each ran once")

    # Many namespaces in which nothing happens cost the store as much as none.
    def test_namespaces_at_rest_cost_the_store_nothing(self):
        def asked():
            port = self.store_url.rsplit(":", 1)[1]
            told = subprocess.run(["redis-cli", "-p", port, "INFO", "commandstats"], capture_output=True, text=True,
                                  timeout=10, check=True).stdout
            return int(told.split("cmdstat_evalsha:calls=")[1].split(",")[0])

        def rate():
            # Several of every interval in which a leader looks at something, by the settings of these tests.
            before = asked()
            time.sleep(REST_SECONDS)
            return (asked() - before) / REST_SECONDS

        self.serve_as("a")
        alone = rate()
        for number in range(40):
            self.takt("namespaces", "create", f"team-{number}")
        until(self.led, "all namespaces have a leader")
        until(lambda: rate() < alone + 3, f"they rest, at {alone:.1f} requests a second without them", 40)

    # A namespace goes with everything in it, and its name can be used again.
    def test_deleting_ends_what_runs_and_forgets_everything(self):
        self.serve_as("a")
        self.takt("namespaces", "create", "billing")
        self.submit("billing", "waits", "--delay", "1h")
        self.assertIn("--yes", self.refused(2, "namespaces", "delete", "billing"))
        self.takt("namespaces", "delete", "billing", "--yes")
        until(lambda: "billing" not in self.spaces(), "the namespace is gone")
        self.takt("namespaces", "create", "billing")
        self.assertEqual(self.run_takt("-n", "billing", "get", "waits").returncode, 3)
        self.submit("billing", "waits")
        self.assertEqual(self.status("billing", "waits")["status"], "pending")

    # Whoever guards a resource keeps the highest token of a lock, and knows nothing of deletions.
    def test_tokens_of_a_namespace_that_is_made_again_rise(self):
        def token():
            return int(self.takt("-n", "billing", "lock", "ledger", "--", "sh", "-c", "echo $TAKT_LOCK_TOKEN"))

        scheduler, _ = self.serve_as("a")
        self.takt("namespaces", "create", "billing")
        until(self.led, "it has a leader")
        for _ in range(2):
            scheduler.signal(signal.SIGTERM)
            scheduler.wait()
            scheduler, _ = self.serve_as("a")
            until(self.led, "it has a leader again")
        before = token()
        self.takt("namespaces", "delete", "billing", "--yes")
        until(lambda: "billing" not in self.spaces(), "the namespace is gone")
        self.takt("namespaces", "create", "another")  # It gets the number that is free.
        self.takt("namespaces", "create", "billing")
        until(self.led, "both have a leader")
        self.assertGreater(token(), before)


class LeftOut(TaktTest):
    def test_a_scheduler_alone_that_may_not_lead_default_says_why_nobody_does(self):
        alone = self.start("serve", "serve", "--store", self.store_url, "--listen", "127.0.0.1:0",
                           "--set", "scheduler.namespaces=billing")
        self.url = self.address_of(alone)
        until(lambda: "scheduler.namespaces leaves out 'default'" in alone.text(), "its log says it")
        until(lambda: "scheduler.namespaces has names of which there is no namespace" in alone.text(),
              "its log asks whether they are misspelled")
        why = ("no scheduler that is there may lead 'default' (scheduler.namespaces; no namespace is known "
               "here as 'billing')")
        until(lambda: why in self.run_takt("status").stdout, "its status says it")
        with self.assertRaises(urllib.error.HTTPError) as ready:
            urllib.request.urlopen(self.url + "/readyz", timeout=10)
        self.assertEqual(json.load(ready.exception)["detail"], why)


if __name__ == "__main__":
    unittest.main()
