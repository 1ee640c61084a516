"""A busy installation is moved through all stores and back, by the commands that people would use."""
import json
import pathlib
import signal
import sys
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "chaos"))

import stores  # noqa: E402  (a file of the neighbour's folder)
from harness import QUICK, TaktTest, until  # noqa: E402


class StoreTest(TaktTest):
    def run_busily(self):
        """Leaves a row of every kind: finished, failed, waiting and running ones, a run, logs, a lock."""
        server = self.serve(*QUICK)
        self.takt("namespaces", "create", "billing")
        self.worker("w1", "--demo", "--capacity", "4")
        self.takt("submit", "echo", "--id", "nightly", "--cron", "0 3 * * *")
        self.takt("queues", "pause", "slow")
        for number in range(30):
            self.takt("submit", "log", '{"lines": 3}', "--id", f"log{number}")
        self.takt("submit", "fail", "--id", "fails", "--retries", "0")
        self.takt("submit", "noop", "--id", "waits", "--queue", "slow")
        self.takt("submit", "noop", "--id", "later", "--delay", "1h")
        self.takt("submit", "sleep", '{"ms": 600000}', "--id", "runs")
        self.takt("-n", "billing", "submit", "noop", "--id", "theirs")
        self.post("tasks", {"name": "flow", "id": "flow", "steps": [
            {"name": "split", "type": "echo", "shards": 5},
            {"name": "hold", "type": "noop", "queue": "slow", "after": ["split"]}]})
        self.post("locks/ledger/acquire", {"ttl": "1h", "owner": "me"})

        def settled():
            rows = {row["id"]: row["status"] for row in self.executions()}
            return (all(rows.get(f"log{n}") == "success" for n in range(30)) and
                    rows.get("fails") == "failed" and rows.get("runs") == "running")

        until(settled, "everything is as far as it gets")
        until(lambda: self.steps()["split"]["status"] == "success", "the first step has ended")
        return server

    def executions(self):
        return self.takt_json("list", "--limit", "200")["items"]

    def steps(self):
        return {row["name"]: row for row in self.fetch("/api/v1/executions/flow/steps")["items"]}

    def stop(self):
        for process in self.processes:
            if process.process.poll() is None and "serve" in process.output.name:
                process.signal(signal.SIGTERM)
                process.wait()

    def everything(self):
        """What somebody sees who asks; without what a new leader makes anew."""
        seen = {"log": self.run_takt("logs", "log7").stdout, "steps": self.steps(),
                "tasks": self.takt_json("tasks")["items"],
                "queues": [(row["name"], row["paused"])
                           for row in self.fetch("/api/v1/queues")["items"]],
                "locks": [(row["name"], row["holders"][0]["owner"])
                          for row in self.fetch("/api/v1/locks")["items"]],
                "spaces": [row["name"] for row in self.takt_json("namespaces")["items"]],
                "theirs": json.loads(self.run_takt("-n", "billing", "get", "theirs",
                                                   "--json").stdout)["created_at"]}
        for row in self.executions():
            seen[row["id"]] = {name: row.get(name) for name in
                               ("status", "created_at", "finished_at", "attempt", "worker_id",
                                "result", "error", "queue")}
        return seen

    def fetch(self, path):
        with urllib.request.urlopen(self.url + path, timeout=30) as answer:
            return json.load(answer)

    def test_moved_through_every_store_and_back(self):
        self.run_busily()
        before = self.everything()
        self.assertGreater(len(before), 34)
        self.stop()
        rows = self.tally(self.store_url)
        for kind in ("history", "live", "tasks", "workers", "settings", "records", "logs", "events"):
            self.assertGreater(rows[kind]["rows"], 0, kind)
        place = self.store_url
        for make in (stores.Redis, stores.Mysql, stores.Etcd):
            store = make(self.folder)
            self.addCleanup(store.close)
            store.start()
            place = self.move(place, store.url(store.ports))
        place = self.move(place, f"file:{self.folder}/back")
        self.takt("store", "backup", f"{self.folder}/archive", "--store", place)
        self.takt("store", "restore", f"{self.folder}/archive", "--store", f"file:{self.folder}/again")
        self.assertEqual(self.tally(f"file:{self.folder}/again"), rows)
        self.store_url = place
        self.serve(*QUICK, port=self.port())
        until(lambda: all(row["leader"] for row in self.takt_json("namespaces")["items"]),
              "all namespaces are led")
        # The worker has waited for a scheduler all the time, with what it runs.
        until(lambda: self.worker_row("w1").get("connected"), "the worker is back")
        self.assertEqual(self.everything(), before)
        self.takt("queues", "resume", "slow")
        self.assertIn("not empty", self.refused(4, "store", "restore", f"{self.folder}/archive",
                                                "--store", f"file:{self.folder}/again"))

    def tally(self, url):
        spaces = json.loads(self.takt("store", "stats", url, "--json"))["namespaces"]
        return {row["name"]: row for row in spaces}["default"]["rows"]

    def move(self, source, target):
        self.takt("store", "copy", source, target)
        self.assertEqual(self.tally(target), self.tally(source))
        self.takt("store", "check", target)
        return target

    def test_no_scheduler_may_use_it_meanwhile(self):
        self.serve(*QUICK)
        # The directory is another process's; a server's store names the scheduler that leads.
        self.assertIn("another process", self.refused(4, "store", "stats", self.store_url))
        redis = stores.Redis(self.folder)
        self.addCleanup(redis.close)
        redis.start()
        self.stop()
        self.store_url = redis.url(redis.ports)
        self.serve(*QUICK)
        said = self.refused(4, "store", "copy", self.store_url, f"file:{self.folder}/other")
        self.assertIn("stop all schedulers that use this store first", said)
        self.takt("store", "stats", self.store_url)

    def test_rows_that_a_set_of_redis_has_lost_are_found_and_put_back(self):
        redis = stores.Redis(self.folder)
        self.addCleanup(redis.close)
        redis.start()
        self.store_url = redis.url(redis.ports)
        self.serve(*QUICK)
        self.worker("w1", "--demo")
        for number in range(5):
            self.takt("submit", "noop", "--id", f"n{number}")
        until(lambda: all(row["status"] == "success" for row in self.executions()), "all have ended")
        self.takt("submit", "noop", "--id", "waits", "--delay", "1h")
        self.takt("store", "check", self.store_url)
        self.stop()
        for key in ("{takt:0}:live", "{takt:0}:history:success"):
            redis.cli(redis.ports[0], "DEL", key)
        redis.cli(redis.ports[0], "DEL", "{takt:0}:x:n0", "{takt:0}:s:n0")
        checked = self.run_takt("store", "check", self.store_url)
        self.assertEqual(checked.returncode, 1)
        self.assertIn("execution waits is missing from live → put it there", checked.stdout)
        self.assertIn("execution n4 is missing from history:success", checked.stdout)
        self.assertIn("worker:w1 names execution n0, which is not there or belongs elsewhere → take it out",
                      checked.stdout)
        self.takt("store", "repair", self.store_url, "--yes")
        self.takt("store", "check", self.store_url)
        self.serve(*QUICK)
        self.assertEqual({row["id"] for row in self.executions()}, {"n1", "n2", "n3", "n4", "waits"})
        self.takt("cancel", "waits")

    def test_a_damaged_file_is_found_explained_and_mended(self):
        self.serve(*QUICK)
        tasks = [{"id": f"n{number:04}", "name": "n", "type": "nobody", "payload": "x" * 500}
                 for number in range(2000)]
        request = urllib.request.Request(f"{self.url}/api/v1/tasks/bulk", json.dumps(tasks).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            self.assertEqual(json.load(answer)["created"], 2000)
        self.stop()
        path = pathlib.Path(self.store) / "takt.db"
        pages = bytearray(path.read_bytes())
        # The leaf of a table (0x0d) on which one of them stands.
        page = next(at for at in range(0, len(pages), 8192)
                    if pages[at] == 0x0D and b"n1000" in pages[at:at + 8192])
        pages[page:page + 8192] = b"\xa5" * 8192
        path.write_bytes(pages)
        self.assertIn(f"takt store repair {self.store_url}",
                      self.refused(2, "serve", "--store", self.store_url, "--listen", "127.0.0.1:0"))
        checked = self.run_takt("store", "check", self.store_url)
        self.assertEqual(checked.returncode, 1)
        self.assertIn("takt.db is damaged", checked.stdout)
        planned = self.run_takt("store", "repair", self.store_url)
        self.assertEqual(planned.returncode, 1)
        self.assertIn("do it with --yes", planned.stdout)
        self.assertEqual(path.read_bytes(), pages)
        mended = self.run_takt("store", "repair", self.store_url, "--yes")
        # What stood there is lost, and that is not well.
        self.assertEqual(mended.returncode, 1)
        self.assertRegex(mended.stdout, r"default +live +19\d\d +1")
        self.assertRegex(mended.stderr, r"lost in namespace default: what stood in the gaps of live; \d+ executions")
        self.assertEqual((path.parent / "takt.db.damaged").read_bytes(), pages)
        self.takt("store", "check", self.store_url)
        self.serve(*QUICK)
        self.assertEqual(self.run_takt("get", "n1000").returncode, 3)
        self.takt("get", "n0000")
        self.takt("get", "n1999")

    def test_a_file_that_is_cut_off_gives_what_is_left(self):
        self.serve(*QUICK)
        tasks = [{"id": f"n{number:04}", "name": "n", "type": "nobody", "payload": "x" * 3000}
                 for number in range(2000)]
        request = urllib.request.Request(f"{self.url}/api/v1/tasks/bulk", json.dumps(tasks).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            self.assertEqual(json.load(answer)["created"], 2000)
        self.stop()
        path = pathlib.Path(self.store) / "takt.db"
        left = path.read_bytes()[:path.stat().st_size // 8192 * 7 // 10 * 8192]
        path.write_bytes(left)
        there = {number for number in range(2000)
                 if any(left[at // 8192 * 8192] == 0x0D for at in self.places(left, b"n%04d" % number))}
        self.assertGreater(len(there), 1000)
        checked = self.run_takt("store", "check", self.store_url)
        self.assertEqual(checked.returncode, 1)
        self.assertIn("takt.db is damaged: it is cut off", checked.stdout)
        mended = self.run_takt("store", "repair", self.store_url, "--yes")
        self.assertEqual(mended.returncode, 1)
        self.assertRegex(mended.stdout, rf"default +live +{len(there)} ")
        self.takt("store", "check", self.store_url)
        self.serve(*QUICK)
        for number in (min(there), max(there)):
            self.takt("get", f"n{number:04}")

    @staticmethod
    def places(text, part):
        at = text.find(part)
        while at >= 0:
            yield at
            at = text.find(part, at + 1)

    def test_purge(self):
        self.serve(*QUICK)
        self.worker("w1", "--demo")
        for number in range(5):
            self.takt("submit", "noop", "--id", f"n{number}")
        until(lambda: all(row["status"] == "success" for row in self.executions()), "all have ended")
        self.stop()
        self.assertIn("--yes", self.refused(2, "store", "purge", self.store_url, "--before", "0s"))
        self.assertIn("neither a time", self.refused(2, "store", "purge", self.store_url, "--before", "x"))
        self.assertIn("5 executions deleted",
                      self.takt("store", "purge", self.store_url, "--before", "0s", "--yes"))
        self.assertEqual(self.tally(self.store_url)["history"]["rows"], 0)


if __name__ == "__main__":
    unittest.main()
