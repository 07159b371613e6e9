"""Shares of a peak, in the page and in the summary, with the convention's name; a run without them has no word of them."""

import csv
import io
import unittest

import golden_run

from reprobench_report.csv_export import checks_csv
from reprobench_report.html import report_html
from reprobench_report.limits import limit_rows
from reprobench_report.markdown import summary_md

SENTENCE = "40.0 % >= 5.00 %; 0.02 GFLOP a step (matrix products, PaLM appendix B) at 20 GFLOP/s of 50 GFLOP/s, fp32 <b>"


def limited_documents(measured=0.4):
    documents = golden_run.documents()
    check = documents["verdict"]["cells"][0]["checks"][0]
    check |= {"metric": "throughput.gemm_peak_share", "unit": "rel", "measured": measured, "sentence": SENTENCE}
    return documents


class Limits(unittest.TestCase):
    def test_a_share_has_its_value_and_the_name_of_the_convention(self):
        (row,) = limit_rows(golden_run.loaded(limited_documents()))
        self.assertEqual((row.limit, row.value, row.sentence), ("fastest product measured", "40.0\u00a0%", SENTENCE))

    def test_a_share_that_is_missing_is_a_dash_and_its_reason(self):
        (row,) = limit_rows(golden_run.loaded(limited_documents(None)))
        self.assertEqual((row.value, row.sentence), ("–", SENTENCE))

    def test_page_summary_and_csv_say_it_and_nothing_in_it_is_markup(self):
        run = golden_run.loaded(limited_documents())
        page, summary = report_html(run), summary_md(run)
        for written in (page, summary):
            self.assertIn("Against what the machine can do", written)
            self.assertIn("matrix products, PaLM appendix B", written)
            self.assertNotIn("fp32 <b>", written)
        rows = csv.DictReader(io.StringIO(checks_csv(run)))
        self.assertIn("PaLM appendix B", next(row["sentence"] for row in rows if row["metric"] == "throughput.gemm_peak_share"))

    def test_a_run_without_shares_has_no_word_of_them(self):
        run = golden_run.loaded(golden_run.documents())
        self.assertEqual(limit_rows(run), [])
        self.assertNotIn("Against what the machine can do", report_html(run) + summary_md(run))


if __name__ == "__main__":
    unittest.main()
