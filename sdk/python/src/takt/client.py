"""Client: asks schedulers in other processes. Threads may share one."""
from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Unpack

from ._http import Transport, quote, read_servers
from .errors import Conflict, ExecutionFailed, Invalid, NotFound, UnknownOutcome, WaitTimeout
from .lock import Lock, LockDemand
from .models import Duration, Execution, Page, TaskFields, TaskRecord, encode, new_id, seconds

WAIT_MAX = 10.0  # Of one question that waits at the scheduler: one that hangs is left for the next.
LOOK_MIN, LOOK_MAX = 0.02, 0.5  # Between two that are answered at once, as while the leader changes.


def task_body(type: str, parameters: Any, id: str | None, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The request for a task. With steps or without, its type is its name unless a name is given."""
    body = {name: encode(value, name) for name, value in fields.items() if value is not None}
    if not type:
        raise Invalid("type: must not be empty", code="invalid", field="type")
    body.setdefault("name", type)
    if "steps" not in body:
        body["type"] = type
    if parameters is not None:
        body["parameters"] = encode(parameters, "parameters")
    if id is not None:
        body["id"] = id
    return body


class Waiting:
    """One wait for the end of an execution: how long the next question may wait, how long to pause after it."""

    def __init__(self, id: str, timeout: float, call_timeout: float) -> None:
        self.path = f"executions/{quote(id)}"
        self._id = id
        self._end = time.monotonic() + timeout
        self._wait_max = min(WAIT_MAX, call_timeout / 2)
        self._pause = LOOK_MIN
        self._asked = 0.0
        self.wait = 0.0  # Of the question that is under way.

    def query(self, *, may_wait: bool = True) -> dict[str, str]:
        self._asked = time.monotonic()
        self.wait = max(0.0, min(self._wait_max, self._end - self._asked)) if may_wait else 0.0
        return {"wait": f"{round(self.wait * 1000)}ms"}

    def pause(self, execution: Execution) -> float:
        """Of an execution that has not ended. WaitTimeout if the time is over."""
        now = time.monotonic()
        if now >= self._end:
            raise WaitTimeout(f"{self._id} is still {execution.status}", code="timeout")
        if 0 < self.wait <= now - self._asked + 0.005:
            self._pause = LOOK_MIN
            return 0.0
        pause, self._pause = self._pause, min(LOOK_MAX, self._pause * 1.5)
        return min(pause, self._end - now)


class Client:
    """Any scheduler will do; several are tried in turn. `patience` is how long a call waits for a scheduler or
    a new leader. Without arguments: TAKT_SERVER, TAKT_TOKEN and TAKT_NAMESPACE.

    Calls that change something are made safe to repeat with ids of the client's own where the API has them, so
    that a lost answer is asked for again; what cannot be repeated raises UnknownOutcome."""

    def __init__(self, servers: str | Sequence[str] | None = None, *, token: str | None = None,
                 namespace: str | None = None, ca_file: str | None = None, timeout: Duration = 30.0,
                 patience: Duration = 10.0) -> None:
        self._transport = Transport(
            read_servers(servers), token=token or os.environ.get("TAKT_TOKEN"),
            namespace=namespace or os.environ.get("TAKT_NAMESPACE"), ca_file=ca_file,
            timeout=seconds(timeout, "timeout"), patience=seconds(patience, "patience"))

    def close(self) -> None:
        """Calls and waits that are under way raise Stopped."""
        self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def call(self, method: str, path: str, body: Any = None, *, query: Mapping[str, Any] | None = None,
             repeat: bool | None = None) -> Any:
        """Any address of the REST API under /api/v1/, in this client's namespace."""
        return self._transport.call(method, path.removeprefix("/api/v1/"), body, query=query, repeat=repeat)

    # --- Submitting ----------------------------------------------------------------------------

    def submit(self, type: str, parameters: Any = None, *, id: str | None = None,
               **fields: Unpack[TaskFields]) -> TaskRecord:
        """Makes a task: once now, once later (`delay`, `run_at`), or again and again (`cron`, `every`). With an
        id of the caller's own the same submit gives the same task, however often; else the client makes one."""
        body = task_body(type, parameters, id or new_id(), fields)
        return TaskRecord.read(self._transport.call("POST", "tasks", body, repeat=True))

    def submit_many(self, tasks: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Up to 10,000 tasks in one call, each with `type`, perhaps `parameters` and `id`, and the fields of
        submit. One answer each, in order: a refused one does not stop the others."""
        bodies = []
        for task in tasks:
            rest = {name: value for name, value in task.items() if name not in ("type", "parameters", "id")}
            bodies.append(task_body(str(task.get("type") or task.get("name") or ""), task.get("parameters"),
                                    task.get("id") or new_id(), rest))
        answer = self._transport.call("POST", "tasks/bulk", {"tasks": bodies}, repeat=True)
        return list(answer["items"])

    def run(self, type: str, parameters: Any = None, *, wait: Duration = 60.0, id: str | None = None,
            **fields: Unpack[TaskFields]) -> Execution:
        """Submits and waits. ExecutionFailed unless it succeeded."""
        execution = self.wait(self.submit(type, parameters, id=id, **fields).id, wait)
        if not execution.succeeded:
            why = execution.error.message if execution.error else execution.status
            raise ExecutionFailed(f"{type} {execution.id} {execution.status}: {why}", execution)
        return execution

    # --- Tasks ---------------------------------------------------------------------------------

    def get_task(self, id: str) -> TaskRecord:
        return TaskRecord.read(self._transport.call("GET", f"tasks/{quote(id)}"))

    def list_tasks(self, *, name: str | None = None, limit: int | None = None,
                   cursor: str | None = None) -> Page[TaskRecord]:
        """Recurring tasks."""
        page = self._transport.call("GET", "tasks", query={"name": name, "limit": limit, "cursor": cursor})
        return Page([TaskRecord.read(row) for row in page["items"]], page.get("next_cursor"))

    def put_task(self, id: str, type: str, parameters: Any = None, **fields: Unpack[TaskFields]) -> TaskRecord:
        """Makes or replaces a recurring task."""
        body = task_body(type, parameters, None, fields)
        return TaskRecord.read(self._transport.call("PUT", f"tasks/{quote(id)}", body, repeat=True))

    def update_task(self, id: str, *, version: int | None = None, **fields: Any) -> TaskRecord:
        """Changes the fields named; None takes one back to its default. With a version, only if it still is
        that one: Conflict if not."""
        headers = {} if version is None else {"If-Match": f'"{version}"'}
        body = {name: encode(value, name) for name, value in fields.items()}
        return TaskRecord.read(self._transport.call("PATCH", f"tasks/{quote(id)}", body, headers=headers,
                                                    repeat=version is None))

    def delete_task(self, id: str) -> None:
        """A one-off task is cancelled. One that is gone already is NotFound."""
        self._transport.call("DELETE", f"tasks/{quote(id)}")

    def pause_task(self, id: str) -> TaskRecord:
        return TaskRecord.read(self._transport.call("POST", f"tasks/{quote(id)}/pause", repeat=True))

    def resume_task(self, id: str) -> TaskRecord:
        return TaskRecord.read(self._transport.call("POST", f"tasks/{quote(id)}/resume", repeat=True))

    def trigger(self, id: str, parameters: Any = None, *, execution_id: str | None = None) -> Execution:
        """Runs a recurring task or workflow now, once however often the answer is lost."""
        body: dict[str, Any] = {"id": execution_id or new_id()}
        if parameters is not None:
            body["parameters"] = encode(parameters, "parameters")
        return Execution.read(self._transport.call("POST", f"tasks/{quote(id)}/trigger", body, repeat=True))

    def fires(self, id: str, count: int = 5) -> list[str]:
        """When a recurring task fires next."""
        return list(self._transport.call("GET", f"tasks/{quote(id)}/fires", query={"count": count})["fires"])

    # --- Executions ----------------------------------------------------------------------------

    def get(self, id: str) -> Execution:
        return Execution.read(self._transport.call("GET", f"executions/{quote(id)}"))

    def list_executions(self, *, task_id: str | None = None, status: str | Sequence[str] | None = None,
             type: str | None = None, queue: str | None = None, parent_id: str | None = None,
             details: bool | None = None, limit: int | None = None, cursor: str | None = None) -> Page[Execution]:
        """Newest first. `details` adds parameters and results."""
        query = {"task_id": task_id, "status": status, "type": type, "queue": queue, "parent_id": parent_id,
                 "details": details, "limit": limit, "cursor": cursor}
        page = self._transport.call("GET", "executions", query=query)
        return Page([Execution.read(row) for row in page["items"]], page.get("next_cursor"))

    def wait(self, id: str, timeout: Duration = 60.0) -> Execution:
        """Until it has ended, however: the scheduler tells when that happens. WaitTimeout if it has not by then; a
        scheduler that is away for a while is waited for, too."""
        waiting = Waiting(id, seconds(timeout, "timeout"), self._transport.timeout)
        while True:
            execution = Execution.read(self._transport.call("GET", waiting.path, query=waiting.query()))
            if execution.done:
                return execution
            self._transport.pause(waiting.pause(execution))

    def cancel(self, id: str) -> Execution:
        """Conflict if it has ended."""
        path = f"executions/{quote(id)}/cancel"
        try:
            return Execution.read(self._transport.call("POST", path))
        except UnknownOutcome:
            pass
        # If that was done, it has ended by now, as it should.
        try:
            return Execution.read(self._transport.call("POST", path, repeat=True))
        except Conflict:
            execution = self.get(id)
            if execution.status != "cancelled":
                raise
            return execution

    def retry(self, id: str, *, steps: Sequence[str] | None = None) -> Execution:
        """Runs again what failed or was cancelled. Of a run: what has no success, or these steps and all after."""
        body = None if steps is None else {"steps": list(steps)}
        return Execution.read(self._transport.call("POST", f"executions/{quote(id)}/retry", body))

    def log(self, id: str) -> list[str]:
        """The lines that its handler wrote, those that are kept."""
        lines: list[str] = []
        after: str | None = None
        while True:
            page = self._transport.call("GET", f"executions/{quote(id)}/log", query={"cursor": after})
            for chunk in page["items"]:
                lines += chunk["lines"].removesuffix("\n").split("\n")
            after = page.get("next_cursor")
            if after is None:
                return lines

    def explain(self, id: str) -> str:
        """Why it has not started, in one sentence."""
        return str(self._transport.call("GET", f"executions/{quote(id)}/explain")["explanation"])

    # --- Workflows -----------------------------------------------------------------------------

    def steps(self, run: str) -> list[dict[str, Any]]:
        """Where each step of a run stands."""
        return list(self._transport.call("GET", f"executions/{quote(run)}/steps")["items"])

    def children(self, run: str, *, details: bool = False) -> Iterator[Execution]:
        """The executions of a run's steps, page by page."""
        cursor: str | None = None
        while True:
            page = self.list_executions(parent_id=run, details=details or None, limit=1000, cursor=cursor)
            yield from page
            cursor = page.next_cursor
            if cursor is None:
                return

    def step_results(self, run: str, step: str) -> list[Any]:
        """The results of a step with many executions, in the order of their shards; None for no success."""
        latest: dict[int, Execution] = {}
        for child in self.children(run, details=True):
            if child.step == step:
                latest.setdefault(child.shard.index if child.shard else 0, child)
        return [latest[at].result if latest[at].succeeded else None for at in sorted(latest)]

    # --- Locks ---------------------------------------------------------------------------------

    def lock(self, name: str, *, ttl: Duration = 30.0, wait: Duration = 0.0, permits: int = 1,
             owner: str = "") -> Lock:
        """For `with`: has the lock inside, renews it, lets it go. LockBusy if others have it after `wait`."""
        return Lock(self._transport, LockDemand(name, seconds(ttl, "ttl"), seconds(wait, "wait"), permits, owner))

    # --- Namespaces ----------------------------------------------------------------------------

    def list_namespaces(self) -> list[dict[str, Any]]:
        return list(self._transport.call("GET", "namespaces")["items"])

    def create_namespace(self, name: str, **fields: Any) -> dict[str, Any]:
        """Returns when it can be used: schedulers hear of it within two seconds."""
        made = dict(self._transport.call("POST", "namespaces", {"name": name, **encode(fields)}))
        end = time.monotonic() + self._transport.patience
        while True:
            try:
                self._transport.call("GET", f"namespaces/{quote(name)}/executions", query={"limit": 1})
                return made
            except NotFound:
                if time.monotonic() >= end:
                    raise
            self._transport.pause(0.05)

    def delete_namespace(self, name: str) -> None:
        """With everything in it. Returns when it has begun."""
        self._transport.call("DELETE", f"namespaces/{quote(name)}", query={"confirm": name})


