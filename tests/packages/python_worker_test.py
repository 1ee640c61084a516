"""takt.Worker and takt.AsyncWorker: what becomes of their work when schedulers, handlers and workers end."""
import asyncio
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock

from cluster import SOURCE, ClusterTest, note, until

import takt


class PythonWorkerTest(ClusterTest):
    def client(self, *urls):
        client = takt.Client(list(urls) or self.url, patience=30)
        self.addCleanup(client.close)
        return client

    # A container that may have a hundred threads, and a worker of two hundred. Its network thread ended with the
    # first that could not be started, and with it the worker: what it had came back when its lease was over.
    def test_a_thread_that_cannot_be_started_fails_one_attempt(self):
        self.serve()
        client = self.client()
        worker = takt.Worker(self.url, id="narrow", concurrency=2)
        worker.add("work", lambda task: task.attempt)
        start = threading.Thread.start
        refused = []

        def start_or_not(thread):
            if not refused and thread.name.startswith("takt-narrow-run"):
                refused.append(thread.name)
                raise RuntimeError("can't start new thread")
            start(thread)

        with worker, unittest.mock.patch("threading.Thread.start", start_or_not):
            done = client.run("work", id="narrow-run", max_retry=1, retry_policy={"delay": "10ms"}, wait=20)
            self.assertEqual((done.result, done.attempt), (2, 2))
            self.assertIn("can't start new thread", done.raw["attempts"][0]["error"]["message"])

    def test_progress_logs_and_failures_are_told(self):
        self.serve()
        client = self.client()
        talked, go_on = threading.Event(), threading.Event()
        worker = takt.Worker(self.url, id="py-1", concurrency=4)

        @worker.handle("talk")
        def talk(task):
            task.log("page 1\npage 2")
            task.log("broken \ud800 text")
            task.progress(0.25, "3 of 12")
            talked.set()
            go_on.wait(20)
            return {"metadata": task.metadata, "attempt": task.attempt, "queue": task.queue}

        @worker.handle("flaky")
        async def flaky(task):
            if task.failures < 2:
                raise takt.Failure("the printer is busy", code=429)
            return task.failures

        worker.add("bad", lambda task: 1 / 0)
        worker.add("picky", lambda task: (_ for _ in ()).throw(takt.Rejected("no field invoice")))
        worker.add("huge", lambda task: "x" * (2 << 20))
        worker.add("odd", lambda task: {1, 2})
        worker.add("long", lambda task: {"n": [-1, 2**64]})
        worker.add("half", lambda task: {"a\ud800b": 1})

        def nested(depth):
            value = "[" * 100 + '"'
            for _ in range(depth):
                value = [value] if depth % 2 else {"a": value}
            return value

        worker.add("nested", lambda task: nested(task.payload))
        worker.add("most", lambda task: [2**64 - 1, -2**63, "9" * 30])
        with worker:
            run = client.submit("talk", metadata={"customer": "42"})
            self.assertTrue(talked.wait(20))
            until(lambda: client.get(run.id).progress, "progress is told while it runs")
            self.assertEqual(client.get(run.id).progress["message"], "3 of 12")
            go_on.set()
            done = client.wait(run.id)
            self.assertEqual(done.result, {"metadata": {"customer": "42"}, "attempt": 1, "queue": "default"})
            self.assertEqual(done.worker_id, "py-1")
            self.assertEqual(client.log(run.id), ["page 1", "page 2", "broken ? text"])
            self.assertEqual(client.run("flaky", retry_policy={"max_retries": 5, "delay": 0.01}).result, 2)
            for type, code, text in (("bad", "handler_failed", "ZeroDivisionError"), ("picky", "rejected", "invoice"),
                                     ("huge", "handler_failed", "limit"), ("odd", "handler_failed", "no JSON"),
                                     ("long", "handler_failed", "an integer is beyond 64 bits"),
                                     ("half", "handler_failed", "half of a surrogate pair")):
                ended = client.wait(client.submit(type, max_retry=0).id)
                self.assertEqual((ended.status, ended.error.code), ("failed", code))
                self.assertIn(text, ended.error.message)
            self.assertEqual(client.run("most").result, [2**64 - 1, -2**63, "9" * 30])
            for depth in (65, 66, 100_000):
                ended = client.wait(client.submit("nested", depth, max_retry=3).id)
                self.assertEqual((ended.status, ended.attempt), ("failed", 1))
                self.assertEqual(ended.error.message, "the result cannot be kept: it is nested deeper than 64")
            for depth in (63, 64):
                self.assertEqual(client.run("nested", depth).result, nested(depth))

    def test_whatever_a_handler_raises_is_told(self):
        class Mute(Exception):
            def __str__(self):
                raise RuntimeError("no text")

        raised = {
            "wrapped": (takt.Failure(ValueError("card expired")), "handler_failed", "ValueError: card expired"),
            "declined": (takt.Rejected(ValueError("card expired")), "rejected", "ValueError: card expired"),
            "dict": (takt.Failure({"a": 1}), "handler_failed", "{'a': 1}"),
            "none": (takt.Rejected(None), "rejected", ""),
            "mute": (Mute(), "handler_failed", "Mute, which cannot be shown as text"),
            "mute declined": (takt.Rejected(Mute()), "rejected", "Mute, which cannot be shown as text"),
            "word": (takt.Failure("empty", code="INSUFFICIENT_FUNDS"), "handler_failed", "INSUFFICIENT_FUNDS: empty"),
            "fraction": (takt.Failure("x", code=1.5), "handler_failed", "1.5: x"),
            "large": (takt.Failure("x", code=2**40), "handler_failed", "1099511627776: x"),
            "no code": (takt.Failure("x", code=None), "handler_failed", "x"),
        }
        self.serve()
        client = self.client()
        worker = takt.Worker(self.url, concurrency=4)

        @worker.handle("function")
        def function(task):
            raise raised[task.payload][0]

        @worker.handle("coroutine")
        async def coroutine(task):
            raise raised[task.payload][0]

        with worker:
            for name, (error, code, text) in raised.items():
                for type in ("function", "coroutine"):
                    run = client.submit(type, name, retry_policy={"max_retries": 1, "delay": 0.01})
                    ended = client.wait(run.id)
                    told = (ended.status, ended.error.code, ended.error.message, ended.attempt)
                    attempts = 1 if isinstance(error, takt.Rejected) else 2
                    self.assertEqual(told, ("failed", code, text, attempts), (name, type))

    def test_timeouts_and_cancels_stop_functions_and_coroutines(self):
        self.serve()
        client = self.client()
        ends = []
        worker = takt.Worker(self.url, stop_grace=1)

        @worker.handle("function")
        def function(task):
            try:
                task.sleep(60)
            except takt.Stopped:
                ends.append(("function", task.stop_reason))
                raise

        @worker.handle("coroutine")
        async def coroutine(task):
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                ends.append(("coroutine", task.stop_reason))
                raise

        worker.add("deaf", lambda task: time.sleep(8))
        with worker:
            for type in ("function", "coroutine", "deaf"):
                late = client.wait(client.submit(type, timeout=0.3, max_retry=0).id)
                self.assertEqual((late.status, late.error.code), ("failed", "timeout"), type)
            for type in ("function", "coroutine"):
                run = client.submit(type)
                until(lambda: client.get(run.id).status == "running", "it runs")
                client.cancel(run.id)
                self.assertEqual(client.wait(run.id).status, "cancelled")
            until(lambda: worker.in_hand == 0, "nothing is in hand any more")
        self.assertEqual(sorted(ends), [("coroutine", "cancelled"), ("coroutine", "timeout"),
                                        ("function", "cancelled"), ("function", "timeout")])

    # The leader's machine loses its power while handlers run, and some end before there is another leader.
    def test_no_result_is_lost_with_the_leader_and_nothing_runs_twice(self):
        urls = self.start_two()
        client = self.client(*urls)
        release = threading.Event()
        worker = takt.Worker(urls, id="py-kill", concurrency=8)

        @worker.handle("work")
        def work(task):
            note(self.folder, "begun", task.execution_id)
            release.wait(60)
            return task.payload

        @worker.handle("awork")
        async def awork(task):
            note(self.folder, "begun", task.execution_id)
            while not release.is_set():
                await asyncio.sleep(0.02)
            return task.payload

        with worker:
            self.leader()
            runs = [client.submit("work" if at % 2 else "awork", {"at": at}, timeout=120) for at in range(8)]
            until(lambda: len(self.begun("begun")) == 8, "all have begun")
            self.kill_leader()
            release.set()
            ended = [client.wait(run.id, 60) for run in runs]
            self.assertEqual([(run.status, run.result) for run in ended],
                             [("success", {"at": at}) for at in range(8)])
            self.assertEqual(len(self.begun("begun")), 8)
            self.assertEqual([run.attempt for run in ended], [1] * 8)
            self.assertEqual(client.run("work", {"at": "later"}).result, {"at": "later"})

    # More is to be done, or less: by the worker itself, by an operator, and what runs goes on.
    def test_the_capacity_changes_while_it_runs(self):
        self.serve()
        client = self.client()
        worker = takt.Worker(self.url, id="py-capacity", concurrency=1)
        running, go_on = set(), threading.Event()

        @worker.handle("held")
        def held(task):
            running.add(task.execution_id)
            go_on.wait(30)

        self.assertRaises(takt.Invalid, worker.set_capacity, 0)
        with worker:
            runs = [client.submit("held") for _ in range(6)]
            until(lambda: len(running) == 1, "one runs")
            worker.set_capacity(3)
            until(lambda: len(running) == 3, "three run")
            row = client.call("PUT", "workers/py-capacity/capacity", {"capacity": 5})
            self.assertEqual((row["capacity"], row["capacity_own"], row["capacity_set"]), (5, 3, 5))
            self.assertEqual(row["version"], takt.__version__)
            until(lambda: len(running) == 5, "five run")
            until(lambda: worker.capacity == 5, "the worker is told")
            client.call("PUT", "workers/py-capacity/capacity", {"capacity": None})
            until(lambda: worker.capacity == 3, "its own counts again")
            worker.set_capacity(1)  # As Hello has said it.
            until(lambda: self.worker_row("py-capacity")["capacity"] == 1, "it is one again")
            self.assertEqual(len(running), 5)
            go_on.set()
            self.assertEqual([client.wait(run.id).status for run in runs], ["success"] * 6)

    # A deployment: SIGTERM while something runs. It is finished, acknowledged, and nothing counts as lost.
    def test_a_stop_in_order_finishes_what_runs(self):
        self.serve()
        client = self.client()
        program = pathlib.Path(self.folder) / "program.py"
        program.write_text(
            "import sys, time, takt\n"
            "worker = takt.Worker(sys.argv[1], id='py-stop')\n"
            "@worker.handle('slow')\n"
            "def slow(task):\n    task.log('begun')\n    task.sleep(1.5)\n    return 'whole'\n"
            "worker.run()\n")
        process = subprocess.Popen([sys.executable, program, self.url],
                                   env={**os.environ, "PYTHONPATH": str(SOURCE / "sdk/python/src")})
        self.addCleanup(process.kill)
        run = client.submit("slow")
        until(lambda: client.get(run.id).status == "running", "it runs")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(20), 0)
        done = client.get(run.id)
        self.assertEqual((done.status, done.result, done.raw["losses"]), ("success", "whole", 0))
        until(lambda: not self.worker_row("py-stop").get("connected"), "it has left")

    # The loop of the handlers was blocked until the lease was over: what waited for it has been given to others.
    def test_nothing_is_begun_after_the_lease(self):
        self.serve()
        ran, both = [], threading.Event()
        worker = takt.Worker(self.url, concurrency=2)

        @worker.handle("block")
        async def block(task):
            both.wait(30)
            worker._core._lease_until = 0.0

        @worker.handle("pay")
        async def pay(task):
            ran.append(task.attempt)

        client = self.client()
        with worker:
            client.submit("block")
            until(lambda: worker.in_hand == 1, "the one that blocks is in hand")
            paid = client.submit("pay")
            until(lambda: worker.in_hand == 2, "the other one waits for the loop")
            both.set()
            client.wait(paid.id)
        self.assertEqual(len(ran), 1)
        self.assertGreater(ran[0], 1)

    def test_a_thread_of_a_program_may_run_it_until_it_is_drained(self):
        self.serve()
        worker = takt.Worker(self.url, id="py-thread")
        worker.add("double", lambda task: task.payload * 2)
        thread = threading.Thread(target=worker.run)
        thread.start()
        try:
            self.assertEqual(self.client().run("double", 21, wait=20).result, 42)
        finally:
            worker.drain()
            thread.join(20)
        self.assertFalse(thread.is_alive())

    # Whoever does not end within the drain timeout is given to others at once, as nobody's failure.
    def test_what_does_not_end_in_time_is_handed_back(self):
        self.serve()
        client = self.client()
        first = takt.Worker(self.url, id="first", drain_timeout=0.2, stop_grace=1)
        first.add("long", lambda task: task.sleep(60))
        first.start()
        run = client.submit("long")
        until(lambda: client.get(run.id).status == "running", "it runs")
        first.stop()
        second = takt.Worker(self.url, id="second")
        second.add("long", lambda task: "done by another")
        with second:
            done = client.wait(run.id, 20)
        self.assertEqual((done.result, done.failures), ("done by another", 0))

    def test_a_worker_of_a_program_that_is_asyncio(self):
        self.serve()

        async def main():
            loop = asyncio.get_running_loop()
            worker = takt.AsyncWorker(self.url)

            @worker.handle("where")
            async def where(task):
                return asyncio.get_running_loop() is loop

            worker.add("thread", lambda task: threading.current_thread() is not threading.main_thread())
            async with worker, takt.AsyncClient(self.url) as client:
                self.assertIs((await client.run("where")).result, True)
                self.assertIs((await client.run("thread")).result, True)

        asyncio.run(main())

    def test_two_processes_under_one_id_and_wrong_options(self):
        self.serve()
        with self.assertRaises(takt.Invalid) as wrong:
            takt.Worker(self.url, concurrency=0)
        self.assertEqual(wrong.exception.field, "concurrency")
        events = []
        first = takt.Worker(self.url, id="same")
        first.add("x", lambda task: None)
        with first:
            until(lambda: first.attached, "the first is attached")
            second = takt.Worker(self.url, id="same", on_event=lambda event, detail: events.append((event, detail)))
            second.add("x", lambda task: None)
            with second:
                until(lambda: any("taken" in detail for _, detail in events), "the second is told")
                self.assertFalse(second.attached)


if __name__ == "__main__":
    unittest.main()
