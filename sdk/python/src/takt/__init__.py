"""Client and worker for the Takt task scheduler, synchronous and asyncio."""
from ._version import VERSION
from .aio import AsyncClient, AsyncLock
from .client import Client
from .errors import (AccessDenied, Conflict, Exhausted, ExecutionFailed, Failure, Invalid, LockBusy, LockLost,
                     NotFound, Rejected, Stopped, TaktError, Unavailable, UnknownOutcome, WaitTimeout, WorkerRefused)
from .lock import Lock
from .models import Execution, ExecutionError, Page, RateLimit, RetryPolicy, Shard, TaskFields, TaskRecord, new_id
from .task import Task, TaskLock
from .worker import AsyncWorker, Worker

__version__ = VERSION
__all__ = [
    "AccessDenied", "AsyncClient", "AsyncLock", "AsyncWorker", "Client", "Conflict", "Execution", "ExecutionError",
    "ExecutionFailed", "Exhausted", "Failure", "Invalid", "Lock", "LockBusy", "LockLost", "NotFound", "Page",
    "RateLimit", "Rejected", "RetryPolicy", "Shard", "Stopped", "TaktError", "Task", "TaskFields", "TaskLock",
    "TaskRecord", "Unavailable", "UnknownOutcome", "WaitTimeout", "Worker", "WorkerRefused", "new_id",
]
