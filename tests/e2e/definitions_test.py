"""Definitions as code: takt apply, diff, export, import and schema, against real schedulers."""
import json
import pathlib
import unittest

from harness import TaktTest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "definitions"

TASK = """kind: task
name: {name}
cron_expression: "{cron}"
"""

# Every field that a definition may have, with a value that is not the usual one.
WHOLE = """kind: namespace
name: team
quotas: {executions_waiting: 1000, submits_per_second: 50, payload_bytes: 1000000, workers: 9,
         log_bytes: 100000, retention: 2d}
settings: {retention: 1d, audit_retention: 3d, timeout: 30s, strategy: random,
           retry_policy: {max_retries: 1, delay: 2s, backoff_rate: 3, delay_max: 1m, jitter: 0.5}}
---
kind: queue
name: mail
paused: true
concurrency_max: 3
rate_limit: {count: 7, per: 1m}
---
kind: alert_rule
name: slow
description: "说明: it's slow"
metric: queue_oldest_wait_seconds
operator: ">="
threshold: 1.5
duration: 2m
severity: critical
enabled: false
channels: [log]
---
kind: task
id: whole
name: 每天 whole
namespace: team
type: report
queue: mail
priority: urgent
parameters: {a: 1.50, big: 12345678901234567890, text: "one\\ntwo", none: null, list: [1, {x: yes}]}
timeout: 90s
retry_policy: {max_retries: 4, delay: 3s, backoff_rate: 1.5, delay_max: 2m, jitter: 0.2}
load_balance_strategy: least_tasks
metadata: {author: me}
labels: {zone: a}
executor: reports
expires_after: 1h
concurrency_key: k
concurrency_max: 2
rate_limit: {count: 5, per: 1s}
locks: [{name: printer}]
cron_expression: 30 2 * * MON-FRI
timezone: Europe/Berlin
dst: twice
start_at: 2026-01-01T00:00:00Z
end_at: 2199-01-01T00:00:00Z
fires_max: 1000
jitter: 30s
excluded_dates: [2027-01-01]
execution_mode: skip
misfire_policy: fire_all
misfires_max: 7
backlog_max: 9
start_deadline: 5m
catch_up_after_pause: true
enabled: false
---
kind: task
name: sharded
interval: 90s
shards: 8
parallel_max: 2
min_success: 7
---
kind: task
name: everywhere
interval_after_end: 1h
each_worker: true
---
kind: workflow
name: flow
interval: 1d
on_failure: continue
steps:
  - {name: one, type: t, shards: 3, payload: {$input: ""}, timeout: 5s, max_retry: 2}
  - {name: two, after: [one], when: all_done, if: {value: {$from: one}, equals: true}}
  - {name: three, after: [one], task: sharded, min_success: 1, parallel_max: 1, for_each: [1, 2]}
"""


