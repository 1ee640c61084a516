"""A WebSocket client (RFC 6455) over asyncio: what a worker needs and no more."""
from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import ssl
import struct
import urllib.parse
from collections.abc import Mapping

TEXT, BINARY, CLOSE, PING, PONG, CONTINUATION = 1, 2, 8, 9, 10, 0
MESSAGE_BYTES_MAX = 64 << 20
HEAD_BYTES_MAX = 64 << 10
ACCEPT_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class WebSocketError(Exception):
    """The connection is of no use any more. `status` is that of a refused handshake."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


def mask(data: bytes, key: bytes) -> bytes:
    """As one large number: byte by byte would take seconds for a megabyte."""
    length = len(data)
    whole = (key * (length // 4 + 1))[:length]
    return (int.from_bytes(data, "little") ^ int.from_bytes(whole, "little")).to_bytes(length, "little")


class WebSocket:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._closing = False

    @classmethod
    async def open(cls, url: str, headers: Mapping[str, str], tls: ssl.SSLContext | None,
                   timeout: float) -> WebSocket:
        """WebSocketError if nobody is there, or whoever is says no."""
        try:
            async with asyncio.timeout(timeout):
                return await cls._open(url, headers, tls)
        except TimeoutError as error:
            raise WebSocketError(f"no answer within {timeout:g} s") from error
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            raise WebSocketError(str(error) or "the connection was lost") from error

    @classmethod
    async def _open(cls, url: str, headers: Mapping[str, str], tls: ssl.SSLContext | None) -> WebSocket:
        parts = urllib.parse.urlsplit(url)
        secure = parts.scheme == "wss"
        port = parts.port or (443 if secure else 80)
        reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=tls if secure else None,
                                                       limit=HEAD_BYTES_MAX)
        try:
            key = base64.b64encode(os.urandom(16)).decode()
            lines = [f"GET {parts.path or '/'} HTTP/1.1", f"Host: {parts.netloc}", "Upgrade: websocket",
                     "Connection: Upgrade", f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13",
                     *(f"{name}: {value}" for name, value in headers.items()), "", ""]
            writer.write("\r\n".join(lines).encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            status = int(head[0].split(" ")[1]) if head[0].startswith("HTTP/1.1 ") else 0
            fields = {name.strip().lower(): value.strip()
                      for name, _, value in (line.partition(":") for line in head[1:])}
            if status != 101:
                raise WebSocketError(f"the scheduler answered {head[0].removeprefix('HTTP/1.1 ')}", status)
            accept = base64.b64encode(hashlib.sha1((key + ACCEPT_GUID).encode()).digest()).decode()
            if fields.get("sec-websocket-accept") != accept:
                raise WebSocketError("whoever answers is no WebSocket server")
        except BaseException:
            writer.close()
            raise
        return cls(reader, writer)

    def send(self, text: str) -> None:
        """Queued; what the peer does not take is told by `queued_bytes`."""
        if not self._closing:
            self._write(TEXT, text.encode())

    @property
    def queued_bytes(self) -> int:
        return self._writer.transport.get_write_buffer_size()

    async def receive(self) -> str:
        """The next message. WebSocketError at the end of the connection."""
        whole = bytearray()
        try:
            while True:
                final, opcode, data = await self._read()
                if opcode == PING:
                    self._write(PONG, data)
                elif opcode == CLOSE:
                    code = struct.unpack(">H", data[:2])[0] if len(data) >= 2 else 1005
                    reason = data[2:].decode(errors="replace")
                    raise WebSocketError(f"closed by the scheduler ({code}{' ' if reason else ''}{reason})")
                elif opcode in (TEXT, BINARY, CONTINUATION):
                    whole += data
                    if len(whole) > MESSAGE_BYTES_MAX:
                        raise WebSocketError("a message is too large")
                    if final:
                        return whole.decode()
        except (OSError, asyncio.IncompleteReadError) as error:
            raise WebSocketError("the connection was lost") from error
        except UnicodeDecodeError as error:
            raise WebSocketError("a message is no text") from error

    async def close(self, code: int = 1000, patience: float = 1.0) -> None:
        """Sends what is queued, says that it closes, and waits for the peer for a moment."""
        if self._closing:
            return
        self._write(CLOSE, struct.pack(">H", code))
        self._closing = True
        try:
            async with asyncio.timeout(patience):
                await self._writer.drain()
                while (await self._read())[1] != CLOSE:
                    pass
        except (OSError, asyncio.IncompleteReadError, TimeoutError, RuntimeError, WebSocketError):
            pass
        self._writer.close()

    def abort(self) -> None:
        """At once, without a word: the peer does not listen anyway."""
        self._closing = True
        self._writer.transport.abort()

    def _write(self, opcode: int, data: bytes) -> None:
        key = os.urandom(4)
        length = len(data)
        if length < 126:
            head = struct.pack(">BB", 0x80 | opcode, 0x80 | length)
        elif length < 1 << 16:
            head = struct.pack(">BBH", 0x80 | opcode, 0x80 | 126, length)
        else:
            head = struct.pack(">BBQ", 0x80 | opcode, 0x80 | 127, length)
        self._writer.write(head + key + mask(data, key))

    async def _read(self) -> tuple[bool, int, bytes]:
        first, second = await self._reader.readexactly(2)
        length = second & 0x7F
        if second & 0x80 or first & 0x70:
            raise WebSocketError("the scheduler sent what is no WebSocket frame")
        if length == 126:
            length = struct.unpack(">H", await self._reader.readexactly(2))[0]
        elif length == 127:
            length = struct.unpack(">Q", await self._reader.readexactly(8))[0]
        if length > MESSAGE_BYTES_MAX:
            raise WebSocketError("a message is too large")
        return bool(first & 0x80), first & 0x0F, await self._reader.readexactly(length)
