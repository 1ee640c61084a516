"""The audit of real processes: an entry is there if and only if its change is, whoever dies when."""
import json
import threading
import unittest
import urllib.error
import urllib.request

from harness import QUICK, TaktTest, until


class Changer(threading.Thread):
    """Changes a task again and again, until nobody answers any more."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.url = url
        self.answered = []  # Versions that were promised.
        self.enough = threading.Event()
        self.refused = ""

    def run(self):
        while not self.enough.is_set():
            body = json.dumps({"payload": {"n": len(self.answered)}}).encode()
            request = urllib.request.Request(f"{self.url}/api/v1/tasks/nightly", body,
                                             {"Content-Type": "application/json"}, method="PATCH")
            try:
                with urllib.request.urlopen(request, timeout=10) as answer:
                    self.answered.append(json.loads(answer.read())["version"])
            except urllib.error.HTTPError as refused:
                # A scheduler that does not know the leader yet says so; what else is refused is a fault.
                if refused.code != 503:
                    self.refused = f"{refused.code} {refused.read()}"
                    return
            except OSError:
                return


class AuditTest(TaktTest):
    def make(self):
        self.takt("submit", "nightly", "--id", "nightly", "--cron", "@yearly")

    def entries(self, *filters):
        lines = self.takt("audit", "--all", "-o", "jsonl", *filters)
        return [json.loads(line) for line in lines.splitlines()]

    # Each version has one entry, and no entry is of a version that is not there.
    def check(self, *changers):
        version = json.loads(self.takt("tasks", "get", "nightly", "--json"))["version"]
        told = [entry["after"]["version"] for entry in self.entries("--target", "task/nightly")]
        self.assertEqual(told, list(range(version, 0, -1)))
        for changer in changers:
            self.assertLessEqual(set(changer.answered), set(told), "answered, and so kept")

    def change_until_killed(self, process, *urls):
        changers = [Changer(url) for url in urls]
        for changer in changers:
            changer.start()
        until(lambda: any(changer.refused for changer in changers) or
              all(len(changer.answered) >= 20 for changer in changers), "changes are made")
        self.assertEqual([changer.refused for changer in changers], ["" for _ in changers])
        process.kill()
        for changer in changers:
            changer.enough.set()
            changer.join()
        return changers

    def test_the_only_scheduler_is_killed_amid_changes(self):
        process = self.serve()
        self.make()
        changers = self.change_until_killed(process, self.url, self.url)
        self.serve()
        self.check(*changers)
        newest = self.entries()[0]
        self.assertEqual(newest["action"], "patch_v1_tasks_id")
        self.assertEqual((newest["who"], newest["address"]), ("open", "127.0.0.1"))

    # The leader is killed while it changes things for its own callers and for those of another
    # scheduler, which passes them on.
    def test_the_leader_is_killed_amid_changes_that_are_passed_on(self):
        self.use_redis()
        leader = self.serve(*QUICK, "--set", "server.node_id=a")
        first = self.url
        self.make()
        self.serve(*QUICK, "--set", "server.node_id=b")
        changers = self.change_until_killed(leader, first, self.url)
        until(lambda: self.run_takt("tasks", "pause", "nightly").returncode == 0, "b leads")
        self.takt("tasks", "resume", "nightly")
        self.assertEqual([entry["action"] for entry in self.entries()[:2]],
                         ["post_v1_tasks_id_resume", "post_v1_tasks_id_pause"])
        patches = self.entries("--action", "patch")
        self.assertEqual({entry["via"] for entry in patches}, {None, "b"})
        # Pausing and resuming raised it, too.
        version = json.loads(self.takt("tasks", "get", "nightly", "--json"))["version"] - 2
        self.assertEqual([entry["after"]["version"] for entry in patches],
                         list(range(version, 1, -1)))
        for changer in changers:
            self.assertLessEqual(set(changer.answered),
                                 {entry["after"]["version"] for entry in patches})

    # Somebody keeps the audit elsewhere, line by line. The leader dies meanwhile, and each line comes
    # once, in order.
    def test_it_is_followed_from_leader_to_leader(self):
        self.use_redis()
        leader = self.serve(*QUICK, "--set", "server.node_id=a")
        first = self.url
        self.make()
        self.serve(*QUICK, "--set", "server.node_id=b")
        both = ["--server", f"{first},{self.url}"]
        follower = self.start("follow", "audit", "--follow", "-o", "json", *both)
        since = self.start("since", "audit", "-f", "--since", "1h", "--action", "patch", "--json", *both)
        shown = self.start("shown", "audit", "-f", "--diff", *both)
        told = lambda process: [json.loads(line) for line in process.text().splitlines()
                                if line.startswith("{")]
        # It begins with what comes after it: when that is seen is up to it.
        version = lambda: json.loads(self.takt("tasks", "get", "nightly", "--json"))["version"]
        change = lambda n: self.run_takt("tasks", "update", "nightly", "--payload", f'{{"n": {n}}}')
        until(lambda: change(version()).returncode == 0 and told(follower), "it follows")
        leader.kill()
        until(lambda: change(-1).returncode == 0, "b leads")
        last = version()
        until(lambda: told(follower)[-1]["after"]["version"] == last, "it goes on")
        versions = [entry["after"]["version"] for entry in told(follower)]
        self.assertEqual(versions, list(range(versions[0], last + 1)))
        until(lambda: told(since)[-1]["after"]["version"] == last, "it goes on, with filters")
        self.assertEqual([entry["after"]["version"] for entry in told(since)],
                         list(range(2, last + 1)))
        until(lambda: "+ parameters.n: -1" in shown.text(), "it shows what changed")
        self.assertEqual(shown.text().count("WHO"), 1, "one line of names")
        for process in (follower, since, shown):
            self.assertIsNone(process.process.poll(), "it goes on for ever")
        self.assertIn("--follow", self.refused(2, "audit", "-f", "--all"))
        self.assertIn("nowhere", self.refused(3, "audit", "-f", "--namespace", "nowhere"))

    # Executors bring tasks each time they start, and operators move them about.
    def test_executors_and_what_they_bring(self):
        self.serve()
        registration = {
            "name": "mailers", "instance_id": "mailer-1", "base_url": "http://127.0.0.1:9",
            "tasks": [{"task_name": "send", "cron": "0 0 2 * * *"}]}
        self.post("executors/register", registration)
        self.post("executors/register", registration)
        brought = self.entries()
        self.assertEqual([entry["action"] for entry in brought], ["post_v1_executors_register"])
        self.assertEqual(brought[0]["target"]["kind"], "task")
        self.takt("executors", "status", "mailer-1", "maintenance")
        self.takt("executors", "remove", "mailer-1")
        removed, moved = self.entries()[:2]
        self.assertEqual(removed["action"], "delete_v1_executors_id")
        self.assertEqual(moved["target"], {"kind": "executor", "id": "mailer-1"})
        self.assertEqual(moved["after"]["status"], "maintenance")

    # An administrator looks for what somebody changed, and takes it with him.
    def test_the_command_line_shows_it(self):
        self.serve()
        self.make()
        self.takt("tasks", "update", "nightly", "--priority", "9")
        self.takt("queues", "pause", "mail")
        table = self.takt("audit")
        self.assertIn("queue/mail", table)
        self.assertIn("post_v1_queues_name_pause", table)
        diff = self.takt("audit", "--target", "nightly", "--action", "patch", "--diff")
        self.assertIn("+ priority: 9", diff)
        self.assertIn("- priority: 5", diff)
        one = self.entries("--since", "1h", "--who", "open", "--action", "pause")
        self.assertEqual(len(one), 1)
        shown = self.takt_json("audit", one[0]["id"])
        self.assertEqual(shown["items"], one)
        self.assertIsNone(shown["next_cursor"])
        self.assertIn("--since", self.refused(2, "audit", "--since", "lately"))
        me = self.takt_json("whoami")
        self.assertEqual((me["who"], me["role"], me["access_control"]), ("open", "admin", False))
        token = self.takt("token", "create", "--role", "admin", "--name", "me").strip()
        viewer = self.takt("token", "create", "--role", "viewer", "--name", "looks",
                           env={"TAKT_TOKEN": token}).strip()
        told = self.takt("whoami", env={"TAKT_TOKEN": viewer})
        self.assertIn("looks", told)
        self.assertIn("viewer", told)
        self.assertIn("admin", self.refused(2, "audit", env={"TAKT_TOKEN": viewer}))
        made = json.loads(self.takt("audit", "--action", "tokens", "-o", "json",
                                    env={"TAKT_TOKEN": token}))["items"]
        self.assertEqual([(entry["who"], entry["after"]["name"]) for entry in made],
                         [("me", "looks"), ("open", "me")])
        self.assertNotIn(token, json.dumps(made))


if __name__ == "__main__":
    unittest.main()
