"""Numbers for people."""

import unittest

import golden_run  # noqa: F401  (puts the package on the path)

from reprobench_report.quantity import duration, exact, human, percent, significant
from reprobench_report.svg import bullet, outcome_bar, step_strip


class Quantities(unittest.TestCase):
    def test_units_scale_to_a_readable_size(self):
        for number, unit, text in (
            (171234.5, "ns", "171.2\u00a0µs"),
            (999, "ns", "999\u00a0ns"),
            (2.5e9, "ns", "2.500\u00a0s"),
            (431284224, "bytes", "411.3\u00a0MiB"),
            (0, "bytes", "0\u00a0B"),
            (180883.2, "1/s", "180\u202f883\u00a0/s"),
            (1.1e-6, "rel", "1.100e-6"),
            (3, "step", "3"),
            (None, "ns", "–"),
            ("nan", "ns", "nan"),
            ("-inf", "bytes", "-inf"),
        ):
            self.assertEqual(human(number, unit), text)

    def test_the_exact_value_is_kept_beside(self):
        self.assertEqual(exact(0.1 + 0.2, "ns"), "0.30000000000000004 ns")
        self.assertEqual(exact("inf", "ns"), "inf ns")

    def test_percentages_carry_sign_and_infinity(self):
        self.assertEqual(percent(-0.263, signed=True), "\u221226.3\u00a0%")
        self.assertEqual(percent(0.9998, signed=True), "+100\u00a0%")
        self.assertEqual(percent("-inf"), "\u2212∞")
        self.assertEqual(percent("nan"), "nan")

    def test_durations_and_digits(self):
        self.assertEqual(duration(579204118332), "9\u00a0min 39\u00a0s")
        self.assertEqual(duration(7_500_000_000_000), "2\u00a0h 05\u00a0min")
        self.assertEqual(significant(0.9680), "0.9680")


class Drawings(unittest.TestCase):
    CHECK = {
        "better": "lower", "status": "passed", "unit": "ns", "measured": 10, "limit": 0.05, "ratio": 1.02, "ratio_low": 1.01,
        "ratio_high": 1.03,
    }  # fmt: skip

    def test_a_ratio_is_drawn_with_limit_and_interval_and_says_so(self):
        drawn = bullet(self.CHECK, "max_regression")
        self.assertIn("<title>ratio 1.020, limit 1.050, interval 1.010 to 1.030</title>", drawn)
        self.assertIn('class="span"', drawn)

    def test_the_limit_of_a_rate_lies_below_its_reference(self):
        self.assertIn("limit 0.9500", bullet({**self.CHECK, "better": "higher"}, "max_regression"))

    def test_nothing_is_drawn_without_numbers(self):
        self.assertEqual(bullet({**self.CHECK, "ratio": "nan"}, "max_regression"), "")
        self.assertEqual(bullet({**self.CHECK, "measured": None}, "max"), "")
        self.assertEqual(bullet({**self.CHECK, "limit": 0}, "max"), "")
        self.assertEqual(step_strip(5, 0), "")
        self.assertEqual(outcome_bar([("passed", 0)]), "")

    def test_a_single_failure_among_thousands_is_wide_enough_to_see(self):
        self.assertIn('<rect class="failed" x="0.0" y="0" width="6.2"', outcome_bar([("failed", 1), ("passed", 5000)]))


if __name__ == "__main__":
    unittest.main()
