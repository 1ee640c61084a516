"""A rolling upgrade: workers and schedulers of an earlier version beside those of this one.

earlier/ has the messages as an earlier version wrote them, before namespaces, locks and workflows. A worker and a
scheduler of that version are played here: they know those messages and no others.
"""
import base64
import hashlib
import http.server
import json
import pathlib
import re
import signal
import socket
import struct
import subprocess
import threading
import unittest
import urllib.request

import websocket

from harness import QUICK, TaktTest, until

EARLIER = pathlib.Path(__file__).resolve().parent / "earlier"
NOW = pathlib.Path(__file__).resolve().parents[2] / "proto"


def encode(message, text):
    """A frame of the earlier version, from protobuf's text format."""
    return subprocess.run(["protoc", f"-I{EARLIER}", f"--encode=takt.worker.v1.{message}", "worker.proto"],
                          input=text.encode(), capture_output=True, check=True).stdout


def decode(message, frame):
    """What the earlier version sees of a frame, in text format: of fields that it does not know, their numbers."""
    return subprocess.run(["protoc", f"-I{EARLIER}", f"--decode=takt.worker.v1.{message}", "worker.proto"],
                          input=frame, capture_output=True, check=True).stdout.decode()


def names_of(attempt):
    """The three parts of an attempt, as text format has them."""
    return re.search(r"attempt \{\s*(execution_id: \"[^\"]+\"\s+attempt: \d+\s+token: \"[0-9a-f]+\")", attempt)[1]


class EarlierWorker:
    """Runs what it is given when it is told to; says what it holds when it comes back."""

    def __init__(self, url, name):
        self.url, self.name, self.held, self.epoch = url, name, [], "0"
        self.sending, self.beat = threading.Lock(), encode("WorkerFrame", "heartbeat { sent_at_ms: 1 cpu: 0.5 }")
        self.attach()

    def keep_beating(self, connection):
        try:
            while not self.gone.wait(0.2):
                with self.sending:
                    connection.send_binary(self.beat)
        except (OSError, websocket.WebSocketException):
            pass  # The scheduler is gone.

    def leave(self):
        self.gone.set()
        self.socket.close()

    def attach(self):
        self.socket = websocket.create_connection(self.url.replace("http", "ws") + "/api/v1/workers/attach", timeout=30)
        self.heard = []
        holding = " ".join(f"holding {{ {names} }}" for names in self.held)
        self.say(f'hello {{ protocol: 1 worker_id: "{self.name}" instance: "one" types: "old" capacity: 2 '
                 f"epoch_seen: {self.epoch} {holding} }}")
        welcome = self.hear("welcome")
        self.epoch = re.search(r"epoch: (\d+)", welcome)[1]
        self.gone = threading.Event()
        threading.Thread(target=self.keep_beating, args=(self.socket,), daemon=True).start()

    def say(self, text):
        frame = encode("WorkerFrame", text)
        with self.sending:
            self.socket.send_binary(frame)

    def hear(self, wanted):
        """The next part of that name; others are kept for later."""
        while True:
            for part in self.heard:
                if part.startswith(wanted + " {"):
                    self.heard.remove(part)
                    return part
            # In text format, what stands at the left margin is a part of the frame.
            self.heard += re.findall(r"(?ms)^\w+ \{\n.*?^\}", decode("SchedulerFrame", self.socket.recv()))

    def take(self):
        """Waits for an assignment; the attempt."""
        names = names_of(self.hear("assigns"))
        self.held.append(names)
        self.say(f"started {{ attempt {{ {names} }} }}")
        return names

    def finish(self, names):
        self.say(f"logs {{ attempt {{ {names} }} lines: \"from before\" }}"
                 f"results {{ attempt {{ {names} }} success: true data: \"41\" ran_ms: 5 }}")
        ack = self.hear("acks")
        self.held.remove(names)
        return "accepted: true" in ack


