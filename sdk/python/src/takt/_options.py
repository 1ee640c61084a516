"""Options: what a worker was made with."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ._held import Held


@dataclass
class Options:
    servers: list[str]
    id: str
    name: str
    types: list[str]
    queues: list[str]
    labels: dict[str, str]
    capacity: int
    weight: int
    group: str
    version: str
    token: str | None
    namespace: str | None
    ca_file: str | None
    stop_grace: float
    drain_timeout: float
    on_event: Callable[[str, str], None] | None
    # Runs the handler, on whatever thread it likes, and calls `Core.finish` from any.
    begin: Callable[[Held], None] = field(default=lambda held: None)


__all__ = ["Options"]
