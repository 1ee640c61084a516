"""Task: what a handler is given."""
from __future__ import annotations

import asyncio
import concurrent.futures
import datetime
import json
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Protocol

from . import _clock
from ._loss import Block, Losable
from ._zstd import payload_of
from .errors import Invalid, LockBusy, LockLost, Stopped, Unavailable
from .models import Duration, Shard, seconds

ANSWER_SLACK = 5.0  # Over the network and back, if the scheduler answers at the end of the wait.


class Reporter(Protocol):
    """What a task tells its worker; safe from any thread."""

    def tell_progress(self, fraction: float, message: str) -> None: ...
    def tell_line(self, line: str) -> None: ...
    def ask_lock(self, name: str, permits: int, wait: float,
                 on_lost: Callable[[], None]) -> tuple[int, concurrent.futures.Future[int]]: ...
    def drop_lock(self, ask: int) -> None: ...


class Task:
    """One attempt of an execution. `payload` is the input, `payload_text` the same letter by letter.

    `fencing_token` is a pair that rises with each attempt, over changes of leaders: hand it to systems that
    can refuse stale writes. `locks` are those that the task declares or its run holds, `lock_tokens` their tokens."""

    def __init__(self, assign: Mapping[str, Any], reporter: Reporter) -> None:
        attempt = assign["attempt"]
        self.execution_id: str = attempt["execution_id"]
        self.attempt: int = int(attempt["attempt"])
        self.task_id: str = assign.get("task_id", "")
        self.name: str = assign.get("task_name", "")
        self.type: str = assign.get("type", "")
        self.queue: str = assign.get("queue", "")
        self.priority: int = int(assign.get("priority", 0))
        self.failures: int = int(assign.get("failures", 0))
        self.metadata: dict[str, str] = dict(assign.get("metadata") or {})
        self.payload_text: str = payload_of(assign)
        self.payload: Any = json.loads(self.payload_text) if self.payload_text else None
        self.timeout: float | None = int(assign.get("timeout_ms") or 0) / 1000 or None
        self.scheduled_at = datetime.datetime.fromtimestamp(int(assign.get("scheduled_at_ms") or 0) / 1000,
                                                            datetime.timezone.utc)
        self.fencing_token: tuple[int, int] = (int(assign.get("epoch") or 0), self.attempt)
        self.traceparent: str = assign.get("traceparent", "")
        self.tracestate: str = assign.get("tracestate", "")
        self.parent_id: str | None = assign.get("parent_id") or None
        self.step: str | None = assign.get("step") or None
        shard = assign.get("shard")
        self.shard: Shard | None = Shard(int(shard.get("index") or 0), int(shard.get("total") or 0)) if shard else None
        self.locks: dict[str, TaskLock] = {lock["name"]: TaskLock(reporter, lock["name"], token=int(lock["token"]))
                                           for lock in assign.get("locks") or []}
        self.lock_tokens: dict[str, int] = {name: lock.token for name, lock in self.locks.items()}
        self._reporter = reporter
        self._stop = threading.Event()
        self._stop_reason: str | None = None
        self._deadline: float | None = None

    # --- Stopping ------------------------------------------------------------------------------

    @property
    def stopping(self) -> bool:
        """Whether it was cancelled, timed out, or its worker is being stopped: return soon. A coroutine is
        cancelled then, and need not ask."""
        return self._stop.is_set()

    @property
    def stop_reason(self) -> str | None:
        """`cancelled`, `timeout` or `shutdown`; None while it may go on."""
        return self._stop_reason

    def sleep(self, duration: Duration) -> None:
        """Sleeps, unless it is to stop: then Stopped, at once."""
        if self._stop.wait(seconds(duration, "duration")):
            self.check()

    def check(self) -> None:
        """Stopped if it is to stop."""
        if self._stop.is_set():
            raise Stopped(f"the attempt is to stop: {self._stop_reason}", code=self._stop_reason or "stopped")

    @property
    def remaining(self) -> float | None:
        """Seconds until its timeout; None if it has none."""
        return None if self._deadline is None else max(0.0, self._deadline - _clock.now())

    # --- Telling -------------------------------------------------------------------------------

    def progress(self, fraction: float, message: str = "") -> None:
        """From 0 to 1; only the latest counts."""
        if not 0 <= fraction <= 1:
            raise Invalid(f"fraction: must be 0 to 1, but is {fraction}", code="invalid", field="fraction")
        self._reporter.tell_progress(float(fraction), message)

    def log(self, text: str) -> None:
        """Adds lines to the execution's log."""
        for line in str(text).removesuffix("\n").split("\n"):
            self._reporter.tell_line(line)

    def lock(self, name: str, *, wait: Duration = 30.0, permits: int = 1) -> TaskLock:
        """For `with` or `async with`: another lock while the handler runs. LockBusy if it could not be had in
        time. What is not let go ends with the attempt."""
        return TaskLock(self._reporter, name, permits=permits, wait=seconds(wait, "wait"))


