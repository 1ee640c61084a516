"""One question that waits at a scheduler, for programs that are asyncio: it takes a connection and no thread."""
from __future__ import annotations

import asyncio
import contextlib
import http.client
import io
import urllib.parse
from collections.abc import Mapping
from typing import Any

from ._http import Transport, read_answer
from .errors import Stopped, Unavailable, UnknownOutcome

WAITS_MAX = 200  # At once over one client; more are looked at now and then.
ANSWER_GRACE = 5.0  # The answer comes at once when the wait is over.


class _Read:
    """Bytes as http.client reads them from a socket."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, *_: Any) -> io.BytesIO:
        return io.BytesIO(self._data)


class Waits:
    """The questions of one client that wait. All on one event loop."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._writers: set[asyncio.StreamWriter] = set()
        self._count = 0

    @property
    def full(self) -> bool:
        return self._count >= WAITS_MAX

    def close(self) -> None:
        for writer in self._writers:
            writer.close()

    async def get(self, path: str, query: Mapping[str, Any], wait: float) -> Any:
        """The answer's JSON, of the server that answered last; another one is not tried."""
        self._count += 1
        try:
            async with asyncio.timeout(wait + min(self._transport.timeout, ANSWER_GRACE)):
                return await self._get(path, query)
        except TimeoutError as error:
            raise UnknownOutcome("the scheduler did not answer in time", code="unknown") from error
        finally:
            self._count -= 1

    async def _get(self, path: str, query: Mapping[str, Any]) -> Any:
        server = self._transport.server
        parts = urllib.parse.urlsplit(server)
        trust = self._transport.trust
        tls = trust.context() if trust and parts.scheme == "https" else None
        port = parts.port or (443 if tls else 80)
        try:
            reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=tls)
        except OSError as error:
            raise Unavailable(f"{server} cannot be reached: {error}", code="unavailable") from error
        self._writers.add(writer)
        try:
            headers = {"Host": parts.netloc, "Connection": "close", **self._transport.headers}
            head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            writer.write(f"GET {self._transport.path(path, query)} HTTP/1.1\r\n{head}\r\n".encode("latin-1"))
            answer = http.client.HTTPResponse(_Read(await reader.read(-1)))  # type: ignore[arg-type]
            answer.begin()
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            if self._transport.closed:
                raise Stopped("the client was closed", code="stopped") from error
            raise UnknownOutcome(f"{server} did not answer: {error or 'it hung up'}", code="unknown") from error
        finally:
            self._writers.discard(writer)
            writer.close()
            with contextlib.suppress(OSError):  # Whoever hung up needs no goodbye.
                await writer.wait_closed()
        return read_answer(server, answer.status, body, answer.headers.get("Retry-After"))


__all__ = ["Waits"]
