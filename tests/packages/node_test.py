"""The Node package against real schedulers; what happens in Node is in node_scenarios.mjs."""
import os
import pathlib
import signal
import subprocess
import tarfile
import tempfile
import unittest
import zipfile

from cluster import SOURCE, ClusterTest, note, until
from python_client_test import LosesOneAnswer

import takt

SCENARIOS = str(SOURCE / "tests/packages/node_scenarios.mjs")


class NodeTest(ClusterTest):
    def node(self, scenario, *urls, folder=None):
        return subprocess.Popen(["node", SCENARIOS, scenario, folder or self.folder, *urls],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def finish(self, process):
        output, _ = process.communicate(timeout=150)
        self.assertEqual(process.returncode, 0, output)

    def follow(self, scenario):
        self.serve()
        self.finish(self.node(scenario, self.url))

    def test_client(self):
        self.follow("client")

    def test_errors_name_the_field_and_have_classes_of_their_own(self):
        self.follow("errors")

    def test_locks_are_one_holders_and_their_loss_is_told(self):
        self.follow("locks")

    def test_a_handler_is_told_that_its_locks_were_taken_away(self):
        self.follow("lost_locks")

    def test_workflows_shards_and_namespaces(self):
        self.follow("flow")

    def test_progress_logs_failures_timeouts_and_cancels(self):
        self.follow("telling")

    def test_the_capacity_changes_while_it_runs(self):
        self.follow("capacity")

    def test_what_does_not_end_in_time_is_handed_back(self):
        self.follow("handed_back")

    # A handler blocks the loop past the lease. What came in the same frame has been given to others by then.
    def test_nothing_is_begun_after_the_lease(self):
        self.finish(self.node("late", "http://127.0.0.1:1"))

    def test_a_lock_is_lost_with_its_lease_however_many_servers_are_silent(self):
        self.finish(self.node("silent", "http://127.0.0.1:1"))

    def test_a_lock_is_renewed_however_many_servers_there_are(self):
        self.finish(self.node("many", "http://127.0.0.1:1"))

    def test_who_cancels_is_not_told_that_it_has_ended_already(self):
        self.serve()
        with takt.Client(self.url) as client:
            waiting = client.submit("nobody-runs-this")
        network = LosesOneAnswer(self.url)
        self.finish(self.node("lost_cancel", network.url, folder=waiting.id))
        self.assertEqual(network.lost, 1)

    def test_a_lost_answer_makes_no_second_task(self):
        self.serve()
        network = LosesOneAnswer(self.url)
        self.finish(self.node("lost_answer", network.url, folder=self.url))
        self.assertEqual(network.lost, 1)

    # The leader's machine loses its power while handlers run; they end before there is another leader.
    def test_no_result_is_lost_with_the_leader_and_nothing_runs_twice(self):
        process = self.node("killed_leader", *self.start_two())
        self.addCleanup(process.kill)
        until(lambda: len(self.begun("begun")) == 8 or process.poll() is not None, "all have begun")
        self.kill_leader()
        note(self.folder, "release", "now")
        self.finish(process)
        self.assertEqual(len(set(self.begun("begun"))), 8)
        self.assertEqual(len(self.begun("begun")), 8)

    def test_a_stop_in_order_finishes_what_runs(self):
        self.serve()
        process = self.node("until_stopped", self.url)
        self.addCleanup(process.kill)
        self.takt("submit", "slow", "--id", "slow-1")
        until(lambda: self.begun("begun"), "it runs")
        process.send_signal(signal.SIGTERM)
        self.finish(process)
        done = self.get("slow-1")
        self.assertEqual((done["status"], done["result"], done["losses"]), ("success", "whole", 0))


class PackageTest(unittest.TestCase):
    """What ./dev package makes: whole, and of use to somebody who has nothing else."""

    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="takt-packages-")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        made = subprocess.run([SOURCE / "sdk/package", cls.folder], capture_output=True, text=True, check=False,
                              timeout=280)
        if made.returncode != 0:
            raise AssertionError(made.stdout + made.stderr)

    def test_the_wheel_can_be_imported_and_is_typed(self):
        [wheel] = self.folder.glob("*.whl")
        self.assertIn("takt/py.typed", zipfile.ZipFile(wheel).namelist())
        said = subprocess.run(["/usr/bin/python3", "-c", "import takt; print(takt.__version__, takt.__file__)"],
                              env={**os.environ, "PYTHONPATH": str(wheel)}, capture_output=True, text=True,
                              check=True, cwd=self.folder)
        self.assertEqual(said.stdout.strip(), f"0.1.0 {wheel}/takt/__init__.py")
        self.assertEqual(len(list(self.folder.glob("takt-*.tar.gz"))), 1)

    def test_the_tarball_has_code_and_types_and_no_sources(self):
        [tarball] = self.folder.glob("*.tgz")
        names = tarfile.open(tarball).getnames()
        for name in ("dist/index.js", "dist/index.d.ts", "package.json", "README.md"):
            self.assertIn(f"package/{name}", names)
        self.assertEqual([name for name in names if "/src/" in name], [])


if __name__ == "__main__":
    unittest.main()
