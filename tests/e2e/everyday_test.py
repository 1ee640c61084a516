"""What operators type all day: describe, events, watching, formats, contexts."""
import http.server
import json
import os
import pathlib
import select
import signal
import stat
import subprocess
import threading
import unittest
import urllib.error
import urllib.parse
import urllib.request

import yaml

from harness import QUICK, TaktTest, environment, until


class Everyday(TaktTest):
    def setUp(self):
        super().setUp()
        self.serve("--with-worker", "--demo", *QUICK)
        until(lambda: self.takt_json("workers")["items"], "the worker is attached")

    def start_reading(self, *arguments):
        """A command that goes on; its output is in .text()."""
        variables = environment()
        variables["TAKT_SERVER"] = self.url
        return self.start(arguments[0], *arguments, env=variables)

    def test_describe_tells_all_about_one_thing(self):
        self.takt("submit", "fail", '{"times": 1}', "--id", "flaky", "--retries", "2", "--wait")
        self.takt("submit", "log", '{"lines": 30}', "--id", "wordy", "--wait")
        self.takt("submit", "nope", "--id", "stuck")
        self.takt("submit", "echo", "--cron", "0 3 * * *", "--id", "nightly")
        said = self.takt("describe", "execution", "flaky")
        for part in ("Attempts", "handler_failed: failing on purpose", "Events", "task.completed", "took"):
            self.assertIn(part, said)
        self.assertNotIn("Why", said, "it has ended")
        tail = self.takt("describe", "execution", "wordy", "--tail", "3")
        self.assertIn("its last 3 lines", tail)
        self.assertEqual(len(tail.split("lines\n")[1].splitlines()), 3)
        self.assertIn("no worker runs tasks of the type 'nope'", self.takt("describe", "execution", "stuck"))
        self.assertIn("Next, at 03:00:00 every day", self.takt("describe", "task", "nightly"))
        worker = self.takt_json("workers")["items"][0]["id"]
        self.assertIn(worker, self.takt("describe", "workers", worker))
        self.assertEqual(self.takt_json("describe", "worker", worker)["worker"]["id"], worker)
        self.assertIn("Workers that serve it", self.takt("describe", "queue", "default"))
        self.assertIn("Nobody is there", self.takt("describe", "rule", "no_online_workers"))
        self.assertIn("active", self.takt("describe", "namespace", "default"))
        self.post("locks/ledger/acquire", {"ttl": "1h", "owner": "me"})
        self.assertIn("Held by", self.takt("describe", "lock", "ledger"))
        self.assertIn("did you mean 'worker'", self.refused(2, "describe", "wroker", "x"))
        self.assertIn("takt list --task nightly", self.refused(3, "describe", "execution", "nightly"))
        self.assertEqual(self.takt_json("workers", "get", worker)["id"], worker)
        self.assertTrue(self.refused(3, "workers", "get", "nobody"))

    def test_events_go_on_through_a_restart(self):
        reading = self.start_reading("events", "--type", "task.completed", "-o", "json", "--past")
        self.takt("submit", "noop", "--id", "before", "--wait")
        until(lambda: "before" in reading.text(), "the first event")
        for process in self.processes:
            if "serve" in process.output.name:
                process.signal(signal.SIGTERM)
                process.wait()
        port = self.port()
        self.serve("--with-worker", "--demo", *QUICK, port=port)
        until(lambda: self.takt_json("workers")["items"], "the worker is attached")
        until(lambda: self.metric("takt_event_watchers") > 0, "the reader is back")
        self.takt("submit", "noop", "--id", "after", "--wait")
        until(lambda: "after" in reading.text(), "the second event")
        self.assertIn("connecting again", reading.text())
        lines = [json.loads(line) for line in reading.text().splitlines() if line.startswith("{")]
        ids = [line.get("execution_id") for line in lines if line["type"] == "task.completed"]
        self.assertEqual(ids, ["before", "after"])
        shown = self.takt("events", "--no-follow", "--execution", "after")
        self.assertIn("task.submitted", shown)
        self.assertIn("must be names such as", self.refused(2, "events", "--type", "nonsense"))
        self.takt("submit", "noop", "--id", "more")
        self.assertEqual(len(self.takt("events", "--past", "--count", "2").splitlines()), 2)

    def test_a_list_that_is_watched_shows_what_changed(self):
        reading = self.start_reading("list", "-w", "--status", "success")
        self.takt("submit", "noop", "--id", "one", "--wait")
        until(lambda: "one" in reading.text(), "the list with it")
        self.takt("submit", "noop", "--id", "two", "--wait")
        until(lambda: "two" in reading.text(), "the list with both")
        self.assertEqual(reading.text().count("ATTEMPT"), 2, "once for each state")
        self.assertIn("-w is for what shows something",
                      self.refused(2, "workers", "drain", "x", "--watch"))

    def test_formats(self):
        self.takt("submit", "fail", "--id", "broken", "--retries", "0")
        self.until_status("broken", "failed")
        self.takt("submit", "sleep", '{"ms": 60000}', "--id", "long")
        self.until_status("long", "running")
        listed = self.takt("list")
        self.assertIn("handler_failed: failing", listed)
        self.assertRegex(listed, r"long .*running .*\d\.\ds…")
        self.assertNotIn("ERROR", self.takt("list", "--status", "running"))
        self.assertIn("QUEUE", self.takt("list", "-o", "wide"))
        self.assertIn("LABELS", self.takt("workers", "-o", "wide"))
        as_json = self.takt_json("get", "broken")
        self.assertEqual(json.loads(self.takt("get", "broken", "-o", "json")), as_json)
        self.assertEqual(yaml.safe_load(self.takt("get", "broken", "-o", "yaml")), as_json)
        self.assertEqual([row["id"] for row in yaml.safe_load(self.takt("list", "-o", "yaml"))["items"]],
                         ["long", "broken"])
        both = list(yaml.safe_load_all(self.takt("get", "broken", "long", "-o", "yaml")))
        self.assertEqual([row["id"] for row in both], ["broken", "long"])
        self.assertTrue(self.refused(2, "list", "-o", "xml"))
        self.assertIn("broken", self.takt("list", "--since", "1h"))
        self.assertNotIn("broken", self.takt("list", "--to", "1h"))
        self.assertIn("neither a time such as", self.refused(2, "list", "--since", "yesterday"))

    def test_the_tail_of_a_log_and_what_follows_it(self):
        self.takt("submit", "log", '{"lines": 50}', "--id", "wordy", "--wait")
        whole = self.takt("logs", "wordy").splitlines()
        self.assertEqual(len(whole), 50)
        self.assertEqual(self.takt("logs", "wordy", "--tail", "4").splitlines(), whole[-4:])
        self.assertEqual(self.takt("logs", "wordy", "--tail", "999").splitlines(), whole)
        self.assertEqual(self.takt("logs", "wordy", "--tail", "0"), "")
        self.assertEqual(self.takt("logs", "wordy", "-f", "--tail", "2").splitlines(), whole[-2:])

    def test_since_is_read_alike_everywhere(self):
        self.takt("submit", "log", '{"lines": 3}', "--id", "wordy", "--wait")
        self.takt("queues", "pause", "mail")
        for command in (["list"], ["logs", "wordy"], ["events", "--no-follow"], ["stats"], ["audit"]):
            with self.subTest(command=command):
                past = self.takt(*command, "--since", "1h")
                self.assertTrue(past.strip())
                self.assertEqual(self.takt(*command, "--since", "30d").strip(), past.strip())
                self.assertIn("neither a time such as", self.refused(2, *command, "--since", "yesterday"))
        for command in (["list"], ["logs", "wordy"], ["events", "--no-follow"], ["audit"]):
            self.assertEqual(self.takt(*command, "--since", "2999-01-01T00:00:00Z").strip(), "", command)
        for command in (["list"], ["audit"]):
            for until_flag in ("--until", "--to"):
                self.assertEqual(self.takt(*command, "--from", "2h", until_flag, "1h").strip(), "", command)
        self.assertEqual(self.takt("logs", "wordy", "--since", "2999-01-01T00:00:00Z", "-f", "--tail", "2"), "")
        self.assertIn("task.submitted", self.takt("events", "--since", "1h", "--count", "1", "--type", "task"))
        self.assertIn("0 ", self.takt("cancel", "--type", "log", "--until", "1h"))

    def test_takt_alone_helps(self):
        ended = self.run_takt()
        self.assertEqual(ended.returncode, 0)
        for command in ("describe", "events", "doctor", "context"):
            self.assertIn(f"  {command} ", ended.stdout)


