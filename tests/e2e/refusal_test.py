"""What cannot work is refused with one sentence that says what to do, and the documented exit code."""
import pathlib
import sqlite3
import unittest

from harness import TaktTest, until

USAGE, CONFLICT, UNAVAILABLE = 2, 4, 5


class Refusal(TaktTest):
    def refused_sentence(self, exit_code, *arguments, **options):
        text = self.refused(exit_code, *arguments, **options).strip()
        self.assertTrue(text.startswith("takt: "), text)
        self.assertEqual(len(text.splitlines()), 1, text)
        return text

    def serve_refused(self, exit_code, store, *arguments, **options):
        return self.refused_sentence(exit_code, "serve", "--store", f"file:{store}", "--listen",
                                     "127.0.0.1:0", *arguments, **options)

    def test_a_second_process_on_the_same_directory(self):
        # Somebody starts the service by hand while systemd runs it.
        first = self.serve()
        text = self.serve_refused(CONFLICT, self.store)
        self.assertIn(str(first.process.pid), text)
        self.assertTrue(self.is_ready())

    def test_a_filter_whose_variable_is_empty_is_refused_and_nothing_is_changed(self):
        # A script's TYPE="" was meant to narrow; left out it would be all that failed, or waits.
        self.serve()
        self.takt("submit", "noop", "--id", "remind", "--delay", "1h", "-q")
        for action in ("cancel", "retry", "list"):
            for flag in ("--task", "--status", "--worker", "--type", "--queue", "--since", "--until"):
                told = self.refused(2, action, "--limit", "9", flag, "")
                self.assertIn(f"{flag}: must not be empty", told)
        for words in (("stats", "--type"), ("stats", "--since"), ("audit", "--who"), ("events", "--task"),
                      ("tasks", "--name"), ("cancel", "remind", "--namespace")):
            self.assertIn(f"{words[-1]}: must not be empty", self.refused(2, *words, ""))
        self.assertIn("-n: must not be empty", self.refused(2, "-n", "", "cancel", "remind"))
        self.assertEqual(self.takt_json("get", "remind")["status"], "pending")

    def test_two_flags_that_contradict_each_other(self):
        # A unit file sets the store, and somebody adds another one at its end: neither is to win in silence.
        serve, check = ("serve", "--listen", "127.0.0.1:0"), ("serve", "--check", "--listen", "127.0.0.1:0")
        other = f"file:{self.folder}/other"
        told = self.refused(USAGE, *serve, "--store", f"file:{self.store}", "--set", f"store.url={other}")
        self.assertIn("--set store.url and --store say different things of store.url", told)
        told = self.refused(USAGE, *serve, "--store", other, "--set", "scheduler.retention=1h", "--set",
                            "scheduler.retention=2h")
        self.assertIn("--set scheduler.retention stands here twice, with different values", told)
        # The same in other words is no contradiction, and a flag is stronger than a variable.
        self.takt(*check, "--store", other, "--set", f"store.url={other}", "--set", "scheduler.retention=60m",
                  "--set", "scheduler.retention=1h", env={"TAKT_SCHEDULER_RETENTION": "3h"})

    def test_a_port_that_is_taken(self):
        # Another program listens there.
        self.serve()
        other = f"{self.folder}/other"
        text = self.refused_sentence(UNAVAILABLE, "serve", "--store", f"file:{other}", "--listen",
                                     f"127.0.0.1:{self.port()}")
        self.assertIn(str(self.port()), text)

    def test_a_store_that_is_not_there_yet(self):
        # The schedulers come up before their database; or somebody wants a start to fail then.
        away = ["serve", "--listen", "127.0.0.1:0", "--store",
                "mysql://takt:secret@127.0.0.1:1/takt?timeout=1s"]
        text = self.refused_sentence(UNAVAILABLE, *away, "--wait-for-store", "no")
        self.assertIn("127.0.0.1:1", text)
        self.assertNotIn("secret", text)
        waiting = self.start("serve", *away)
        until(lambda: " listens on " in waiting.text(), "it serves")
        self.url = waiting.text().split(" listens on ")[1].split()[0]
        until(lambda: "goes on trying" in waiting.text(), "it says why")
        self.assertNotIn("secret", waiting.text())
        self.assertFalse(self.is_ready())
        self.assertIsNone(waiting.process.poll())

    def test_a_directory_that_cannot_be_written(self):
        # The service's user lacks the right; /proc refuses even root.
        self.assertIn("/proc/takt", self.serve_refused(USAGE, "/proc/takt"))
        file = pathlib.Path(self.folder) / "file"
        file.write_text("")
        self.assertIn(str(file), self.serve_refused(USAGE, f"{file}/store"))

    def test_a_database_file_that_is_damaged(self):
        # A disk lost blocks.
        folder = pathlib.Path(self.store)
        folder.mkdir(mode=0o700)
        (folder / "takt.db").touch(mode=0o600)
        (folder / "takt.db").write_bytes(b"this is no database" * 1000)
        self.assertIn("takt.db", self.serve_refused(USAGE, self.store))

    def test_a_database_file_of_a_newer_version(self):
        # Somebody goes back to the version before.
        self.serve().kill()
        database = sqlite3.connect(f"{self.store}/takt.db")
        database.execute("PRAGMA user_version = 99")
        database.commit()
        database.close()
        self.assertIn("newer", self.serve_refused(USAGE, self.store))

    def test_listening_beyond_loopback_without_tokens_and_with_one_made_offline(self):
        # A newcomer opens the port to the network.
        wide = ["serve", "--store", f"file:{self.store}", "--listen", "0.0.0.0:0"]
        self.assertIn("token", self.refused_sentence(USAGE, *wide))
        self.assertIn("admin", self.refused_sentence(
            USAGE, "token", "create", "--role", "worker", "--name", "w", "--store",
            f"file:{self.store}"))
        made = self.takt_json("token", "create", "--role", "admin", "--name", "first", "--store",
                              f"file:{self.store}")
        self.serve()
        self.assertTrue(self.refused(USAGE, "list"))
        self.takt("list", "--token", made["token"])
        self.assertIn("first", self.takt("token", "list", "--token", made["token"]))

    def test_flags_and_keys_that_do_not_exist(self):
        # A typing error must not be taken for a setting.
        self.assertIn("did you mean '--store'?", self.refused_sentence(USAGE, "serve", "--stor=x"))
        self.assertIn("did you mean 'submit'?", self.refused_sentence(USAGE, "submitt"))
        early = self.refused_sentence(USAGE, "--server", "http://127.0.0.1:1", "status")
        self.assertIn("the flag '--server' comes after the command", early)
        self.assertIn("--server", self.refused_sentence(USAGE, "tasks", "pause", "x", "--serverr=x"))
        self.assertTrue(self.refused_sentence(USAGE, "submit"))
        self.assertTrue(self.refused_sentence(USAGE, "list", "--limit", "many"))
        text = self.serve_refused(USAGE, self.store, "--set", "scheduler.worker_leese=2s")
        self.assertIn("did you mean 'scheduler.worker_lease'?", text)
        text = self.serve_refused(USAGE, self.store, "--set", "scheduler.worker_lease=soon")
        self.assertIn("scheduler.worker_lease", text)
        self.assertIn("KEY=VALUE", self.serve_refused(USAGE, self.store, "--set", "nonsense"))
        self.assertIn("listen", self.refused_sentence(
            USAGE, "serve", "--store", f"file:{self.store}", "--listen", "nonsense"))

    def test_a_configuration_file_with_an_unknown_key(self):
        # The same in a file and in the environment.
        file = pathlib.Path(self.folder) / "takt.yaml"
        file.write_text("scheduler:\n  worker_leese: 2s\n")
        text = self.serve_refused(USAGE, self.store, "--config", str(file))
        self.assertIn("did you mean", text)
        self.assertIn("takt.yaml", text)
        missing = self.serve_refused(USAGE, self.store, "--config", "/nowhere.yaml")
        self.assertIn("/nowhere.yaml", missing)
        text = self.serve_refused(USAGE, self.store, env={"TAKT_SCHEDULER_WORKER_LEESE": "2s"})
        self.assertIn("did you mean TAKT_SCHEDULER_WORKER_LEASE?", text)

    def test_all_mistakes_of_a_configuration_at_once(self):
        # A key is misspelled, a value is out of its range, and two contradict each other.
        file = pathlib.Path(self.folder) / "takt.yaml"
        file.write_text("server:\n  lisen: x\nscheduler:\n  leader_ttl: 5s\n  leader_renew_interval: 6s\n"
                        "  retry_backoff_rate: 0.1\n")
        text = self.refused(USAGE, "serve", "--config", str(file))
        for key in ("server.lisen", "scheduler.leader_renew_interval", "scheduler.retry_backoff_rate"):
            self.assertIn(key, text)
        # What a file says that cannot be read at all seems to contradict nothing.
        text = self.refused_sentence(USAGE, "serve", "--config", "/nowhere.yaml",
                                     env={"TAKT_SCHEDULER_LEADER_TTL": "5s"})
        self.assertIn("/nowhere.yaml", text)

    def test_a_flag_is_blamed_by_the_name_that_was_given(self):
        # Some flags have two.
        self.assertTrue(self.refused_sentence(USAGE, "tasks", "backfill", "x", "--from", "y")
                        .startswith("takt: --from: "))
        self.assertTrue(self.refused_sentence(USAGE, "tasks", "backfill", "x", "--since=y")
                        .startswith("takt: --since: "))

    def test_contexts_that_are_not_understood(self):
        # A file written by hand, and a token's file with a slip in its name.
        home = {"XDG_CONFIG_HOME": self.folder}
        text = self.refused_sentence(USAGE, "context", "set", "prod", "--server", "http://127.0.0.1:9",
                                     "--token-file", "/nowhere", env=home)
        self.assertIn("/nowhere", text)
        folder = pathlib.Path(self.folder) / "takt"
        folder.mkdir()
        for content in ("foo: bar\n", "- a\n", "just text\n"):
            (folder / "contexts.yaml").write_text(content)
            self.assertIn("current and contexts", self.refused_sentence(USAGE, "context", env=home))

    def test_a_server_that_is_not_there(self):
        # Somebody forgot to start it.
        text = self.refused_sentence(UNAVAILABLE, "list", "--server", "http://127.0.0.1:9")
        self.assertIn("takt serve", text)
        self.assertTrue(self.refused_sentence(USAGE, "list", "--server", "ftp://nowhere"))

    def test_a_worker_with_nothing_to_run(self):
        # Nobody told it what it is for.
        self.assertIn("--demo", self.refused_sentence(USAGE, "worker"))
        self.assertIn("--server", self.refused_sentence(USAGE, "worker", "--demo", "--store", "file:x"))
        for capacity in ("0", "-1", "2147483648"):
            self.refused(USAGE, "worker", "--demo", f"--capacity={capacity}")

    def test_bad_ids_fields_and_times(self):
        # A script's variables were empty or wrong.
        self.serve()
        self.assertIn("there is no execution", self.refused_sentence(3, "get", "nobody"))
        self.refused_sentence(USAGE, "get", "../../etc")
        self.assertIn("priorit", self.refused_sentence(USAGE, "submit", "noop", "-p", "highest"))
        self.refused_sentence(USAGE, "submit", "noop", "--at", "tomorrow")
        self.assertIn("cron_expression: column", self.refused_sentence(USAGE, "submit", "noop", "--cron", "nonsense"))
        self.refused_sentence(USAGE, "submit", "noop", "--cron", "* * * * *", "--wait")
        self.assertIn("did you mean", self.refused_sentence(USAGE, "submit", "noop", "--field",
                                                            "timeot=5"))
        self.refused_sentence(USAGE, "cancel")


if __name__ == "__main__":
    unittest.main()
