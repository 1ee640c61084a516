"""Alerts and statistics of real processes: a webhook that checks signatures, mail over TLS, a leader that is
killed."""
import hashlib
import hmac
import http.server
import json
import os
import pathlib
import signal
import socketserver
import ssl
import subprocess
import threading
import unittest

from harness import TaktTest, until

USAGE, CONFLICT = 2, 4
SECRET = "s3cret of the test"


class Hook:
    """A receiver of webhooks that keeps what is signed and refuses what is not."""

    def __init__(self, failures=0):
        self.heard = []
        self.failures = failures
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                text = self.headers["X-Takt-Timestamp"].encode() + b"." + body
                expected = "sha256=" + hmac.new(SECRET.encode(), text, hashlib.sha256).hexdigest()
                if not hmac.compare_digest(expected, self.headers["X-Takt-Signature"]):
                    status = 403
                elif outer.failures > 0:
                    outer.failures -= 1
                    status = 503
                else:
                    outer.heard.append(json.loads(body))
                    status = 204
                self.send_response(status)
                self.end_headers()

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/takt?x=1"

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def states(self, rule):
        return [notice["alert"]["state"] for notice in self.heard if notice["alert"]["rule"] == rule]


class MailServer:
    """Speaks TLS from the start, or after STARTTLS, and keeps what it is told."""

    def __init__(self, folder, name, starttls):
        self.certificate = f"{folder}/{name}.pem"
        key = f"{folder}/{name}.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out",
                        self.certificate], check=True, capture_output=True)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.certificate, key)
        self.in_clear = []
        self.secured = []
        self.connections = []
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                self.request.settimeout(30)
                try:
                    outer.talk(self.request if starttls else outer.secure(self.request))
                except OSError:
                    pass  # The client hangs up on a certificate that it does not trust.

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        scheme = "smtp" if starttls else "smtps"
        self.url = f"{scheme}://127.0.0.1:{self.server.server_address[1]}"

    def secure(self, connection):
        self.connections.append(self.context.wrap_socket(connection, server_side=True))
        return self.connections[-1]

    def talk(self, connection):
        secured = isinstance(connection, ssl.SSLSocket)
        lines = connection.makefile("rb")
        connection.sendall(b"220 mail.test ready\r\n")
        state = "command"
        # The last of the lines is empty: the client is gone.
        for raw in iter(lambda: lines.readline(), b""):
            line = raw.decode().rstrip("\r\n")
            (self.secured if secured else self.in_clear).append(line)
            answer = "250 ok"
            if state == "data":
                answer, state = ("250 taken", "command") if line == "." else ("", "data")
            elif state == "password":
                answer, state = "235 welcome", "command"
            elif line.startswith("EHLO"):
                answer = "250-mail.test\r\n250 " + ("AUTH PLAIN" if secured else "STARTTLS")
            elif line == "AUTH PLAIN":
                answer, state = "334 ", "password"
            elif line == "DATA":
                answer, state = "354 go on", "data"
            elif line == "STARTTLS":
                answer = "220 go on"
            if answer:
                connection.sendall(answer.encode() + b"\r\n")
            if line == "STARTTLS":
                connection, secured = self.secure(connection), True
                lines = connection.makefile("rb")
            elif line == "QUIT":
                return

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
        for connection in self.connections:
            connection.close()


