"""How a worker stops: what it has in hand ends, within bounds, and the scheduler is told that it goes."""
from __future__ import annotations

import asyncio

from ._held import Held
from ._options import Options
from ._outbox import Outbox
from ._websocket import WebSocket

CLOSE_TIMEOUT = 2.0


class Stopping:
    """The part of Core that ends it, on its loop."""
    options: Options
    held: dict[str, Held]
    draining: bool
    _wake: asyncio.Event | None
    _socket: WebSocket | None
    _outbox: Outbox | None
    _hurry: bool
    _leaving: bool

    def _tell(self, event: str, detail: str) -> None:
        raise NotImplementedError

    def _say_beat(self) -> None:
        raise NotImplementedError

    def _flush(self) -> None:
        raise NotImplementedError

    def _request_stop(self, held: Held, reason: str) -> None:
        raise NotImplementedError

    def _on_stop(self) -> None:
        self._hurry = self.draining
        self.draining = True
        self._tell("draining", "")
        self._say_beat()
        assert self._wake
        self._wake.set()

    def _check_stop(self) -> None:
        if self._wake and self.draining:
            self._wake.set()

    async def _stop_in_order(self) -> None:
        assert self._wake
        await self._wake.wait()
        await self._until_empty(self.options.drain_timeout, hurried=True)
        for one in list(self.held.values()):
            self._request_stop(one, "shutdown")
        await self._until_empty(self.options.stop_grace + 1, hurried=False)
        if self._outbox and self._socket:
            self._flush()
            self._leaving = True
            self._outbox.say({"bye": {"reason": "the worker stops"}})
            # The scheduler closes; what it does not hear is found out by its lease.
            try:
                async with asyncio.timeout(CLOSE_TIMEOUT):
                    while self._socket:
                        self._wake.clear()
                        await self._wake.wait()
            except TimeoutError:
                pass

    async def _until_empty(self, patience: float, *, hurried: bool) -> None:
        """Until nothing is in hand any more, at most so long; a second stop ends it, too."""
        assert self._wake
        try:
            async with asyncio.timeout(patience):
                while self.held and not (hurried and self._hurry):
                    self._wake.clear()
                    await self._wake.wait()
        except TimeoutError:
            pass
