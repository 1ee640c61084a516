"""What a newcomer and a script do with the command line, against one scheduler with its worker."""
import http.server
import json
import pathlib
import socket
import subprocess
import threading
import time
import unittest

from harness import QUICK, TaktTest, until


class Commands(TaktTest):
    def setUp(self):
        super().setUp()
        self.serve("--with-worker", "--demo", *QUICK)
        until(lambda: self.takt_json("workers")["items"], "the worker is attached")

    def test_the_quick_start_runs_a_task_and_shows_it(self):
        # A newcomer types the first commands of the README.
        shown = self.takt("submit", "echo", '{"say": "hello"}', "--id", "hello", "--wait")
        self.assertIn("success", shown)
        self.assertIn('{"say":"hello"}', shown)
        self.assertIn("hello", self.takt("list"))
        status = self.takt("status")
        self.assertIn("leader", status)
        self.assertNotIn("LEADS", status, "who has one namespace hears of none")
        self.assertIn("online", self.takt("workers"))
        self.assertIn("default", self.takt("queues"))
        self.assertIn("PER SECOND", self.takt("queues"))
        self.assertGreater(self.takt_json("queues", "get", "default")["finished_per_second"], 0)
        self.assertIn("it is finished", self.takt("explain", "hello"))
        self.assertIn("executions", self.takt("top"))

    def test_a_payload_comes_from_the_argument_a_file_or_standard_input(self):
        # Scripts have their input where they have it.
        file = pathlib.Path(self.folder) / "payload.json"
        file.write_text('{"from": "file"}')
        by_file = self.takt_json("submit", "echo", f"@{file}", "--wait")
        by_pipe = self.takt_json("submit", "echo", "-", "--wait", stdin='{"from": "pipe"}')
        by_text = self.takt_json("submit", "echo", "plain words", "--text", "--wait")
        self.assertEqual(by_file["result"], {"from": "file"})
        self.assertEqual(by_pipe["result"], {"from": "pipe"})
        self.assertEqual(by_text["result"], "plain words")
        self.assertIn("not JSON", self.refused(2, "submit", "echo", "plain words"))
        self.assertIn("cannot read", self.refused(2, "submit", "echo", "@/nowhere.json"))

    def test_a_task_that_fails_twice_is_retried_and_one_that_goes_on_failing_is_told_by_the_exit_code(self):
        # A flaky service mends itself; a broken one must stop a deployment script.
        row = self.takt_json("submit", "fail", '{"times": 2}', "--retries", "3", "--wait", "--field",
                             'retry_policy={"max_retries": 3, "delay": "20ms"}')
        self.assertEqual((row["status"], row["attempt"], row["failures"]), ("success", 3, 2))
        ended = self.run_takt("submit", "fail", "--retries", "0", "--id", "broken", "--wait")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("failing on purpose", ended.stdout)
        # Somebody runs it again by hand.
        self.assertIn("broken", self.takt("retry", "broken"))
        self.assertGreaterEqual(self.until_status("broken", "failed")["attempt"], 2)

    def test_the_same_submit_again_changes_nothing_and_another_one_is_a_conflict(self):
        # A script is run a second time because the first answer was lost.
        self.takt("submit", "echo", "1", "--id", "once", "--wait")
        self.assertIn("was there already", self.takt("submit", "echo", "1", "--id", "once"))
        self.assertTrue(self.refused(4, "submit", "echo", "2", "--id", "once"))

    def test_who_waits_gives_up_when_it_said(self):
        # A deployment script must go on, whatever became of its job.
        self.takt("submit", "echo", "--delay", "1h", "--id", "slow")
        self.takt("submit", "echo", "1", "--id", "quick", "--wait")
        begin = time.monotonic()
        said = self.refused(5, "get", "quick", "slow", "slow", "--wait", "--wait-timeout", "300ms")
        self.assertIn("execution slow is not finished after ", said)
        self.assertLess(time.monotonic() - begin, 5)
        self.assertIn("--wait", self.refused(2, "get", "slow", "--wait-timeout", "1s"))
        self.assertIn("more than 0", self.refused(2, "get", "slow", "--wait", "--wait-timeout", "0s"))
        self.refused(2, "submit", "echo", "--id", "never", "--wait", "--wait-timeout", "soon")
        self.assertIn("never", self.refused(3, "get", "never"))
        self.takt("submit", "unserved", "--every", "1h", "--id", "hours")
        said = self.refused(5, "trigger", "hours", "--wait", "--wait-timeout", "300ms")
        self.assertIn("is not finished after 300ms", said)

    def test_a_delayed_task_waits_and_can_be_cancelled(self):
        # Somebody changes their mind before the time has come.
        self.takt("submit", "echo", "--delay", "1h", "--id", "later")
        self.assertEqual(self.get("later")["status"], "pending")
        self.assertTrue(self.takt("explain", "later").startswith("later: "))
        self.assertIn("cancelled", self.takt("cancel", "later", "--reason", "changed my mind"))
        self.assertEqual(self.get("later")["status"], "cancelled")
        self.assertIn("finished already", self.refused(4, "cancel", "later"))

    def test_cancelling_what_runs_stops_its_handler(self):
        # A job that would take an hour was submitted by mistake.
        self.takt("submit", "sleep", '{"ms": 3600000}', "--id", "long")
        self.until_status("long", "running")
        self.takt("cancel", "long")
        self.until_status("long", "cancelled")
        until(lambda: all(row["running"] == 0 for row in self.takt_json("workers")["items"]),
              "the handler has stopped")

    def test_a_cron_task_fires_is_paused_triggered_and_deleted(self):
        # Somebody sets up a recurring job and looks after it.
        self.takt("submit", "echo", "7", "--cron", "* * * * * *", "--id", "every-second")
        fired = until(lambda: self.takt_json("list", "--task", "every-second", "--status",
                                             "success")["items"], "it fires")
        self.assertEqual(self.takt_json("get", fired[0]["id"])["result"], 7)
        self.takt("tasks", "pause", "every-second")
        self.assertIn("paused", self.takt("tasks"))
        row = self.takt_json("trigger", "every-second", "8", "--wait")
        self.assertEqual(row["result"], 8)
        self.takt("tasks", "resume", "every-second")
        self.assertEqual(self.takt_json("tasks", "get", "every-second")["enabled"], True)
        self.assertIn("every second", self.takt("tasks", "preview", "every-second").lower())
        self.takt("tasks", "delete", "every-second")
        self.assertIn("there is no", self.refused(3, "tasks", "get", "every-second"))
        self.assertIn("2", self.takt("tasks", "preview", "--cron", "0 2 * * *", "--count", "2"))
        self.assertTrue(self.refused(2, "tasks", "preview", "--cron", "61 * * * *"))

    def test_a_preview_says_all_there_is_to_say_of_a_schedule(self):
        # Somebody plans a job, and later asks when it runs.
        self.assertEqual(self.takt("tasks", "preview", "--every", "90s", "-c", "1", "--field",
                                   'start_at="2099-01-01T00:00:00.250Z"').splitlines(),
                         ["every 90s", "  2099-01-01 00:00:00.250 UTC"])
        lines = self.takt("tasks", "preview", "--cron", "0 0 25 12 *", "-c", "1", "--field",
                          'after="2098-12-01T00:00:00Z"', "--field",
                          'excluded_dates=["2098-12-25"]').splitlines()
        self.assertEqual(lines[1:], ["  2099-12-25 00:00:00 UTC"])
        self.takt("submit", "echo", "--every", "1h", "--id", "hourly")
        shown = self.takt("tasks", "preview", "hourly").splitlines()
        self.assertEqual((shown[0], len(shown)), ("every 1h", 6))
        self.takt("tasks", "pause", "hourly")
        self.assertIn("it is paused", self.takt("tasks", "preview", "hourly"))
        for flags in [("--cron", "*/0 * * * *"), ("--every", "1s"), ("--timezone", "UTC"),
                      ("--field", "dst=skip")]:
            self.assertIn("not both", self.refused(2, "tasks", "preview", "hourly", *flags))
        self.assertIn("dst", self.refused(2, "tasks", "preview", "--cron", "@daily", "--field",
                                          "dst=never"))

    def test_a_trigger_takes_its_payload_as_a_submit_does(self):
        # The input of a single run is in a file, or comes from another program.
        file = pathlib.Path(self.folder) / "full.json"
        file.write_text('{"full": true}')
        self.takt("submit", "echo", "1", "--every", "1h", "--id", "hourly")
        for given, stdin, result in [([f"@{file}"], "", {"full": True}), (["-"], "[7]", [7]),
                                     (["plain words", "--text"], "", "plain words")]:
            row = self.takt_json("trigger", "hourly", *given, "--wait", stdin=stdin)
            self.assertEqual(row["result"], result)
        self.assertIn("--text", self.refused(2, "trigger", "hourly", "plain words"))
        self.assertIn("cannot read", self.refused(2, "trigger", "hourly", "@/nowhere.json"))

    def test_the_strategy_is_switched_and_switched_back(self):
        # An operator tries another way to spread the work.
        self.assertIn("least_tasks", self.takt("status"))
        self.assertIn("resource_aware", self.takt("strategy"))
        self.assertEqual(self.takt_json("strategy", "set", "weighted")["strategy"],
                         "weighted_round_robin")
        self.assertEqual(self.takt_json("strategy", "reset")["strategy"], "weighted_round_robin")
        self.assertIn("weighted_round_robin", self.takt("strategy", "get").splitlines()[0])
        self.assertIn("weighted_round_robin", self.takt("status"))
        self.assertEqual(self.takt_json("strategy", "unset")["strategy"], "least_tasks")
        self.assertIn("strategy", self.refused(2, "strategy", "set", "best"))

    def test_a_recurring_task_is_changed_where_it_is_wrong_and_nowhere_else(self):
        # A nightly job needs more time, another input, and in the end another schedule.
        self.takt("submit", "echo", "1", "--cron", "0 2 * * *", "--timezone", "Asia/Shanghai", "--id",
                  "nightly", "--retries", "2")
        self.takt("tasks", "update", "nightly", "--timeout", "10m", "--priority", "high", "--payload",
                  '{"full": true}')
        task = self.takt_json("tasks", "get", "nightly")
        self.assertEqual((task["timeout_seconds"], task["priority"], task["parameters"]),
                         (600, 7, {"full": True}))
        self.assertEqual((task["cron_expression"], task["timezone"], task["max_retry"]),
                         ("0 2 * * *", "Asia/Shanghai", 2))
        task = self.takt_json("tasks", "update", "nightly", "--every", "10m", "--set", "timeout=null")
        self.assertEqual(task["interval"], "10m")
        self.assertNotIn("cron_expression", task)
        self.assertNotIn("timeout_seconds", task)
        task = self.takt_json("tasks", "update", "nightly", "--cron", "0 3 * * *", "--type", "noop",
                              "--field", 'misfire_policy="skip"')
        self.assertEqual((task["cron_expression"], task["type"], task["misfire_policy"]),
                         ("0 3 * * *", "noop", "skip"))
        self.assertNotIn("interval", task)

    def test_a_change_of_a_task_that_cannot_be_made_says_why(self):
        # Slips of the keyboard, and a task that is not what somebody believes.
        self.takt("submit", "echo", "--cron", "0 2 * * *", "--id", "nightly")
        for flag, value, field in [("--priority", "soon", "priority"), ("--retries", "-1", "max_retry"),
                                   ("--timezone", "Mars/Olympus", "Mars/Olympus"),
                                   ("--cron", "61 * * * *", "minute"), ("--timeout", "x", "timeout"),
                                   ("--label", "zone", "--label"), ("--field", "nme=1", "nme"),
                                   ("--payload", "plain words", "payload")]:
            with self.subTest(flag=flag):
                self.assertIn(field, self.refused(2, "tasks", "update", "nightly", flag, value))
        self.assertIn("--cron", self.refused(2, "tasks", "update", "nightly"))
        self.assertIn("there is no task", self.refused(3, "tasks", "update", "nobody", "-p", "1"))
        self.takt("submit", "echo", "--delay", "1h", "--id", "single")
        self.assertIn("runs once", self.refused(4, "tasks", "update", "single", "-p", "1"))

    def test_a_sweep_that_leaves_some_behind_says_so(self):
        # A script runs again by filter what cannot be; another ends more than it does at once.
        self.takt("submit", "noop", "--id", "done", "--queue", "swept", "--wait", "-q")
        self.assertIn("failed", self.refused(2, "retry", "--queue", "swept", "--status", "success"))
        for number in range(3):
            self.takt("submit", "noop", "--id", f"later-{number}", "--queue", "later", "--delay", "1h")
        ended = self.run_takt("cancel", "--queue", "later", "--limit", "2")
        self.assertEqual((ended.returncode, ended.stdout), (0, "2 of 2\n"))
        self.assertIn("more may match", ended.stderr)
        ended = self.run_takt("cancel", "--queue", "later", "--limit", "2")
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "1 of 1\n", ""))
        self.assertEqual(self.takt("cancel", "--queue", "later", "--limit", "5000"), "0 of 0\n")

    def test_flags_are_sent_as_they_are_given(self):
        # A price that must not change on its way, and a delay without a unit.
        self.takt("submit", "echo", '{"price": 1.10}', "--id", "price", "--delay", "5")
        self.assertIn('"price": 1.10', self.takt("get", "price", "--json"))
        task = self.takt_json("submit", "echo", "--id", "flags", "--expires-after", "90", "--unique-key",
                              "u", "--metadata", "a=b", "--metadata", "c=d", "--delay", "1h")
        self.assertEqual((task["expires_after"], task["unique_key"], task["metadata"], task["delay"]),
                         ("1m30s", "u", {"a": "b", "c": "d"}, "1h"))

    def test_an_executor_is_listed_taken_out_of_rotation_and_removed(self):
        # An operator upgrades a service that is called over HTTP.
        self.assertIn("docs/executors.md", self.run_takt("executors").stderr)
        self.post("executors/register", {"name": "billing", "instance_id": "billing-1",
                                         "base_url": "http://127.0.0.1:9",
                                         "tasks": [{"task_name": "bill"}]})
        shown = self.takt("executors")
        for word in ["billing-1", "online", "bill", "http://127.0.0.1:9", "0/10"]:
            self.assertIn(word, shown)
        self.assertEqual(self.takt("executors", "status", "billing-1", "maintenance", "--reason",
                                   "upgrade"), "billing-1 maintenance\n")
        self.assertIn("upgrade", self.takt("executors", "list"))
        row = self.takt_json("executors", "get", "billing-1")
        self.assertEqual((row["status"], row["status_reason"]), ("maintenance", "upgrade"))
        self.assertIn("http://127.0.0.1:9", self.takt("executors", "get", "billing-1"))
        self.assertEqual(self.takt_json("executors", "status", "billing-1", "online")["status"], "online")
        self.assertIn("must be online", self.refused(2, "executors", "status", "billing-1", "asleep"))
        self.assertEqual(self.takt("executors", "remove", "billing-1"), "billing-1 removed\n")
        self.assertEqual(self.takt_json("executors")["items"], [])
        self.assertIn("no executor", self.refused(3, "executors", "get", "billing-1"))
        self.assertTrue(self.refused(3, "executors", "status", "billing-1", "online"))
        self.assertTrue(self.refused(3, "executors", "remove", "billing-1"))

    def test_the_log_of_an_execution_is_printed_and_followed(self):
        # Somebody watches a job's output.
        self.takt("submit", "log", '{"lines": 5}', "--id", "talker")
        self.assertEqual(self.takt("logs", "talker", "-f").splitlines()[-1], "line 5 of 5")
        self.assertIn("line 1 of 5", self.takt("logs", "talker"))
        self.assertTrue(self.refused(3, "logs", "nobody"))

    def test_a_list_is_filtered_and_followed_page_by_page(self):
        # A script collects ids.
        for number in range(5):
            self.takt("submit", "noop", "--id", f"n-{number}", "--queue", "many", "-q", "--wait")
        page = self.takt_json("list", "--queue", "many", "--limit", "2")
        self.assertEqual([row["id"] for row in page["items"]], ["n-4", "n-3"])
        rest = self.takt_json("list", "--queue", "many", "--cursor", page["next_cursor"], "--all")
        self.assertEqual([row["id"] for row in rest["items"]], ["n-2", "n-1", "n-0"])
        self.assertIsNone(rest["next_cursor"])
        self.assertTrue(self.refused(2, "list", "--status", "nonsense"))

    def test_a_paused_queue_holds_its_tasks_and_says_so(self):
        # An operator stops one queue while a service is mended.
        self.takt("submit", "noop", "--queue", "held", "--wait", "-q")
        self.takt("queues", "pause", "held")
        self.takt("submit", "noop", "--queue", "held", "--id", "held-1")
        self.assertIn("paused", self.takt("explain", "held-1"))
        self.takt("queues", "limit", "held", "--concurrency", "1")
        self.takt("queues", "limit", "held", "--rate", "10/1s")
        queue = self.takt_json("queues", "get", "held")
        self.assertEqual((queue["paused"], queue["concurrency_max"], queue["rate_limit"]["count"]),
                         (True, 1, 10))
        self.takt("queues", "limit", "held", "--concurrency", "none")
        queue = self.takt_json("queues", "get", "held")
        self.assertEqual((queue["paused"], queue["concurrency_max"], queue["rate_limit"]["count"]),
                         (True, None, 10))
        self.assertIn("10/1s", self.refused(2, "queues", "limit", "held", "--rate", "10"))
        self.assertIn("--rate-limit", self.refused(2, "queues", "limit", "held"))
        self.assertEqual(self.get("held-1")["status"], "pending")
        self.takt("queues", "resume", "held")
        self.until_status("held-1", "success")

    def test_a_drained_worker_gets_nothing_until_it_is_resumed(self):
        # An operator takes a machine out of rotation.
        name = self.takt_json("workers")["items"][0]["id"]
        self.takt("workers", "drain", name)
        self.takt("submit", "noop", "--id", "waits")
        self.assertEqual(self.get("waits")["status"], "pending")
        self.takt("workers", "resume", name)
        self.until_status("waits", "success")
        self.assertTrue(self.refused(3, "workers", "drain", "nobody"))

    def test_tokens_shut_the_door_and_open_it_again(self):
        # An administrator protects a scheduler that was open.
        self.assertTrue(self.refused(2, "token", "create", "--role", "viewer", "--name", "eve"))
        admin = self.takt_json("token", "create", "--role", "admin", "--name", "root")
        self.assertTrue(self.refused(2, "list"))
        allowed = {"TAKT_TOKEN": admin["token"]}
        viewer = self.takt_json("token", "create", "--role", "viewer", "--name", "eve", env=allowed)
        self.takt("list", "--token", viewer["token"])
        self.assertTrue(self.refused(2, "submit", "noop", "--token", viewer["token"]))
        self.assertIn("eve", self.takt("token", "list", env=allowed))
        self.takt("token", "revoke", viewer["id"], env=allowed)
        self.assertTrue(self.refused(2, "list", "--token", viewer["token"]))
        self.assertTrue(self.refused(4, "token", "create", "--role", "admin", "--name", "x",
                                     "--store", f"file:{self.store}"))

    def test_every_command_explains_itself_and_completes(self):
        # Somebody explores the program.
        words = ["serve", "worker", "submit", "get", "list", "cancel", "retry", "trigger", "tasks",
                 "workers", "executors", "queues", "strategy", "alerts", "stats", "status", "explain",
                 "logs", "top", "token", "bench", "completion"]
        shown = self.takt("--help")
        for word in words:
            self.assertIn(word, shown)
            self.assertIn("examples:", self.takt(word, "--help"), word)
        script = self.takt("completion", "bash")
        self.assertIn("--priority", script)
        self.assertIn("'executors status') words='", script)
        self.assertIn("'tasks update') words='", script)
        self.assertIn("strategy) words='get set unset reset", script)
        self.assertTrue(self.takt("completion", "zsh").endswith(script))


