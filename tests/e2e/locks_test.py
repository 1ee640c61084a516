"""Locks as scripts and programs use them: the command line, REST, the examples in Python and Node."""
import importlib.util
import pathlib
import signal
import subprocess
import sys
import threading
import unittest
import urllib.error

from harness import DEADLINE, QUICK, TAKT, TaktTest, environment, until

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


class Locks(TaktTest):
    def setUp(self):
        super().setUp()
        self.scheduler = self.serve("--with-worker", "--demo", *QUICK)
        until(lambda: self.takt_json("workers")["items"], "the worker is attached")

    def held(self, name):
        return self.takt_json("locks", "get", name)["holders"]

    def lock(self, *arguments, command="sleep 60"):
        """takt lock, in the background, whose command runs: until then it may acquire again what it lost."""
        process = self.start("lock", "lock", "--server", self.url, *arguments, "--", "sh", "-c",
                             f"echo runs; exec {command}")
        until(lambda: "runs" in process.text() or process.process.poll() is not None, "the lock is held")
        return process

    def test_a_command_runs_while_its_lock_is_held_and_its_exit_code_is_ours(self):
        # A cron job on two machines: the second one gives up, or waits.
        first = self.lock("ledger", "--ttl", "2s")
        holder = self.held("ledger")[0]
        self.assertIn("held by others", self.refused(4, "lock", "ledger", "--", "true"))
        first.signal(signal.SIGTERM)
        self.assertEqual(first.wait(), 128 + signal.SIGTERM)
        self.assertEqual(self.held("ledger"), [])
        ended = self.run_takt("lock", "ledger", "--wait", "10s", "--", "sh", "-c",
                              "echo $TAKT_LOCK_NAME $TAKT_LOCK_TOKEN; exit 7")
        self.assertEqual(ended.returncode, 7, ended.stderr)
        name, token = ended.stdout.split()
        self.assertEqual(name, "ledger")
        self.assertGreater(int(token), holder["token"])
        self.assertIn("cannot run", self.refused(3, "lock", "ledger", "--", "no-such-program"))
        # A takt inside takes the variables for what they are.
        self.takt("lock", "ledger", "--", TAKT, "locks", "--server", self.url)

    def test_a_command_is_stopped_when_its_lock_is_lost(self):
        # An operator takes the lock away from a script that has gone mad.
        lost = self.lock("ledger", "--ttl", "3s")
        self.assertIn("ledger", self.takt("locks", "release", "ledger"))
        self.assertEqual(lost.wait(), 128 + signal.SIGTERM)
        self.assertIn("was lost", lost.text())
        kept = self.lock("ledger", "--ttl", "3s", "--keep-running", command="sh -c 'sleep 3; exit 3'")
        self.takt("locks", "release", self.held("ledger")[0]["lock_id"])
        self.assertEqual(kept.wait(), 3)
        self.assertIn("nobody holds", self.refused(3, "locks", "release", "ledger"))

    def test_a_lock_survives_a_killed_scheduler_and_its_holder_does_not_notice(self):
        # The scheduler is upgraded, or crashes, while a job runs under a lock.
        job = self.lock("ledger", "--ttl", "20s")
        before = self.held("ledger")[0]
        port = self.port()
        self.scheduler.kill()
        self.processes.remove(self.scheduler)
        self.scheduler = self.serve("--with-worker", "--demo", *QUICK, port=port)
        after = self.held("ledger")[0]
        self.assertEqual((after["lock_id"], after["token"]), (before["lock_id"], before["token"]))
        self.assertIn("held by others", self.refused(4, "lock", "ledger", "--", "true"))
        self.assertIsNone(job.process.poll())
        job.signal(signal.SIGTERM)
        job.wait()
        token = int(self.takt("lock", "ledger", "--", "sh", "-c", "echo $TAKT_LOCK_TOKEN"))
        self.assertGreater(token, after["token"])

    def test_a_semaphore_and_a_task_that_declares_it(self):
        # Two places on the graphics card; a task needs both.
        self.takt("locks", "size", "gpu", "2")
        job = self.lock("gpu")
        self.takt("submit", "echo", "--id", "train", "--field", 'locks=[{"name": "gpu", "permits": 2}]')
        until(lambda: "waits for lock 'gpu'" in self.takt("explain", "train"), "it stands in line")
        self.assertIn("gpu", self.takt("locks"))
        job.signal(signal.SIGTERM)
        job.wait()
        self.until_status("train", "success")
        self.assertEqual(self.held("gpu"), [])
        self.assertGreaterEqual(self.metric("takt_locks_acquired_total"), 2)

    def test_the_example_in_python_holds_a_lock_and_knows_when_it_is_lost(self):
        spec = importlib.util.spec_from_file_location("lock_example", EXAMPLES / "lock.py")
        example = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(example)
        with example.Lock(self.url, "ledger", ttl=1) as lock:
            self.assertEqual(self.held("ledger")[0]["token"], lock.token)
            with self.assertRaises(urllib.error.HTTPError):
                example.Lock(self.url, "ledger").__enter__()
            waiter = threading.Thread(target=lambda: example.Lock(self.url, "ledger", wait=20).__enter__())
            waiter.start()
            until(lambda: self.takt_json("locks", "get", "ledger")["waiting"], "it stands in line")
            self.assertFalse(lock.lost.wait(2))  # Renewed: twice its ttl.
        waiter.join(DEADLINE)
        self.assertTrue(self.held("ledger"))
        with example.Lock(self.url, "other", ttl=1) as lock:
            self.takt("locks", "release", "other")
            self.assertTrue(lock.lost.wait(DEADLINE))

    def test_the_examples_run_as_programs(self):
        for command in ([sys.executable, EXAMPLES / "lock.py"], ["node", EXAMPLES / "node" / "lock.mjs"]):
            ended = subprocess.run([*command, self.url, "example"], capture_output=True, text=True,
                                   env=environment(), timeout=DEADLINE, check=False)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            self.assertRegex(ended.stdout, r"^token \d+\n$")
            self.assertEqual(self.held("example"), [])


if __name__ == "__main__":
    unittest.main()
