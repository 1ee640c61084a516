#!/usr/bin/env python3
"""That mutants.py tells a mutant that was noticed from one that was not."""
import unittest

import catalog
import mutants

SIM = "100 seeds, 2673 executions\n\nseed 17 FAILED: job-1 was lost\nreplay: takt_sim --seed 17 --trace\n"


class Reading(unittest.TestCase):
    def test_the_catalog_and_the_sources_agree(self):
        self.assertEqual(mutants.check_catalog(), [])

    def test_what_the_simulator_says(self):
        mutant = catalog.Mutant("engine.x", "x", ("was lost",), sim="")
        self.assertEqual(mutants.read(mutant, SIM), ("seed 17", "job-1 was lost"))
        self.assertEqual(mutants.read(mutant, "400 seeds, 1 executions"), ("", ""))

    def test_which_tests_failed(self):
        mutant = catalog.Mutant("embedded.x", "x", ("ARepeatedBatch",), test=("store_embedded_test", "*"))
        text = "[  FAILED  ] Embedded/StoreConformance.ARepeatedBatch/embedded, where GetParam() = embedded (8 ms)"
        where, said = mutants.read(mutant, text)
        self.assertEqual(where, "ARepeatedBatch")
        self.assertIn("ARepeatedBatch", said)

    def test_another_reason_is_no_notice(self):
        said = "job-1 was lost"
        self.assertFalse(any(words in said for words in catalog.MUTANTS[0].says))


if __name__ == "__main__":
    unittest.main()
