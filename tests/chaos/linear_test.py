#!/usr/bin/env python3
"""Histories that have an order, and histories that have none."""
import math
import unittest

import linear
from linear import Operation


def op(what, start, end=math.inf, outcome="ok", seen="", **more):
    if end == math.inf:
        outcome = "unknown"
    return Operation("job", what, start, end, outcome, seen, **more)


def lock(what, start, end=math.inf, outcome="ok", token=0):
    return op(what, start, end, outcome, token=token, lease=3)


class Executions(unittest.TestCase):
    def found(self, *operations):
        return list(linear.check(operations, linear.ExecutionModel))

    def assert_order(self, *operations):
        self.assertEqual(self.found(*operations), [])

    def assert_no_order(self, *operations):
        self.assertIn("no order explains", " ".join(self.found(*operations)))

    def test_what_happens_one_after_the_other(self):
        self.assert_order(op("submit", 0, 1, seen="live"), op("read", 2, 3, seen="live"),
                          op("read", 4, 5, seen="failed"), op("retry", 6, 7),
                          op("cancel", 8, 9), op("read", 10, 11, seen="cancelled"))

    def test_what_overlaps_may_have_either_order(self):
        self.assert_order(op("submit", 0, 1, seen="live"), op("cancel", 2, 5),
                          op("read", 3, 4, seen="live"))
        self.assert_order(op("submit", 0, 1, seen="live"), op("cancel", 2, 5),
                          op("read", 3, 4, seen="cancelled"))

    def test_a_read_that_misses_what_was_acknowledged_has_none(self):
        self.assert_no_order(op("submit", 0, 1, seen="live"), op("read", 2, 3, "absent"))

    def test_a_read_of_the_past_has_none(self):
        self.assert_no_order(op("submit", 0, 1, seen="live"), op("cancel", 2, 3),
                             op("read", 4, 5, seen="live"))

    def test_an_end_that_is_undone_has_none(self):
        self.assert_no_order(op("submit", 0, 1, seen="live"), op("read", 2, 3, seen="success"),
                             op("read", 4, 5, seen="live"))

    def test_a_cancel_that_is_forgotten_has_none(self):
        self.assert_no_order(op("submit", 0, 1, seen="live"), op("cancel", 2, 3),
                             op("read", 4, 5, seen="success"))

    def test_two_cancels_that_both_succeed_have_none(self):
        self.assert_no_order(op("submit", 0, 1, seen="live"), op("cancel", 2, 4), op("cancel", 3, 5))

    def test_something_read_before_anybody_submitted_it_has_none(self):
        self.assert_no_order(op("read", 0, 1, seen="live"), op("submit", 2, 3, seen="live"))

    def test_a_cancel_refused_for_what_is_live_for_certain_has_none(self):
        self.assert_no_order(op("submit", 0, 1, seen="live"), op("cancel", 2, 3, "refused"),
                             op("read", 4, 5, seen="live"))

    def test_an_unknown_submit_may_have_been_done_late_or_never(self):
        self.assert_order(op("submit", 0), op("read", 5, 6, "absent"), op("read", 7, 8, seen="live"))
        self.assert_order(op("submit", 0), op("read", 5, 6, "absent"))

    def test_an_unknown_submit_is_not_undone(self):
        self.assert_no_order(op("submit", 0), op("read", 1, 2, seen="live"), op("read", 5, 6, "absent"))

    def test_an_unknown_cancel_explains_one_end_and_no_more(self):
        self.assert_order(op("submit", 0, 1, seen="live"), op("cancel", 2),
                          op("read", 4, 5, seen="cancelled"))
        self.assert_no_order(op("submit", 0, 1, seen="live"), op("cancel", 2),
                             op("read", 4, 5, seen="cancelled"), op("read", 6, 7, seen="live"))

    def test_a_retry_of_what_has_succeeded_has_none(self):
        self.assert_no_order(op("submit", 0, 1, seen="live"), op("read", 2, 3, seen="success"),
                             op("retry", 4, 5))

    def test_a_retry_refused_for_what_was_cancelled_has_none(self):
        self.assert_no_order(op("submit", 0, 1, seen="live"), op("cancel", 2, 3),
                             op("retry", 4, 5, "refused"))

    def test_many_at_once_are_decided_in_time(self):
        crowd = [op("read", 0, 100, seen="live") for _ in range(40)]
        self.assert_order(op("submit", 0, 100, seen="live"), *crowd)


class Locks(unittest.TestCase):
    def found(self, *operations):
        return list(linear.check(operations, linear.LockModel))

    def test_one_after_the_other(self):
        self.assertEqual(self.found(lock("acquire", 0, 1, token=1), lock("acquire", 1.5, 2, "refused"),
                                    lock("release", 2, 2.5, token=1),
                                    lock("acquire", 3, 4, token=2)), [])

    def test_two_holders_have_no_order(self):
        self.assertTrue(self.found(lock("acquire", 0, 1, token=1), lock("acquire", 1.5, 2, token=2)))

    def test_a_lease_that_is_over_makes_room(self):
        self.assertEqual(self.found(lock("acquire", 0, 1, token=1), lock("acquire", 4, 5, token=2)), [])

    def test_a_renewed_lease_does_not(self):
        self.assertTrue(self.found(lock("acquire", 0, 1, token=1), lock("renew", 2, 2.5, token=1),
                                   lock("acquire", 4, 4.5, token=2)))

    def test_a_token_that_does_not_rise_has_none(self):
        self.assertTrue(self.found(lock("acquire", 0, 1, token=2), lock("release", 1, 2, token=2),
                                   lock("acquire", 3, 4, token=2)))

    def test_a_lock_refused_though_it_is_free_has_none(self):
        self.assertTrue(self.found(lock("acquire", 0, 1, token=1), lock("release", 1.1, 2, token=1),
                                   lock("acquire", 3, 4, "refused")))

    def test_a_renewal_of_what_another_holds_has_none(self):
        self.assertTrue(self.found(lock("acquire", 0, 1, token=1), lock("release", 1.1, 2, token=1),
                                   lock("acquire", 3, 4, token=2), lock("renew", 4.5, 5, token=1)))


if __name__ == "__main__":
    unittest.main()
