"""Queues whose tool chain is not here are skipped by ./dev bench peers, and only those. No tool chain is
needed: the tools on the path are small scripts of the test."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PEERS = pathlib.Path(__file__).resolve().parents[2] / "bench/peers"
sys.path.insert(0, str(PEERS))

import toolchains  # noqa: E402
from processes import Failure  # noqa: E402


class ToolchainsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="takt-toolchains-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.tools = self.folder / "tools"
        self.tools.mkdir()
        before = os.environ["PATH"], toolchains.BUILT
        os.environ["PATH"], toolchains.BUILT = str(self.tools), self.folder / "built"
        self.addCleanup(self.restore, *before)

    @staticmethod
    def restore(path, built):
        os.environ["PATH"], toolchains.BUILT = path, built

    def tool(self, name, script):
        """A program that leaves its arguments in `calls` before it does what `script` says."""
        path = self.tools / name
        path.write_text(f'#!/bin/sh\necho {name} "$@" >>{self.folder}/calls\n{script}\n')
        path.chmod(0o755)

    def calls(self):
        return (self.folder / "calls").read_text().splitlines()

    def test_a_tool_that_is_missing_is_named(self):
        with self.assertRaisesRegex(toolchains.Missing, "^there is no go here$"):
            toolchains.build_go()
        self.tool("java", "")
        self.tool("javac", "")
        with self.assertRaisesRegex(toolchains.Missing, "^there is no mvn here$"):
            toolchains.build_java()

    def test_a_registry_that_does_not_answer_is_no_failure(self):
        self.tool("go", "echo 'no route to the proxy' >&2; exit 1")
        with self.assertRaisesRegex(toolchains.Missing, r"could not be fetched \(no route to the proxy\)"):
            toolchains.build_go()
        for name in ("java", "javac"):
            self.tool(name, "")
        self.tool("mvn", "echo '[ERROR] Unknown host'; exit 1")
        with self.assertRaisesRegex(toolchains.Missing, r"could not be fetched \(\[ERROR\] Unknown host\)"):
            toolchains.build_java()

    def test_a_driver_that_does_not_compile_is_a_failure(self):
        self.tool("go", '[ "$1" = mod ] || { echo "asynq.go:7: undefined" >&2; exit 1; }')
        with self.assertRaisesRegex(Failure, "go build.*undefined"):
            toolchains.build_go()

    def test_what_is_built_is_not_built_again(self):
        for name in ("java", "javac", "mvn"):
            self.tool(name, "")
        toolchains.build_java()
        toolchains.build_java()
        self.assertEqual([call.split()[0] for call in self.calls()], ["mvn", "javac"])
        os.utime(toolchains.BUILT / "java/.compiled", (0, 0))  # As if a source were newer.
        toolchains.build_java()
        self.assertEqual([call.split()[0] for call in self.calls()], ["mvn", "javac", "javac"])

    def test_a_build_that_failed_is_not_tried_again(self):
        self.tool("go", "exit 1")
        build = toolchains.once(toolchains.build_go)
        for _ in range(2):
            with self.assertRaises(toolchains.Missing):
                build()
        self.assertEqual(len(self.calls()), 1)

    def test_the_run_says_what_it_skips_and_why(self):
        self.tool("git", "")
        done = subprocess.run(
            [sys.executable, PEERS / "run.py", "--quick", "--only", "asynq,nats,quartz",
             "--out", self.folder / "out"],
            capture_output=True, text=True, check=False, timeout=60)
        self.assertIn("\nskipped asynq, nats: there is no go here\n", done.stderr)
        self.assertIn("\nskipped quartz: there is no java here\n", done.stderr)
        report = json.loads((self.folder / "out/peers.json").read_text())
        self.assertEqual(report["failures"], [])
        self.assertEqual(done.returncode, 1, "nothing was measured")


if __name__ == "__main__":
    unittest.main()
