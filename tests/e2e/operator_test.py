"""An operator's day at the real program: log rotation, mistakes in configuration, what commands show."""
import pathlib
import signal
import socket
import time
import unittest
import urllib.error
import urllib.request

from harness import TaktTest, until

USAGE = 2


class LogRotation(TaktTest):

    def rotate(self, process, log):
        """As logrotate does: moves the file away and sends SIGHUP."""
        moved = log.with_suffix(".log.1")
        log.rename(moved)
        process.signal(signal.SIGHUP)
        until(lambda: log.exists() and "opened anew" in log.read_text(), "a new log file")
        self.assertNotIn("opened anew", moved.read_text())
        self.assertIsNone(process.process.poll())

    def stop(self, process):
        process.signal(signal.SIGTERM)
        self.assertEqual(process.wait(), 0, process.text())

    def test_a_scheduler_opens_its_log_anew_and_goes_on_leading(self):
        log = pathlib.Path(self.folder) / "scheduler.log"
        server = self.serve("--with-worker", "--demo", "--set", f"log.file={log}")
        epoch = self.takt_json("status")["leader"]["epoch"]
        self.rotate(server, log)
        self.takt("submit", "noop", "--wait")
        self.assertEqual(self.takt_json("status")["leader"]["epoch"], epoch)
        self.stop(server)
        self.assertIn("stopping", log.read_text())

    def test_a_worker_opens_its_log_anew(self):
        self.serve()
        log = pathlib.Path(self.folder) / "worker.log"
        worker = self.worker("w1", "--demo", "--set", f"log.file={log}")
        self.rotate(worker, log)
        self.stop(worker)

    def test_without_a_log_file_nothing_happens(self):
        server = self.serve()
        server.signal(signal.SIGHUP)
        self.takt("status")
        self.stop(server)


class Stops(TaktTest):

    def test_a_worker_that_never_reached_a_scheduler_ends_in_order(self):
        # A supervisor starts and stops workers while the scheduler is away.
        for number in range(5):
            worker = self.start(f"w{number}", "worker", "--demo", "--server", "http://127.0.0.1:9")
            until(lambda: "looks for a scheduler" in worker.text(), "the worker has started")
            worker.signal(signal.SIGTERM)
            self.assertEqual(worker.wait(), 0, worker.text())

    def test_a_store_that_does_not_answer_delays_neither_the_port_nor_the_stop(self):
        # A firewall drops what is sent, or the server is stopped: the connection is there, and silent.
        with socket.create_server(("127.0.0.1", 0)) as silent:
            at = f"127.0.0.1:{silent.getsockname()[1]}"
            for url in (f"redis://{at}", f"etcd://{at}", f"mysql://u:p@{at}/takt"):
                began = time.monotonic()
                server = self.start("serve", "serve", "--store", url + "?timeout=60s", "--listen",
                                    "127.0.0.1:0", "--set", "scheduler.stop_deadline=1s")
                address = self.address_of(server)
                with urllib.request.urlopen(address + "/healthz", timeout=10) as answer:
                    self.assertEqual(answer.status, 200)
                with self.assertRaises(urllib.error.HTTPError) as refused:
                    urllib.request.urlopen(address + "/readyz", timeout=30)
                self.assertEqual(refused.exception.code, 503)
                self.assertIn("answer", refused.exception.read().decode())
                server.signal(signal.SIGTERM)
                self.assertEqual(server.wait(40), 0, server.text())
                self.assertLess(time.monotonic() - began, 40, f"{url} has a timeout of 60 s")


class Lists(TaktTest):

    def test_a_task_that_never_fires_again_is_over(self):
        self.serve("--with-worker", "--demo")
        self.takt("submit", "echo", "--every", "1s", "--id", "single-shot", "--field", "fires_max=1")
        until(lambda: self.takt_json("tasks", "get", "single-shot")["fires"] == 1, "it fires")
        self.assertIn(" over ", self.takt("tasks"))
        self.takt("submit", "echo", "--id", "once")
        self.assertIn("it is an execution", self.refused(3, "tasks", "pause", "once"))

    def test_the_parts_of_a_run_are_listed_for_those_who_ask(self):
        # An operator looks whether what was missed has been made up for, and what keeps a worker busy.
        self.serve("--with-worker", "--demo")
        self.takt("submit", "noop", "--id", "many", "--shards", "3", "-q", "--wait")
        of_task = ["list", "--task", "many"]
        self.assertEqual([row["id"] for row in self.takt_json(*of_task)["items"]], ["many"])
        self.assertEqual(len(self.takt_json(*of_task, "--children")["items"]), 4)
        self.assertEqual(len(self.takt_json("list", "--parent", "many")["items"]), 3)
        self.assertIn("--children", self.run_takt("list", "--task", "nobody").stderr)


