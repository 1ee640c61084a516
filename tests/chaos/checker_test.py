"""The checker is trusted only as far as it catches: one doctored history for each rule."""
import unittest

from checker import Election, History, Rules, Run, Welcome, check, runs_from
from load import Submitted


def row(execution, status="success", **fields):
    return {"id": execution, "task_id": execution, "status": status, "attempt": 1, "failures": 0,
            "losses": 0, "scheduled_at": "2026-11-15T05:00:00.000Z",
            "ready_at": "2026-11-15T05:00:00.000Z", "result": None, "error": None,
            **fields}


def run(execution, attempt=1, **fields):
    usual = {"epoch": 1, "worker": "w", "run": f"{execution}/{attempt}", "started": 10.0,
             "started_wall": 1794718800.1, "ended": 10.2, "success": True, "accepted": True,
             "accepted_at": 10.3, "task": execution}
    return Run(execution=execution, attempt=attempt, **{**usual, **fields})


def fire(second, task="tick", **fields):
    return row(f"{task}-{second}", task_id=task,
               scheduled_at=f"2026-11-15T05:00:{second:02}.000Z", **fields)


def healthy():
    """A short run in which a task, a cancel and three fires went as they should."""
    fires = [fire(second) for second in (1, 2, 3)]
    history = History(
        submitted=[Submitted("a", "work", "ok", 9.0), Submitted("b", "work", "refused"),
                   Submitted("c", "cancelled", "ok", 9.0, cancel_acknowledged_at=9.5)],
        runs=[run("a")] + [run(one["id"], started=11.0 + n, ended=11.5 + n, task="tick",
                               started_wall=1794718801.01 + n) for n, one in enumerate(fires)],
        rows={one["id"]: one for one in [row("a"), row("c", "cancelled"), *fires]},
        elections=[Election("2026-11-15T04:59:00.000Z", "node-1", 1)],
        welcomes=[Welcome(1.0, "w", "node-1", 1)],
        cron=["tick"], sequential=["tick"], canary_seconds=1.0, healed_wall=1794718802.0,
        ended_wall=1794718810.0)
    return history