class EarlierScheduler(threading.Thread):
    """Takes one worker of this version: welcomes it, gives it a task, and hears its result."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.heard, self.over = [], threading.Event()
        self.start()

    def run(self):
        while not self.over.is_set():
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as stream:
                if self.shake_hands(connection, stream):
                    self.talk(connection, stream)

    def shake_hands(self, connection, stream):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = stream.readline()
            if not line:
                return False
            head += line
        key = re.search(rb"(?i)sec-websocket-key: (\S+)", head)
        if not key:
            connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return False
        accept = base64.b64encode(hashlib.sha1(key[1] + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
        connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                           b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n")
        return True

    def frames(self, connection, stream):
        """Messages of the worker, until it goes."""
        while len(start := stream.read(2)) == 2:
            length = start[1] & 0x7f
            if length == 126:
                length = struct.unpack(">H", stream.read(2))[0]
            elif length == 127:
                length = struct.unpack(">Q", stream.read(8))[0]
            mask = stream.read(4)
            data = bytes(byte ^ mask[i % 4] for i, byte in enumerate(stream.read(length)))
            if start[0] & 0xf == 2:
                yield decode("WorkerFrame", data)
            elif start[0] & 0xf == 9:
                connection.sendall(bytes([0x8a, len(data)]) + data)

    def say(self, connection, text):
        data = encode("SchedulerFrame", text)
        connection.sendall(bytes([0x82, 126]) + struct.pack(">H", len(data)) + data)

    def talk(self, connection, stream):
        names = 'execution_id: "e-1" attempt: 1 token: "0123456789abcdef0123456789abcdef"'
        for frame in self.frames(connection, stream):
            self.heard.append(frame)
            if "hello {" in frame:
                self.say(connection, 'welcome { protocol: 1 session: 1 epoch: 7 node_id: "old" heartbeat_ms: 200 '
                                     "lease_ms: 5000 }")
                self.say(connection, f'assigns {{ attempt {{ {names} }} epoch: 7 task_id: "e-1" task_name: "t" '
                                     'type: "echo" queue: "default" priority: 5 payload: "{\\"say\\": 1}" }')
            if "heartbeat {" in frame:
                self.say(connection, "beat { sent_at_ms: 1 }")
            if "results {" in frame:
                self.say(connection, f"acks {{ attempt {{ {names} }} accepted: true }}")

    def stop(self):
        self.over.set()
        self.listener.close()


class RollingUpgrade(TaktTest):
    def earlier_worker(self):
        worker = EarlierWorker(self.url, "old-1")
        self.addCleanup(worker.leave)
        return worker

    def test_an_earlier_worker_beside_one_of_this_version(self):
        self.serve(*QUICK, port=0)
        old = self.earlier_worker()
        self.worker("new-1", "--demo")
        self.takt("submit", "old", "--id", "theirs", "--metadata", "a=b")
        self.takt("submit", "noop", "--id", "ours")
        self.assertTrue(old.finish(old.take()))
        self.until_status("ours", "success")
        row = self.until_status("theirs", "success")
        self.assertEqual((row["result"], row["worker_id"], row["attempt"]), (41, "old-1", 1))
        self.assertIn("from before", self.takt("logs", "theirs"))
        # What it never heard of is not given to it, and does it no harm.
        self.takt("workers", "set", "old-1", "--capacity", "1")
        self.takt("submit", "old", "--id", "more")
        self.assertTrue(old.finish(old.take()))
        self.takt("workers", "drain", "old-1")
        self.assertIn("draining: true", old.hear("drain"))

    def test_an_earlier_worker_keeps_its_work_while_the_scheduler_is_replaced(self):
        server = self.serve(*QUICK)
        port = self.port()
        old = self.earlier_worker()
        self.takt("submit", "old", "--id", "long")
        names = old.take()
        server.signal(signal.SIGTERM)
        server.wait()
        self.serve(*QUICK, port=port)
        old.attach()
        self.assertTrue(old.finish(names), "the result of an attempt that it held all the time")
        row = self.until_status("long", "success")
        self.assertEqual(row["attempt"], 1, "nobody else was given it")

    def test_a_step_with_all_that_is_new_is_an_attempt_like_any_other(self):
        self.serve(*QUICK)
        old = self.earlier_worker()
        self.post("tasks", {"name": "flow", "id": "flow", "locks": ["ledger"], "steps": [
            {"name": "split", "type": "old", "shards": 2}]})
        for _ in range(2):
            self.assertTrue(old.finish(old.take()))
        self.until_status("flow", "success")

    def test_a_worker_of_this_version_at_an_earlier_scheduler(self):
        scheduler = EarlierScheduler()
        self.addCleanup(scheduler.stop)
        self.start("worker", "worker", "--server", scheduler.url, "--id", "new-1", "--demo", "--capacity", "3")

        def result():
            return next((frame for frame in list(scheduler.heard) if "results {" in frame), None)
        said = until(result, "it runs what it is given")
        self.assertIn("success: true", said)
        self.assertIn('execution_id: "e-1"', said)
        hello = scheduler.heard[0]
        for part in ("protocol: 1", 'worker_id: "new-1"', "capacity: 3", 'types: "echo"'):
            self.assertIn(part, hello)
        until(lambda: sum("heartbeat {" in frame for frame in list(scheduler.heard)) > 2, "it goes on beating")

    def test_another_protocol_is_refused_with_a_sentence(self):
        self.serve(*QUICK)
        connection = websocket.create_connection(self.url.replace("http", "ws") + "/api/v1/workers/attach", timeout=30)
        connection.send(json.dumps({"hello": {"protocol": 2, "worker_id": "future", "instance": "i", "capacity": 1}}))
        refused = json.loads(connection.recv())["refused"]
        self.assertEqual(refused["code"], "protocol")
        self.assertIn("speaks protocol 1, the worker 2", refused["message"])


def fields_of(path):
    """{message.field: (number, type)} of a file."""
    found, inside = {}, []
    for line in re.sub(r"//.*", "", path.read_text()).splitlines():
        if opened := re.match(r"\s*(message|enum|oneof)\s+(\w+)\s*\{", line):
            inside.append("" if opened[1] == "oneof" else opened[2])
        elif field := re.match(r"\s*((?:repeated |optional )?[\w.]+(?:<[^>]+>)?)\s+(\w+)\s*=\s*(\d+)", line):
            found[".".join([*filter(None, inside), field[2]])] = (int(field[3]), field[1])
        if inside and line.strip().endswith("}"):
            inside.pop()
    return found


class EarlierLeader(TaktTest):
    def test_takt_status_needs_nothing_that_came_later(self):
        # The command line is upgraded first: what an earlier leader does not have, it says nothing of.
        self.serve(*QUICK)
        leader = self.url

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                if self.path.endswith("/scheduler/defaults"):
                    return self.answer(404, b'{"code": "not_found", "detail": "there is no such resource"}')
                with urllib.request.urlopen(leader + self.path, timeout=10) as answer:
                    return self.answer(answer.status, answer.read())

            def answer(self, status, body):
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                pass

        self.assertRegex(self.takt("status"), r"(?m)^strategy +\w+\ntimeout ")
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        said = self.takt("status")
        self.assertRegex(said, r"(?m)^strategy +\w+$")
        self.assertNotIn("\ntimeout ", said)


class Messages(unittest.TestCase):
    """What an earlier version wrote down or says means the same to this one: numbers and types of fields stay."""

    def test_no_field_was_renumbered_or_given_another_type(self):
        for path in sorted(EARLIER.glob("*.proto")):
            before, now = fields_of(path), fields_of(NOW / path.name)
            self.assertGreater(len(before), 5, path.name)
            for name, field in before.items():
                with self.subTest(file=path.name, field=name):
                    self.assertEqual(now.get(name), field)

    def test_a_number_is_never_used_twice(self):
        for path in sorted(EARLIER.glob("*.proto")):
            before, now = fields_of(path), fields_of(NOW / path.name)
            numbers = {(name.rsplit(".", 1)[0], field[0]): name for name, field in now.items()}
            self.assertEqual(len(numbers), len(now), path.name)
            for name, field in before.items():
                self.assertEqual(numbers.get((name.rsplit(".", 1)[0], field[0])), name, path.name)


if __name__ == "__main__":
    unittest.main()
