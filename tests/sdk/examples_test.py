"""The C++ examples, as real processes: the quick start and the worker that is called over HTTP."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = pathlib.Path(os.environ["TAKT_BUILD"])
# Generous, because machines that run tests are busy; only a failing test waits so long.
DEADLINE = 60.0


class Example:
    """One example; its output goes to a file."""

    def __init__(self, folder, name, *arguments):
        self.output = pathlib.Path(folder) / f"{name}.out"
        with open(self.output, "wb") as file:
            self.process = subprocess.Popen([BUILD / f"example_{name}", *arguments], stdout=file,
                                            stderr=file, stdin=subprocess.DEVNULL)

    def text(self):
        return self.output.read_text(errors="replace")

    def line(self, words):
        """The first line that holds the words, once it is there."""
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            for line in self.text().splitlines(keepends=True):
                if words in line and line.endswith("\n"):
                    return line.strip()
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f"no line with {words!r} in: {self.text()}")

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(DEADLINE)


class ExamplesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="takt-examples-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.scheduler = self.start("scheduler", f"file:{self.folder}/store", "127.0.0.1:0")
        self.url = self.scheduler.line("listening on").split()[-1]

    def start(self, name, *arguments):
        example = Example(self.folder, name, *arguments)
        self.addCleanup(example.stop, signal.SIGKILL)
        return example

    def test_many_tasks_run_at_once_without_blocking(self):
        self.start("worker", self.url)
        client = self.start("async", self.url)
        self.assertEqual(client.line("succeeded"), "10 succeeded")
        self.assertEqual(client.process.wait(DEADLINE), 0)

    def test_quick_start_runs_a_task_from_submit_to_result(self):
        # Somebody copies the three programs from the README and starts them.
        worker = self.start("worker", self.url)
        worker.line("started")
        submit = self.start("submit", self.url)
        self.assertEqual(submit.process.wait(DEADLINE), 0, submit.text())
        self.assertIn('success', submit.text())
        self.assertIn('{"processed": {"user_id": 12345}}', submit.text())
        self.scheduler.line("completed on")
        self.assertEqual(worker.stop(), 0)
        self.assertEqual(self.scheduler.stop(), 0)
        self.assertIn("1 tasks completed", self.scheduler.text())

    def test_http_worker_is_called_and_its_answer_is_the_result(self):
        # A service in any language announces itself and is called.
        worker = self.start("http_worker", self.url, "0")
        worker.line("worker-001 listening on")
        submitted = subprocess.run(
            [BUILD / "takt", "submit", "data_processing", '{"input": "data.csv"}', "--wait",
             "--json", "--server", self.url], capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual(submitted.returncode, 0, submitted.stderr)
        self.assertIn('"rows":42', submitted.stdout.replace(" ", ""))
        self.assertIn("data.csv", worker.line("processing"))

    def run_flow(self, name):
        """Creates a workflow from its file and waits for its end; the run, and its steps."""
        folder = pathlib.Path(__file__).resolve().parents[2] / "examples" / "workflows"

        def takt(*arguments):
            done = subprocess.run([BUILD / "takt", *arguments, "--json", "--server", self.url],
                                  capture_output=True, text=True, timeout=DEADLINE)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout)

        made = takt("tasks", "create", "-f", str(folder / f"{name}.yaml"))
        run = takt("get", made["id"], "--wait")
        return run, takt("get", made["id"], "--tree")["items"]

    def check_flows(self, workers):
        run, steps = self.run_flow("etl")
        self.assertEqual(run["result"], {"loaded": 3})
        self.assertEqual([step["status"] for step in steps], ["success"] * 3)
        run, steps = self.run_flow("fan_out")
        self.assertEqual(run["result"], 5 + 6 + 7)
        self.assertEqual(steps[1]["executions"]["success"], 3)
        run, steps = self.run_flow("broadcast")
        self.assertEqual(run["status"], "success")
        self.assertEqual(steps[0]["executions"]["total"], workers)

    def test_the_workflows_run_on_workers_in_cpp(self):
        for name in ("one", "two"):
            self.start("workflow_worker", self.url, name).line("started")
        self.check_flows(2)

    def test_workflows_are_written_in_cpp(self):
        for name in ("one", "two"):
            self.start("workflow_worker", self.url, name).line("started")
        done = subprocess.run([BUILD / "example_workflows", self.url], capture_output=True, text=True,
                              timeout=DEADLINE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('etl: success {"loaded": 3}', done.stdout)
        self.assertIn("fan-out: success 18", done.stdout)
        self.assertIn('clear-caches: success [{"cleared": true},{"cleared": true}]', done.stdout)

    def test_the_workflows_run_on_a_worker_in_python(self):
        script = pathlib.Path(__file__).resolve().parents[2] / "examples" / "workflows" / "worker.py"
        worker = subprocess.Popen([sys.executable, script, self.url.replace("http", "ws", 1), "py"],
                                  stdin=subprocess.DEVNULL)
        self.addCleanup(worker.wait)
        self.addCleanup(worker.kill)
        self.check_flows(1)

    def test_mistakes_are_told_in_one_sentence(self):
        # The port is taken: by the first scheduler.
        second = self.start("scheduler", "memory:", self.url.removeprefix("http://"))
        self.assertEqual(second.process.wait(DEADLINE), 1)
        self.assertIn("in use", second.text())
        nobody = self.start("submit", "http://127.0.0.1:9")
        self.assertEqual(nobody.process.wait(DEADLINE), 1)
        self.assertIn("cannot reach http://127.0.0.1:9", nobody.text())


if __name__ == "__main__":
    unittest.main()
