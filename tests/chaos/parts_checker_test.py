"""One doctored history for each rule of parts_checker.py."""
import unittest

import parts_load
from checker import Rules, Run
from parts_checker import check_flows, check_locks, child_id
from parts_load import RUN_LOCK, SHARDS, STEP_LOCK, STEPS, FlowRun, Hold


def whole_run(name, began=10.0, locks=None):
    """A run that went as it should: its rows, and what workers did. A step takes a second."""
    rows = {name: {"id": name, "parent_id": None, "status": "success"}}
    ledger = []
    for step in range(STEPS):
        for shard in range(SHARDS):
            child = child_id(name, step, shard)
            before = [{"run": child_id(name, step - 1, other)} for other in range(SHARDS)]
            rows[child] = {"id": child, "parent_id": name, "status": "success",
                           "result": {"run": child},
                           "parameters": {"before": before} if step else {}}
            ledger.append(Run(execution=child, attempt=1, epoch=1, worker="w", run=child,
                              started=began + step, ended=began + step + 0.9, success=True,
                              accepted=True, locks=dict(locks or {})))
    return rows, ledger


class Flows(unittest.TestCase):
    def setUp(self):
        self.runs = [FlowRun("a", True, "ok"), FlowRun("b", True, "ok")]
        self.rows, self.ledger = whole_run("a", 10.0, {RUN_LOCK: 7})
        rows, ledger = whole_run("b", 30.0, {RUN_LOCK: 8})
        self.rows.update(rows)
        self.ledger += ledger
        self.rules = Rules()

    def found(self):
        return list(check_flows(self.runs, self.rows, self.ledger, self.rules))

    def caught(self, rule):
        self.assertTrue(any(text.startswith(rule + ":") for text in self.found()), self.found())

    def of(self, execution):
        return next(run for run in self.ledger if run.execution == execution)

    def test_runs_in_which_all_went_well_have_no_violation(self):
        self.assertEqual(self.found(), [])

    def test_an_acknowledged_run_that_does_not_exist_is_lost(self):
        del self.rows["a"]
        self.caught("run lost")

    def test_a_run_that_was_refused_must_not_exist(self):
        self.runs[0].outcome = "refused"
        self.caught("run refused")

    def test_a_run_fails_only_for_a_reason(self):
        self.rows["a"]["status"] = "failed"
        self.caught("run failed")

    def test_a_run_that_ended_leaves_nothing(self):
        self.rows[child_id("a", 3, 3)]["status"] = "pending"
        self.caught("run left something")

    def test_each_part_is_made(self):
        del self.rows[child_id("a", 3, 3)]
        self.caught("parts")

    def test_no_part_is_made_twice(self):
        self.rows["a~3.3.1"] = {**self.rows[child_id("a", 3, 3)], "id": "a~3.3.1"}
        self.caught("parts")

    def test_a_run_succeeds_with_its_parts(self):
        self.rows[child_id("a", 3, 3)]["status"] = "failed"
        self.caught("parts")

    def test_a_cancelled_run_does_not_succeed(self):
        self.runs[0].cancelled_at = 100.0
        self.caught("run cancel")

    def test_nothing_of_a_cancelled_run_starts(self):
        self.runs[0].cancelled_at = 12.0
        self.rows["a"]["status"] = "cancelled"
        self.caught("run cancel")

    def test_what_was_on_its_way_to_a_worker_is_accepted_no_more(self):
        self.runs[0].cancelled_at = 18.9
        self.rows["a"]["status"] = "cancelled"
        last = [self.of(child_id("a", 9, shard)) for shard in range(SHARDS)]
        for run in last:
            run.accepted = False
        self.assertEqual(self.found(), [])
        last[0].accepted = True
        self.caught("run cancel")

    def test_a_step_waits_for_the_one_before_it(self):
        self.of(child_id("a", 3, 3)).started = 12.5
        self.caught("order")

    def test_a_step_waits_for_all_of_the_one_before_it(self):
        self.ledger.remove(self.of(child_id("a", 3, 3)))
        self.caught("order")

    def test_values_are_those_of_the_accepted_results(self):
        self.rows[child_id("a", 3, 3)]["result"] = {"run": "another"}
        self.caught("values")

    def test_runs_that_hold_a_lock_do_not_overlap(self):
        self.of(child_id("a", 9, 0)).ended = 30.5
        self.caught("run lock")

    def test_all_of_a_run_has_its_token(self):
        self.of(child_id("a", 9, 0)).locks = {RUN_LOCK: 9}
        self.caught("run lock")

    def test_tokens_of_runs_rise(self):
        for run in self.ledger:
            run.locks = {RUN_LOCK: 7}
        self.caught("token")

    def test_executions_that_declare_a_lock_do_not_overlap(self):
        for shard in range(2):
            self.of(child_id("a", 5, shard)).locks[STEP_LOCK] = 20 + shard
        self.caught("step lock")

    def test_who_was_cancelled_may_end_after_its_lock_went_on(self):
        for shard in range(2):
            self.of(child_id("a", 5, shard)).locks[STEP_LOCK] = 20 + shard
        self.of(child_id("a", 5, 0)).accepted = False
        self.assertEqual(self.found(), [])
        late = self.of(child_id("a", 9, 0))
        late.ended, late.accepted = 30.5, False
        self.assertEqual(self.found(), [])

    def test_tokens_of_executions_rise(self):
        self.of(child_id("a", 5, 0)).locks[STEP_LOCK] = 20
        self.of(child_id("a", 6, 0)).locks[STEP_LOCK] = 20
        self.caught("token")


def hold(asked, got, until, token, **fields):
    usual = {"lock": "ledger", "client": 1, "told": "held", "lock_id": f"id-{token}"}
    return Hold(asked_at=asked, got_at=got, valid_until=until, token=token, **{**usual, **fields})


class Locks(unittest.TestCase):
    def setUp(self):
        self.holds = [hold(1.0, 1.1, 2.0, 5), hold(1.5, 2.1, 3.0, 6), hold(4.0, 4.1, 5.0, 7)]
        self.sizes = {"ledger": 1}

    def found(self):
        return list(check_locks(self.holds, self.sizes))

    def caught(self, rule):
        self.assertTrue(any(text.startswith(rule + ":") for text in self.found()), self.found())

    def test_holds_one_after_the_other_have_no_violation(self):
        self.assertEqual(self.found(), [])

    def test_two_holders_of_one_permit_are_caught(self):
        self.holds[0].valid_until = 2.2
        self.caught("holders")

    def test_as_many_holders_as_permits_are_fine(self):
        self.holds[0].valid_until = 2.2
        self.sizes = {"ledger": 2}
        self.assertEqual(self.found(), [])

    def test_a_token_that_falls_is_caught(self):
        self.holds[2].token = 4
        self.caught("token")

    def test_a_token_that_is_given_twice_is_caught(self):
        self.holds[1].token = 5
        self.caught("token")

    def test_a_waiter_that_is_forgotten_is_caught(self):
        self.holds.append(Hold("ledger", 2, 1.0))
        self.caught("waiter")

    def test_a_lock_that_nobody_gets_is_caught(self):
        self.sizes = parts_load.LOCKS
        self.caught("waiter")

    def test_an_answer_that_no_fault_explains_is_caught(self):
        self.holds[0].unexpected = "renew within the lease answered 409"
        self.caught("lock answer")


if __name__ == "__main__":
    unittest.main()
