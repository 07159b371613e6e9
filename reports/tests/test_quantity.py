"""Numbers for people."""

import unittest

import golden_run  # noqa: F401  (puts the package on the path)

from reprobench_report.curve import curve, told
from reprobench_report.quantity import duration, exact, human, percent, significant
from reprobench_report.svg import bullet, interval, outcome_bar, step_strip


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
        self.assertEqual(bullet(self.CHECK, "band"), "")  # forbidden on both sides
        self.assertEqual(step_strip(5, 0), "")
        self.assertEqual(outcome_bar([("passed", 0)]), "")

    def test_an_interval_is_drawn_against_its_margin(self):
        self.assertIn("<title>0.2000, interval -0.5000 to 0.9000, margin ±1</title>", interval(-0.5, 0.2, 0.9, 1))
        self.assertIn('class="bullet passed"', interval(-0.5, 0.2, 0.9, 1))
        self.assertIn('class="bullet inconclusive"', interval(-0.5, 0.2, 1.1, 1))
        self.assertEqual(interval("-inf", 0, 1, 1), "")
        self.assertEqual(interval(-1, 0, 1, 0), "")

    def test_a_trajectory_is_drawn_with_its_bound_and_what_lies_over_it(self):
        points = [{"step": 10**n, "distance_rel": 10.0 ** (n - 8), "bound_rel": 2e-7} for n in range(4)]
        drawn = curve({"points": points, "horizon_step": 100})
        self.assertIn("<title>distance from step 1 to 1000, from 1.000e-8 to 1.000e-5, at most 1.000e-5; ", drawn)
        self.assertIn("2 of 4 points over the bound</title>", drawn)
        self.assertEqual(drawn.count('class="beyond"'), 2)
        self.assertIn('class="horizon"', drawn)
        self.assertNotIn("horizon", curve({"points": points, "horizon_step": 2000}))

    def test_a_trajectory_of_a_point_or_of_no_numbers_is_not_drawn(self):
        for values in ((), (1e-7,), (0, "nan", "inf", 1)):
            points = [{"step": n + 1, "distance_rel": value, "bound_rel": None} for n, value in enumerate(values)]
            self.assertEqual(curve({"points": points, "horizon_step": None}), "")

    def test_a_peak_survives_in_a_long_trajectory(self):
        points = [{"step": n, "distance_rel": 1e-3 if n == 7777 else 1e-7, "bound_rel": None} for n in range(1, 9000)]
        drawn = curve({"points": points, "horizon_step": None})
        self.assertLess(len(drawn), 5000)
        self.assertIn(" 10.0L", drawn)

    def test_the_points_told_hold_the_ends_and_the_first_over_the_bound(self):
        points = [{"step": n, "distance_rel": n, "bound_rel": 333} for n in range(1, 1001)]
        steps = [point["step"] for point in told(points)]
        self.assertLessEqual({1, 334, 1000}, set(steps))
        self.assertLess(len(steps), 15)

    def test_an_integer_no_double_can_hold_is_infinite(self):
        self.assertEqual(human(10**400, "count"), "inf")
        self.assertEqual(human(-(10**400), "count"), "-inf")

    def test_a_single_failure_among_thousands_is_wide_enough_to_see(self):
        self.assertIn('<rect class="failed" x="0.0" y="0" width="6.2"', outcome_bar([("failed", 1), ("passed", 5000)]))


if __name__ == "__main__":
    unittest.main()
