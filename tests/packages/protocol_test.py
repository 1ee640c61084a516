"""takt protocol-test: our workers keep all rules, and one that breaks a rule is told which."""
import concurrent.futures
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import unittest

import cluster  # noqa: F401  Where the harness is found.
from harness import environment

TAKT = os.path.abspath(os.environ.get("TAKT_BINARY", "build/takt"))
HERE = pathlib.Path(__file__).resolve().parent
PYTHON = f"{sys.executable} {HERE}/kit_worker.py {{url}}"
WORKERS = {"cpp": f"{TAKT} worker --demo --server {{url}}", "python": PYTHON,
           "node": f"node {HERE}/kit_worker.mjs {{url}} {os.environ.get('TAKT_NODE_PACKAGE')}"}
# A worker that has one of these breaks the rule of that name.
DEFECTS = ("result_kept", "stale_epoch", "older_term", "heartbeat", "cancel", "timeout", "capacity", "same_instance",
           "ack", "backoff", "malformed", "leaving", "run")


def protocol_test(*arguments):
    return subprocess.run([TAKT, "protocol-test", *arguments], capture_output=True, text=True, check=False,
                          timeout=280, env=environment())


def python_has_zstd():
    return any(importlib.util.find_spec(name) for name in ("zstandard", "compression"))


def node_has_zstd():
    check = "process.exit(require('node:zlib').zstdDecompressSync ? 0 : 1)"
    return subprocess.run(["node", "-e", check], check=False).returncode == 0


class ProtocolTest(unittest.TestCase):
    def keeps_all(self, name, not_tested=()):
        ended = protocol_test("--connect", WORKERS[name], "--json")
        report = json.loads(ended.stdout)
        broken = [f"{rule['rule']}: {rule['detail']}" for rule in report["rules"] if rule["verdict"] == "broken"]
        self.assertEqual((ended.returncode, broken), (0, []), ended.stderr)
        skipped = {rule["rule"] for rule in report["rules"] if rule["verdict"] == "not_tested"}
        self.assertEqual(skipped, set(not_tested))
        self.assertEqual(report["kept"] + report["not_tested"], len(report["rules"]))

    def test_the_worker_in_cpp_keeps_all_rules(self):
        self.keeps_all("cpp", ("locks",))

    # Packed payloads are unpacked by a Python or a Node that can; one that cannot says so, and is sent none.
    def test_the_worker_in_python_keeps_all_rules(self):
        self.keeps_all("python", () if python_has_zstd() else ("zstd",))

    def test_the_worker_in_node_keeps_all_rules(self):
        self.keeps_all("node", () if node_has_zstd() else ("zstd",))

    # With the package zstandard, here one of the test's own: the rule is tested, and kept.
    def test_a_python_with_zstd_unpacks_payloads(self):
        ended = subprocess.run([TAKT, "protocol-test", "--connect", PYTHON, "--json", "--only", "zstd"],
                               capture_output=True, text=True, check=False, timeout=280,
                               env={**environment(), "PYTHONPATH": str(HERE / "zstd_stub")})
        [rule] = json.loads(ended.stdout)["rules"]
        self.assertEqual((rule["rule"], rule["verdict"]), ("zstd", "kept"), ended.stdout + ended.stderr)

    def test_defects_break_their_rules(self):
        # Most of it is waiting for what does not come, so that several wait at once.
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            runs = {defect: pool.submit(protocol_test, "--connect", f"{PYTHON} {defect}", "--json", "--only", defect)
                    for defect in DEFECTS}
        for defect, run in runs.items():
            with self.subTest(defect):
                ended = run.result()
                self.assertEqual(ended.returncode, 1, ended.stdout + ended.stderr)
                [rule] = json.loads(ended.stdout)["rules"]
                self.assertEqual((rule["rule"], rule["verdict"]), (defect, "broken"))

    # A worker that cannot be started from a command line: it is told where to connect.
    def test_a_worker_that_somebody_else_starts_is_tested_too(self):
        kit = subprocess.Popen([TAKT, "protocol-test", "--json", "--only", "result_kept", "--only", "leaving"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
        self.addCleanup(kit.kill)
        url = kit.stderr.readline().rsplit(" ", 1)[1].strip()
        worker = subprocess.Popen(PYTHON.format(url=url).split(), stderr=subprocess.DEVNULL, env=environment())
        self.addCleanup(worker.wait)
        self.addCleanup(worker.kill)
        said, _ = kit.communicate(timeout=60)
        verdicts = {rule["rule"]: rule["verdict"] for rule in json.loads(said)["rules"]}
        self.assertEqual(verdicts, {"result_kept": "kept", "leaving": "not_tested"})

    def test_mistakes_are_told(self):
        nobody = protocol_test("--only", "no_such_rule")
        self.assertEqual(nobody.returncode, 2)
        self.assertIn("there is no rule 'no_such_rule'", nobody.stderr)
        self.assertEqual(protocol_test("--listen", "nowhere").returncode, 2)
        self.assertIn("result_kept", protocol_test("--list").stdout)


if __name__ == "__main__":
    unittest.main()