class OtherServer(TaktTest):
    def test_an_update_insists_on_the_version_that_was_read(self):
        # Two people change a task at once; the second must hear of the first, not undo it.
        asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, status, body):
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def do_GET(self):
                self.answer(200, {"id": "nightly", "interval": "1h", "enabled": True, "version": 3})

            def do_PATCH(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                asked.append((self.path, self.headers["If-Match"], json.loads(body)))
                self.answer(412, {"code": "precondition_failed", "detail": "it has version 4"})

            def log_message(self, *arguments):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        self.assertIn("version 4", self.refused(4, "tasks", "update", "nightly", "--cron", "0 2 * * *"))
        self.assertEqual(asked, [("/api/v1/tasks/nightly", '"3"',
                                  {"cron_expression": "0 2 * * *", "interval": None})])


class Store(TaktTest):
    def test_a_worker_finds_its_scheduler_through_the_store_they_share(self):
        # A fleet is told one address, that of its database; workers may be started first.
        with socket_of_a_free_port() as listener:
            port = listener.getsockname()[1]
        redis = subprocess.Popen(["redis-server", "--port", str(port), "--save", "", "--dir",
                                  self.folder], stdout=subprocess.DEVNULL)
        self.addCleanup(redis.wait)
        self.addCleanup(redis.kill)
        self.store_url = f"redis://127.0.0.1:{port}"
        until(lambda: can_connect(port), "Redis listens")
        self.start("early", "worker", "--store", self.store_url, "--id", "early", "--demo")
        self.serve(*QUICK)
        until(lambda: self.worker_row("early").get("connected"), "the worker is attached")
        self.takt("submit", "noop", "--wait", "-q")
        self.assertIn("must not expire", self.refused(2, "token", "create", "--role", "admin", "--expires-in",
                                                      "1d", "--store", self.store_url))
        # The first token of a store that several processes share is made while nobody leads it.
        self.assertIn(self.url, self.refused(4, "token", "create", "--role", "admin", "--store",
                                             self.store_url))


def socket_of_a_free_port():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    return listener


def can_connect(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


if __name__ == "__main__":
    unittest.main()
