"""Worker and AsyncWorker: run what a scheduler gives them."""
from __future__ import annotations

import asyncio
import inspect
import logging
import os
import re
import secrets
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

from ._core import Core
from ._held import Held, failure, failure_of, success
from ._http import read_servers
from ._options import Options
from ._version import VERSION
from .errors import Conflict, Invalid, Stopped, WaitTimeout
from .models import Duration, seconds
from .task import Task

log = logging.getLogger("takt.worker")

Handler = Callable[[Task], Any] | Callable[[Task], Awaitable[Any]]
SomeHandler = TypeVar("SomeHandler", bound=Callable[[Task], Any])
CAPACITY_MAX = 100_000
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{0,63}")


def new_worker_id() -> str:
    host = re.sub(r"[^A-Za-z0-9._~-]", "-", socket.gethostname())[:48].lstrip("._~-") or "worker"
    return f"{host}-{secrets.token_hex(4)}"


def check_capacity(count: int, field: str) -> None:
    if not isinstance(count, int) or not 1 <= count <= CAPACITY_MAX:
        raise Invalid(f"{field}: must be 1 to {CAPACITY_MAX}, but is {count}", code="invalid", field=field)


class WorkerBase:
    """What both kinds share. Handlers are functions, each on a thread of its own, or coroutines; a handler
    returns its result as JSON can say it, or raises `Failure`, `Rejected` or anything else.

    The connection lives on a thread of its own, so that no handler keeps it from its heartbeats. A lost
    connection or leader disturbs no handler: results are kept until a scheduler has acknowledged them."""

    def __init__(self, servers: str | Sequence[str] | None = None, *, id: str | None = None, name: str | None = None,
                 concurrency: int = 10, queues: Sequence[str] = (), labels: Mapping[str, str] | None = None,
                 group: str = "", weight: int = 1, version: str = "", token: str | None = None,
                 namespace: str | None = None, ca_file: str | None = None, drain_timeout: Duration = 60.0,
                 stop_grace: Duration = 3.0, on_event: Callable[[str, str], None] | None = None) -> None:
        """`on_event` is told `attached`, `disconnected`, `draining` and `stopped`, with a detail, on the network
        thread. `version` is of your program, for `takt workers`; unless given, of this package. `drain_timeout` is
        how long stop waits for what runs, `stop_grace` how long a handler that was asked to stop may take; then
        it is left alone."""
        check_capacity(concurrency, "concurrency")
        if id is not None and not ID.fullmatch(id):
            raise Invalid(f"id: '{id}' is not 1 to 64 of A-Z a-z 0-9 . _ ~ -", code="invalid", field="id")
        self.id = id or new_worker_id()
        self._handlers: dict[str, Handler] = {}
        self._fallback: Handler | None = None
        self._options = Options(
            servers=read_servers(servers), id=self.id, name=name or self.id, types=[], queues=list(queues),
            labels=dict(labels or {}), capacity=concurrency, weight=weight, group=group,
            version=version or VERSION,
            token=token or os.environ.get("TAKT_TOKEN"), namespace=namespace or os.environ.get("TAKT_NAMESPACE"),
            ca_file=ca_file, stop_grace=seconds(stop_grace, "stop_grace"),
            drain_timeout=seconds(drain_timeout, "drain_timeout"), on_event=on_event, begin=self._begin)
        self._core = Core(self._options)
        self._thread: threading.Thread | None = None
        self._handler_loop: asyncio.AbstractEventLoop | None = None
        self._crash: BaseException | None = None

    # --- Handlers ------------------------------------------------------------------------------

    def handle(self, type: str) -> Callable[[SomeHandler], SomeHandler]:
        """Decorates the handler of a type."""
        def add(handler: SomeHandler) -> SomeHandler:
            self.add(type, handler)
            return handler

        return add

    def add(self, type: str, handler: Handler) -> None:
        self._check_new(type)
        self._handlers[type] = handler

    def handle_rest(self, handler: SomeHandler) -> SomeHandler:
        """Decorates the handler of every type that has none of its own."""
        self._check_new("")
        self._fallback = handler
        return handler

    def _check_new(self, type: str) -> None:
        if self._thread:
            raise Conflict("handlers are added before the worker starts", code="conflict")
        if type in self._handlers:
            raise Invalid(f"type: '{type}' has a handler already", code="invalid", field="type")

    # --- State ---------------------------------------------------------------------------------

    @property
    def attached(self) -> bool:
        """Whether a scheduler has it in its rotation."""
        return self._core.attached

    @property
    def capacity(self) -> int:
        """How many attempts it is given at once: what an operator has set, else its own word."""
        return self._core.capacity_set or self._options.capacity

    def set_capacity(self, count: int) -> None:
        """How many attempts it takes at once from now on. What runs goes on; nothing new comes until fewer run.
        An operator's word, if there is one, goes before. From any thread."""
        check_capacity(count, "capacity")
        self._core.set_capacity(count)

    @property
    def in_hand(self) -> int:
        """Attempts that run, or whose results no scheduler has acknowledged yet."""
        return len(self._core.held)

    # --- Inside --------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._thread:
            raise Conflict("the worker was started before", code="conflict")
        if not self._handlers and not self._fallback:
            raise Invalid("handlers: the worker has none", code="invalid", field="handlers")
        self._options.types = [] if self._fallback else sorted(self._handlers)
        self._thread = threading.Thread(target=self._serve, name="takt-worker", daemon=True)
        ready = threading.Event()
        self._ready = ready
        self._thread.start()
        ready.wait()

    def _serve(self) -> None:
        async def serve() -> None:
            running = asyncio.create_task(self._core.run())
            await asyncio.sleep(0)
            self._ready.set()
            await running

        try:
            asyncio.run(serve())
        except BaseException as error:
            log.exception("the worker's network thread ended")
            self._crash = error
        finally:
            self._ready.set()
            self._on_ended()

    def _on_ended(self) -> None:
        pass

    def _raise_failure(self) -> None:
        if self._crash:
            raise self._crash
        if self._core.failure:
            raise self._core.failure

    def _begin(self, held: Held) -> None:
        """On the network thread, at an assignment."""
        try:
            held.task = Task(held.assign, held)
        except ValueError as error:
            return self._core.finish(held, failure(f"the payload is no JSON: {error}", final=True, reason="rejected"))
        if held.task.timeout and held.began_at:
            held.task._deadline = held.began_at + held.task.timeout
        handler = self._handlers.get(held.task.type, self._fallback)
        if handler is None:
            return self._core.finish(held, failure(f"this worker has no handler for '{held.task.type}'", final=True,
                                                   reason="rejected"))
        if inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None)):
            self._begin_coroutine(held, held.task, handler)
        else:
            thread = threading.Thread(target=self._run_function, args=(held, held.task, handler),
                                      name=f"takt-{held.task.execution_id}", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # The process may have no more of them.
                self._core.finish(held, failure(f"the worker cannot begin it: {error}"))

    def _run_function(self, held: Held, task: Task, handler: Callable[[Task], Any]) -> None:
        if not self._core.may_begin(held):
            return
        try:
            result = success(handler(task))
        except BaseException as error:
            if not isinstance(error, Stopped):
                log.info("%s failed", task.execution_id, exc_info=error)
            result = failure_of(error)
        self._core.finish(held, result)

    def _begin_coroutine(self, held: Held, task: Task, handler: Callable[[Task], Awaitable[Any]]) -> None:
        async def run() -> None:
            if not self._core.may_begin(held):
                return
            try:
                result = success(await handler(task))
            except asyncio.CancelledError:
                result = failure("was cancelled")
            except BaseException as error:
                log.info("%s failed", task.execution_id, exc_info=error)
                result = failure_of(error)
            self._core.finish(held, result)

        future = asyncio.run_coroutine_threadsafe(run(), self._loop_of_handlers())
        held.cancel_coroutine = future.cancel

    def _loop_of_handlers(self) -> asyncio.AbstractEventLoop:
        raise NotImplementedError


class Worker(WorkerBase):
    """From any thread; calls block. Coroutine handlers share one loop, on a thread of the worker's own."""

    def start(self) -> Worker:
        """Returns at once; connects by itself, and again whenever it has to."""
        self._start()
        return self

    def drain(self) -> None:
        """Takes nothing new, finishes what it has and stops. Returns at once."""
        if self._thread:
            self._core.stop()

    def stop(self) -> None:
        """Drains, waits for what runs and for the acknowledgement of its results, says goodbye. A second call
        from another thread meanwhile hurries. WorkerRefused if that is how it ended."""
        self.drain()
        self.wait()

    def wait(self, timeout: Duration | None = None) -> None:
        """Until it has stopped. WaitTimeout, WorkerRefused."""
        if not self._thread:
            return
        self._thread.join(None if timeout is None else seconds(timeout, "timeout"))
        if self._thread.is_alive():
            raise WaitTimeout("the worker has not stopped yet", code="timeout")
        self._raise_failure()

    def run(self) -> None:
        """Starts, serves until SIGTERM or SIGINT, stops in order. In another thread than the main one, which alone may
        handle signals, it serves until drain()."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: self.drain())
        self.start()
        # Not a plain join: the interpreter handles signals between two short ones.
        while self._thread and self._thread.is_alive():
            self._thread.join(0.2)
        self._raise_failure()

    def __enter__(self) -> Worker:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.stop()

    def _loop_of_handlers(self) -> asyncio.AbstractEventLoop:
        if not self._handler_loop:
            loop = self._handler_loop = asyncio.new_event_loop()

            def serve() -> None:
                loop.run_forever()
                loop.close()

            threading.Thread(target=serve, name="takt-handlers", daemon=True).start()
        return self._handler_loop

    def _on_ended(self) -> None:
        if self._handler_loop:
            self._handler_loop.call_soon_threadsafe(self._handler_loop.stop)


class AsyncWorker(WorkerBase):
    """The same for a program that is asyncio: coroutine handlers run on the loop that started it."""

    async def start(self) -> AsyncWorker:
        self._handler_loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._start()
        return self

    def drain(self) -> None:
        if self._thread:
            self._core.stop()

    async def stop(self) -> None:
        self.drain()
        await self.wait()

    async def wait(self, timeout: Duration | None = None) -> None:
        """Until it has stopped. WaitTimeout, WorkerRefused."""
        if not self._thread:
            return
        try:
            async with asyncio.timeout(None if timeout is None else seconds(timeout, "timeout")):
                await self._ended.wait()
        except TimeoutError as error:
            raise WaitTimeout("the worker has not stopped yet", code="timeout") from error
        self._raise_failure()

    async def run(self) -> None:
        """Starts, serves until SIGTERM or SIGINT, stops in order."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.drain)
        try:
            await self.start()
            await self.wait()
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

    async def __aenter__(self) -> AsyncWorker:
        return await self.start()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        await self.stop()

    def _loop_of_handlers(self) -> asyncio.AbstractEventLoop:
        assert self._handler_loop
        return self._handler_loop

    def _on_ended(self) -> None:
        assert self._handler_loop
        try:
            self._handler_loop.call_soon_threadsafe(self._ended.set)
        except RuntimeError:
            pass  # The program's loop is closed: nobody waits.
