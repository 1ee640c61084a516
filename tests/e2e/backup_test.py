"""A backup is made while schedulers and workers are busy, and is the state of one moment."""
import json
import pathlib
import signal
import sys
import threading
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "chaos"))

import stores  # noqa: E402  (a file of the neighbour's folder)
from harness import QUICK, TaktTest, until  # noqa: E402

STEPS = [{"name": "split", "type": "noop", "shards": 3}, {"name": "end", "type": "noop", "after": ["split"]}]


class Load(threading.Thread):
    """Submits all the time: tasks that end at once, that fail, that write, and workflows."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.url, self.over, self.sent = url, threading.Event(), 0

    def run(self):
        while not self.over.is_set():
            tasks = [{"name": "n", "type": "noop"}, {"name": "l", "type": "log", "payload": {"lines": 2}},
                     {"name": "f", "type": "fail", "retry_policy": {"max_retries": 0}},
                     {"name": "later", "type": "noop", "delay": "1h"}, {"name": "flow", "steps": STEPS}]
            body = json.dumps(tasks).encode()
            request = urllib.request.Request(f"{self.url}/api/v1/tasks/bulk", body,
                                             {"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    answer.read()
                self.sent += 1
            except (OSError, urllib.error.HTTPError):
                pass  # Refused while commits are held back; it goes on.

    def stop(self):
        self.over.set()
        self.join(60)


class Backup(TaktTest):
    def executions(self):
        """By id, in the order of their making."""
        rows = self.takt_json("list", "--all", "--children")["items"]
        return {row["id"]: row for row in reversed(rows)}

    def end_servers(self):
        for process in self.processes:
            if "serve" in process.output.name and process.process.poll() is None:
                process.signal(signal.SIGTERM)
                process.wait()

    def busy_backup(self, *flags):
        """Backs up under load, then compares what comes out of the file with what went on."""
        self.serve(*QUICK)
        self.takt("namespaces", "create", "billing")
        self.worker("w1", "--demo", "--capacity", "8")
        self.takt("-n", "billing", "submit", "noop", "--id", "theirs", "--delay", "1h")
        load = Load(self.url)
        load.start()
        self.addCleanup(load.stop)
        until(lambda: load.sent > 20, "something has been done")
        archive = f"{self.folder}/archive"
        said = self.takt("store", "backup", archive, "--store", self.store_url, *flags)
        self.assertIn("at one moment", said)
        sent = load.sent
        until(lambda: load.sent > sent + 10, "work goes on after it")
        load.stop()
        self.assertEqual(list(pathlib.Path(archive).parent.glob("*.snapshot*")), [])
        later = self.executions()
        self.end_servers()
        self.takt("store", "restore", archive, "--store", f"file:{self.folder}/again")
        checked = self.run_takt("store", "check", f"file:{self.folder}/again")
        self.assertEqual(checked.returncode, 0, checked.stdout)
        self.store_url = f"file:{self.folder}/again"
        self.serve(*(word.replace("worker_lease=2s", "worker_lease=10m") for word in QUICK))
        before = self.executions()
        self.assertGreater(len(before), 100)
        self.assertLess(len(before), len(later))
        # Everything that was made up to one moment, and nothing that was made after it.
        self.assertEqual(list(before), list(later)[:len(before)])
        ended = 0
        for name, row in before.items():
            if row["finished_at"]:
                ended += 1
                for field in ("status", "finished_at", "attempt", "result"):
                    self.assertEqual(row.get(field), later[name].get(field), name)
        self.assertGreater(ended, 20)
        self.takt("-n", "billing", "get", "theirs")
        self.assertTrue(self.takt("logs", next(name for name, row in before.items()
                                               if row["type"] == "log" and row["finished_at"])))

    def test_embedded(self):
        self.busy_backup()
        self.assertIn("is for Redis", self.refused(2, "store", "backup", f"{self.folder}/b", "--store",
                                                   self.store_url, "--pause-max", "3s"))

    def with_server(self, make):
        store = make(self.folder)
        self.addCleanup(store.close)
        store.start()
        self.store_url = store.url(store.ports)

    def test_redis(self):
        self.with_server(stores.Redis)
        self.busy_backup("--pause-max", "20s")

    def test_redis_that_takes_too_long_is_refused(self):
        self.with_server(stores.Redis)
        self.serve(*QUICK)
        self.worker("w1", "--demo")
        load = Load(self.url)
        load.start()
        self.addCleanup(load.stop)
        until(lambda: load.sent > 300, "there is enough to read", deadline=120)
        archive = f"{self.folder}/archive"
        ended = self.run_takt("store", "backup", archive, "--store", self.store_url, "--pause-max", "10ms")
        self.assertEqual(ended.returncode, 5, ended.stdout + ended.stderr)
        self.assertIn("--pause-max", ended.stderr)
        self.assertFalse(pathlib.Path(archive).exists())

    def test_mysql(self):
        self.with_server(stores.Mysql)
        self.busy_backup()

    def test_etcd(self):
        self.with_server(stores.Etcd)
        self.busy_backup()


if __name__ == "__main__":
    unittest.main()
