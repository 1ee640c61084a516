"""docs/locks.md, "Using fencing right": a holder that was paused past its lease writes late, and the fence refuses it."""
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import unittest

from harness import QUICK, Process, TaktTest, until

PAGE = (pathlib.Path(__file__).parents[2] / "docs" / "locks.md").read_text()

# A holder: takes the lock, is stopped here by the test, and then writes as if nothing had happened.
HOLDER = """
import json, os, sys, urllib.request
url, path = sys.argv[1], sys.argv[2]
request = urllib.request.Request(url + "/api/v1/locks/ledger/acquire", json.dumps({"ttl": "1s", "wait": "20s"}).encode(),
                                 {"Content-Type": "application/json"})
token = json.load(urllib.request.urlopen(request))["token"]
print(token, flush=True)
sys.stdin.readline()
"""


def statements():
    """The two of the page: they are what is tested."""
    lines = [line for line in PAGE.splitlines() if line.startswith(("CREATE TABLE ledger", "UPDATE ledger"))]
    return lines[0].rstrip(";"), lines[1].rstrip(";")


class Fencing(TaktTest):
    def setUp(self):
        super().setUp()
        self.serve(*QUICK)

    def holder(self):
        """A process that has the lock, and its token."""
        process = subprocess.Popen([sys.executable, "-c", HOLDER, self.url, ""], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.kill)
        return process, int(process.stdout.readline())

    def check(self, write, read):
        """`write(balance, token)` says how many rows it changed."""
        paused, early = self.holder()
        self.assertEqual(write(100, early), 1)
        os.kill(paused.pid, signal.SIGSTOP)
        _, late = self.holder()  # When the lease of the first is over.
        self.assertGreater(late, early)
        self.assertEqual(write(200, late), 1)
        os.kill(paused.pid, signal.SIGCONT)
        # The one that was paused believes that it has the lock.
        self.assertEqual(write(999, early), 0)
        self.assertEqual(read(), (200, late))
        # A holder may write more than once.
        self.assertEqual(write(300, late), 1)

    def test_sqlite_refuses_the_late_write(self):
        create, update = statements()
        database = sqlite3.connect(f"{self.folder}/ledger.db", isolation_level=None)
        self.addCleanup(database.close)
        database.execute(create)
        database.execute("INSERT INTO ledger VALUES ('main', 0, 0)")

        def write(balance, token):
            return database.execute(update, (balance, token, "main", token)).rowcount

        def read():
            return database.execute("SELECT balance, fence FROM ledger").fetchone()

        self.check(write, read)

    @unittest.skipUnless(shutil.which("mariadbd"), "needs MariaDB")
    def test_mariadb_refuses_the_late_write(self):
        create, update = statements()
        data, address = f"{self.folder}/mysql", f"{self.folder}/mysql.sock"
        subprocess.run(["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--skip-test-db",
                        "--auth-root-authentication-method=normal"], check=True, capture_output=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        user = ["--user=root"] if os.geteuid() == 0 else []
        server = Process(self.folder, "mariadbd",
                         ["--no-defaults", f"--datadir={data}", f"--socket={address}", f"--port={port}",
                          "--bind-address=127.0.0.1", *user], program="mariadbd")
        self.processes.append(server)

        def run(sql):
            ended = subprocess.run(["mariadb", "--no-defaults", f"--socket={address}", "-uroot", "-N", "-B", "-e", sql],
                                   capture_output=True, text=True, check=False)
            return ended.stdout.split() if ended.returncode == 0 else None

        until(lambda: run("SELECT 1"), "MariaDB answers")
        run("CREATE DATABASE books")
        self.assertIsNotNone(run(f"USE books; {create}; INSERT INTO ledger VALUES ('main', 0, 0)"))

        def write(balance, token):
            # ROW_COUNT counts rows that changed; the balance is another each time.
            filled = update
            for value in (balance, token, "'main'", token):
                filled = filled.replace("?", str(value), 1)
            return int(run(f"USE books; {filled}; SELECT ROW_COUNT()")[0])

        def read():
            return tuple(int(value) for value in run("SELECT balance, fence FROM books.ledger"))

        self.check(write, read)


if __name__ == "__main__":
    unittest.main()
