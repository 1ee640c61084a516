"""The worker in Python that `takt protocol-test` tests: kit_worker.py URL [DEFECT]. A defect breaks one rule."""
import asyncio
import sys

from cluster import SOURCE  # noqa: F401  The package is found from there.

import takt
from takt import _core, _outbox


def break_one(defect):
    """Takes one rule out of the package."""
    core = _core.Core
    if defect == "result_kept":
        welcome = core._on_welcome

        def forgets(self, said, outbox):
            for held in [one for one in self.held.values() if one.result]:
                del self.held[held.key]
            return welcome(self, said, outbox)

        core._hello, hello = (lambda self: {**hello(self), "holding": []}), core._hello
        core._on_welcome = forgets
    elif defect == "stale_epoch":
        core._on_assign, assign = (lambda self, said: assign(self, {**said, "epoch": self._epoch})), core._on_assign
    elif defect == "older_term":
        core._on_welcome, older = (lambda self, said, outbox: setattr(self, "_epoch", 0) or older(self, said, outbox)), \
            core._on_welcome
    elif defect == "heartbeat":
        async def once(self):
            self._say_beat()

        core._beat = once
    elif defect == "cancel":
        core._on_finished, end = (lambda self, held, result: None if held.stop_reason == "cancelled"
                                  else end(self, held, result)), core._on_finished
    elif defect == "timeout":
        core._request_stop, stop = (lambda self, held, reason: None if reason == "timeout"
                                    else stop(self, held, reason)), core._request_stop
    elif defect == "capacity":
        core._on_assign, assign = (lambda self, said: None if len(self.held) >= self.options.capacity
                                   else assign(self, said)), core._on_assign
    elif defect == "same_instance":
        core._hello, hello = (lambda self: {**hello(self), "instance": takt.new_id()}), core._hello
    elif defect == "ack":
        core._forget = lambda self, held: None
    elif defect == "backoff":
        _core.pause_before = lambda failures, patient: 0.0
    elif defect == "malformed":
        core._blame_results = lambda self, why: None
    elif defect == "leaving":
        core._until_empty = lambda self, patience, hurried: asyncio.sleep(0)
    elif defect == "run":
        result = _outbox.Outbox._result

        def renamed(self, held):
            held.attempt = {**held.attempt, "token": "0" * 32}
            result(self, held)

        _outbox.Outbox._result = renamed
    else:
        raise SystemExit(f"no defect {defect}")


def main():
    if len(sys.argv) > 2:
        break_one(sys.argv[2])
    worker = takt.Worker(sys.argv[1], id="kit-python")

    @worker.handle("echo")
    async def echo(task):
        return task.payload

    @worker.handle("sleep")
    def sleep(task):
        task.sleep((task.payload or {}).get("ms", 20) / 1000)

    @worker.handle("fail")
    def fail(task):
        raise takt.Failure("failing on purpose")

    @worker.handle("log")
    def log(task):
        for at in range(task.payload["lines"]):
            task.log(f"line {at}")

    @worker.handle("lock")
    def lock(task):
        with task.lock(task.payload["name"]) as held:
            return {"token": held.token}

    worker.run()


if __name__ == "__main__":
    main()
