"""Packs what attempts have to say into frames of a bounded size."""
from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from . import _clock
from ._held import Held

FRAME_BYTES_MAX = 1 << 20  # Of what can be divided; the scheduler takes 4 MiB.
NAME_BYTES = 160  # Of an attempt's name and the fields around it, about.


class Outbox:
    """One session's. Results come behind everything else that is said of their attempts. Results that may be why
    a session was refused (`refusals`) go one by one, each alone until it is acknowledged."""

    def __init__(self, send: Callable[[str], None]) -> None:
        self._send = send
        self._frame: dict[str, Any] = {}
        self._bytes = 0
        self.suspect: Held | None = None

    def say(self, frame: dict[str, Any]) -> None:
        self._send(json.dumps(frame, ensure_ascii=False, separators=(",", ":")))

    def flush(self, held: Iterable[Held], started: list[Held]) -> None:
        every = list(held)
        for one in started:
            if one.running:
                self._add("started", {"attempt": one.attempt, "ran_ms": one.ran_ms()}, NAME_BYTES)
        for one in every:
            if not one.sent:
                self._news(one)
        for one in every:
            if one.result is None or one.sent:
                continue
            if one.refusals:
                if self.suspect is not None:
                    continue
                self._leave()
                self.suspect = one
            self._result(one)
            if one.refusals:
                self._leave()
        self._leave()

    def _news(self, held: Held) -> None:
        while lines := held.take_lines(FRAME_BYTES_MAX - min(self._bytes, FRAME_BYTES_MAX - 1)):
            self._add("logs", {"attempt": held.attempt, "lines": lines},
                      NAME_BYTES + sum(len(line) + 3 for line in lines))
        progress = held.take_progress()
        if progress:
            self._add("progress", {"attempt": held.attempt, "fraction": progress[0], "message": progress[1]},
                      NAME_BYTES + len(progress[1]))
        asks, drops = held.take_locks()
        if held.running:
            for ask in asks:
                self._add("lock_asks", {"attempt": held.attempt, **ask}, 2 * NAME_BYTES)
            for drop in drops:
                self._add("lock_drops", {"attempt": held.attempt, "ask": drop}, NAME_BYTES)

    def _result(self, held: Held) -> None:
        assert held.result is not None
        held.sent = True
        result = {"attempt": held.attempt, **held.result, "ran_ms": int(held.ran * 1000),
                  "ended_ms_ago": int((_clock.now() - held.ended_at) * 1000)}
        self._add("results", result, 2 * NAME_BYTES + len(held.result.get("data", "")) +
                  len(held.result.get("message", "")))

    def _add(self, part: str, item: dict[str, Any], size: int) -> None:
        if self._bytes + size > FRAME_BYTES_MAX:
            self._leave()
        self._frame.setdefault(part, []).append(item)
        self._bytes += size

    def _leave(self) -> None:
        if self._frame:
            self.say(self._frame)
        self._frame, self._bytes = {}, 0
