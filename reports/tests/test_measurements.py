"""What the reports say about a probe's measurements, and that a run without any has no word of them."""

import csv
import io
import unittest

import golden_run

from reprobench_report.html import report_html
from reprobench_report.markdown import summary_md
from reprobench_report.measurements import check_name, has_measurements, measurements_csv, row_of

TRIAD = {
    "repeat": 0, "operation": "triad", "labels": {"dtype": "fp32", "size": "1GiB"}, "unit": "GB/s", "status": "measured",
    "finding": "", "error_rel": None, "error_bound_rel": None, "results_compared": 0, "results_differing": 0,
    "samples": [3000.5, 3100.0, 3200.0], "peak": 3350.0, "peak_source": "H100 SXM",
    "algorithm": "", "kernels": [],
}  # fmt: skip
WRONG = {**TRIAD, "operation": "copy", "status": "wrong", "finding": "2 of 4 elements are <wrong>", "samples": []}
GEMM = {
    **TRIAD, "operation": "gemm", "labels": {"dtype": "bf16", "shape": "64x64x64"}, "unit": "TFLOP/s", "error_rel": 2.9e-3,
    "error_bound_rel": 6e-3, "samples": [0.5], "peak": None, "peak_source": "",
}  # fmt: skip
STRESS = {**GEMM, "operation": "repeated_gemm", "results_compared": 100, "results_differing": 1}


def probe_run():
    documents = golden_run.documents()
    cell = documents["verdict"]["cells"][0]
    cell["measurements"] = [TRIAD, WRONG, {**GEMM, "algorithm_unknown": "nothing was <seen>"}, STRESS, {**TRIAD, "repeat": 1, "samples": [1.0]}]
    for check in cell["checks"][:1]:
        check["of"] = "triad to peak"
    return golden_run.loaded(documents)


class Rows(unittest.TestCase):
    def test_a_row_has_median_spread_and_share_of_the_data_sheet(self):
        row = row_of(TRIAD)
        self.assertEqual((row.labels, row.value, row.spread), ("fp32 1GiB", "3\u202f100\u00a0GB/s", "3\u202f000\u00a0GB/s to 3\u202f200\u00a0GB/s"))
        self.assertEqual((row.share, row.correct), ("92.5\u00a0%", "exact"))

    def test_a_wrong_result_shows_its_finding_and_no_rate(self):
        row = row_of(WRONG)
        self.assertEqual((row.value, row.share, row.correct), ("–", "–", "2 of 4 elements are <wrong>"))

    def test_errors_and_repetitions_say_what_was_compared(self):
        self.assertEqual(row_of(GEMM).correct, "0.002900 to fp64, at most 0.006000")
        self.assertEqual(row_of(STRESS).correct, "1 of 100 repetitions differ")
        self.assertEqual(row_of(GEMM).share, "–")

    def test_how_a_library_did_it_is_told_or_why_that_is_not_known(self):
        self.assertEqual(row_of(GEMM).how, "")
        self.assertEqual(row_of({**GEMM, "algorithm": "gemm"}).how, "by gemm")
        self.assertEqual(row_of({**GEMM, "algorithm_unknown": "nothing was seen"}).how, "by what is not known: nothing was seen")

    def test_checks_of_one_metric_are_told_apart_by_their_operation(self):
        self.assertEqual(check_name({"metric": "device.bandwidth", "of": "triad"}), "device.bandwidth of triad")
        self.assertEqual(check_name({"metric": "memory.peak_rss"}), "memory.peak_rss")


class Reports(unittest.TestCase):
    def test_html_and_markdown_have_the_measurements_of_the_first_repeat(self):
        run = probe_run()
        page, summary = report_html(run), summary_md(run)
        self.assertIn('id="measurements"', page)
        self.assertIn("2 of 4 elements are &lt;wrong&gt;", page)
        self.assertIn("by what is not known: nothing was &lt;seen&gt;", page)
        self.assertNotIn("<wrong>", page + summary)
        self.assertIn("triad fp32 1GiB", summary)
        self.assertEqual(summary.count("triad fp32 1GiB"), 1)
        if run.cells[0]["checks"]:
            self.assertIn("of triad to peak", page)

    def test_the_csv_has_a_row_a_sample_and_one_for_what_was_not_timed(self):
        rows = list(csv.DictReader(io.StringIO(measurements_csv(probe_run()))))
        triad = [row for row in rows if row["operation"] == "triad" and row["repeat"] == "0"]
        self.assertEqual([(row["sample"], float(row["value"])) for row in triad], [("1", 3000.5), ("2", 3100.0), ("3", 3200.0)])
        wrong = [row for row in rows if row["operation"] == "copy"]
        self.assertEqual([(row["status"], row["value"]) for row in wrong], [("wrong", "")])
        self.assertEqual({row["operation"]: row["algorithm_unknown"] for row in rows}["gemm"], "nothing was <seen>")

    def test_a_run_of_trainings_has_no_such_section(self):
        run = golden_run.loaded(golden_run.documents())
        self.assertFalse(has_measurements(run))
        self.assertNotIn('id="measurements"', report_html(run))
        self.assertNotIn("What the device gave", summary_md(run))


if __name__ == "__main__":
    unittest.main()
