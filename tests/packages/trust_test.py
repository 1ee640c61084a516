"""Certificates that are replaced while Python's and Node's clients and workers run."""
import asyncio
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import unittest

from cluster import SOURCE, until

import takt


class Port:
    """Ends every connection after its TLS handshake, and counts those that came to that."""

    def __init__(self):
        self.context = None
        self.trusted = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def show(self, folder, name):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / f"{name}.pem", folder / f"{name}.key")
        self.context, self.trusted = context, 0

    def close(self):
        self._listener.close()

    def _serve(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            try:
                connection.settimeout(5)
                context = self.context
                with context.wrap_socket(connection, server_side=True) as encrypted:
                    # In TLS 1.3 a client refuses after the server's part is done: what it says tells.
                    if encrypted.recv(1) and context is self.context:
                        self.trusted += 1
            except OSError:
                pass


class TrustTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="takt-trust-"))
        self.addCleanup(shutil.rmtree, self.folder)
        for name in ("first", "second"):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                            "-days", "2", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-out",
                            self.folder / f"{name}.pem", "-keyout", self.folder / f"{name}.key"],
                           check=True, capture_output=True)
        self.port = Port()
        self.addCleanup(self.port.close)
        self.trust("first")

    def trust(self, name):
        new = self.folder / "ca.new"
        new.write_bytes((self.folder / f"{name}.pem").read_bytes())
        new.rename(self.folder / "ca.pem")
        self.port.show(self.folder, name)

    def replace(self):
        until(lambda: self.port.trusted > 0, "the first certificate is trusted")
        self.trust("second")
        until(lambda: self.port.trusted > 0, "the second one is trusted, without a restart")

    def test_a_python_worker_takes_the_new_authority(self):
        worker = takt.Worker(self.port.url, ca_file=str(self.folder / "ca.pem"), drain_timeout=0)
        worker.add("echo", lambda task: task.payload)
        with worker:
            self.replace()

    def test_python_clients_take_the_new_authority(self):
        ca_file = str(self.folder / "ca.pem")
        with takt.Client(self.port.url, ca_file=ca_file, patience=0) as client:
            for name in ("first", "second"):
                self.trust(name)
                with self.assertRaises(takt.UnknownOutcome):
                    client.submit("echo")

        async def ask():
            async with takt.AsyncClient(self.port.url, ca_file=ca_file, patience=0) as other:
                for name in ("first", "second"):
                    self.trust(name)
                    with self.assertRaises(takt.UnknownOutcome):
                        await other.submit("echo")

        asyncio.run(ask())

    # It also says by itself why it gets no work: nobody listens to its events.
    def test_node_takes_the_new_authority(self):
        self.trust("first")
        self.port.show(self.folder, "second")
        with open(self.folder / "said", "w") as said:
            node = subprocess.Popen(["node", SOURCE / "tests/packages/node_scenarios.mjs", "trust", self.folder,
                                     self.port.url], stdout=said, stderr=said, env=os.environ)
        self.addCleanup(node.wait)
        self.addCleanup(node.kill)
        until(lambda: "cannot connect: " in (self.folder / "said").read_text(), "it says why")
        self.port.show(self.folder, "first")
        self.replace()
        until(lambda: "did not answer" in (self.folder / "said").read_text(), "its client trusts too")

    def test_node_reads_the_file_when_it_was_replaced(self):
        ended = subprocess.run(["node", SOURCE / "tests/packages/node_scenarios.mjs", "trust_file", self.folder,
                                self.port.url], capture_output=True, text=True, timeout=60)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)


if __name__ == "__main__":
    unittest.main()
