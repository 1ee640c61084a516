"""Finding an execution by what is in it, and a queue's past, by the command line."""
import unittest

from harness import QUICK, TaktTest, until


class Finding(TaktTest):
    def setUp(self):
        super().setUp()
        self.serve("--with-worker", "--demo", *QUICK)
        until(lambda: self.takt_json("workers")["items"], "the worker is attached")

    def test_an_order_is_found_by_its_number_in_the_parameters(self):
        # Somebody has the number of an order and nothing else.
        for number in (4711, 4712):
            self.takt("submit", "echo", '{"order": {"id": %d}}' % number, "--id", f"order-{number}", "--wait")
        self.assertIn("order-4711", self.takt("list", "--search", "4711"))
        exact = self.takt_json("list", "--parameters", "order.id=4712")
        self.assertEqual([item["id"] for item in exact["items"]], ["order-4712"])
        self.assertIn("order.id=4711", self.refused(2, "list", "--parameters", "4711"))

    def test_a_queue_that_was_idle_says_so_in_its_history(self):
        self.takt("submit", "echo", "{}", "--wait")
        history = self.takt_json("queues", "history", "default", "--minutes", "5")
        self.assertEqual((history["step"], history["kept"]), ("1m", True))
        self.assertIn("nothing was ever put", self.refused(3, "queues", "history", "nowhere"))


if __name__ == "__main__":
    unittest.main()
