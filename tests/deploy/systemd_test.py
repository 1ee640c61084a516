"""The units, without a running systemd: systemd-analyze reads them as systemd would, and what they start
is really started, with their example configuration."""
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import unittest

from support import DEPLOY, free_ports, load

import harness
from harness import TaktTest, until

FOLDER = DEPLOY / "systemd"
# Unit file, and an instance's name.
UNITS = {"takt-server.service": "takt-server.service",
         "takt-worker@.service": "takt-worker@images.service"}
# systemd-analyze's judgement times ten: 0 is locked away, 100 is root. Theirs are 13 and 14.
EXPOSURE_MAX = 20


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=60,
                          check=False)


def settings(unit):
    """All name=value pairs of a unit file; a name may come again."""
    lines = (FOLDER / unit).read_text(encoding="utf-8").splitlines()
    return [tuple(line.split("=", 1)) for line in lines if re.match(r"[A-Za-z]+=", line)]


class Units(unittest.TestCase):
    def test_systemd_understands_every_line(self):
        # A misspelt setting is ignored with a line in the journal that nobody reads.
        with tempfile.TemporaryDirectory() as folder:
            for unit, instance in UNITS.items():
                with self.subTest(unit=unit):
                    text = (FOLDER / unit).read_text(encoding="utf-8")
                    # Where the program is installed is the one thing that this machine has otherwise.
                    text = text.replace("/usr/bin/takt", os.path.abspath(harness.TAKT))
                    copy = pathlib.Path(folder) / instance
                    copy.write_text(text, encoding="utf-8")
                    ended = run("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", copy)
                    self.assertEqual((ended.returncode, ended.stderr), (0, ""))

    def test_the_check_notices_a_misspelt_setting(self):
        # The check itself must be able to fail.
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "takt-server.service"
            text = (FOLDER / "takt-server.service").read_text(encoding="utf-8")
            copy.write_text(text.replace("ProtectHome=", "ProtectHomes="), encoding="utf-8")
            ended = run("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", copy)
            self.assertIn("ProtectHomes", ended.stderr)

    def test_little_is_left_to_attack(self):
        # A hole in the scheduler or in a handler stays a hole in a sandbox.
        for unit in UNITS:
            with self.subTest(unit=unit):
                ended = run("systemd-analyze", "security", "--offline=true", "--no-pager",
                            f"--threshold={EXPOSURE_MAX}", FOLDER / unit)
                self.assertEqual(ended.returncode, 0, ended.stdout[-300:] + ended.stderr)

    def test_a_stop_leaves_time(self):
        # systemd kills what is still there after it.
        self.assertGreater(int(dict(settings("takt-server.service"))["TimeoutStopSec"]), 5)
        self.assertGreater(int(dict(settings("takt-worker@.service"))["TimeoutStopSec"]), 60 + 10)

    def test_the_package_makes_users_folders_and_once_a_configuration(self):
        # A unit whose user does not exist does not start, nor one without its configuration.
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "etc").mkdir()
            for source, target in {"server.yaml": "usr/share/takt/server.yaml",
                                   "takt.sysusers": "usr/lib/sysusers.d/takt.conf",
                                   "takt.tmpfiles": "usr/lib/tmpfiles.d/takt.conf"}.items():
                (root / target).parent.mkdir(parents=True)
                shutil.copy(FOLDER / source, root / target)

            def configure(before=""):
                ended = run("env", f"DPKG_ROOT={root}", "sh", FOLDER / "postinst", "configure", before)
                self.assertEqual((ended.returncode, ended.stdout), (0, ""), ended.stderr)

            configure()
            made = (root / "etc" / "passwd").read_text()
            for unit in UNITS:
                self.assertRegex(made, rf"(?m)^{dict(settings(unit))['User']}:")
            for path, mode in {"etc/takt": 0o700, "etc/takt/server.yaml": 0o600, "var/lib/takt": 0o700}.items():
                self.assertEqual((root / path).stat().st_mode & 0o777, mode, path)
            # What somebody wrote there stays, also when the package is removed and installed anew.
            (root / "etc/takt/server.yaml").write_text("mine")
            configure()
            configure("0.0.9")
            self.assertEqual((root / "etc/takt/server.yaml").read_text(), "mine")
            # What somebody deleted does not come back, neither with the next version nor at the next boot.
            (root / "etc/takt/server.yaml").unlink()
            configure("0.0.9")
            run("systemd-tmpfiles", "--create", "--boot", f"--root={root}", "takt.conf")
            self.assertFalse((root / "etc/takt/server.yaml").exists())


class Billing:
    """A service that the worker of the example hands tasks to."""

    def __enter__(self):
        self.bodies = bodies = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Services(TaktTest):
    def service(self, unit, configuration, *more):
        """Starts what a unit's ExecStart says, as systemd would expand it."""
        folder = pathlib.Path(self.folder) / "credentials"
        folder.mkdir(exist_ok=True)
        credential = dict(settings(unit))["LoadCredential"].split(":")[0]
        (folder / credential).write_text(configuration, encoding="utf-8")
        words = dict(settings(unit))["ExecStart"].split()
        self.assertEqual(words[0], "/usr/bin/takt")
        words = [word.replace("${CREDENTIALS_DIRECTORY}", str(folder)).replace("%l-%i", "host-images")
                 for word in words[1:]]
        return self.start(unit, *words, *more)

    def test_the_units_start_with_the_example_configuration(self):
        # The steps of docs/operating.md on a new machine: copy, make tokens, start, submit.
        tokens = {role: self.takt_json("token", "create", "--role", role, "--store", self.store_url)["token"]
                  for role in ("admin", "worker")}
        port = free_ports(1)[0]
        self.url = f"http://127.0.0.1:{port}"
        server = (FOLDER / "server.yaml").read_text(encoding="utf-8")
        server = server.replace("127.0.0.1:8080", f"127.0.0.1:{port}").replace(
            "file:/var/lib/takt", self.store_url)
        self.assertEqual(load(FOLDER / "server.yaml")["store"]["url"], "file:/var/lib/takt")
        process = self.service("takt-server.service", server)
        until(self.is_ready, "the scheduler is ready")
        worker = (FOLDER / "worker.yaml").read_text(encoding="utf-8")
        worker = worker.replace("127.0.0.1:8080", f"127.0.0.1:{port}").replace("takt_…", tokens["worker"])
        with Billing() as billing:
            self.service("takt-worker@.service", worker.replace("127.0.0.1:9000", billing.address))
            self.takt("submit", "bill", '{"customer": 7}', "--wait", env={"TAKT_TOKEN": tokens["admin"]})
            self.assertEqual([body["payload"] for body in billing.bodies], [{"customer": 7}])
        self.assertIsNone(process.process.poll())
        # Whoever may submit tasks does not thereby run commands on the machine.
        self.assertFalse(load(FOLDER / "worker.yaml")["worker"]["allow_shell"])
        # Without a token nobody gets in, not even from this machine.
        self.assertEqual(self.run_takt("submit", "bill").returncode, 2)


if __name__ == "__main__":
    unittest.main()