class Checker(unittest.TestCase):
    def setUp(self):
        self.history = healthy()
        self.rules = Rules()

    def caught(self, rule):
        found = check(self.history, self.rules)
        self.assertTrue(any(text.startswith(rule + ":") for text in found), found)

    def passed(self):
        self.assertEqual(check(self.history, self.rules), [])

    def test_a_run_in_which_all_went_well_has_no_violation(self):
        self.passed()

    def test_an_acknowledged_task_that_does_not_exist_is_lost(self):
        del self.history.rows["a"]
        self.history.runs.pop(0)
        self.caught("lost")
        self.rules.lossy = True
        self.passed()

    def test_an_acknowledged_task_that_never_ends_is_unfinished(self):
        self.history.rows["a"]["status"] = "running"
        self.caught("unfinished")

    def test_a_task_whose_time_has_not_come_is_not_unfinished(self):
        self.history.rows["later"] = row("later", "pending",
                                         scheduled_at="2026-11-15T06:00:00.000Z")
        self.passed()
        self.history.ended_wall += 3600
        self.caught("unfinished")

    def test_an_acknowledged_task_that_failed_for_no_reason_of_its_own_is_told(self):
        self.history.rows["a"]["status"] = "failed"
        self.caught("failed")

    def test_a_refused_task_must_not_exist(self):
        self.history.rows["b"] = row("b")
        self.history.runs.append(run("b"))
        self.caught("refused")

    def test_a_read_after_the_acknowledgement_finds_the_task(self):
        self.history.submitted[0].missing_at = "http://127.0.0.1:1"
        self.caught("read")

    def test_an_answer_that_no_fault_explains_is_told(self):
        self.history.submitted[0].unexpected = "400"
        self.caught("answer")

    def test_a_cancelled_task_that_ran_later_is_caught(self):
        self.history.runs.append(run("c", started=9.6))
        self.caught("cancel")

    def test_a_cancelled_task_that_is_not_cancelled_is_caught(self):
        self.history.rows["c"]["status"] = "success"
        self.caught("cancel")

    def test_two_accepted_completions_are_caught(self):
        self.history.rows["a"].update(attempt=2, losses=1)
        self.history.runs.append(run("a", 2))
        self.rules.losses = True
        self.caught("completed twice")

    def test_two_completions_are_explained_by_a_failover_that_forgot_the_first_only(self):
        self.history.rows["a"].update(attempt=2, losses=1)
        self.history.runs.append(run("a", 2, accepted_at=20.0))
        self.rules.losses = self.rules.lossy = True
        self.history.forgotten_at = 15.0
        self.passed()
        self.history.runs.append(run("a", 3, accepted_at=21.0))
        self.caught("completed twice")

    def test_an_accepted_completion_that_the_store_does_not_have_is_caught(self):
        self.history.rows["a"].update(attempt=2, losses=1)
        self.history.runs.append(run("a", 2, accepted=False))
        self.rules.losses = True
        self.caught("completion lost")

    def test_a_run_after_the_completion_is_caught(self):
        self.history.rows["a"]["losses"] = 1
        self.history.runs.append(run("a", 2, accepted=None, ended=None))
        self.rules.losses = True
        self.caught("run after completion")

    def test_a_success_that_nobody_ran_is_caught(self):
        self.history.runs.pop(0)
        self.caught("result of nobody")

    def test_a_result_of_another_run_is_caught(self):
        self.history.rows["a"]["result"] = {"run": "somebody else's"}
        self.caught("result of nobody")

    def test_an_attempt_that_ran_twice_is_caught_even_if_a_worker_was_lost(self):
        self.history.rows["a"]["losses"] = 1
        self.history.runs.append(run("a", 1, run="again", worker="v", accepted=False))
        self.rules.losses = True
        self.caught("attempt twice")

    def test_a_run_without_failure_or_loss_is_unexplained(self):
        self.history.rows["a"]["attempt"] = 2
        self.history.runs[0].accepted = False
        self.history.runs.append(run("a", 2))
        self.caught("unexplained run")
        self.history.rows["a"]["failures"] = 1
        self.passed()

    def test_a_loss_where_no_worker_was_harmed_is_unexplained(self):
        self.history.rows["a"].update(attempt=2, losses=1)
        self.history.runs[0].accepted = False
        self.history.runs.append(run("a", 2))
        self.caught("unexplained loss")
        self.rules.losses = True
        self.passed()

    def test_a_fire_that_happened_twice_is_caught(self):
        self.history.rows["again"] = {**fire(2), "id": "again"}
        self.history.runs.append(run("again", started=30.0, ended=30.1))
        self.caught("cron twice")

    def test_a_due_time_without_a_record_is_caught(self):
        del self.history.rows["tick-2"]
        self.caught("cron gap")

    def test_missed_due_times_are_accounted_for_by_their_record(self):
        missed = fire(2, status="skipped", error={"message": "5 due times up to … passed"})
        self.history.rows["tick-2"] = missed
        self.history.rows["tick-7"] = fire(7)
        del self.history.rows["tick-3"]
        self.history.runs = [one for one in self.history.runs
                             if one.execution not in ("tick-2", "tick-3")]
        self.history.runs.append(run("tick-7", started=30.0, ended=30.1, task="tick",
                                     started_wall=1794718807.1))
        self.passed()
        missed["error"]["message"] = "6 due times up to … passed"
        self.caught("cron twice")
        missed["error"]["message"] = "4 due times up to … passed"
        self.caught("cron gap")

    def test_a_cron_task_that_stopped_firing_is_caught(self):
        self.history.healed_wall += 60
        self.caught("cron stopped")

    def test_a_cron_task_that_never_fired_is_caught(self):
        self.history.cron.append("never")
        self.caught("cron")

    def test_sequential_runs_that_overlap_are_caught(self):
        self.history.runs[2].started = self.history.runs[1].ended - 0.1
        self.caught("overlap")

    def test_a_lost_attempt_may_overlap_with_its_successors(self):
        # Its worker went on although it was taken for dead; its report was refused.
        self.history.rows["tick-1"].update(attempt=2, losses=1)
        late = run("tick-1", 1, started=11.0, ended=14.0, accepted=False, task="tick",
                   started_wall=1794718801.5)
        self.history.runs[1] = late
        self.history.runs.append(run("tick-1", 2, run="tick-1/2", started=11.1, ended=11.3,
                                     task="tick", started_wall=1794718801.6))
        self.rules.losses = True
        self.passed()

    def test_an_epoch_that_was_given_twice_is_caught(self):
        self.history.elections.append(Election("2026-11-15T04:59:30.000Z", "node-2", 1))
        self.caught("epoch twice")

    def test_an_epoch_that_falls_is_caught(self):
        self.history.elections[0].epoch = 5
        self.history.elections.append(Election("2026-11-15T04:59:30.000Z", "node-2", 4))
        self.caught("epoch fell")

    def test_a_worker_that_was_welcomed_by_a_leader_of_the_past_is_caught(self):
        self.history.welcomes.insert(0, Welcome(0.5, "w", "node-2", 2))
        self.caught("epoch fell")

    def test_an_attempt_of_an_older_epoch_than_the_one_before_is_caught(self):
        self.history.rows["a"].update(attempt=2, losses=1)
        self.history.runs[0].epoch, self.history.runs[0].accepted = 2, False
        self.history.runs.append(run("a", 2))
        self.rules.losses = True
        self.caught("epoch fell")

    def test_an_early_start_is_caught_unless_clocks_differ(self):
        self.history.runs[0].started_wall = 1794718799.9
        self.caught("early")
        self.rules.clocks_agree = False
        self.passed()

    def test_a_canary_that_is_late_or_dead_is_caught(self):
        for seconds in (15.1, None):
            self.history.canary_seconds = seconds
            self.caught("canary")

    def test_a_lead_that_nobody_took_in_time_is_caught(self):
        self.history.lead_lost_wall = 1794718770.0
        self.history.lead_lost_epoch = self.history.elections[0].epoch
        self.history.lead_seconds_max = 3.0
        self.caught("lead")
        self.history.elections.append(Election("2026-11-15T05:00:00.000Z", "node-2", 9))
        self.history.lead_lost_wall = 1794718797.5
        self.passed()
        self.history.lead_lost_wall = 1794718796.5
        self.caught("lead")

    def test_a_process_that_ended_by_itself_is_caught(self):
        self.history.ended_badly.append("node-1 ended by itself with -11")
        self.caught("process")

    def test_a_ledger_becomes_runs(self):
        # A worker ran one attempt to its end and was killed during the next.
        begun = {"what": "start", "worker": "w", "execution": "a", "attempt": 1, "epoch": "3",
                 "run": "w/1", "monotonic": 1.0, "wall": 2.0, "task": "t"}
        runs = runs_from([begun, {**begun, "run": "w/2", "attempt": 2},
                          {"what": "end", "run": "w/1", "success": True, "monotonic": 1.5},
                          {"what": "ack", "run": "w/1", "accepted": False, "monotonic": 1.6}])
        self.assertEqual([(one.attempt, one.epoch, one.ended, one.success, one.accepted)
                          for one in runs], [(1, 3, 1.5, True, False), (2, 3, None, None, None)])


if __name__ == "__main__":
    unittest.main()
