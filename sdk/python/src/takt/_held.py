"""Held: an attempt in the worker's hand, from its assignment to the acknowledgement of its result."""
from __future__ import annotations

import asyncio
import collections
import concurrent.futures
import json
import operator
import re
import threading
from collections.abc import Callable, Mapping
from typing import Any

from . import _clock
from .errors import Failure, Invalid, Rejected, Stopped
from .task import Task, lock_refused

RESULT_BYTES_MAX = 1 << 20
MESSAGE_BYTES_MAX = 4 << 10
LINE_BYTES_MAX = 16 << 10
LOG_BYTES_MAX = 4 << 20  # Lines of one attempt that wait for a connection; then they are dropped.
DROPS_KEPT = 1000
DEPTH_MAX = 64
LONG_NUMBER = re.compile(r"\d{19}")
TEXT_OR_BRACKET = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[][{}]')


def clean(text: str, bytes_max: int) -> str:
    """Text that can be sent: valid UTF-8 of at most so many bytes."""
    data = text.encode("utf-8", "replace")
    return data[:bytes_max].decode("utf-8", "ignore") if len(data) > bytes_max else data.decode()


def check_integer(text: str) -> None:
    # Not as an int: Python itself refuses to read those of thousands of digits.
    digits = text.lstrip("-")
    if (len(digits), digits) > ((19, "9223372036854775808") if text[0] == "-" else (20, "18446744073709551615")):
        raise OverflowError("an integer is beyond 64 bits; write it as a string")


def check_depth(data: str) -> None:
    # Few have as many brackets.
    if data.count("[") + data.count("{") <= DEPTH_MAX:
        return
    depth = 0
    for found in TEXT_OR_BRACKET.finditer(data):
        first = data[found.start()]
        if first in "[{":
            depth += 1
            if depth > DEPTH_MAX:
                raise OverflowError(f"it is nested deeper than {DEPTH_MAX}")
        elif first != '"':
            depth -= 1


def success(value: Any) -> dict[str, Any]:
    """The result of a handler that returned; a failure if that cannot be sent."""
    if value is None:
        return {"success": True}
    try:
        data = json.dumps(value, ensure_ascii=False, allow_nan=False)
        # Long numbers are rare: only then is it read again.
        if LONG_NUMBER.search(data):
            json.loads(data, parse_int=check_integer)
        size = len(data.encode())
        if size <= RESULT_BYTES_MAX:
            check_depth(data)
    except UnicodeEncodeError:
        return failure("the result cannot be kept: a text in it has half of a surrogate pair", final=True)
    except OverflowError as error:
        return failure(f"the result cannot be kept: {error}", final=True)
    except RecursionError:
        return failure(f"the result cannot be kept: it is nested deeper than {DEPTH_MAX}", final=True)
    except (TypeError, ValueError) as error:
        return failure(f"the handler returned what is no JSON: {error}", final=True)
    if size > RESULT_BYTES_MAX:
        return failure(f"the result has {size} bytes, which is more than the limit of {RESULT_BYTES_MAX}", final=True)
    return {"success": True, "data": data}


def failure(message: str, *, final: bool = False, reason: str = "handler_failed", code: int = 0) -> dict[str, Any]:
    return {"success": False, "final": final, "reason": reason, "code": code,
            "message": clean(message, MESSAGE_BYTES_MAX)}


def text_of(value: Any) -> str:
    """What a handler gave as its message. Whatever that is, it must not keep the failure from being told."""
    try:
        if isinstance(value, BaseException):
            text = str(value)
            return f"{type(value).__name__}: {text}" if text else type(value).__name__
        return "" if value is None else str(value)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return f"{type(value).__name__}, which cannot be shown as text"


def code_of(value: Any) -> tuple[int, str]:
    """A code of 32 bits; any other is a word, which stands before the message."""
    try:
        number = operator.index(value)
        if -(1 << 31) <= number < 1 << 31:
            return number, ""
    except Exception:
        pass
    return 0, text_of(value)


def failure_of(error: BaseException) -> dict[str, Any]:
    """The result of a handler that raised."""
    if not isinstance(error, Failure):
        return failure(text_of(error))
    code, word = code_of(error.code)
    message = ": ".join(text for text in (word, text_of(error.message)) if text)
    if isinstance(error, Rejected):
        return failure(message, final=True, reason="rejected", code=code)
    return failure(message, final=bool(error.final), code=code)


