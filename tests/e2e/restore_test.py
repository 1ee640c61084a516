"""A restore that is killed leaves a store that nobody serves until it is finished, from its first moment on."""
import pathlib
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "chaos"))

import stores  # noqa: E402  (a file of the neighbour's folder)
from harness import QUICK, TaktTest  # noqa: E402

KILLED = 87  # As fail points end a process.


class KilledRestore(TaktTest):
    def back_up(self):
        server = self.serve(*QUICK)
        self.takt("namespaces", "create", "billing")
        self.takt("submit", "noop", "--id", "nightly", "--cron", "0 3 * * *")
        self.takt("submit", "noop", "--id", "later", "--delay", "1h")
        server.signal(signal.SIGTERM)
        server.wait()
        self.url = None
        self.archive = f"{self.folder}/archive"
        self.takt("store", "backup", self.archive, "--store", self.store_url)

    def restore(self, env=None):
        return self.run_takt("store", "restore", self.archive, "--store", self.store_url, env=env)

    def killed_everywhere(self, urls):
        """At its first moments, and at its last, which only takes marks away."""
        self.back_up()
        points = ["archive.fill.led:exit", "archive.fill.marked:exit", "archive.fill.commit:exit:1",
                  "archive.fill.commit:exit:2", "archive.fill.commit:exit:3"]
        for point, url in zip(points, urls):
            with self.subTest(point=point):
                self.store_url = url
                killed = self.restore({"TAKT_FAILPOINTS": point})
                self.assertEqual(killed.returncode, KILLED, killed.stderr)
                said = self.refused(4, "serve", "--store", url, "--listen", "127.0.0.1:0")
                self.assertIn("was not finished", said)
                self.assertIn("takt store restore", said)
        for url in (urls[0], urls[-1]):
            self.finish(url)

    def finish(self, url):
        self.store_url = url
        # On a server the announcement of the one that was killed has to run out first: it waits for that.
        restored = self.restore()
        self.assertEqual(restored.returncode, 0, restored.stderr)
        server = self.serve(*QUICK)
        self.assertEqual([row["id"] for row in self.takt_json("tasks")["items"]], ["nightly"])
        self.takt("get", "later")
        server.signal(signal.SIGTERM)
        server.wait()
        self.url = None

    def test_embedded(self):
        self.killed_everywhere([f"file:{self.folder}/to{n}" for n in range(5)])

    def on(self, make, places):
        store = make(self.folder)
        self.addCleanup(store.close)
        store.start()
        url = store.url(store.ports)
        self.killed_everywhere([url + place for place in places])

    def test_redis(self):
        self.on(stores.Redis, [f"&prefix=to{n}" for n in range(5)])

    def test_etcd(self):
        self.on(stores.Etcd, [f"&prefix=to{n}" for n in range(5)])

    def test_mysql(self):
        self.on(stores.Mysql, [f"&prefix=to{n}_" for n in range(5)])


if __name__ == "__main__":
    unittest.main()
