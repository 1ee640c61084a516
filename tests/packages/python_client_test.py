"""takt.Client and takt.AsyncClient against a real scheduler."""
import asyncio
import contextlib
import datetime
import os
import re
import resource
import signal
import socket
import threading
import time
import unittest
import unittest.mock
import urllib.parse

from cluster import ClusterTest, until

import takt


class LosesOneAnswer:
    """A scheduler behind a network that swallows the first answer to a POST."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.upstream = (parts.hostname, parts.port)
        self.lost = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.relay, args=(client,), daemon=True).start()

    def relay(self, client):
        server = socket.create_connection(self.upstream)
        with client, server:
            while request := client.recv(1 << 20):
                # The body, if there is one, may come apart from the head.
                has_body = re.search(rb"(?i)\r\ncontent-length: *[1-9]", request)
                if has_body and request.endswith(b"\r\n\r\n"):
                    request += client.recv(1 << 20)
                server.sendall(request)
                answer = server.recv(1 << 20)
                if request.startswith(b"POST") and self.lost == 0:
                    self.lost += 1
                    return
                client.sendall(answer)


class PythonClientTest(ClusterTest):
    def setUp(self):
        super().setUp()
        self.serve()
        self.client = takt.Client(self.url)
        self.addCleanup(self.client.close)

    def demo_worker(self):
        return self.worker("demo", "--demo")

    def test_what_is_submitted_is_run_and_its_result_comes_back(self):
        self.demo_worker()
        done = self.client.run("echo", {"image": 7, "name": "Bärlauch 韭"}, priority="high")
        self.assertEqual((done.status, done.result), ("success", {"image": 7, "name": "Bärlauch 韭"}))
        with self.assertRaises(takt.ExecutionFailed) as failed:
            self.client.run("fail", max_retry=0)
        self.assertEqual(failed.exception.execution.error.code, "handler_failed")
        again = self.client.retry(failed.exception.execution.id)
        self.assertIn(again.status, ("pending", "scheduled", "running", "retrying", "failed"))

    def test_what_was_said_of_a_success_is_told(self):
        self.demo_worker()
        self.client.submit("sleep", {"ms": 3_600_000}, id="by-hand")
        until(lambda: self.client.get("by-hand").status == "running", "it runs")
        self.assertIsNone(self.client.get("by-hand").message)
        self.client.call("PUT", "executions/by-hand/status", {"status": "success", "message": "by phone"})
        done = self.client.get("by-hand")
        self.assertEqual((done.status, done.message, done.error), ("success", "by phone", None))

    def test_many_at_once_each_with_its_answer(self):
        answers = self.client.submit_many([{"type": "echo", "parameters": 1, "id": "one"},
                                           {"type": "echo", "priority": 99}, {"type": "echo", "id": "one",
                                                                              "parameters": 1}])
        self.assertEqual([answer["status"] for answer in answers], [201, 400, 200])
        self.assertEqual(answers[1]["problem"]["field"], "priority")

    def test_an_id_makes_a_submit_safe_to_repeat(self):
        self.assertEqual(self.client.submit("echo", 1, id="mine").id, "mine")
        self.assertEqual(self.client.submit("echo", 1, id="mine").id, "mine")
        with self.assertRaises(takt.Conflict):
            self.client.submit("echo", 2, id="mine")

    # The answer to a submit is lost on its way. The client asks again, and there is one task, not two.
    def test_a_lost_answer_makes_no_second_task(self):
        network = LosesOneAnswer(self.url)
        with takt.Client(network.url) as client:
            made = client.submit("echo", 1)
        self.assertEqual(network.lost, 1)
        self.assertEqual([row.id for row in self.client.list_executions(type="echo")], [made.id])

    # A program with a thousand files and connections of its own. Each second call failed, and the thread that
    # renews a lock ended, without a word to who believed to have it.
    def test_a_kept_connection_may_have_any_descriptor(self):
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, limits[1]), limits[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        with contextlib.ExitStack() as files:
            for _ in range(1100):
                files.enter_context(open(os.devnull))
            for _ in range(3):
                self.assertEqual(list(self.client.list_executions()), [])

    def test_recurring_tasks_are_made_changed_triggered_and_deleted(self):
        self.demo_worker()
        task = self.client.submit("echo", {"day": 1}, id="nightly", cron="0 2 * * *", timezone="Asia/Shanghai")
        self.assertEqual(len(self.client.fires("nightly", 3)), 3)
        run = self.client.wait(self.client.trigger("nightly", {"day": 2}, execution_id="by-hand").id)
        self.assertEqual((run.id, run.result), ("by-hand", {"day": 2}))
        self.assertEqual(self.client.trigger("nightly", {"day": 2}, execution_id="by-hand").id, "by-hand")
        changed = self.client.update_task("nightly", version=task.version, timeout=datetime.timedelta(minutes=5))
        with self.assertRaises(takt.Conflict):
            self.client.update_task("nightly", version=task.version, max_retry=1)
        self.assertEqual(self.client.get_task("nightly").version, changed.version)
        self.assertIs(self.client.pause_task("nightly").raw["enabled"], False)
        self.assertIs(self.client.resume_task("nightly").raw["enabled"], True)
        self.assertEqual([row.id for row in self.client.list_tasks(name="echo")], ["nightly"])
        self.client.put_task("nightly", "echo", {"day": 3}, every=datetime.timedelta(hours=1))
        self.client.delete_task("nightly")
        with self.assertRaises(takt.NotFound):
            self.client.get_task("nightly")

    def test_errors_name_the_field_and_have_classes_of_their_own(self):
        with self.assertRaises(takt.Invalid) as wrong:
            self.client.submit("echo", timeout=-1)
        self.assertEqual(wrong.exception.field, "timeout")
        with self.assertRaises(takt.Invalid) as wrong:
            self.client.submit("echo", run_at=datetime.datetime(2027, 1, 1))
        self.assertEqual(wrong.exception.field, "run_at")
        with self.assertRaises(takt.Invalid) as wrong:
            self.client.submit("echo", prioritty=3)
        self.assertIn("priority", wrong.exception.message)
        with self.assertRaises(takt.Invalid) as wrong:
            takt.Client("localhost:8080")
        self.assertEqual(wrong.exception.field, "servers")
        waiting = self.client.submit("nobody-runs-this")
        with self.assertRaises(takt.WaitTimeout):
            self.client.wait(waiting.id, 0.1)
        with self.assertRaises(TimeoutError):
            self.client.wait(waiting.id, 0)
        self.assertIn("worker", self.client.explain(waiting.id))
        self.assertEqual(self.client.cancel(waiting.id).status, "cancelled")

    def test_who_cancels_is_not_told_that_it_has_ended_already(self):
        waiting = self.client.submit("nobody-runs-this")
        network = LosesOneAnswer(self.url)
        self.addCleanup(network.listener.close)
        with takt.Client(network.url) as client:
            self.assertEqual(client.cancel(waiting.id).status, "cancelled")
            self.assertEqual(network.lost, 1)
            with self.assertRaises(takt.Conflict):
                client.cancel(waiting.id)

    def test_a_scheduler_that_is_away_and_a_client_that_is_closed_are_told_apart(self):
        with takt.Client("http://127.0.0.1:1", patience=0.2) as nobody, self.assertRaises(takt.Unavailable):
            nobody.get("x")
        # The next one is asked when the first is away.
        with takt.Client(["http://127.0.0.1:1", self.url]) as second:
            self.assertEqual(second.list_executions().items, [])
        waiting = self.client.submit("nobody-runs-this")
        closing = takt.Client(self.url)
        threading.Timer(0.2, closing.close).start()
        with self.assertRaises(takt.Stopped):
            closing.wait(waiting.id, 30)

    def test_a_lock_is_one_holders_and_its_loss_is_told(self):
        with self.client.lock("ledger", ttl=2, owner="first") as lock:
            with self.assertRaises(takt.LockBusy) as busy, self.client.lock("ledger", wait=0.1):
                pass
            self.assertEqual(busy.exception.holders[0]["owner"], "first")
            # Longer than its lease: it was renewed.
            time.sleep(2.5)
            lock.check()
            told = threading.Event()
            lock.on_lost(told.set)
            self.client.call("DELETE", "locks/ledger")
            self.assertTrue(lock.lost.wait(10) and told.wait(10))
            with self.assertRaises(takt.LockLost):
                lock.check()
        first = lock.token
        with self.client.lock("ledger", wait=1) as lock:
            self.assertGreater(lock.token, first)

    # The monotonic clock stands still meanwhile, the time of the lock does not.
    def test_a_lock_may_be_lost_while_the_machine_is_suspended(self):
        asked = time.clock_gettime
        with self.client.lock("slept", ttl=30) as lock:
            lock.check()
            with unittest.mock.patch("time.clock_gettime",
                                     lambda clock: asked(clock) + (31 if clock == time.CLOCK_BOOTTIME else 0)):
                self.assertRaises(takt.LockLost, lock.check)
            lock.check()

    # Behind a network that swallows packets each of several servers is waited for. Others have the lock by then.
    def test_a_lock_is_lost_with_its_lease_however_many_servers_are_silent(self):
        silent = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
        urls = [f"http://127.0.0.1:{one.getsockname()[1]}" for one in silent]
        for one in silent:
            self.addCleanup(one.close)
        with takt.Client([self.url, *urls]) as client:
            lock = client.lock("far", ttl=2).acquire()
            until_then = time.monotonic() + 2.3
            self.processes[-1].signal(signal.SIGSTOP)
            try:
                self.assertTrue(lock.lost.wait(20))
                self.assertLess(time.monotonic(), until_then)
            finally:
                self.processes[-1].signal(signal.SIGCONT)

    # A fault of this package, or no memory: whatever it is, nobody may believe to have the lock for ever.
    def test_a_lock_that_cannot_be_renewed_for_any_reason_is_lost(self):
        with self.client.lock("odd", ttl=1) as lock:
            with unittest.mock.patch.object(self.client._transport, "call", side_effect=MemoryError):
                self.assertTrue(lock.lost.wait(10))

    def test_a_workflow_with_shards_hands_results_on(self):
        worker = takt.Worker(self.url)
        worker.add("part", lambda task: {"part": task.shard.index, "of": task.shard.total, "in": task.parent_id})
        worker.add("sum", lambda task: len(task.payload["parts"]))
        with worker:
            run = self.client.submit("flow", steps=[
                {"name": "split", "type": "part", "shards": 3},
                {"name": "sum", "after": ["split"], "payload": {"parts": {"$from": "split"}}}])
            done = self.client.wait(run.id)
            self.assertEqual((done.status, done.result), ("success", 3))
            self.assertEqual(self.client.step_results(run.id, "split"),
                             [{"part": at, "of": 3, "in": run.id} for at in range(3)])
            self.assertEqual(sorted(step["name"] for step in self.client.steps(run.id)), ["split", "sum"])

    def test_a_namespace_is_a_world_of_its_own(self):
        self.client.create_namespace("billing")
        with takt.Client(self.url, namespace="billing") as billing:
            worker = takt.Worker(self.url, namespace="billing")
            worker.add("where", lambda task: "billing")
            with worker:
                self.assertEqual(billing.run("where").result, "billing")
            self.assertEqual(self.client.list_executions(type="where").items, [])
        self.client.delete_namespace("billing")
        until(lambda: [row["name"] for row in self.client.list_namespaces()] == ["default"], "billing is gone")

    def test_asyncio_does_the_same(self):
        self.demo_worker()

        async def main():
            async with takt.AsyncClient(self.url) as client:
                runs = await asyncio.gather(*(client.run("echo", number) for number in range(40)))
                self.assertEqual([run.result for run in runs], list(range(40)))
                with self.assertRaises(takt.WaitTimeout):
                    await client.wait((await client.submit("nobody-runs-this")).id, 0.1)
                async with client.lock("ledger", ttl=2) as lock:
                    self.assertGreater(lock.token, 0)
                # The lock is taken away: what is done under it ends at once.
                with self.assertRaises(takt.LockLost):
                    async with client.lock("ledger", ttl=2):
                        await client.call("DELETE", "locks/ledger")
                        await asyncio.sleep(30)

        asyncio.run(main())


if __name__ == "__main__":
    unittest.main()