class Alerts(TaktTest):
    def hook(self, **options):
        hook = Hook(**options)
        self.addCleanup(hook.close)
        config = pathlib.Path(self.folder) / "takt.yaml"
        config.write_text(f"""
alerts:
  interval: 1s
  rules:
    - name: nobody_there
      metric: workers_online
      operator: "<"
      threshold: 1
      duration: 1s
      severity: critical
      channels: [ops]
  channels:
    - {{name: ops, kind: webhook, url: "{hook.url}", secret: "{SECRET}"}}
""")
        return hook, ["--config", str(config)]

    def mine(self):
        """The alert of the test's own rule; the built-in ones may be there as well."""
        return next(item for item in self.takt_json("alerts")["items"] if item["rule"] == "nobody_there")

    def test_an_alert_fires_is_told_once_and_resolves_across_a_crash(self):
        # Nobody is there; the channel fails at first; the leader is killed; a worker comes.
        hook, config = self.hook(failures=1)
        server = self.serve(*config)
        until(lambda: hook.states("nobody_there") == ["firing"], "the webhook is told")
        alert = self.mine()
        self.assertEqual(alert["rule"], "nobody_there")
        self.assertIn("nobody_there", self.takt("alerts"))
        self.assertIn("workers_online < 1", self.takt("alerts", "rules"))
        self.takt("alerts", "ack", alert["id"], "--note", "on my way")

        def kept():
            seen = self.mine()
            return seen["acknowledged"] and seen["acknowledged"]["note"] == "on my way"

        until(kept, "it is acknowledged")
        # Told and written down; a kill from here on must not have it told again.
        until(lambda: self.metric("takt_alert_deliveries_total") >= 1, "it is counted")
        self.takt("alerts", "silence", "no_online_workers", "--for", "1h")
        server.signal(signal.SIGKILL)
        server.wait()
        self.serve(*config)
        until(lambda: self.run_takt("alerts", "--json").returncode == 0, "alerts are read")
        self.assertEqual(self.mine()["id"], alert["id"])
        self.worker("w", "--demo")
        until(lambda: hook.states("nobody_there") == ["firing", "resolved"], "it is over")
        resolved = self.takt_json("alerts", "list", "--state", "resolved")["items"]
        self.assertEqual([row["id"] for row in resolved], [alert["id"]])

    def test_a_channel_can_be_tested_and_a_wrong_one_is_refused(self):
        # Somebody tries out what he configured.
        hook, config = self.hook()
        self.serve(*config)
        until(lambda: self.run_takt("alerts", "rules").returncode == 0, "alerts are read")
        self.assertIn("told", self.takt("alerts", "test", "ops"))
        self.assertTrue(any(notice["test"] for notice in hook.heard))
        text = self.refused(USAGE, "serve", "--store", f"file:{self.folder}/other", "--listen",
                            "127.0.0.1:0", "--set", "alerts.channels=[{name: x, kind: pager}]")
        self.assertIn("alerts.channels", text)

    def test_a_channel_is_made_by_the_command_line_and_outlives_a_restart(self):
        # Somebody connects a webhook without touching the configuration; the secret is in the environment.
        hook, _ = self.hook()
        server = self.serve()
        until(lambda: self.run_takt("alerts", "rules").returncode == 0, "alerts are read")
        self.addCleanup(os.environ.pop, "HOOK_SECRET", None)
        os.environ["HOOK_SECRET"] = SECRET
        made = self.takt("alerts", "put-channel", "team", "--kind", "webhook", "--url", hook.url,
                         "--secret", "env:HOOK_SECRET")
        self.assertIn("http://127.0.0.1:", made)
        self.assertNotIn("x=1", made)
        server.signal(signal.SIGKILL)
        server.wait()
        self.serve()
        until(lambda: self.run_takt("alerts", "rules").returncode == 0, "alerts are read again")
        self.assertIn("told", self.takt("alerts", "test", "team"))
        self.assertTrue(hook.heard[0]["test"])
        listed = self.takt("alerts", "channels")
        self.assertIn("store", listed)
        self.assertNotIn(SECRET, listed)
        self.takt("alerts", "delete-channel", "team")
        self.refused(3, "alerts", "test", "team")
        self.refused(CONFLICT, "alerts", "delete-channel", "log")

    def serve_with_mail(self, server, trusted):
        """A scheduler whose channel `mail` goes to the server, and trusts that certificate."""
        config = pathlib.Path(self.folder) / "mail.yaml"
        config.write_text(f"""
alerts:
  channels:
    - name: mail
      kind: email
      url: {server.url}
      user: takt
      password: "{SECRET}"
      from: takt@example.com
      to: [oncall@example.com]
      ca_file: {trusted}
""")
        process = self.serve("--config", str(config))
        until(lambda: self.run_takt("alerts", "rules").returncode == 0, "alerts are read")
        return process

    def mail_server(self, name, starttls):
        server = MailServer(self.folder, name, starttls)
        self.addCleanup(server.close)
        return server

    def test_mail_goes_out_over_tls_and_to_nobody_with_another_certificate(self):
        # The mail server of the company, and somebody in between who answers in its place.
        for starttls in (False, True):
            with self.subTest(starttls=starttls):
                server = self.mail_server("mail", starttls)
                process = self.serve_with_mail(server, server.certificate)
                self.assertIn("told", self.takt("alerts", "test", "mail"))
                self.assertIn("RCPT TO:<oncall@example.com>", server.secured)
                self.assertIn("AUTH PLAIN", server.secured)
                self.assertEqual([line.split()[0] for line in server.in_clear],
                                 ["EHLO", "STARTTLS"] if starttls else [])
                process.signal(signal.SIGTERM)
                process.wait()

                stranger = self.mail_server("stranger", starttls)
                process = self.serve_with_mail(stranger, server.certificate)
                refused = self.run_takt("alerts", "test", "mail")
                self.assertNotEqual(refused.returncode, 0)
                self.assertIn("certificate", refused.stderr)
                self.assertNotIn("AUTH PLAIN", stranger.secured + stranger.in_clear)
                process.signal(signal.SIGTERM)
                process.wait()

    def test_statistics_outlive_the_scheduler(self):
        # A stop in order and a start: the day goes on.
        server = self.serve()
        self.worker("w", "--demo")
        for _ in range(3):
            self.takt("submit", "echo", "--wait")
        self.assertEqual(self.takt_json("stats", "--by", "worker")["items"][0]["success"], 3)
        server.signal(signal.SIGTERM)
        server.wait()
        self.serve()
        lines = self.takt("stats", "--by", "task", "--csv").splitlines()
        self.assertTrue(lines[0].startswith("task,name,total,"), lines)
        self.assertIn(",3,3,0,", lines[1])


if __name__ == "__main__":
    unittest.main()
