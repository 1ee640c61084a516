"""The loss of a lock: who is told of it, and how a block of asyncio ends with it."""
from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from .errors import LockLost


class Losable:
    """What every lock tells whoever holds it."""

    def __init__(self) -> None:
        self.lost = threading.Event()
        self._lost_calls: list[Callable[[], object]] = []
        self._mutex = threading.Lock()

    def on_lost(self, call: Callable[[], object]) -> None:
        """Called once when it is lost, on a thread of the lock's own; at once if it is already."""
        with self._mutex:
            if not self.lost.is_set():
                self._lost_calls.append(call)
                return
        call()

    def _lose(self) -> list[Callable[[], object]]:
        """Who is to be called now."""
        with self._mutex:
            self.lost.set()
            calls, self._lost_calls = self._lost_calls, []
            return calls


class Block:
    """The inside of an `async with`: cancelled when its lock is lost, and ends with LockLost then."""

    def __init__(self, name: str) -> None:
        inside = asyncio.current_task()
        assert inside
        self.inside = inside
        self._name = name
        self._loop = asyncio.get_running_loop()
        self._cancels_before = inside.cancelling()
        self._open = True
        self._cancelled = False

    def cancel(self) -> None:
        if self._open and not self._cancelled:
            self._cancelled = True
            self.inside.cancel()

    def cancel_soon(self) -> None:
        """From any thread."""
        try:
            self._loop.call_soon_threadsafe(self.cancel)
        except RuntimeError:
            pass  # The loop has ended, and the block with it.

    def close(self) -> None:
        self._open = False

    def check(self, kind: type[BaseException] | None, error: BaseException | None) -> None:
        """At its end. If somebody else has cancelled it, too, it is theirs to say what becomes of it."""
        if not self._cancelled or self.inside.uncancel() > self._cancels_before:
            return
        if kind is asyncio.CancelledError:
            raise LockLost(f"lock '{self._name}' was lost", code="lock_lost") from error
