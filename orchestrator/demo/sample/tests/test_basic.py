"""Tests of tally.basic."""

import unittest

from tally.basic import mean, total


class BasicTest(unittest.TestCase):
    """Sums and means."""

    def test_total(self):
        """The total of nothing is 0."""
        self.assertEqual(total([]), 0)
        self.assertEqual(total([1, 2, 3]), 6)

    def test_mean(self):
        """The mean of nothing is an error."""
        self.assertEqual(mean([1, 2, 3]), 2)
        with self.assertRaises(ValueError):
            mean([])
