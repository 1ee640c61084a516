"""Where to connect next, and how long to wait before."""
from __future__ import annotations

import random
from collections.abc import Sequence

from ._http import quote

BACKOFF_MIN, BACKOFF_MAX = 0.1, 1.0
# Between tries that fail until somebody acts, as with a token that is refused.
PATIENT_MIN, PATIENT_MAX = 2.0, 60.0


class Servers:
    """The servers in turn, beginning anywhere: a fleet with one list should not all begin with the same one."""

    def __init__(self, servers: Sequence[str], namespace: str | None) -> None:
        self._servers = servers
        self._inside = f"/namespaces/{quote(namespace)}" if namespace else ""
        self._next = random.randrange(len(servers))
        self._scheme = "http"
        self._last = ""
        self.moved_to = ""

    def take(self) -> str:
        """Where Moved pointed, else the next in turn; not the one that was lost if there is another."""
        target = self._url(self.moved_to) if self.moved_to else self._in_turn()
        self.moved_to = ""
        self._last = self._in_turn() if target == self._last else target
        return self._last

    def _in_turn(self) -> str:
        self._next += 1
        return self._url(self._servers[self._next % len(self._servers)])

    def _url(self, server: str) -> str:
        if "://" not in server:
            server = f"{self._scheme}://{server}"
        self._scheme = server.partition("://")[0]
        return "ws" + server.rstrip("/")[4:] + f"/api/v1{self._inside}/workers/attach"


def pause_before(failures: int, patient: bool) -> float:
    """Random, so that a thousand workers do not come back in step after a scheduler died."""
    least, most = (PATIENT_MIN, PATIENT_MAX) if patient else (BACKOFF_MIN, BACKOFF_MAX)
    return random.uniform(0, min(most, least * 2.0 ** min(failures, 20)))