class Mistakes(TaktTest):

    def serve_refused(self, *arguments):
        run = self.run_takt("serve", "--store", self.store_url, "--listen", "127.0.0.1:0", *arguments)
        self.assertEqual(run.returncode, USAGE, run.stderr)
        return run.stderr

    def file(self, text):
        path = pathlib.Path(self.folder) / "takt.yaml"
        path.write_text(text)
        return str(path)

    def test_a_directory_instead_of_a_file(self):
        self.assertIn("is a directory", self.serve_refused("--config", self.folder))

    def test_all_mistakes_are_told_at_once_each_on_a_line(self):
        file = self.file("scheduler:\n  leader_tll: 20s\n  max_retry: many\ndatabase:\n  host: db1\n")
        text = self.serve_refused("--config", file, "--set", "log.level=loud")
        lines = text.splitlines()
        self.assertEqual(len(lines), 4, text)
        self.assertTrue(all(line.startswith("takt: ") for line in lines), text)
        self.assertIn("here it is store.url: mysql://", text)

    # Lists that only a scheduler understands: a start refused them one by one, after the check had passed.
    def test_lists_that_only_a_scheduler_understands_are_checked_with_the_rest(self):
        file = pathlib.Path(self.folder) / "lists.yaml"
        file.write_text(
            "scheduler:\n  timeout: soon\n"
            "executors:\n  allow: ['10.0.0.0/99', 'a b']\n"
            "alerts:\n"
            "  rules:\n"
            "    - {name: r, metric: mood, operator: over, threshold: 1, channels: [nobody]}\n"
            "    - {name: r, metric: tasks_pending, operator: '>', threshold: 1}\n"
            "  channels:\n"
            "    - {name: ops, kind: webhook, url: 'https://hooks.example/', secret: 'env:NOT_SET'}\n")
        wanted = [f"{file}:2: scheduler.timeout", f"{file}:4: executors.allow: '10.0.0.0/99', 'a b'",
                  f"{file}:7: alerts.rules[0] 'r': metric", f"{file}:7: alerts.rules[0] 'r': operator",
                  f"{file}:7: alerts.rules[0] 'r': names the channel 'nobody'",
                  f"{file}:8: alerts.rules[1] 'r': there is a rule of that name already",
                  f"{file}:10: alerts.channels[0] 'ops': secret"]
        checked = self.run_takt("serve", "--check", "--config", str(file))
        self.assertEqual(checked.returncode, 2)
        started = self.run_takt("serve", "--config", str(file), "--store", self.store_url)
        self.assertEqual(started.returncode, 2)
        for mistake in wanted:
            self.assertIn(mistake, checked.stdout)
            self.assertIn(mistake, started.stderr)
        # What a worker in the same process would be refused for.
        ended = self.run_takt("serve", "--check", "--with-worker", "--demo", "--store", self.store_url, "--listen",
                              "127.0.0.1:0", "--set", "worker.health_listen=9090")
        self.assertEqual(ended.returncode, 1)
        self.assertRegex(ended.stdout, r"bad +worker .*health_listen")
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        for host in ("127.0.0.1", "0.0.0.0"):
            ended = self.run_takt("serve", "--check", "--with-worker", "--demo", "--store", self.store_url, "--listen",
                                  f"127.0.0.1:{port}", "--set", f"worker.health_listen={host}:{port}")
            self.assertEqual(ended.returncode, 1, ended.stdout)
            self.assertRegex(ended.stdout, r"bad +worker health .*is the port of server.listen")

    def test_serve_check_tries_all_that_a_start_would(self):
        self.use_redis()
        self.serve("--node-id", "one")

        def check(listen, *more):
            ended = self.run_takt("serve", "--check", "--store", self.store_url, "--listen", listen, *more)
            self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
            return ended.stdout

        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            said = check("127.0.0.1:0", "--with-worker", "--demo", "--set", f"worker.health_listen=127.0.0.1:{port}",
                         "--set", "tracing.enabled=true", "--set", "tracing.endpoint=http://127.0.0.1:1")
        self.assertRegex(said, rf"warn +worker health .*{port}")
        self.assertRegex(said, r"ok +tracing +spans for http://127.0.0.1:1")
        said = check("127.0.0.1:0", "--with-worker", "--demo", "--set", f"worker.health_listen=127.0.0.1:{port}",
                     "--node-id", "two")
        self.assertRegex(said, r"ok +worker health")
        self.assertRegex(said, r"ok +node id +two")
        # Who has it is told by the address, which the scheduler that is to be restarted has.
        said = check(f"127.0.0.1:{self.port()}", "--node-id", "one")
        self.assertRegex(said, r"warn +address")
        self.assertRegex(said, r"warn +node id +not looked at")

    def test_a_key_twice_a_section_as_a_key_and_values_that_cannot_work(self):
        twice = self.file("log:\n  level: info\n  level: debug\n")
        self.assertIn("stands here again, after line 2", self.serve_refused("--config", twice))
        self.assertIn("is a section", self.serve_refused("--config", self.file("scheduler: 5\n")))
        for value in ("worker_forgotten=0s", "misfire_tolerance=0s", "retention=0s", "worker_lease=9s"):
            self.assertIn(value.split("=")[0], self.serve_refused("--set", f"scheduler.{value}",
                          "--set", "scheduler.heartbeat_interval=1s"))

    def test_flags_that_would_do_nothing(self):
        self.assertIn("--with-worker", self.serve_refused("--demo"))
        nothing = self.serve_refused("--with-worker")
        self.assertIn("--demo", nothing)
        self.assertNotIn("--http", nothing)
        self.assertNotIn("listening", nothing)
        run = self.run_takt("worker", "--grpc", "resize=images")
        self.assertEqual(run.returncode, USAGE)
        self.assertIn("HOST:PORT", run.stderr)

    def test_a_missing_and_a_wrong_token_say_where_one_is_given(self):
        self.takt("token", "create", "--role", "admin", "--name", "first", "--store", self.store_url)
        self.serve()
        for arguments in ([], ["--token", "takt_" + "0" * 64]):
            run = self.run_takt("list", *arguments)
            self.assertEqual(run.returncode, USAGE)
            self.assertIn("--token or TAKT_TOKEN", run.stderr)
            self.assertNotIn("Authorization", run.stderr)