class TaskLock(Losable):
    """A lock that an attempt holds; `token` is its fencing token. `lost` is set when it was taken away, and an
    `async with` is cancelled then and raises LockLost. One that came with the attempt ends with it, no block ends it."""

    def __init__(self, reporter: Reporter, name: str, *, permits: int = 1, wait: float = 0.0, token: int = 0) -> None:
        super().__init__()
        self._reporter = reporter
        self._permits = permits
        self._wait = wait
        self._declared = token != 0
        self._ask = 0
        self._blocks: list[Block] = []  # Open ones. Subtasks may have one each, of a lock that came with the attempt.
        self.name = name
        self.token = token

    def check(self) -> None:
        """LockLost if it may be another's by now."""
        if self.lost.is_set():
            raise LockLost(f"lock '{self.name}' was lost", code="lock_lost")

    def acquire(self) -> TaskLock:
        if self._declared:
            return self
        verdict = self._begin()
        try:
            self.token = verdict.result(self._wait + ANSWER_SLACK)
        except concurrent.futures.TimeoutError as error:
            self._reporter.drop_lock(self._ask)
            raise Unavailable(f"no scheduler has answered for lock '{self.name}'", code="unavailable") from error
        return self

    def release(self) -> None:
        if self.token and not self._declared:
            self.token = 0
            self._reporter.drop_lock(self._ask)

    def __enter__(self) -> TaskLock:
        return self.acquire()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.release()

    async def __aenter__(self) -> TaskLock:
        if not self._declared:
            await self._stand_in_line()
        block = Block(self.name)
        with self._mutex:
            self._blocks.append(block)
        if self.lost.is_set():
            block.cancel_soon()
        return self

    async def _stand_in_line(self) -> None:
        verdict = self._begin()
        try:
            async with asyncio.timeout(self._wait + ANSWER_SLACK):
                self.token = await asyncio.wrap_future(verdict)
        except TimeoutError as error:
            self._reporter.drop_lock(self._ask)
            raise Unavailable(f"no scheduler has answered for lock '{self.name}'", code="unavailable") from error
        except asyncio.CancelledError:
            self._reporter.drop_lock(self._ask)
            raise

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        inside = asyncio.current_task()
        with self._mutex:
            block = next(one for one in reversed(self._blocks) if one.inside is inside)
            self._blocks.remove(block)
        block.close()
        self.release()
        block.check(kind, error)

    def _begin(self) -> concurrent.futures.Future[int]:
        self.lost.clear()  # Of what it was given before.
        self._ask, verdict = self._reporter.ask_lock(self.name, self._permits, self._wait, self.lose)
        return verdict

    def lose(self) -> None:
        """On the worker's network thread, which none of a handler's calls may hold up."""
        calls = self._lose()
        with self._mutex:
            blocks = list(self._blocks)
        for block in blocks:
            block.cancel_soon()
        if not calls:
            return
        try:
            threading.Thread(target=lambda: [call() for call in calls], name=f"takt-lost-{self.name}",
                             daemon=True).start()
        except RuntimeError:  # The process may have no more of them.
            for call in calls:
                asyncio.get_running_loop().call_soon(call)


def lock_refused(name: str, why: str) -> LockBusy:
    return LockBusy(f"lock '{name}' was not given: {why}", [], code="conflict")
