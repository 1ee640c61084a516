"""Processes that are killed, stopped and told to end while work is under way."""
import pathlib
import signal
import time
import unittest

from harness import QUICK, TaktTest, until


class Crash(TaktTest):
    def mark(self, name):
        """A task's command that writes a line each time it is run."""
        return f"echo $TAKT_ATTEMPT >> {self.folder}/{name}"

    def begin_job(self, seconds):
        """A task that takes so long; it has begun when this returns."""
        command = f"{self.mark('job')}; exec sleep {seconds}"
        self.takt("submit", "shell", f'{{"command": "{command}"}}', "--id", "job")
        until(lambda: self.marks("job"), "the job has begun")

    def worker_set_aside(self, name):
        """A worker that waits to be resumed: what begins meanwhile begins elsewhere, however slow the machine."""
        worker = self.worker(name, "--allow-shell", "--demo", "--capacity", "1")
        self.takt("workers", "drain", name)
        return worker

    def marks(self, name):
        file = pathlib.Path(self.folder) / name
        return file.read_text().split() if file.exists() else []

    def test_a_killed_scheduler_comes_back_with_all_it_accepted_and_repeats_nothing(self):
        # The machine loses power between two tasks.
        server = self.serve(*QUICK)
        port = self.port()
        self.worker("w", "--allow-shell", "--demo")
        for number in range(3):
            payload = f'{{"command": "{self.mark(f"done-{number}")}"}}'
            self.takt("submit", "shell", payload, "--id", f"done-{number}", "--wait")
        self.takt("submit", "noop", "--delay", "1h", "--id", "later")
        self.takt("submit", "noop", "--cron", "0 2 * * *", "--id", "nightly")
        # Accepted and not begun: nobody runs this type yet.
        waiting = f'{{"command": "{self.mark("waiting")}"}}'
        self.takt("submit", "shell", waiting, "--queue", "default", "--delay", "2s", "--id", "soon")

        server.signal(signal.SIGKILL)
        server.wait()
        self.serve(*QUICK, port=port)

        for number in range(3):
            self.assertEqual(self.get(f"done-{number}")["status"], "success")
        self.assertEqual(self.get("later")["status"], "pending")
        self.assertEqual(self.takt_json("tasks")["items"][0]["id"], "nightly")
        self.until_status("soon", "success")
        self.assertEqual(self.marks("waiting"), ["1"])
        for number in range(3):
            self.assertEqual(self.marks(f"done-{number}"), ["1"])

    def test_waiting_outlives_a_restart_of_the_scheduler(self):
        # A deployment script waits while the scheduler is upgraded under it.
        server = self.serve(*QUICK)
        port = self.port()
        self.worker("w", "--allow-shell")
        self.begin_job(1.5)
        waiter = self.start("get", "get", "job", "--wait", "--server", self.url)
        server.signal(signal.SIGKILL)
        server.wait()
        self.serve(*QUICK, port=port)
        self.assertEqual(waiter.wait(), 0, waiter.text())
        row = self.get("job")
        self.assertEqual((row["status"], row["attempt"]), ("success", 1))

    def test_work_of_a_killed_worker_is_run_by_another(self):
        # A worker's machine dies in the middle of a task.
        self.serve(*QUICK)
        first = self.worker("first", "--allow-shell", "--demo", "--capacity", "1")
        self.worker_set_aside("second")
        self.begin_job(3.0)

        first.signal(signal.SIGKILL)
        self.takt("workers", "resume", "second")

        row = self.until_status("job", "success")
        self.assertEqual((row["worker_id"], row["attempt"], row["losses"]), ("second", 2, 1))
        self.assertEqual(self.marks("job"), ["1", "2"])

    def test_the_late_report_of_a_worker_that_was_stopped_is_refused(self):
        # A worker's machine is suspended beyond its lease and wakes up with a result.
        self.serve(*QUICK)
        first = self.worker("first", "--allow-shell", "--demo", "--capacity", "1")
        self.worker_set_aside("second")
        self.begin_job(3.0)

        # The other one takes as long again, after the lease: the command of this one has ended by then.
        first.signal(signal.SIGSTOP)
        self.takt("workers", "resume", "second")
        done = self.until_status("job", "success")
        self.assertEqual((done["worker_id"], done["attempt"], done["losses"]), ("second", 2, 1))
        first.signal(signal.SIGCONT)

        until(lambda: self.worker_row("first").get("connected"), "the worker is back")
        # It can run work again, so whatever it had to say about the old attempt was heard before.
        self.takt("workers", "drain", "second")
        self.takt("submit", "noop", "--wait", "-q")
        self.assertEqual(self.get("job"), done)
        self.assertEqual(self.metric("takt_reports_stale_total"), 1)

    def test_a_worker_told_to_end_finishes_what_it_runs(self):
        # An operator deploys a new version of a worker.
        self.serve(*QUICK)
        worker = self.worker("w", "--allow-shell")
        self.begin_job(1.0)
        worker.signal(signal.SIGTERM)
        self.assertEqual(worker.wait(), 0, worker.text())
        row = self.get("job")
        self.assertEqual((row["status"], row["attempt"]), ("success", 1))

    def test_a_scheduler_told_to_end_lets_its_own_worker_finish(self):
        # A single node is restarted by systemd.
        server = self.serve("--with-worker", "--set", "worker.allow_shell=true", *QUICK)
        port = self.port()
        self.begin_job(0.8)
        begin = time.monotonic()
        server.signal(signal.SIGTERM)
        self.assertEqual(server.wait(), 0, server.text())
        self.assertLess(time.monotonic() - begin, 20)
        self.serve("--with-worker", "--set", "worker.allow_shell=true", *QUICK, port=port)
        row = self.until_status("job", "success")
        self.assertEqual(row["attempt"], 1)

    def test_a_second_signal_quits_at_once(self):
        # Somebody has no patience for a task of an hour.
        self.serve(*QUICK)
        worker = self.worker("w", "--allow-shell")
        self.begin_job(3600)
        worker.signal(signal.SIGTERM)
        until(lambda: "draining" in worker.text(), "it is on its way out")
        worker.signal(signal.SIGTERM)
        worker.wait()
        self.takt("cancel", "job")


if __name__ == "__main__":
    unittest.main()