class Shown(TaktTest):

    def test_words_instead_of_flags(self):
        alone = self.takt()
        self.assertIn("submit", alone)
        self.assertEqual(alone, self.takt("--help"))
        self.assertEqual(self.takt("version"), self.takt("--version"))
        self.assertEqual(self.takt("help"), self.takt("--help"))
        self.assertEqual(self.takt("help", "workers", "drain"), self.takt("workers", "drain", "--help"))
        run = self.run_takt("help", "submitt")
        self.assertEqual(run.returncode, USAGE)
        self.assertIn("did you mean 'submit'?", run.stderr)

    def test_what_goes_on_is_yaml_as_it_happens(self):
        # Not when the command ends: nobody ends it.
        self.serve()
        events = self.start("events", "events", "-o", "yaml", "--server", self.url)
        watch = self.start("watch", "queues", "-w", "-o", "yaml", "--server", self.url)
        until(lambda: watch.text().startswith("items:"), "the first state is shown")
        self.takt("submit", "nobody", "--queue", "mail", "--id", "one")
        self.takt("submit", "nobody", "--id", "two")
        until(lambda: "execution_id: two" in events.text(), "both are told")
        self.assertIn("execution_id: one\n---\nid:", events.text())
        until(lambda: "\n---\nitems:" in watch.text(), "the next state is shown")
        self.assertIn("task.", self.takt("events", "-o", "text", "--past", "--no-follow"))
        entries = self.takt("audit", "-o", "yaml")
        self.assertTrue(entries.startswith("items:"), entries)

    def test_a_killed_worker_is_shown_as_disconnected(self):
        self.serve()
        worker = self.worker("w1", "--demo")
        self.assertIn("online", self.takt("workers"))
        worker.kill()
        until(lambda: "disconnected" in self.takt("workers"), "the lost connection is shown")

    def test_a_filter_that_was_a_mistake_does_not_fill_the_screen(self):
        self.serve("--with-worker", "--demo")
        for number in range(8):
            self.takt("submit", "noop", "--wait", "--id", f"n{number}")
        run = self.run_takt("retry", "--status", "success")
        self.assertEqual(run.returncode, USAGE)
        self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)

    def test_a_filter_goes_on_beyond_one_call(self):
        self.serve()
        lines = "\n".join(f'{{"name": "n{i}", "type": "noop"}}' for i in range(1_200))
        request = urllib.request.Request(f"{self.url}/api/v1/tasks/bulk", lines.encode(),
                                         {"Content-Type": "application/x-ndjson"})
        urllib.request.urlopen(request, timeout=30).close()
        self.assertEqual(self.takt("cancel", "--type", "noop", "--limit", "5000"), "1200 of 1200\n")

    def test_pausing_a_queue_that_nobody_uses_is_noticed(self):
        self.serve("--with-worker", "--demo")
        self.takt("submit", "noop", "--wait", "--queue", "images")
        self.assertEqual(self.run_takt("queues", "pause", "images").stderr, "")
        run = self.run_takt("queues", "pause", "imagse")
        self.assertEqual(run.returncode, 0)
        self.assertIn("did you mean 'images'?", run.stderr)

    def test_statistics_have_a_column_for_each_way_to_end(self):
        self.serve("--with-worker", "--demo")
        self.takt("submit", "noop", "--delay", "1h", "--id", "later")
        self.takt("cancel", "later")
        head = self.takt("stats").splitlines()[0]
        for column in ("SUCCESS", "FAILED", "CANCELLED", "SKIPPED", "MISSED"):
            self.assertIn(column, head)


if __name__ == "__main__":
    unittest.main()