class Held:
    """The handler's threads call tell_*, ask_lock and drop_lock; all else is the network thread's."""

    def __init__(self, assign: Mapping[str, Any], news: Callable[[Held], None]) -> None:
        self.attempt: dict[str, Any] = dict(assign["attempt"])
        self.key = key_of(assign["attempt"])
        self.assign = assign
        self.task: Task | None = None
        self.began_at: float | None = None
        self.result: dict[str, Any] | None = None
        self.ended_at = 0.0
        self.ran = 0.0
        self.refusals = 0  # Sessions that were refused while its result was under way.
        self.sent = False  # On this session.
        self._begun = False
        self._withdrawn = False
        self.stop_reason: str | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.cancel_coroutine: Callable[[], object] | None = None
        self._news = news
        self._mutex = threading.Lock()
        self._lines: collections.deque[str] = collections.deque()
        self._line_bytes = 0
        self._lines_dropped = 0
        self._progress: tuple[float, str] | None = None
        self._asks = 0
        self.lock_calls: dict[int, tuple[dict[str, Any], concurrent.futures.Future[int], Callable[[], None]]] = {}
        self.lock_losses: dict[int, Callable[[], None]] = {}  # Of those that were given.
        self.lock_asks_due: list[int] = []
        self.lock_drops: collections.deque[int] = collections.deque(maxlen=DROPS_KEPT)
        self.lock_drops_due: list[int] = []

    # --- On any thread -------------------------------------------------------------------------

    def begin(self, lease_until: float) -> bool:
        with self._mutex:
            self._begun = not self._withdrawn and _clock.now() < lease_until
            return self._begun

    def withdraw(self) -> bool:
        """It never begins; false if it has."""
        with self._mutex:
            self._withdrawn = not self._begun
            return self._withdrawn

    def tell_progress(self, fraction: float, message: str) -> None:
        with self._mutex:
            self._progress = (fraction, clean(message, MESSAGE_BYTES_MAX))
        self._news(self)

    def tell_line(self, line: str) -> None:
        line = clean(line, LINE_BYTES_MAX)
        with self._mutex:
            if self._line_bytes + len(line) > LOG_BYTES_MAX:
                self._lines_dropped += 1
                return
            self._line_bytes += len(line)
            self._lines.append(line)
        self._news(self)

    def ask_lock(self, name: str, permits: int, wait: float,
                 on_lost: Callable[[], None]) -> tuple[int, concurrent.futures.Future[int]]:
        if not name:
            raise Invalid("name: must not be empty", code="invalid", field="name")
        verdict: concurrent.futures.Future[int] = concurrent.futures.Future()
        with self._mutex:
            self._asks += 1
            ask = self._asks
            if self.stop_reason or self.result:
                verdict.set_exception(Stopped("the attempt is to stop", code=self.stop_reason or "stopped"))
                return ask, verdict
            self.lock_calls[ask] = ({"ask": ask, "name": name, "permits": permits, "wait_ms": int(wait * 1000)},
                                    verdict, on_lost)
            self.lock_asks_due.append(ask)
        self._news(self)
        return ask, verdict

    def drop_lock(self, ask: int) -> None:
        with self._mutex:
            self.lock_calls.pop(ask, None)
            self.lock_losses.pop(ask, None)
            self.lock_drops.append(ask)
            self.lock_drops_due.append(ask)
        self._news(self)

    # --- On the network thread -----------------------------------------------------------------

    @property
    def running(self) -> bool:
        return self.result is None

    def ran_ms(self) -> int:
        return int((_clock.now() - self.began_at) * 1000) if self.began_at else 0

    def take_lines(self, bytes_max: int) -> list[str]:
        """The next lines of up to so many bytes, at least one if there is one."""
        taken: list[str] = []
        with self._mutex:
            while self._lines and bytes_max > 0:
                line = self._lines.popleft()
                self._line_bytes -= len(line)
                bytes_max -= len(line) + 3
                taken.append(line)
            if not self._lines and self._lines_dropped:
                taken.append(f"({self._lines_dropped} lines were dropped: no scheduler took them)")
                self._lines_dropped = 0
        return taken

    def take_progress(self) -> tuple[float, str] | None:
        with self._mutex:
            taken, self._progress = self._progress, None
            return taken

    def take_locks(self) -> tuple[list[dict[str, Any]], list[int]]:
        with self._mutex:
            asks = [self.lock_calls[ask][0] for ask in self.lock_asks_due if ask in self.lock_calls]
            drops, self.lock_asks_due, self.lock_drops_due = self.lock_drops_due, [], []
            return asks, drops

    def repeat_locks(self) -> None:
        """Frames of the session before may not have arrived, nor what they would have been answered."""
        with self._mutex:
            self.lock_asks_due = list(self.lock_calls)
            self.lock_drops_due = list(self.lock_drops)

    def answer_lock(self, verdict: Mapping[str, Any]) -> None:
        """Of one that it asked for, or, without a token, of one that it has and that was taken away."""
        ask, token = int(verdict.get("ask") or 0), int(verdict.get("token") or 0)
        lose: Callable[[], None] | None = None
        with self._mutex:
            call = self.lock_calls.pop(ask, None)
            if call and token:
                self.lock_losses[ask] = call[2]
            elif not call and not token:
                lose = self.lock_losses.pop(ask, None)
        if ask == 0 and not token and self.task and (declared := self.task.locks.get(verdict.get("name", ""))):
            lose = declared.lose
        if lose:
            lose()
        if call and call[1].set_running_or_notify_cancel():
            if token:
                call[1].set_result(token)
            else:
                call[1].set_exception(lock_refused(call[0]["name"], verdict.get("why", "")))

    def end_locks(self) -> None:
        with self._mutex:
            calls, self.lock_calls = self.lock_calls, {}
        for _, verdict, _ in calls.values():
            if verdict.set_running_or_notify_cancel():
                verdict.set_exception(Stopped("the attempt is to stop", code=self.stop_reason or "stopped"))


def key_of(attempt: Mapping[str, Any]) -> str:
    """All three parts: after a store lost its last writes, a number is given out again."""
    return f"{attempt['execution_id']}/{attempt['attempt']}/{attempt['token']}"
