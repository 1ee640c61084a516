"""HTTP executors and the schedulers that call them, as real processes."""
import pathlib
import sys
import unittest

from harness import Process, TaktTest, until

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


if __name__ == "__main__":
    unittest.main()