class SignInScheduler(http.server.BaseHTTPRequestHandler):
    """As a scheduler answers a command line that signs in: one code is good."""

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(200, {"token": True, "signin": {"issuer": "https://id.example.org"}})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if asked["code"] == "good":
            self.answer(200, {"token": "session", "who": "ada", "expires_at": "2030-01-01T00:00:00Z"})
        else:
            self.answer(401, {"code": "unauthorized", "detail": "the code is not good"})

    def log_message(self, *_):
        pass


class Contexts(TaktTest):
    def context(self, *arguments, code=0, env=None, stdin=""):
        ended = self.run_takt(*arguments, env={"XDG_CONFIG_HOME": self.folder, **(env or {})}, stdin=stdin)
        self.assertEqual(ended.returncode, code, ended.stderr + ended.stdout)
        return ended.stdout + ended.stderr

    def test_clusters_by_name(self):
        self.serve(*QUICK)
        here, self.url = self.url, None
        path = pathlib.Path(self.folder) / "takt" / "contexts.yaml"
        self.assertIn("takt context set NAME", self.context("context"))
        self.assertIn("no context is in use", self.context("context", "current", code=3))
        self.assertIn("in use", self.context("context", "set", "here", "--server", here))
        self.context("context", "set", "away", "--server", "http://127.0.0.1:1", "--token-stdin",
                     stdin="secret\n")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertEqual(yaml.safe_load(path.read_text())["contexts"]["away"]["token"], "secret")
        self.assertNotIn("secret", self.context("context", "list") + self.context("context", "--json"))
        self.assertIn("leader", self.context("status"))
        self.context("status", "--context", "away", code=5)
        self.context("status", code=5, env={"TAKT_CONTEXT": "away"})
        # Flags and environment are stronger than what is in use.
        self.context("context", "use", "away")
        self.assertEqual(self.context("context", "current"), "away\n")
        self.assertIn("leader", self.context("status", "--server", here))
        self.assertIn("leader", self.context("status", env={"TAKT_SERVER": here}))
        self.assertIn("did you mean 'here'", self.context("status", "--context", "heer", code=2))
        self.assertIn("did you mean 'here'", self.context("context", "use", "heer", code=3))
        path.chmod(0o644)
        self.assertIn("chmod 600", self.context("status", code=2))
        path.chmod(0o600)
        self.context("context", "delete", "away")
        self.assertIn("127.0.0.1:8080", self.context(
            "status", "--call-timeout", "1s", code=5))

    def test_a_token_goes_to_its_own_server_only(self):
        # Somebody tries a scheduler of another cluster by hand, with the context of production in use.
        self.context("context", "set", "prod", "--server", "http://127.0.0.1:1", "--token-stdin",
                     stdin="secret\n")
        heard = subprocess.Popen(["/usr/bin/python3", "-c", """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        print("auth:", self.headers.get("Authorization"), flush=True)
        self.send_response(200); self.send_header("Content-Length", "2"); self.end_headers(); self.wfile.write(b"{}")
    def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""], stdout=subprocess.PIPE, text=True)
        self.addCleanup(heard.wait)
        self.addCleanup(heard.stdout.close)
        self.addCleanup(heard.kill)
        server = f"http://127.0.0.1:{heard.stdout.readline().strip()}"

        def sent(*arguments):
            self.run_takt("explain", "x", "--server", server, *arguments, env={"XDG_CONFIG_HOME": self.folder})
            self.assertTrue(select.select([heard.stdout], [], [], 10)[0], "it was called")
            return heard.stdout.readline()

        self.assertEqual(sent(), "auth: None\n")
        self.assertEqual(sent("--context", "prod"), "auth: None\n")
        self.assertEqual(sent("--token", "mine"), "auth: Bearer mine\n")
        # The context is moved to another server, and the token was for the first.
        self.assertIn("token is forgotten", self.context("context", "set", "prod", "--server", server))
        self.run_takt("explain", "x", env={"XDG_CONFIG_HOME": self.folder})
        self.assertTrue(select.select([heard.stdout], [], [], 10)[0], "it was called")
        self.assertEqual(heard.stdout.readline(), "auth: None\n")
        self.context("context", "set", "prod", "--server", "http://127.0.0.1:1", "--token-stdin",
                     stdin="another\n")
        self.assertNotIn("forgotten", self.context("context", "set", "prod", "--namespace", "team"))
        path = pathlib.Path(self.folder) / "takt" / "contexts.yaml"
        self.assertEqual(yaml.safe_load(path.read_text())["contexts"]["prod"]["token"], "another")

    def serve_team(self):
        """Where a scheduler with the namespace team is; nobody is told of it by the environment."""
        self.serve(*QUICK)
        here, self.url = self.url, None
        self.context("namespaces", "create", "team", "--server", here)
        until(lambda: self.run_takt("list", "--server", here, "--namespace", "team").returncode == 0,
              "team is led")
        return here

    def test_a_token_is_for_the_namespace_of_the_context(self):
        here = self.serve_team()
        admin = self.run_takt("token", "create", "--role", "admin", "--server", here).stdout.strip()
        self.context("context", "set", "here", "--server", here, "--namespace", "team",
                     "--token-stdin", stdin=admin + "\n")
        made = json.loads(self.context("token", "create", "--role", "worker", "--json"))
        self.assertEqual(made["namespace"], "team")

    def test_workers_of_a_measurement_are_in_the_namespace_of_the_context(self):
        here = self.serve_team()
        self.context("context", "set", "team", "--server", "http://127.0.0.1:1", "--namespace", "team")
        self.context("bench", "--server", here, "--context", "team", "--tasks", "10", "--drain", "0",
                     "--single", "0", "--latency-for", "0s", "--workers", "1", "--timeout", "20s")

    def test_a_login_goes_to_the_context_and_waits_for_a_good_code(self):
        scheduler = http.server.ThreadingHTTPServer(("127.0.0.1", 0), SignInScheduler)
        threading.Thread(target=scheduler.serve_forever, daemon=True).start()
        self.addCleanup(scheduler.server_close)
        self.addCleanup(scheduler.shutdown)
        server = f"http://127.0.0.1:{scheduler.server_port}"
        self.context("context", "set", "there", "--server", server)
        login = self.start("login", "login", "--wait", "30s",
                           env={**environment(), "XDG_CONFIG_HOME": self.folder})
        until(lambda: "cli_challenge=" in login.text(), "the address is told")
        address = next(line.strip() for line in login.text().splitlines() if "cli_port=" in line)
        self.assertTrue(address.startswith(server + "/auth/login?"), address)
        port = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(address).query))["cli_port"]

        def come(query):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{query}", timeout=10) as answer:
                return answer.status

        # A page of another site, or somebody else on this machine, sends what is no code of ours.
        self.assertEqual(come("?code=x"), 200)
        until(lambda: "was refused" in login.text(), "the code is refused")
        with self.assertRaises(urllib.error.HTTPError):
            come("favicon.ico")
        self.assertEqual(come("?code=good"), 200)
        self.assertEqual(login.wait(), 0, login.text())
        self.assertIn("signed in as ada", login.text())


if __name__ == "__main__":
    unittest.main()
