"""AsyncClient: the Client for programs that are asyncio. Calls run on a few threads of its own."""
from __future__ import annotations

import asyncio
import concurrent.futures
import functools
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, ParamSpec, TypeVar, Unpack

from ._aio_http import Waits
from ._loss import Block
from .client import Client, Waiting
from .errors import ExecutionFailed, Stopped, Unavailable, UnknownOutcome
from .lock import Lock
from .models import Duration, Execution, Page, TaskFields, TaskRecord, seconds

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
THREADS_MAX = 16  # Calls at once; more stand in line. Waits take none.


class AsyncClient:
    """Takes what Client takes, and each call means the same."""

    def __init__(self, servers: str | Sequence[str] | None = None, *, token: str | None = None,
                 namespace: str | None = None, ca_file: str | None = None, timeout: Duration = 30.0,
                 patience: Duration = 10.0) -> None:
        self._client = Client(servers, token=token, namespace=namespace, ca_file=ca_file, timeout=timeout,
                              patience=patience)
        self._waits = Waits(self._client._transport)
        self._threads = concurrent.futures.ThreadPoolExecutor(THREADS_MAX, "takt-client")

    async def _do(self, call: Callable[Arguments, Answer], /, *arguments: Arguments.args,
                  **more: Arguments.kwargs) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, functools.partial(call, *arguments, **more))

    async def close(self) -> None:
        self._client.close()
        self._waits.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        await self.close()

    async def call(self, method: str, path: str, body: Any = None, *, query: Mapping[str, Any] | None = None,
                   repeat: bool | None = None) -> Any:
        return await self._do(self._client.call, method, path, body, query=query, repeat=repeat)

    # --- Submitting ----------------------------------------------------------------------------

    async def submit(self, type: str, parameters: Any = None, *, id: str | None = None,
                     **fields: Unpack[TaskFields]) -> TaskRecord:
        return await self._do(self._client.submit, type, parameters, id=id, **fields)

    async def submit_many(self, tasks: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return await self._do(self._client.submit_many, list(tasks))

    async def run(self, type: str, parameters: Any = None, *, wait: Duration = 60.0, id: str | None = None,
                  **fields: Unpack[TaskFields]) -> Execution:
        execution = await self.wait((await self.submit(type, parameters, id=id, **fields)).id, wait)
        if not execution.succeeded:
            why = execution.error.message if execution.error else execution.status
            raise ExecutionFailed(f"{type} {execution.id} {execution.status}: {why}", execution)
        return execution

    # --- Tasks ---------------------------------------------------------------------------------

    async def get_task(self, id: str) -> TaskRecord:
        return await self._do(self._client.get_task, id)

    async def list_tasks(self, *, name: str | None = None, limit: int | None = None,
                         cursor: str | None = None) -> Page[TaskRecord]:
        return await self._do(self._client.list_tasks, name=name, limit=limit, cursor=cursor)

    async def put_task(self, id: str, type: str, parameters: Any = None,
                       **fields: Unpack[TaskFields]) -> TaskRecord:
        return await self._do(self._client.put_task, id, type, parameters, **fields)

    async def update_task(self, id: str, *, version: int | None = None, **fields: Any) -> TaskRecord:
        return await self._do(self._client.update_task, id, version=version, **fields)

    async def delete_task(self, id: str) -> None:
        await self._do(self._client.delete_task, id)

    async def pause_task(self, id: str) -> TaskRecord:
        return await self._do(self._client.pause_task, id)

    async def resume_task(self, id: str) -> TaskRecord:
        return await self._do(self._client.resume_task, id)

    async def trigger(self, id: str, parameters: Any = None, *, execution_id: str | None = None) -> Execution:
        return await self._do(self._client.trigger, id, parameters, execution_id=execution_id)

    async def fires(self, id: str, count: int = 5) -> list[str]:
        return await self._do(self._client.fires, id, count)

    # --- Executions ----------------------------------------------------------------------------

    async def get(self, id: str) -> Execution:
        return await self._do(self._client.get, id)

    async def list_executions(self, *, task_id: str | None = None, status: str | Sequence[str] | None = None,
                   type: str | None = None, queue: str | None = None, parent_id: str | None = None,
                   details: bool | None = None, limit: int | None = None,
                   cursor: str | None = None) -> Page[Execution]:
        return await self._do(self._client.list_executions, task_id=task_id, status=status, type=type, queue=queue,
                              parent_id=parent_id, details=details, limit=limit, cursor=cursor)

    async def wait(self, id: str, timeout: Duration = 60.0) -> Execution:
        transport = self._client._transport
        waiting = Waiting(id, seconds(timeout, "timeout"), transport.timeout)
        while True:
            query = waiting.query(may_wait=not self._waits.full)
            try:
                if waiting.wait == 0:
                    answer = await self.call("GET", waiting.path)
                else:
                    answer = await self._waits.get(waiting.path, query, waiting.wait)
            except (Unavailable, UnknownOutcome):
                waiting.wait = 0
                answer = await self.call("GET", waiting.path)  # Of whichever server is there, with patience.
            execution = Execution.read(answer)
            if execution.done:
                return execution
            await asyncio.sleep(waiting.pause(execution))
            if transport.closed:
                raise Stopped("the client was closed", code="stopped")

    async def cancel(self, id: str) -> Execution:
        return await self._do(self._client.cancel, id)

    async def retry(self, id: str, *, steps: Sequence[str] | None = None) -> Execution:
        return await self._do(self._client.retry, id, steps=steps)

    async def log(self, id: str) -> list[str]:
        return await self._do(self._client.log, id)

    async def explain(self, id: str) -> str:
        return await self._do(self._client.explain, id)

    # --- Workflows -----------------------------------------------------------------------------

    async def steps(self, run: str) -> list[dict[str, Any]]:
        return await self._do(self._client.steps, run)

    async def children(self, run: str, *, details: bool = False) -> AsyncIterator[Execution]:
        cursor: str | None = None
        while True:
            page = await self.list_executions(parent_id=run, details=details or None, limit=1000, cursor=cursor)
            for child in page:
                yield child
            cursor = page.next_cursor
            if cursor is None:
                return

    async def step_results(self, run: str, step: str) -> list[Any]:
        return await self._do(self._client.step_results, run, step)

    # --- Locks and namespaces ------------------------------------------------------------------

    def lock(self, name: str, *, ttl: Duration = 30.0, wait: Duration = 0.0, permits: int = 1,
             owner: str = "") -> AsyncLock:
        return AsyncLock(self._client.lock(name, ttl=ttl, wait=wait, permits=permits, owner=owner))

    async def list_namespaces(self) -> list[dict[str, Any]]:
        return await self._do(self._client.list_namespaces)

    async def create_namespace(self, name: str, **fields: Any) -> dict[str, Any]:
        return await self._do(self._client.create_namespace, name, **fields)

    async def delete_namespace(self, name: str) -> None:
        await self._do(self._client.delete_namespace, name)


class AsyncLock:
    """`async with client.lock("ledger") as lock:`. If the lock is lost, the block is cancelled and LockLost
    raised, no later than when somebody else may have it."""

    def __init__(self, lock: Lock) -> None:
        self._lock = lock
        self.lost = asyncio.Event()

    @property
    def name(self) -> str:
        return self._lock.name

    @property
    def token(self) -> int:
        return self._lock.token

    async def __aenter__(self) -> AsyncLock:
        loop = asyncio.get_running_loop()
        self._block = Block(self.name)
        # A thread of its own: it may stand in line for long.
        await asyncio.to_thread(self._lock.acquire)
        self._lock.on_lost(lambda: loop.call_soon_threadsafe(self._on_lost))
        return self

    def _on_lost(self) -> None:
        self.lost.set()
        self._block.cancel()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        self._block.close()
        await asyncio.shield(asyncio.to_thread(self._lock.release))
        self._block.check(kind, error)
