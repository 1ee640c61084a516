"""A check-up: takt doctor sees what is not well, takt serve --check what would not be."""
import datetime
import http.server
import json
import pathlib
import resource
import signal
import socket
import subprocess
import threading
import unittest
import urllib.error
import urllib.request

from harness import QUICK, Process, TaktTest, until


class LateScheduler(http.server.BaseHTTPRequestHandler):
    """As a scheduler answers whose clock is a minute behind."""

    def do_GET(self):
        now = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(minutes=1)
        body = json.dumps({"now": now.isoformat(timespec="milliseconds").replace("+00:00", "Z")}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Checkups(TaktTest):
    def doctor(self, code):
        ended = self.run_takt("doctor", "-o", "json")
        self.assertEqual(ended.returncode, code, ended.stdout + ended.stderr)
        found = json.loads(ended.stdout)
        self.assertEqual(found["ok"], code == 0)
        return {(one["check"], one["status"]): one for one in found["checks"]}

    def look_over(self, bound):
        self.serve("--with-worker", "--demo", *QUICK)
        until(lambda: self.takt_json("workers")["items"], "the worker is attached")
        well = self.doctor(0)
        for check in ("store", "clocks", "versions", "leaders", "workers", "queues", "tasks", "quotas", "room"):
            self.assertIn((check, "ok"), well)
        self.assertRegex(well["room", "ok"]["message"], r"^[\d.]+ [KM]iB.* \(" + bound + r"\), kept 7d; too few executions")
        self.assertIn("bound", self.takt_json("status")["store"]["room"])
        self.takt("submit", "echo", "--queue", "far", "--label", "zone=moon")
        self.takt("submit", "unknown", "--queue", "far")
        self.takt("submit", "strange", "--cron", "0 3 * * *", "--id", "lonely")
        ill = self.doctor(1)
        self.assertIn("zone=moon", ill["queues", "bad"]["message"])
        self.assertIn("'unknown'", ill["queues", "bad"]["message"])
        self.assertIn("'strange'", ill["tasks", "warn"]["message"])
        self.assertIn("takt describe task lonely", ill["tasks", "warn"]["next"])
        self.assertIn("bad", self.run_takt("doctor").stdout)

    def test_doctor_on_an_embedded_store(self):
        self.look_over("the disk")

    def test_doctor_on_redis(self):
        self.use_redis()
        self.look_over("maxmemory is not set")

    def test_doctor_notices_a_store_that_is_away(self):
        self.use_redis()
        self.serve(*QUICK)
        # It is in use: who may do what has been read.
        self.takt("status")
        redis = self.processes[0]
        redis.signal(signal.SIGSTOP)
        try:
            away = until(lambda: self.run_takt("doctor", "-o", "json").stdout or None, "doctor tells something")
            found = json.loads(away)
            self.assertFalse(found["ok"])
            [store] = [one for one in found["checks"] if one["check"] == "store"]
            self.assertEqual(store["status"], "bad")
            self.assertIn("redis", store["message"])
            # Nothing is called wrong that was not told.
            self.assertEqual({one["check"] for one in found["checks"]}, {"store", "commits", "others"})
        finally:
            redis.signal(signal.SIGCONT)

    def test_doctor_does_not_blame_the_store_where_nobody_may_lead(self):
        self.use_redis()
        self.url = self.address_of(self.start("serve", "serve", "--store", self.store_url, "--listen", "127.0.0.1:0",
                                              "--set", "scheduler.namespaces=other"))

        def told():
            lines = json.loads(self.run_takt("doctor", "-o", "json").stdout)["checks"]
            found = {(one["check"], one["status"]): one["message"] for one in lines}
            # It is there once it has announced itself.
            return found if "may lead" in found.get(("scheduler", "bad"), "") else None

        ill = until(told, "it is said that nobody may lead")
        self.assertIn(("store", "ok"), ill)
        self.assertIn("no scheduler that is there may lead 'default'", ill["scheduler", "bad"])

    def test_doctor_notices_a_scheduler_of_another_version_and_another_time(self):
        self.use_redis()
        self.serve("--with-worker", "--demo", *QUICK)
        other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), LateScheduler)
        threading.Thread(target=other.serve_forever, daemon=True).start()
        self.addCleanup(other.server_close)
        self.addCleanup(other.shutdown)
        for command in (("SADD", "{takt}:nodes", "late"),
                        ("HSET", "{takt}:node:late", "address", f"http://127.0.0.1:{other.server_port}", "version",
                         "0.0.9", "started_at", "0", "layout", "4", "namespaces", "")):
            subprocess.run(["redis-cli", "-u", self.store_url, *command], check=True, capture_output=True)
        ill = self.doctor(1)
        self.assertRegex(ill["clocks", "bad"]["message"], r"^(59|60)\.\d s apart, late's furthest")
        self.assertIn("0.0.9", ill["versions", "warn"]["message"])

    def test_doctor_notices_quotas_that_are_used_up(self):
        self.serve("--with-worker", "--demo", *QUICK)
        until(lambda: self.takt_json("workers")["items"], "the worker is attached")
        self.takt("namespaces", "change", "default", "--quota", "workers=1", "--quota", "executions_waiting=6")
        for _ in range(5):
            self.takt("submit", "echo", "--delay", "1h")

        def quotas():
            lines = json.loads(self.run_takt("doctor", "-o", "json").stdout)["checks"]
            found = {(one["status"], one["message"]): one["next"] for one in lines if one["check"] == "quotas"}
            return found if len(found) == 2 else None

        found = until(quotas, "both quotas are told of")
        self.assertIn("fewer workers", found["bad", "default: workers is 1 of 1"])
        self.assertIn("more workers", found["warn", "default: executions_waiting is 5 of 6"])

    # Nobody listens there, and it has no health check that would say so.
    def test_doctor_says_why_an_executor_cannot_be_called(self):
        self.serve("--set", "executors.circuit_failures=1", "--set", "executors.circuit_open=10m",
                   "--set", "executors.circuit_open_max=10m", *QUICK)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        self.post("executors/register", {"name": "billing", "instance_id": "billing-1",
                                         "base_url": f"http://127.0.0.1:{port}", "tasks": [{"task_name": "invoice"}]})
        self.takt("submit", "invoice")

        def told():
            lines = json.loads(self.run_takt("doctor", "-o", "json").stdout)["checks"]
            return [one for one in lines if one["check"] == "executors"]

        [line] = until(told, "the executor is told of")
        self.assertEqual(line["status"], "bad")
        self.assertRegex(line["message"], "^billing-1: calls to it keep failing: .*refused")
        self.assertRegex(self.takt_json("executors")["items"][0]["health"]["last_failure"], "refused")

    def check_sign_in(self):
        key = pathlib.Path(self.folder) / "key"
        key.write_text("0123456789abcdef" * 4 + "\n")

        def check(*more):
            ended = self.run_takt(
                "serve", "--check", "--store", self.store_url, "--listen", "0.0.0.0:0",
                "--set", "signin.issuer=https://id.example.org", "--set", "signin.client_id=takt",
                "--set", f"signin.session_key_file={key}",
                "--set", "signin.roles=[{group: ops, role: admin}]", *more)
            return ended.returncode, ended.stdout

        # People sign in: no token is needed to listen for everybody.
        code, said = check()
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"ok +sign-in")
        code, said = check("--set", "signin.client_secret_file=/nowhere")
        self.assertEqual(code, 1, said)
        self.assertRegex(said, r"bad +sign-in .*client_secret_file")
        key.write_text("short\n")
        code, said = check()
        self.assertEqual(code, 1, said)
        self.assertRegex(said, r"bad +sign-in .*32 bytes")
        self.assertRegex(said, r"ok +store")

    def test_serve_says_all_mistakes_at_once(self):
        file = pathlib.Path(self.folder) / "takt.yaml"
        file.write_text("server:\n  lisen: 1\nscheduler:\n  timeout: soon\n")
        ended = self.run_takt("serve", "--check", "--config", str(file))
        self.assertEqual(ended.returncode, 2)
        self.assertIn("server.lisen", ended.stdout)
        self.assertIn("scheduler.timeout", ended.stdout)
        ended = self.run_takt("serve", "--check", "--store", "redis://127.0.0.1:1", "--set",
                              "server.tls_cert=/nowhere.pem", "--set", "server.tls_key=/nowhere.key",
                              "--listen", "127.0.0.1:0")
        self.assertEqual(ended.returncode, 1)
        self.assertRegex(ended.stdout, r"bad +store")
        self.assertRegex(ended.stdout, r"bad +address .*/nowhere")
        self.assertFalse(pathlib.Path(self.store).exists())
        self.assertEqual(self.run_takt("serve", "--check", "--store", self.store_url, "--listen",
                                       "127.0.0.1:0").returncode, 0)
        self.check_sign_in()
        # Before a restart: the scheduler that runs has port and directory.
        self.serve(*QUICK)
        ended = self.run_takt("serve", "--check", "--store", self.store_url, "--listen",
                              f"127.0.0.1:{self.port()}")
        self.assertEqual(ended.returncode, 0, ended.stdout)
        self.assertRegex(ended.stdout, r"warn +store .*another process")
        self.assertRegex(ended.stdout, r"warn +address")

    def without_room(self, *arguments):
        """A process whose files may not grow, which is what a full disk is to it, until it gets room."""
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            # Less than SQLite's shared memory takes.
            resource.setrlimit(resource.RLIMIT_FSIZE, (16 << 10, resource.RLIM_INFINITY))

        name = f"{len(self.processes)}-{arguments[0]}"
        self.processes.append(Process(self.folder, name, arguments, preexec_fn=limit))
        return self.processes[-1]

    def test_a_full_disk_is_told_as_one_and_waited_for(self):
        first = self.serve(*QUICK)
        self.takt("submit", "echo", "--id", "kept")
        first.signal(signal.SIGTERM)
        first.wait()
        serve = ["serve", "--store", self.store_url, "--listen", "127.0.0.1:0"]
        for arguments in (["store", "check", self.store_url], ["store", "repair", self.store_url, "--yes"],
                          [*serve, "--check"], [*serve, "--set", "store.wait=false"]):
            told = self.without_room(*arguments)
            self.assertNotEqual(told.wait(), 0, arguments)
            self.assertIn("is full; free some space", told.text(), arguments)
            self.assertNotIn("is damaged", told.text(), arguments)
            self.assertNotIn("move it away", told.text(), arguments)
        waits = self.without_room(*serve, *QUICK)
        self.url = self.address_of(waits)
        with self.assertRaises(urllib.error.HTTPError) as unready:
            urllib.request.urlopen(self.url + "/readyz", timeout=10)
        self.assertIn("is full; free some space", unready.exception.read().decode())
        status = self.run_takt("status")
        self.assertIn("is full; free some space", status.stdout + status.stderr)
        self.assertIn("is full; free some space", waits.text())
        resource.prlimit(waits.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        until(self.is_ready, "the scheduler goes on by itself")
        # Who may ask is read anew within moments.
        kept = until(lambda: self.run_takt("get", "kept", "--json").stdout, "what was stored is there")
        self.assertEqual(json.loads(kept)["status"], "pending")


if __name__ == "__main__":
    unittest.main()
