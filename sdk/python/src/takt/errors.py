"""What can go wrong, by what a caller does about it."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class TaktError(Exception):
    """The root of all. `code` is the scheduler's word for it, `field` the caller's field at fault."""

    def __init__(self, message: str, *, code: str = "", field: str = "", status: int = 0,
                 request_id: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.field = field
        self.status = status
        self.request_id = request_id


class Invalid(TaktError):
    """It can never succeed as asked: `field` says what to change."""


class AccessDenied(TaktError):
    """The access token is missing, wrong, or not good for this."""


class NotFound(TaktError):
    """There is no such thing."""


class Conflict(TaktError):
    """It contradicts what is there: look again, decide again."""


class LockBusy(Conflict):
    """Others hold the lock, and the wait is over. `holders` says who."""

    def __init__(self, message: str, holders: list[dict[str, Any]], **more: Any) -> None:
        super().__init__(message, **more)
        self.holders = holders


class LockLost(TaktError):
    """The lock may be somebody else's by now."""


class Exhausted(TaktError):
    """Too much at once: nothing was done; `retry_after` seconds may help."""

    def __init__(self, message: str, retry_after: float = 1.0, **more: Any) -> None:
        super().__init__(message, **more)
        self.retry_after = retry_after


class Unavailable(TaktError):
    """Nobody could do it within the client's patience. Nothing was done."""


class UnknownOutcome(TaktError):
    """It may have been done: a scheduler was asked and its answer did not arrive."""


class WaitTimeout(TaktError, TimeoutError):
    """A wait ran out; what was waited for goes on."""


class Stopped(TaktError):
    """This client or worker was closed, or the attempt is to stop."""


class ExecutionFailed(TaktError):
    """What `Client.run` waited for did not succeed; `execution` has how it ended."""

    def __init__(self, message: str, execution: Any) -> None:
        super().__init__(message, code="execution_failed")
        self.execution = execution


class WorkerRefused(TaktError):
    """The scheduler does not take this worker, and never will as it is."""


# --- What handlers raise -----------------------------------------------------------------------


class Failure(Exception):
    """Raised by a handler: the attempt failed. Retried by the task's policy unless `final`."""

    def __init__(self, message: str, *, code: int = 0, final: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.final = final


class Rejected(Failure):
    """Raised by a handler: it cannot run such a task, and no retry can mend that."""

    def __init__(self, message: str, *, code: int = 0) -> None:
        super().__init__(message, code=code, final=True)


def of_problem(status: int, problem: Mapping[str, Any], retry_after: str | None) -> TaktError:
    """The error that an answer other than 2xx is. 5xx that no scheduler wrote is an unknown outcome."""
    code = str(problem.get("code", ""))
    field = str(problem.get("field") or "")
    text = str(problem.get("detail") or problem.get("title") or f"the scheduler answered {status}")
    if field and field not in text:
        text = f"{field}: {text}"
    more: dict[str, Any] = {"code": code, "field": field, "status": status,
                            "request_id": str(problem.get("request_id") or "")}
    if status in (401, 403):
        return AccessDenied(text, **more)
    if status == 404:
        return NotFound(text, **more)
    if status == 409 and "holders" in problem:
        return LockBusy(text, list(problem["holders"]), **more)
    if status in (409, 412):
        return Conflict(text, **more)
    if status == 429:
        try:
            seconds = float(retry_after or 1)
        except ValueError:
            seconds = 1.0
        return Exhausted(text, seconds, **more)
    if status < 500:
        return Invalid(text, **more)
    if status == 503 and code in ("no_leader", "unavailable"):
        return Unavailable(text, **more)
    return UnknownOutcome(text, **more)
