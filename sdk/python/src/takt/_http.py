"""Calls to schedulers: kept connections, the next server when one is away, patience for a new leader."""
from __future__ import annotations

import collections
import contextlib
import http.client
import json
import os
import random
import select
import socket
import threading
import time
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any

from ._trust import Trust
from ._version import VERSION
from .errors import Invalid, Stopped, TaktError, Unavailable, UnknownOutcome, of_problem

CONNECTIONS_KEPT = 8  # To each server; more are made while they are needed.
PAUSE_MIN, PAUSE_MAX = 0.05, 1.0  # Between two rounds over all servers.
CLUSTER_PATHS = ("namespaces", "tokens", "scheduler/status")


def read_servers(servers: str | Sequence[str] | None) -> list[str]:
    """The servers given, those of TAKT_SERVER, or the one on this machine. Invalid names `servers`."""
    if servers is None:
        servers = os.environ.get("TAKT_SERVER") or "http://127.0.0.1:8080"
    names = servers.split(",") if isinstance(servers, str) else list(servers)
    found = []
    for name in (one.strip().rstrip("/") for one in names):
        parts = urllib.parse.urlsplit(name)
        try:
            port_fits = parts.port is None or parts.port > 0
        except ValueError:
            port_fits = False
        if parts.scheme not in ("http", "https") or not parts.hostname or not port_fits:
            raise Invalid(f"servers: '{name}' is not http://host:port or https://host:port",
                          code="invalid", field="servers")
        found.append(name)
    if not found:
        raise Invalid("servers: at least one is needed", code="invalid", field="servers")
    return found


