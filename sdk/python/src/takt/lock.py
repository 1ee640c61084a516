"""A lock that this process holds: renews itself, knows when it may be lost, is let go at its end."""
from __future__ import annotations

import dataclasses
import threading
import uuid
from types import TracebackType

from . import _clock
from ._http import Transport, quote
from ._loss import Losable
from .errors import Conflict, Invalid, LockBusy, LockLost, Unavailable, UnknownOutcome

ASKED_AT_ONCE = 20.0  # Seconds of standing in line in one request; then it is asked again.
ANSWER_SLACK = 10.0


@dataclasses.dataclass(frozen=True)
class LockDemand:
    name: str
    ttl: float
    wait: float
    permits: int
    owner: str


class Lock(Losable):
    """`with client.lock("ledger", wait=10) as lock: write(lock.token)`.

    `lost` is set no later than when somebody else may have the lock. Hand `token` to whatever you write to:
    it is higher than any that was given before."""

    def __init__(self, transport: Transport, demand: LockDemand) -> None:
        if not demand.name:
            raise Invalid("name: must not be empty", code="invalid", field="name")
        super().__init__()
        self._transport = transport
        self._demand = demand
        self._released = threading.Event()
        self._renewer: threading.Thread | None = None
        self._valid_until = 0.0
        self.lock_id = ""
        self.token = 0

    @property
    def name(self) -> str:
        return self._demand.name

    def check(self) -> None:
        """LockLost if it may be another's by now."""
        if self.lost.is_set() or _clock.now() >= self._valid_until:
            raise LockLost(f"lock '{self.name}' was lost", code="lock_lost")

    def acquire(self) -> Lock:
        """What `with` does. LockBusy: others hold it."""
        if self._renewer:
            raise Conflict(f"lock '{self.name}' was acquired by this object before", code="conflict")
        body: dict[str, object] = {"ttl": self._demand.ttl, "permits": self._demand.permits, "request_id": uuid.uuid4().hex}
        if self._demand.owner:
            body["owner"] = self._demand.owner
        end = _clock.now() + self._demand.wait
        while True:
            asked_at = _clock.now()
            left = max(0.0, min(end - asked_at, ASKED_AT_ONCE))
            try:
                given = self._post("acquire", {**body, "wait": round(left, 3)}, left + ANSWER_SLACK)
                break
            except LockBusy:
                if _clock.now() >= end:
                    raise
            except (Unavailable, UnknownOutcome):
                # The same request_id finds what it was given, also at the next leader.
                if _clock.now() >= end:
                    raise
                self._transport.pause(0.2)
        self.lock_id, self.token = given["lock_id"], int(given["token"])
        # The lease may have begun when the question was sent; after a long wait it is renewed at once.
        self._valid_until = asked_at + self._demand.ttl
        self._renewer = threading.Thread(target=self._keep, name=f"takt-lock-{self.name}", daemon=True)
        self._renewer.start()
        return self

    def release(self) -> None:
        """Lets it go; lost before is no error. Only the first call does something."""
        if self._released.is_set() or not self._renewer:
            return
        self._released.set()
        if threading.current_thread() is not self._renewer:
            self._renewer.join()
        try:
            self._post("release", {"lock_id": self.lock_id}, 10.0, patience=self._transport.patience)
        except Conflict:
            pass

    def __enter__(self) -> Lock:
        return self.acquire()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.release()

    def _post(self, action: str, body: dict[str, object], timeout: float, patience: float = 0.0) -> dict[str, str]:
        path = f"locks/{quote(self.name)}/{action}"
        answer: dict[str, str] = self._transport.call("POST", path, body, repeat=True, timeout=timeout,
                                                      patience=patience)
        return answer

    def _keep(self) -> None:
        third = self._demand.ttl / 3
        pause = 0.0 if _clock.now() > self._valid_until - 2 * third else third
        while not self._released.wait(pause):
            sent_at = _clock.now()
            # Servers are asked in turn: all of them within what is left of the lease.
            each = max(0.01, (self._valid_until - sent_at) / len(self._transport.servers))
            try:
                self._post("renew", {"lock_id": self.lock_id}, min(third, each))
                self._valid_until, pause = sent_at + self._demand.ttl, third
            except Conflict:
                break
            except Exception:  # Whatever it was, the lease has not begun anew.
                pause = self._demand.ttl / 10
            if _clock.now() + pause >= self._valid_until:
                if self._released.wait(max(0.0, self._valid_until - _clock.now())):
                    return
                break
        else:
            return
        for call in self._lose():
            call()
