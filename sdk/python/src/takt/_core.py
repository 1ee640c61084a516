"""The worker's side of docs/worker_protocol.md: what its network thread does."""
from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from . import _clock
from ._held import Held, failure, key_of
from ._load import cpu_load, memory_load
from ._options import Options
from ._outbox import Outbox
from ._servers import Servers, pause_before
from ._stopping import Stopping
from ._trust import Trust
from ._websocket import WebSocket, WebSocketError
from ._zstd import UNPACK
from .errors import TaktError, WorkerRefused

log = logging.getLogger("takt.worker")

GOOD_SESSION = 5.0  # One that lasted this long: the next try need not wait for long.
MOVES_MAX = 3  # In a row: schedulers that point at each other.
CONNECT_TIMEOUT = 5.0
WELCOME_TIMEOUT = 10.0
FINAL_REFUSALS = frozenset({"protocol", "invalid_hello", "not_yours", "wrong_namespace", "replaced"})


class Core(Stopping):
    """Everything on its loop, but for `news`, `finish`, `may_begin`, `set_capacity` and `stop`, which any
    thread may call."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.instance = str(uuid.uuid4())
        self.held: dict[str, Held] = {}
        self.attached = False
        self.capacity_set = 0  # What an operator has set; 0: the worker's own word counts.
        self.draining = False
        self.failure: TaktError | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake: asyncio.Event | None = None  # Set when stopping may go on.
        self._socket: WebSocket | None = None
        self._outbox: Outbox | None = None
        self._started: list[Held] = []
        self._flush_waits = False
        self._epoch = 0
        self._namespace_id = 0
        self._term_id = "0"
        self._lease = WELCOME_TIMEOUT
        self._heartbeat = 10.0
        self._heard_at = 0.0
        self._hello_at = 0.0
        self._lease_until = 0.0  # Before this no scheduler has taken the worker for dead.
        self._servers = Servers(options.servers, options.namespace)
        self._trust = Trust(options.ca_file)
        self._capacity_said = 0  # In this session.
        self._hurry = False
        self._leaving = False  # Bye was said.

    # --- From any thread -----------------------------------------------------------------------

    def news(self, held: Held) -> None:
        self._post(self._flush_soon)

    def finish(self, held: Held, result: dict[str, Any]) -> None:
        self._post(self._on_finished, held, result)

    def may_begin(self, held: Held) -> bool:
        """Whether its handler may begin now. Not if the process was asleep, or the loop or thread of the handler came
        late, and the lease is over: others have been given it, and it is put back."""
        if held.begin(self._lease_until):
            return True
        self._post(self._put_back, held)
        return False

    def set_capacity(self, count: int) -> None:
        self.options.capacity = count
        self._post(self._say_beat)

    def stop(self) -> None:
        """Finishes what it has; a second call hurries."""
        self._post(self._on_stop)

    def _post(self, call: Callable[..., None], *arguments: Any) -> None:
        if self._loop:
            try:
                self._loop.call_soon_threadsafe(call, *arguments)
            except RuntimeError:
                pass  # It has stopped: nobody is there to be told.

    # --- The connection ------------------------------------------------------------------------

    async def run(self) -> None:
        """Until it is stopped, or refused for good: then `failure` says why."""
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        connecting = asyncio.create_task(self._keep_connected())
        stopping = asyncio.create_task(self._stop_in_order())
        await asyncio.wait({connecting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        for one in self.held.values():
            self._request_stop(one, "shutdown")
        for task in (connecting, stopping):
            task.cancel()
        for ended in await asyncio.gather(connecting, stopping, return_exceptions=True):
            if isinstance(ended, TaktError):
                self.failure = ended
            elif isinstance(ended, Exception):
                raise ended
        self._tell("stopped", str(self.failure or ""))

    async def _keep_connected(self) -> None:
        failures = moves = 0
        while True:
            patient = False
            target = self._servers.take()
            try:
                headers = {"Authorization": f"Bearer {self.options.token}"} if self.options.token else {}
                socket = await WebSocket.open(target, headers, self._trust.context(), CONNECT_TIMEOUT)
            except WebSocketError as error:
                patient = error.status in (401, 403, 429)
                failures += 1
                log.warning("cannot connect to %s: %s", target, error)
                self._tell("disconnected", str(error))
            else:
                opened_at = _clock.now()
                why = await self._session(socket)
                good = _clock.now() - opened_at >= GOOD_SESSION
                failures, moves = (0, 0) if good else (failures + 1, moves)
                patient = why.startswith(("taken: ", "full: "))
                log.info("disconnected: %s", why)
                self._tell("disconnected", why)
                if self._servers.moved_to and moves < MOVES_MAX:
                    moves += 1
                    continue
            if self._leaving:
                return
            await asyncio.sleep(pause_before(failures, patient))

    async def _session(self, socket: WebSocket) -> str:
        """One session, from Hello to its end: why it ended. WorkerRefused if no other will be better."""
        self._socket, self._lease = socket, WELCOME_TIMEOUT
        beating: asyncio.Task[None] | None = None
        outbox = Outbox(socket.send)
        self._heard_at = self._hello_at = _clock.now()
        outbox.say({"hello": self._hello()})
        try:
            while True:
                async with asyncio.timeout(self._heard_at + self._lease - _clock.now()):
                    text = await socket.receive()
                now = _clock.now()
                # This process was asleep: what lies in the socket has been given to others since.
                if now - self._heard_at >= self._lease:
                    return "nothing was read for longer than the lease"
                self._heard_at = now
                frame = json.loads(text)
                if "refused" in frame:
                    return self._on_refused(frame["refused"])
                if "moved" in frame:
                    self._servers.moved_to = frame["moved"].get("address") or ""
                    return "another scheduler leads"
                if "welcome" in frame:
                    if not self._on_welcome(frame["welcome"], outbox):
                        return "the scheduler leads an older term than the latest known"
                    beating = asyncio.create_task(self._beat())
                if self.attached:
                    self._take(frame)
        except WebSocketError as error:
            return str(error)
        except TimeoutError:
            return "the scheduler was silent for longer than the lease"
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return f"the scheduler sent what is no frame: {error!r}"
        finally:
            self.attached, self._outbox = False, None
            if beating:
                beating.cancel()
            await socket.close()
            self._socket = None
            self._check_stop()

    def _hello(self) -> dict[str, Any]:
        options = self.options
        self._capacity_said = options.capacity
        if self._hello_at >= self._lease_until:
            # All that did not begin has been given to others; named here, it could begin before the cancel comes.
            for one in [one for one in self.held.values() if one.running and one.withdraw()]:
                self._forget(one)
        return {"protocol": 1, "worker_id": options.id, "instance": self.instance, "name": options.name,
                "types": options.types, "queues": options.queues, "labels": options.labels,
                "capacity": options.capacity, "weight": options.weight, "group": options.group,
                "version": options.version, "namespace": options.namespace or "",
                "namespace_id": self._namespace_id, "epoch_seen": str(self._epoch),
                "term_id": self._term_id, "accepts_zstd": UNPACK is not None,
                "holding": [one.attempt for one in self.held.values()]}

    def _on_welcome(self, welcome: Mapping[str, Any], outbox: Outbox) -> bool:
        space, epoch = int(welcome.get("namespace_id") or 0), int(welcome["epoch"])
        if space != self._namespace_id:
            self._epoch, self._namespace_id = 0, space
        if epoch < self._epoch:
            return False
        self._epoch, self._term_id = epoch, str(welcome.get("term_id", "0"))
        self._lease = max(1, int(welcome["lease_ms"])) / 1000
        self._lease_until = self._hello_at + self._lease
        self._heartbeat = max(1, int(welcome["heartbeat_ms"])) / 1000
        self.attached, self._outbox = True, outbox
        self.capacity_set = 0
        self._started = [one for one in self.held.values() if one.running]
        for one in self.held.values():
            one.sent = False
            one.repeat_locks()
        log.info("attached to %s, term %d, %d in hand", welcome.get("node_id"), epoch, len(self.held))
        self._tell("attached", str(welcome.get("node_id", "")))
        return True

    def _on_refused(self, refused: Mapping[str, Any]) -> str:
        why = f"{refused.get('code')}: {refused.get('message')}"
        log.error("refused by the scheduler: %s", why)
        if self.attached and refused.get("code") in ("malformed", "too_large"):
            self._blame_results(why)
        if refused.get("code") in FINAL_REFUSALS:
            raise WorkerRefused(f"the scheduler refused the worker: {why}", code=str(refused.get("code")))
        return why

    def _blame_results(self, why: str) -> None:
        """One of the results under way may be what the scheduler does not take, and would end every session."""
        for one in [one for one in self.held.values() if one.sent]:
            one.refusals += 1
            if one.refusals == 2:
                one.result = failure(f"the scheduler did not take the result: {why[:2000]}", final=True)
            elif one.refusals > 2:
                self._forget(one)

    async def _beat(self) -> None:
        """Heartbeats, whatever handlers do: they run on other threads."""
        while True:
            self._say_beat()
            await asyncio.sleep(self._heartbeat)

    def _say_beat(self) -> None:
        if not self._outbox:
            return
        beat: dict[str, Any] = {"cpu": cpu_load(), "memory": memory_load(), "draining": self.draining,
                                "sent_at_ms": int(_clock.now() * 1000)}
        # Only what is new: a scheduler of an earlier version does not know the field.
        if self.options.capacity != self._capacity_said:
            beat["capacity"] = self._capacity_said = self.options.capacity
        self._outbox.say({"heartbeat": beat})

    # --- Attempts ------------------------------------------------------------------------------

    def _take(self, frame: Mapping[str, Any]) -> None:
        # The lease counts from what the scheduler has heard: this beat's question, no other frame, tells when that was.
        if sent_at_ms := int((frame.get("beat") or {}).get("sent_at_ms") or 0):
            self._lease_until = sent_at_ms / 1000 + self._lease
        for assign in frame.get("assigns") or []:
            self._on_assign(assign)
        for cancel in frame.get("cancels") or []:
            one = self.held.get(key_of(cancel["attempt"]))
            if one:
                self._request_stop(one, "timeout" if cancel.get("reason") == "timeout" else "cancelled")
        for ack in frame.get("acks") or []:
            one = self.held.get(key_of(ack["attempt"]))
            if one and one.result is not None:
                self._forget(one)
        if "capacity" in frame:
            self.capacity_set = int(frame["capacity"].get("capacity") or 0)
        for verdict in frame.get("lock_verdicts") or []:
            one = self.held.get(key_of(verdict["attempt"]))
            if one:
                one.answer_lock(verdict)
        self._flush_soon()
        self._check_stop()

    def _on_assign(self, assign: Mapping[str, Any]) -> None:
        epoch = int(assign.get("epoch") or 0)
        # From a leader that a later one has followed: whoever leads now decides anew.
        if epoch < self._epoch:
            log.warning("ignored an assignment of an older term: %s", assign["attempt"]["execution_id"])
            return
        self._epoch = epoch
        one = Held(assign, self.news)
        if one.key in self.held:
            return
        self.held[one.key] = one
        one.began_at = _clock.now()
        timeout_ms = int(assign.get("timeout_ms") or 0)
        assert self._loop
        if timeout_ms:
            one.timer = self._loop.call_later(timeout_ms / 1000, self._request_stop, one, "timeout")
        self._started.append(one)
        self.options.begin(one)

    def _request_stop(self, held: Held, reason: str) -> None:
        if not held.running or held.stop_reason:
            return
        held.stop_reason = reason
        held.end_locks()
        if held.timer:
            held.timer.cancel()
        if held.task:
            held.task._stop_reason = reason
            held.task._stop.set()
        if held.cancel_coroutine:
            held.cancel_coroutine()
        assert self._loop
        held.timer = self._loop.call_later(self.options.stop_grace, self._abandon, held)

    def _abandon(self, held: Held) -> None:
        if held.running:
            log.warning("%s does not stop and is left alone", held.attempt["execution_id"])
            self._on_finished(held, failure("was asked to stop, and did not"))

    def _on_finished(self, held: Held, result: dict[str, Any]) -> None:
        # Abandoned before: how it ended has been told.
        if not held.running:
            return
        reason = held.stop_reason
        if reason and not result["success"]:
            # Stopped because the worker goes: nobody's failure. Bye gives it to others.
            if reason == "shutdown":
                return self._forget(held)
            # However a handler says that it was stopped, this is what happened.
            result = {**result, "reason": reason, "final": False}
            if reason == "timeout":
                result["message"] = f"took longer than its timeout of {held.assign.get('timeout_ms')} ms"
        held.result, held.ended_at = result, _clock.now()
        held.ran = held.ended_at - (held.began_at or held.ended_at)
        held.end_locks()
        if held.timer:
            held.timer.cancel()
        self._flush_soon()

    def _put_back(self, held: Held) -> None:
        """Never begun. Whichever session there is may have named it; the next Hello does not, so that the scheduler
        gives it out again if it has not yet."""
        if not held.running:
            return
        log.warning("%s was not begun: the lease was over", held.attempt["execution_id"])
        self._forget(held)
        if self._socket:
            self._socket.abort()

    def _forget(self, held: Held) -> None:
        if held.timer:
            held.timer.cancel()
        self.held.pop(held.key, None)
        if self._outbox and self._outbox.suspect is held:
            self._outbox.suspect = None
        held.result = held.result or {"success": False}
        self._check_stop()

    def _flush_soon(self) -> None:
        """What is said within one turn of the loop leaves in one frame."""
        if not self._flush_waits and self._loop:
            self._flush_waits = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_waits = False
        if self._outbox:
            started, self._started = self._started, []
            self._outbox.flush(self.held.values(), started)

    def _tell(self, event: str, detail: str) -> None:
        if self.options.on_event:
            try:
                self.options.on_event(event, detail)
            except Exception:
                log.exception("on_event raised")
