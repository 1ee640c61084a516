"""The proxy example: each address that needs a setting of its own has it; with nginx on this machine, it is
run in front of a scheduler."""
import os
import pathlib
import re
import shutil
import subprocess
import unittest
import urllib.request

from support import DEPLOY, free_ports

from harness import TaktTest, until

CONF = DEPLOY / "nginx/takt.conf"
NGINX = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")


def locations():
    """Address or pattern to its settings."""
    found = {}
    for match in re.finditer(r"location (?:= |~ )?(\S+) \{(.*?)\n    \}", CONF.read_text(encoding="utf-8"), re.DOTALL):
        found[match[1]] = dict(re.findall(r"^\s*(\w+(?: Upgrade| Connection)?)\s+([^;#]+);", match[2], re.MULTILINE))
    return found


def location_of(path):
    """As nginx chooses: the same address, else a pattern, else the rest."""
    all_of_them = locations()
    if path in all_of_them:
        return all_of_them[path]
    for pattern, settings in all_of_them.items():
        if pattern.startswith("^") and re.search(pattern, path):
            return settings
    return all_of_them["/"]


class Settings(unittest.TestCase):

    def test_workers_get_their_websocket_through(self):
        attach = location_of("/api/v1/workers/attach")
        self.assertEqual(attach["proxy_http_version"], "1.1")
        self.assertEqual(attach["proxy_set_header Upgrade"], "$http_upgrade")
        # Longer than a worker may be silent (scheduler.worker_lease), or nginx cuts a healthy one off.
        self.assertGreater(int(attach["proxy_read_timeout"].rstrip("s")), 30)

    def test_events_and_followed_logs_are_not_held_back(self):
        for path in ("/api/v1/events", "/api/v1/executions/e-1/log"):
            self.assertEqual(location_of(path)["proxy_buffering"], "off", path)

    def test_a_bulk_creation_gets_through(self):
        # server.bulk_bytes_max is 32 MiB.
        self.assertIn("client_max_body_size 32m;", CONF.read_text(encoding="utf-8"))

    def test_the_addresses_are_those_of_the_protocol(self):
        protocol = (DEPLOY.parent / "docs/worker_protocol.md").read_text(encoding="utf-8")
        self.assertIn("/api/v1/workers/attach", protocol)
        self.assertIn("/api/v1/workers/attach", locations())


@unittest.skipUnless(NGINX, "nginx is not installed here")
class Proxy(TaktTest):

    def test_a_worker_and_a_caller_behind_the_proxy(self):
        made = self.takt_json("token", "create", "--role", "admin", "--store", self.store_url)
        self.serve(env=None)
        backend, (port,) = self.port(), free_ports(1)
        text = CONF.read_text(encoding="utf-8")
        text = re.sub(r"server 127\.0\.0\.1:808[123];\n", "", text)
        text = text.replace("keepalive 64;", f"server 127.0.0.1:{backend};\n    keepalive 64;")
        text = re.sub(r"listen 443 ssl;", f"listen 127.0.0.1:{port};", text)
        text = re.sub(r"ssl_certificate(_key)? .*;", "", text)
        folder = pathlib.Path(self.folder)
        (folder / "nginx.conf").write_text(
            f"daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;\nevents {{}}\n"
            f"http {{ access_log off; client_body_temp_path {folder}; proxy_temp_path {folder};\n"
            f"fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; scgi_temp_path {folder};\n{text}\n}}\n")
        proxy = subprocess.Popen([NGINX, "-p", self.folder, "-c", str(folder / "nginx.conf")])
        self.addCleanup(proxy.wait, 30)
        self.addCleanup(proxy.terminate)
        self.url = f"http://127.0.0.1:{port}"
        until(self.is_ready, "the proxy answers")
        environment = {"TAKT_TOKEN": made["token"]}
        self.start("w1", "worker", "--server", self.url, "--id", "w1", "--demo", "--token", made["token"])
        self.takt("submit", "echo", '{"say": "hello"}', "--wait", "--id", "one", env=environment)
        request = urllib.request.Request(f"{self.url}/api/v1/events",
                                         headers={"Authorization": f"Bearer {made['token']}"})
        with urllib.request.urlopen(request, timeout=20) as events:
            self.takt("submit", "noop", "--id", "two", env=environment)
            seen = b""
            while b"two" not in seen:
                line = events.readline()
                self.assertTrue(line, "the stream ended")
                seen += line


if __name__ == "__main__":
    unittest.main()