class DefinitionsTest(TaktTest):
    def setUp(self):
        super().setUp()
        self.files = pathlib.Path(self.folder) / "defs"
        self.files.mkdir()

    def write(self, name, text):
        path = self.files / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
        return path

    def apply(self, *arguments, **options):
        return self.takt("apply", "-f", str(self.files), *arguments, **options)

    def diff(self, *arguments):
        """The plan, and whether there is anything in it."""
        ended = self.run_takt("diff", "-f", str(self.files), *arguments)
        self.assertIn(ended.returncode, (0, 1), ended.stderr)
        return ended.stdout, ended.returncode == 1

    def task(self, name):
        return self.takt_json("tasks", "get", name)

    def test_a_directory_is_applied_changed_compared_and_pruned(self):
        self.serve()
        self.write("a.yaml", TASK.format(name="a", cron="0 1 * * *"))
        self.write("deep/b.yml", TASK.format(name="b", cron="0 2 * * *") + "---\n"
                   "kind: queue\nname: mail\nconcurrency_max: 5\n")
        self.write(".hidden/c.yaml", "kind: nothing\n")

        plan = self.apply("--dry-run")
        self.assertIn("+ create task a", plan)
        self.assertIn("3 to create, 0 as defined", plan)
        self.refused(3, "tasks", "get", "a")

        self.assertIn("applied", self.apply())
        self.assertEqual(self.task("a")["cron_expression"], "0 1 * * *")
        self.assertEqual(self.takt_json("queues", "get", "mail")["concurrency_max"], 5)
        self.assertIn("no changes, 3 as defined", self.apply())
        self.assertEqual(self.diff(), ("no changes, 3 as defined\n", False))

        # Somebody changes things by hand: it is seen, and undone.
        self.takt("tasks", "update", "a", "--cron", "0 9 * * *")
        self.takt("queues", "limit", "mail", "--concurrency", "6")
        text, differs = self.diff()
        self.assertTrue(differs)
        self.assertIn('cron_expression: "0 9 * * *" → "0 1 * * *"', text)
        self.assertIn("concurrency_max: 6 → 5", text)
        plan = json.loads(self.run_takt("diff", "-f", str(self.files), "-o", "json").stdout)
        self.assertEqual([step["action"] for step in plan["steps"]], ["change", "change"])
        self.apply()
        self.assertEqual(self.task("a")["cron_expression"], "0 1 * * *")

        # A pause is an operator's affair, unless the file says something of it.
        self.takt("tasks", "pause", "a")
        self.assertFalse(self.diff()[1])
        self.write("a.yaml", TASK.format(name="a", cron="0 1 * * *") + "enabled: true\n")
        self.assertIn("enabled: false → true", self.diff()[0])

        # What is no longer defined stays until somebody says --prune; what others made stays.
        self.takt("submit", "echo", "--every", "1h", "--id", "by-hand")
        (self.files / "deep" / "b.yml").unlink()
        self.assertIn("! keep task b: no longer defined", self.apply())
        plan = self.apply("--prune")
        self.assertIn("- delete task b", plan)
        self.assertIn("- delete queue mail (takes its limits away)", plan)
        self.refused(3, "tasks", "get", "b")
        for queue in self.takt_json("queues")["items"]:
            self.assertIsNone(queue["concurrency_max"])
        self.task("by-hand")
        self.assertIn("no changes, 1 as defined", self.apply("--prune"))

    def test_all_mistakes_are_told_and_nothing_is_written(self):
        self.serve()
        self.write("good.yaml", TASK.format(name="good", cron="@daily"))
        self.write("bad.yaml", "kind: task\nname: bad\ncron_expression: 61 * * * *\npriority: 17\n"
                   "---\nkind: queue\nname: q\nconcurency_max: 3\n---\nkind: task\nname: x\n"
                   "namespace: nowhere\ninterval: 1h\n")
        told = self.refused(2, "apply", "-f", str(self.files))
        self.assertIn("nothing is applied: 4 mistakes", told)
        for place in ("bad.yaml:3: cron_expression", "bad.yaml:4: priority", "bad.yaml:8: ",
                      "bad.yaml:12: there is no namespace 'nowhere'"):
            self.assertIn(place, told)
        self.assertIn("did you mean 'concurrency_max'", told)
        self.refused(3, "tasks", "get", "good")
        self.assertEqual(self.run_takt("diff", "-f", str(self.files)).returncode, 2)
        self.assertEqual(self.run_takt("diff", "-f", "/nowhere").returncode, 2)

    def test_what_others_made_is_left_alone_unless_it_is_adopted(self):
        self.serve()
        self.takt("submit", "a", "--every", "1h", "--id", "a")
        self.write("a.yaml", TASK.format(name="a", cron="@daily"))
        told = self.refused(4, "apply", "-f", str(self.files))
        self.assertIn("task a was made by hand", told)
        self.assertIn("interval", self.task("a"))
        self.apply("--adopt", "--owner", "one")
        self.assertEqual(self.task("a")["cron_expression"], "@daily")
        self.write("a.yaml", TASK.format(name="a", cron="@hourly"))
        self.assertIn("task a is owned by one", self.refused(4, "apply", "-f", str(self.files)))
        # A wrong directory is no wish to delete everything.
        self.write("a.yaml", "# nothing\n")
        told = self.refused(2, "apply", "-f", str(self.files), "--prune", "--owner", "one")
        self.assertIn("no definition was read", told)
        self.assertEqual(self.run_takt("diff", "-f", str(self.files), "--prune").returncode, 2)
        self.task("a")
        # The owner of nothing prunes nothing.
        self.write("a.yaml", TASK.format(name="b", cron="@daily"))
        self.apply("--prune", "--owner", "two")
        self.task("a")
        self.apply("--prune", "--owner", "one")
        self.refused(3, "tasks", "get", "a")

    def test_a_write_that_fails_in_the_middle_is_finished_by_the_next(self):
        self.serve()
        # An id that a one-off task has cannot be made a recurring one: the second of three fails.
        self.takt("submit", "echo", "{}", "--id", "taken", "--delay", "1h")
        for name in ("first", "taken", "zuletzt"):
            self.write(f"{name}.yaml", TASK.format(name=name, cron="@daily"))
        ended = self.run_takt("apply", "-f", str(self.files))
        self.assertEqual(ended.returncode, 4, ended.stderr)
        self.assertIn("applied: 1 of 3; not applied:", ended.stderr)
        self.assertIn("create task taken", ended.stderr)
        self.assertIn("create task zuletzt", ended.stderr)
        self.task("first")
        self.refused(3, "tasks", "get", "zuletzt")
        self.write("taken.yaml", TASK.format(name="free", cron="@daily"))
        plan = self.apply()
        self.assertIn("2 to create, 1 as defined", plan)
        self.assertIn("no changes, 3 as defined", self.apply())

    def test_namespaces_are_made_first_and_deleted_only_if_that_is_said(self):
        self.serve()
        self.write("n.yaml", "kind: namespace\nname: team\nquotas: {workers: 3}\n---\n"
                   "kind: task\nname: a\nnamespace: team\ninterval: 1h\n---\n"
                   "kind: queue\nname: q\nnamespace: team\nconcurrency_max: 1\n")
        self.assertIn("3 to create", self.apply())
        self.takt("-n", "team", "tasks", "get", "a")
        self.assertFalse(self.diff()[1])
        # What names no namespace belongs into the one of the command.
        self.write("m.yaml", TASK.format(name="m", cron="@daily"))
        self.assertIn("+ create task m in team",
                      self.takt("-n", "team", "apply", "-f", str(self.files / "m.yaml")))
        (self.files / "m.yaml").unlink()
        # Files that say nothing of a namespace delete nothing in it, unless the command names it.
        self.write("n.yaml", TASK.format(name="other", cron="@daily"))
        told = self.apply("--prune")
        self.assertIn("! keep namespace team", told)
        self.assertIn("left in team: 1 queue, 1 task; apply with -n team to prune them\n", told)
        self.takt("-n", "team", "tasks", "get", "a")
        told = self.takt("-n", "team", "apply", "-f", str(self.files), "--prune")
        self.assertIn("- delete task a in team", told)
        self.assertIn("left in default: 1 task; apply with -n default to prune them\n", told)
        self.refused(3, "-n", "team", "tasks", "get", "a")
        self.takt("-n", "team", "tasks", "get", "m")
        self.task("other")
        self.assertIn("- delete namespace team",
                      self.apply("--prune", "--prune-namespaces"))

    def test_a_context_says_into_which_namespace(self):
        self.serve()
        self.write("n.yaml", "kind: namespace\nname: team\n---\n"
                   "kind: task\nname: old\nnamespace: team\ninterval: 1h\n")
        self.apply("--owner", "us")
        (self.files / "n.yaml").unlink()
        here = {"TAKT_SERVER": self.url}
        self.write("m.yaml", TASK.format(name="m", cron="@daily"))
        self.url = None
        context = {"XDG_CONFIG_HOME": self.folder}
        self.takt("context", "set", "here", "--server", here["TAKT_SERVER"], "--namespace", "team",
                  env=context)
        told = self.apply("--owner", "us", "--prune", env=context)
        self.assertIn("+ create task m in team", told)
        self.assertIn("- delete task old in team", told)
        self.refused(3, "tasks", "get", "m", env=here)
        same = self.run_takt("diff", "-f", str(self.files), "--owner", "us", env=context)
        self.assertEqual(same.returncode, 0, same.stdout + same.stderr)
        self.assertIn("name: m\n", self.takt("export", env=context))

    def test_an_export_is_applied_elsewhere_as_it_was(self):
        self.serve()
        self.write("all.yaml", WHOLE)
        self.apply()
        self.assertFalse(self.diff()[1])
        out = pathlib.Path(self.folder) / "out"
        told = self.run_takt("export", "-A", "-o", str(out))
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn("left out: access tokens", told.stderr)
        # Here it is as it was …
        same = self.run_takt("diff", "-f", str(out))
        self.assertEqual((same.returncode, same.stdout.splitlines()[-1][:10]), (0, "no changes"),
                         same.stdout + same.stderr)
        first = self.takt("export", "-A")
        self.assertNotIn("no_online_workers", first, "the program brings it")
        # … and elsewhere it becomes the same: on another store, from nothing.
        self.use_redis()
        self.serve()
        self.takt("apply", "-f", str(out))
        self.assertEqual(self.run_takt("diff", "-f", str(out)).returncode, 0)
        self.assertEqual(self.takt("export", "-A"), first)
        self.assertEqual(self.run_takt("diff", "-f", str(self.files)).returncode, 0,
                         "the files it began with say the same")
        # From standard input as well.
        self.assertIn("no changes", self.takt("apply", "-f", "-", stdin=first))

    def test_the_examples_are_applied(self):
        self.serve()
        self.takt("apply", "-f", str(EXAMPLES))
        self.assertIn("no changes", self.takt("apply", "-f", str(EXAMPLES)))
        self.takt("-n", "reports", "tasks", "get", "daily-report")

    def test_a_crontab_becomes_tasks(self):
        self.serve()
        crontab = "MAILTO=\"\"\n*/5 * * * * /usr/bin/true\n@daily cd /tmp && ./run.sh\n"
        made = self.run_takt("import", "crontab", "-", "--timezone", "Asia/Tokyo", stdin=crontab)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("line 2: task true", made.stderr)
        self.assertIn("2 to create", self.takt("apply", "-f", "-", stdin=made.stdout))
        self.assertEqual(self.task("run")["timezone"], "Asia/Tokyo")
        self.assertEqual(self.task("true")["parameters"], {"command": "/usr/bin/true"})
        partly = self.run_takt("import", "crontab", "-", "-o", f"{self.folder}/cron",
                               stdin="@reboot x\n@daily y\n")
        self.assertEqual(partly.returncode, 1)
        self.assertIn("line 1: not taken: @reboot", partly.stderr)
        self.assertTrue((pathlib.Path(self.folder) / "cron" / "y.yaml").exists())
        self.refused(2, "import", "crontab", "/nowhere/crontab")

    def test_files_of_windows_are_read_or_refused(self):
        crontab = pathlib.Path(self.folder) / "crontab"
        crontab.write_bytes("@daily x\r\n".encode("utf-8-sig"))
        self.assertIn("id: x", self.takt("import", "crontab", str(crontab)))
        crontab.write_bytes("@daily x\r\n".encode("utf-16"))
        self.assertIn("is UTF-16", self.refused(2, "import", "crontab", str(crontab)))

    def test_a_directory_is_no_file(self):
        for command in (("import", "crontab"), ("import", "xxl-job"), ("tasks", "create", "-f")):
            with self.subTest(command=command):
                self.assertIn(f"cannot read {self.folder}", self.refused(2, *command, self.folder))

    def test_the_schema_is_json(self):
        schema = json.loads(self.takt("schema"))
        kinds = [each["properties"]["kind"]["const"] for each in schema["oneOf"]]
        self.assertEqual(kinds, ["namespace", "queue", "task", "workflow", "alert_rule"])


if __name__ == "__main__":
    unittest.main()
