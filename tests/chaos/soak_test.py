#!/usr/bin/env python3
"""What soak.py takes for a flat line, and what not."""
import dataclasses
import unittest

import soak

LEVEL = soak.Sample(at=0, memory_mb=80, descriptors=60, threads=9, store_mb=40, late_ms=20)


def line(**slopes):
    """An hour of samples; of what is named, so much more at the end than at the beginning."""
    return [dataclasses.replace(LEVEL, at=number * 18.0,
                                **{name: getattr(LEVEL, name) + more * number / 199
                                   for name, more in slopes.items()})
            for number in range(200)]


class Growth(unittest.TestCase):
    def test_a_level_is_flat(self):
        self.assertEqual(soak.growth(line()), [])

    def test_what_grows_is_told(self):
        for name, more in {"memory_mb": 400, "descriptors": 200, "threads": 40, "store_mb": 600,
                           "late_ms": 60_000}.items():
            with self.subTest(name):
                self.assertIn(name, " ".join(soak.growth(line(**{name: more}))))

    def test_what_grows_only_at_first_is_warming_up(self):
        samples = line()
        for sample in samples[:60]:
            sample.memory_mb = 20
        self.assertEqual(soak.growth(samples), [])

    def test_one_peak_is_no_growth(self):
        samples = line()
        samples[-5].memory_mb = 2000
        self.assertEqual(soak.growth(samples), [])

    def test_too_few_samples_are_no_proof(self):
        self.assertIn("too few", soak.growth(line()[:5])[0])


if __name__ == "__main__":
    unittest.main()
