"""Where a step's time goes, in the page and in phases.csv; a run without phases has no word of them."""

import csv
import io
import re
import tempfile
import unittest
from pathlib import Path

import golden_run

from reprobench_report.__main__ import write_reports
from reprobench_report.html import report_html
from reprobench_report.phases import has_phases, phase_bars, phases_csv

DATA = {"phase": "data", "measured_ns": 100000.5, "reference_ns": 100000.0, "ratio": 1.0, "ratio_low": 0.9, "ratio_high": 1.1}
BACKWARD = {
    "phase": "backward", "measured_ns": 300000.0, "reference_ns": 100000.0, "ratio": 3.0, "ratio_low": 2.5, "ratio_high": 3.5,
}  # fmt: skip
ALONE = {"phase": "data", "measured_ns": 5.0, "reference_ns": None, "ratio": None, "ratio_low": None, "ratio_high": None}


def timed_documents():
    documents = golden_run.documents()
    documents["verdict"]["cells"][0]["checks"][0]["phases"] = [DATA, BACKWARD]
    return documents


class Bars(unittest.TestCase):
    def widths(self, phases):
        return [(row, float(width)) for row, width in re.findall(r'y="(\d+)" width="([\d.]+)"', phase_bars(phases))]

    def test_both_sides_are_drawn_on_one_scale(self):
        self.assertEqual(self.widths([DATA, BACKWARD]), [("0", 105.0), ("0", 315.0), ("14", 105.0), ("14", 105.0)])

    def test_without_a_reference_there_is_one_bar(self):
        self.assertEqual(self.widths([ALONE]), [("0", 420.0)])
        self.assertIn("<title>this cell 5\u00a0ns</title>", phase_bars([ALONE]))

    def test_no_time_at_all_draws_nothing(self):
        self.assertEqual(self.widths([{**ALONE, "measured_ns": 0.0}]), [("0", 0.0)])


class Reports(unittest.TestCase):
    def test_the_page_has_a_row_a_phase_and_marks_those_that_moved(self):
        page = report_html(golden_run.loaded(timed_documents()))
        self.assertIn("Where the step goes", page)
        rows = re.findall(r'<tr class="p-(\w+)">.*?class="n( moved)?">×', page, flags=re.DOTALL)
        self.assertEqual(rows, [("data", ""), ("backward", " moved")])

    def test_the_csv_has_every_number_at_full_precision(self):
        rows = list(csv.DictReader(io.StringIO(phases_csv(golden_run.loaded(timed_documents())))))
        self.assertEqual([row["phase"] for row in rows], ["data", "backward"])
        self.assertEqual((rows[0]["measured_ns"], rows[1]["ratio_low"]), ("100000.5", "2.5"))
        self.assertEqual(rows[0]["cell_id"], golden_run.documents()["verdict"]["cells"][0]["cell_id"])

    def test_a_run_without_phases_has_no_word_of_them_and_no_file(self):
        run = golden_run.loaded(golden_run.documents())
        self.assertFalse(has_phases(run))
        self.assertNotIn("phasebars", report_html(run))
        with tempfile.TemporaryDirectory() as folder:
            for documents, expected in ((golden_run.documents(), False), (timed_documents(), True)):
                paths = write_reports(golden_run.write_run(Path(folder), documents), Path(folder) / "out")
                self.assertEqual("phases.csv" in [path.name for path in paths], expected)

    def test_no_file_of_an_earlier_report_stays_beside_one_that_has_none(self):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            for documents, expected in ((timed_documents(), True), (golden_run.documents(), False)):
                write_reports(golden_run.write_run(Path(folder), documents), out)
                self.assertEqual((out / "phases.csv").exists(), expected)


if __name__ == "__main__":
    unittest.main()
