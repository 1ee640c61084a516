"""What `takt bench` measures, with a scheduler and workers of its own, and how it says that it cannot."""
import unittest

from harness import TaktTest


class Bench(TaktTest):
    def test_bench_measures_with_processes_of_its_own(self):
        # Somebody wants to know what this machine can do.
        report = self.takt_json("bench", "--tasks", "2000", "--single", "50", "--drain", "500",
                                "--pending", "100", "--rate", "100", "--latency-for", "500ms",
                                "--workers", "1")
        phases = report["phases"]
        self.assertEqual({name: phase["tasks"] for name, phase in phases.items()},
                         {"pending": 100, "single": 50, "bulk": 500, "drain": 500,
                          "submitted": 2000, "end_to_end": 2000, "latency": 50})
        for phase in phases.values():
            self.assertGreater(phase["per_second"], 0)
        self.assertEqual(phases["latency"]["ms"]["tasks"], 50)
        self.assertGreater(phases["latency"]["ms"]["p50"], 0)
        self.assertEqual([row["name"] for row in report["processes"]],
                         ["scheduler", "worker 1", "this client"])
        self.assertIn("embedded", report["store"])

    def test_bench_says_at_once_which_key_to_raise_when_a_queue_is_full(self):
        # Somebody measures more tasks than may wait: nothing runs that would make room.
        said = self.refused(5, "bench", "--tasks", "0", "--drain", "2000", "--latency-for", "0s",
                            "--workers", "1", "--set", "scheduler.queue_size=500", timeout=60)
        self.assertIn("is full: 500 executions wait in it", said)
        self.assertIn("Raise scheduler.queue_size", said)

    def test_bench_measures_fleets_larger_than_the_machine(self):
        # Somebody plans for a thousand workers and has a laptop.
        report = self.takt_json("bench", "--tasks", "500", "--latency-for", "0s", "--workers", "2",
                                "--sessions", "20", "--capacity", "2", "--payload", "1000")
        self.assertEqual(report["phases"]["end_to_end"]["tasks"], 500)
        self.assertEqual((report["workers"], report["sessions"], report["payload_bytes"]),
                         (2, 20, 1000))


if __name__ == "__main__":
    unittest.main()
