"""What schedulers answer, and what a task can be told."""
from __future__ import annotations

import dataclasses
import datetime
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, Literal, TypedDict, TypeVar

from .errors import Invalid

Duration = float | int | str | datetime.timedelta
Time = str | datetime.datetime
Status = Literal["pending", "scheduled", "running", "retrying", "success", "failed", "cancelled", "skipped"]
FINAL = frozenset({"success", "failed", "cancelled", "skipped"})


class RetryPolicy(TypedDict, total=False):
    max_retries: int
    delay: Duration
    backoff_rate: float
    delay_max: Duration
    jitter: float


class RateLimit(TypedDict, total=False):
    count: int
    per: Duration


class TaskFields(TypedDict, total=False):
    """Everything of a task but its id, type and parameters, by the names of the REST API (docs/api.md)."""

    name: str
    queue: str
    priority: int | Literal["low", "normal", "high", "urgent"]
    timeout: Duration
    max_retry: int
    retry_policy: RetryPolicy
    load_balance_strategy: str
    metadata: Mapping[str, str]
    labels: Mapping[str, str]
    executor: str
    expires_after: Duration
    concurrency_key: str
    concurrency_max: int
    rate_limit: RateLimit
    locks: Sequence[str | Mapping[str, Any]]
    steps: Sequence[Mapping[str, Any]]
    on_failure: Literal["stop", "continue"]
    shards: int
    each_worker: bool
    parallel_max: int
    min_success: int
    run_at: Time
    delay: Duration
    unique_key: str
    unique_for: Duration
    traceparent: str
    tracestate: str
    cron: str
    every: Duration
    every_after_end: Duration
    timezone: str
    dst: Literal["once", "skip", "twice"]
    start_at: Time
    end_at: Time
    fires_max: int
    jitter: Duration
    excluded_dates: Sequence[str]
    execution_mode: Literal["sequential", "parallel", "skip", "replace"]
    misfire_policy: Literal["fire_once", "fire_all", "skip"]
    misfires_max: int
    backlog_max: int
    start_deadline: Duration
    catch_up_after_pause: bool
    enabled: bool


@dataclasses.dataclass(frozen=True)
class Shard:
    """Part `index`, from 0, of `total`."""

    index: int
    total: int


@dataclasses.dataclass(frozen=True)
class ExecutionError:
    """Why an execution or an attempt did not succeed. `handler_code` is the handler's own."""

    code: str
    message: str
    handler_code: int = 0


@dataclasses.dataclass(frozen=True)
class Execution:
    """One run of a task. `raw` is the whole answer; lists have neither parameters nor result unless asked."""

    id: str
    task_id: str
    type: str
    status: Status
    queue: str
    attempt: int
    failures: int
    worker_id: str | None
    parameters: Any
    result: Any
    message: str | None  # What was said of a success.
    error: ExecutionError | None
    progress: Mapping[str, Any] | None
    parent_id: str | None
    step: str | None
    shard: Shard | None
    raw: Mapping[str, Any] = dataclasses.field(repr=False)

    @property
    def done(self) -> bool:
        return self.status in FINAL

    @property
    def succeeded(self) -> bool:
        return self.status == "success"

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Execution:
        error, shard = row.get("error"), row.get("shard")
        return cls(
            id=row["id"], task_id=row["task_id"], type=row["type"], status=row["status"], queue=row["queue"],
            attempt=row.get("attempt", 0), failures=row.get("failures", 0), worker_id=row.get("worker_id"),
            parameters=row.get("parameters"), result=row.get("result"), message=row.get("message"),
            error=ExecutionError(error["code"], error["message"], error.get("handler_code", 0)) if error else None,
            progress=row.get("progress"), parent_id=row.get("parent_id"), step=row.get("step"),
            shard=Shard(shard["index"], shard["total"]) if shard else None, raw=row)


@dataclasses.dataclass(frozen=True)
class TaskRecord:
    """A task as the scheduler keeps it. `raw` is the whole answer, by the names of the REST API."""

    id: str
    name: str
    type: str | None  # None: a workflow.
    version: int
    next_fire_at: str | None
    raw: Mapping[str, Any] = dataclasses.field(repr=False)

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> TaskRecord:
        return cls(id=row["id"], name=row["name"], type=row.get("type"), version=row.get("version", 0),
                   next_fire_at=row.get("next_fire_at"), raw=row)


Item = TypeVar("Item")


@dataclasses.dataclass(frozen=True)
class Page(Generic[Item]):
    """Some of a list; `next_cursor` asks for what follows, None: nothing does."""

    items: list[Item]
    next_cursor: str | None

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)


def new_id() -> str:
    """An id that makes a submit safe to repeat."""
    return uuid.uuid4().hex


def seconds(value: Duration, field: str) -> float:
    """A duration that this process counts itself. Invalid names the field."""
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
        raise Invalid(f"{field}: must be seconds or a timedelta, but is {value!r}", code="invalid", field=field)
    return float(value)


def encode(value: Any, field: str = "") -> Any:
    """JSON of what callers write: durations and times become what the REST API takes."""
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            raise Invalid(f"{field}: the time {value.isoformat()} has no time zone", code="invalid", field=field)
        return value.astimezone(datetime.timezone.utc).isoformat().replace("+00:00", "Z")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {name: encode(one, f"{field}.{name}" if field else str(name)) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(one, f"{field}[{at}]") for at, one in enumerate(value)]
    return value