class Transport:
    """Calls from any thread, many at once."""

    def __init__(self, servers: list[str], *, token: str | None, namespace: str | None, ca_file: str | None,
                 timeout: float, patience: float) -> None:
        self.servers = servers
        self.namespace = namespace
        self.timeout = timeout
        self.patience = patience
        self.headers = {"Accept": "application/json", "User-Agent": f"takt-python/{VERSION}"}
        if token:
            self.headers["Authorization"] = f"Bearer {token}"
        self.trust = Trust(ca_file) if any(name.startswith("https:") for name in servers) else None
        self._idle: dict[str, collections.deque[http.client.HTTPConnection]] = {
            name: collections.deque() for name in servers}
        self._first = 0  # The server that answered last.
        self._asked: set[http.client.HTTPConnection] = set()  # Whose answers are awaited.
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def close(self) -> None:
        self._closed.set()
        with self._lock:
            for idle in self._idle.values():
                while idle:
                    idle.pop().close()
            for connection in self._asked:
                if connection.sock is not None:
                    with contextlib.suppress(OSError):  # The server was faster.
                        connection.sock.shutdown(socket.SHUT_RDWR)

    @property
    def server(self) -> str:
        """The one that answered last."""
        return self.servers[self._first]

    @property
    def closed(self) -> bool:
        return self._closed.is_set()

    def pause(self, seconds: float) -> None:
        """Lets time pass. Stopped if the client is closed meanwhile."""
        if self._closed.wait(max(0.0, seconds)):
            raise Stopped("the client was closed", code="stopped")

    def path(self, path: str, query: Mapping[str, Any] | None = None) -> str:
        inside = "" if not self.namespace or path.startswith(CLUSTER_PATHS) else (
            f"namespaces/{quote(self.namespace)}/")
        pairs = [(name, spelled(value)) for name, value in (query or {}).items() if value is not None]
        return f"/api/v1/{inside}{path}" + (f"?{urllib.parse.urlencode(pairs)}" if pairs else "")

    def call(self, method: str, path: str, body: Any = None, *, query: Mapping[str, Any] | None = None,
             headers: Mapping[str, str] | None = None, repeat: bool | None = None,
             timeout: float | None = None, patience: float | None = None) -> Any:
        """The answer's JSON. What is safe to `repeat` (GET unless said) is asked again within the patience
        when its outcome is unknown; what was certainly not done is always asked again."""
        if repeat is None:
            repeat = method == "GET"
        target = self.path(path, query)
        data = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        end = time.monotonic() + (self.patience if patience is None else patience)
        pause = PAUSE_MIN
        while True:
            try:
                return self._round(method, target, data, dict(headers or {}), repeat,
                                   self.timeout if timeout is None else timeout)
            except (Unavailable, UnknownOutcome) as error:
                if isinstance(error, UnknownOutcome) and not repeat:
                    raise
                if time.monotonic() + pause >= end:
                    raise
            self.pause(random.uniform(0, pause))
            pause = min(PAUSE_MAX, pause * 2)

    def _round(self, method: str, target: str, data: bytes | None, headers: dict[str, str], repeat: bool,
               timeout: float) -> Any:
        """Each server once, beginning with the one that answered last."""
        failure: TaktError | None = None
        for at in range(len(self.servers)):
            number = (self._first + at) % len(self.servers)
            try:
                answer = self._ask(self.servers[number], method, target, data, headers, timeout)
                self._first = number
                return answer
            except Unavailable as error:
                failure = failure or error
            except UnknownOutcome as error:
                if not repeat:
                    raise
                failure = error
        assert failure is not None
        raise failure

    def _ask(self, server: str, method: str, target: str, data: bytes | None, headers: dict[str, str],
             timeout: float) -> Any:
        if self.closed:
            raise Stopped("the client was closed", code="stopped")
        with self._lock:
            kept = self._idle[server].pop() if self._idle[server] else None
        # A server may have closed a kept connection: seen before anything is asked, so that no answer is missed.
        if kept is not None and (kept.sock is None or can_read(kept.sock)):
            kept.close()
            kept = None
        connection = kept or self._connect(server, timeout)
        with self._lock:
            self._asked.add(connection)
        try:
            if self.closed:
                raise OSError("the client was closed")
            status, answered, retry_after = self._exchange(connection, method, target, data, headers, timeout)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            if self.closed:
                raise Stopped("the client was closed", code="stopped") from error
            raise UnknownOutcome(f"{server} did not answer: {error or 'it hung up'}", code="unknown") from error
        finally:
            with self._lock:
                self._asked.discard(connection)
        with self._lock:
            if len(self._idle[server]) < CONNECTIONS_KEPT and not self.closed:
                self._idle[server].append(connection)
            else:
                connection.close()
        return read_answer(server, status, answered, retry_after)

    def _connect(self, server: str, timeout: float) -> http.client.HTTPConnection:
        parts = urllib.parse.urlsplit(server)
        assert parts.hostname
        connection: http.client.HTTPConnection
        if parts.scheme == "https":
            assert self.trust
            connection = http.client.HTTPSConnection(parts.hostname, parts.port, timeout=min(timeout, 5.0),
                                                     context=self.trust.context())
        else:
            connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=min(timeout, 5.0))
        try:
            connection.connect()
        except OSError as error:
            raise Unavailable(f"{server} cannot be reached: {error}", code="unavailable") from error
        return connection

    def _exchange(self, connection: http.client.HTTPConnection, method: str, target: str, data: bytes | None,
                  headers: dict[str, str], timeout: float) -> tuple[int, bytes, str | None]:
        connection.sock.settimeout(timeout)
        more = {**self.headers, **headers}
        if data is not None:
            more["Content-Type"] = "application/json"
        connection.request(method, target, data, more)
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers.get("Retry-After")


def read_answer(server: str, status: int, body: bytes, retry_after: str | None) -> Any:
    try:
        value = json.loads(body) if body else None
    except ValueError as error:
        if status < 400:
            raise UnknownOutcome(f"{server} answered what is no JSON", code="unknown", status=status) from error
        value = None
    if 200 <= status < 300:
        return value
    raise of_problem(status, value if isinstance(value, dict) else {}, retry_after)


def can_read(sock: socket.socket) -> bool:
    """Whether something came, or the end: of a server that is not being asked."""
    # select takes no descriptor above 1023, and raises; where there is no poll, it takes any.
    if not hasattr(select, "poll"):
        return bool(select.select([sock], [], [], 0)[0])
    watch = select.poll()
    watch.register(sock, select.POLLIN)
    return bool(watch.poll(0))


def spelled(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, set)):
        return ",".join(str(one) for one in value)
    return str(value)


def quote(part: str) -> str:
    return urllib.parse.quote(str(part), safe="")


__all__ = ["Transport", "quote", "read_servers"]
