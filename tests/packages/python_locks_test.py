"""Locks of handlers in Python: those that a task declares, those that a handler asks for, and how their loss is told."""
import asyncio
import threading
import unittest
import unittest.mock

from cluster import ClusterTest

import takt


class HandlerLocksTest(ClusterTest):
    def setUp(self):
        super().setUp()
        self.serve()
        self.client = takt.Client(self.url, patience=30)
        self.addCleanup(self.client.close)

    def take_away(self, name):
        """As an operator does."""
        self.client.call("DELETE", f"locks/{name}")

    def test_locks_of_the_task_and_of_the_handler(self):
        client = self.client
        worker = takt.Worker(self.url)

        @worker.handle("book")
        def book(task):
            with task.lock("ledger", wait=5) as lock:
                return {"declared": task.lock_tokens["gpu"], "asked": lock.token}

        @worker.handle("abook")
        async def abook(task):
            async with task.lock("ledger", wait=5) as lock:
                return lock.token

        with worker:
            tokens = client.run("book", locks=["gpu"]).result
            self.assertGreater(tokens["asked"], tokens["declared"])
            self.assertGreater(client.run("abook").result, tokens["asked"])
            with client.lock("ledger"):
                run = client.submit("book", locks=["gpu"], max_retry=0)
                ended = client.wait(run.id)
                self.assertEqual(ended.status, "failed")
                self.assertIn("ledger", ended.error.message)

    # An operator takes the locks away one after the other while a function is at work.
    def test_a_function_is_told_that_its_locks_were_taken_away(self):
        worker = takt.Worker(self.url)
        told = {"gpu": threading.Event(), "ledger": threading.Event()}

        def lose(lock):
            lock.on_lost(told[lock.name].set)
            lock.check()
            self.take_away(lock.name)
            self.assertTrue(lock.lost.wait(20), f"the loss of {lock.name} is told")
            self.assertTrue(told[lock.name].wait(20), f"who is to be called is called for {lock.name}")
            self.assertRaises(takt.LockLost, lock.check)

        @worker.handle("book")
        def book(task):
            ledger = task.lock("ledger", wait=5)
            with ledger, task.locks["gpu"] as gpu:
                self.assertEqual(gpu.token, task.lock_tokens["gpu"])
                lose(gpu)
                ledger.check()
                task.locks["disk"].check()
                lose(ledger)
            # Given anew, it is not lost.
            with ledger:
                ledger.check()
            return "heard"

        with worker:
            self.assertEqual(self.client.run("book", locks=["gpu", "disk"], max_retry=0).result, "heard")

    def test_a_block_of_a_coroutine_ends_when_its_lock_is_taken_away(self):
        worker = takt.Worker(self.url)
        inside = []

        async def hold(lock, others=0):
            inside.append(lock)
            with self.assertRaises(takt.LockLost):
                async with lock:
                    if len(inside) > others:
                        await asyncio.to_thread(self.take_away, lock.name)
                    await asyncio.sleep(60)
            self.assertTrue(lock.lost.is_set())
            return lock.name

        @worker.handle("book")
        async def book(task):
            heard = [await hold(task.lock("ledger", wait=5))]
            # Two at once, of the same that came with the attempt.
            inside.clear()
            return heard + await asyncio.gather(hold(task.locks["gpu"], 1), hold(task.locks["gpu"], 1))

        with worker:
            self.assertEqual(self.client.run("book", locks=["gpu"], max_retry=0).result, ["ledger", "gpu", "gpu"])

    def test_all_steps_are_told_that_the_lock_of_their_run_was_taken_away(self):
        worker = takt.Worker(self.url)
        both = threading.Barrier(2, timeout=20)

        @worker.handle("part")
        def part(task):
            if both.wait() == 0:
                self.take_away("ledger")
            return task.locks["ledger"].lost.wait(20)

        with worker:
            run = self.client.submit("flow", locks=["ledger"], steps=[{"name": "parts", "type": "part", "shards": 2}])
            self.assertEqual(self.client.wait(run.id).status, "success")
            self.assertEqual(self.client.step_results(run.id, "parts"), [True, True])


class TaskLockTest(unittest.TestCase):
    """What no scheduler can bring about on purpose."""

    # The worker stops, or the attempt is cancelled, in the moment in which the lock is lost: it is to stop.
    def test_a_cancel_goes_before_the_loss(self):
        async def main():
            lock, inside = takt.TaskLock(None, "ledger", token=7), asyncio.Event()

            async def hold():
                async with lock:
                    inside.set()
                    await asyncio.sleep(60)

            holding = asyncio.create_task(hold())
            await inside.wait()
            lock.lose()
            asyncio.get_running_loop().call_soon(holding.cancel)
            with self.assertRaises(asyncio.CancelledError):
                await holding

        asyncio.run(main())

    def test_a_loss_is_told_where_no_thread_can_be_started(self):
        async def main():
            lock, told = takt.TaskLock(None, "ledger", token=7), asyncio.Event()
            lock.on_lost(told.set)
            with unittest.mock.patch("threading.Thread.start", side_effect=RuntimeError("can't start new thread")):
                lock.lose()
            async with asyncio.timeout(20):
                await told.wait()

        asyncio.run(main())


if __name__ == "__main__":
    unittest.main()
