"""What the reports show of the GPUs."""

import unittest

import golden_run
import telemetry_samples
from test_reports import Page

from reprobench_report.html import report_html
from reprobench_report.markdown import summary_md
from reprobench_report.telemetry import clock_chart, telemetry_rows

HOSTILE = "<img src=x onerror=alert(1)>|`x`"


def _run_with(*telemetry):
    """The golden run, the first attempts of which were watched."""
    documents = golden_run.documents()
    attempts = [attempt for cell in documents["verdict"]["cells"] for attempt in cell["attempts"]]
    for attempt, sample in zip(attempts, telemetry, strict=False):
        attempt["telemetry"] = sample
    return golden_run.loaded(documents)


class Telemetry(unittest.TestCase):
    def test_a_run_without_gpus_says_nothing_of_them(self):
        run = golden_run.loaded(golden_run.documents())
        self.assertEqual(telemetry_rows(run), [])
        self.assertNotIn("telemetry", report_html(run))
        self.assertNotIn("GPUs of", summary_md(run))

    def test_a_cell_of_the_cpu_beside_one_with_a_gpu_has_no_row(self):
        self.assertEqual(len(telemetry_rows(_run_with(telemetry_samples.HEALTHY, None))), 1)

    def test_what_connects_several_gpus_stands_beside_them(self):
        documents = golden_run.documents()
        attempt = documents["verdict"]["cells"][0]["attempts"][0]
        attempt["telemetry"] = telemetry_samples.HEALTHY
        attempt["links"] = ["0000:3b:00.0 and 0000:5e:00.0: PIX, 12 NVLinks: 300.0 GB/s one way"]
        pair = {"first": "0000:3b:00.0", "second": HOSTILE, "relation": "PIX", "nvlinks": 12, "nvlink_problem": ""}
        known = pair | {"bytes_per_s": 300_000_000_000, "formula": "12 NVLinks x 25000 MB/s, from NVML", "problem": ""}
        unknown = pair | {"bytes_per_s": None, "formula": "", "problem": "NVML does not tell the speed of a link"}
        head = {"schema": "reprobench/topology", "version": documents["plan"]["version"]}
        nothing = head | {"numa_nodes": [], "devices": [], "ports": [], "transports": [], "problems": []}
        documents["plan"]["host"]["topology"] = nothing | {"pairs": [known, unknown]}
        run = golden_run.loaded(documents)
        page = Page(report_html(run))
        text = " ".join(page.text)
        self.assertEqual((page.problems, page.open), ([], []))
        self.assertIn("12 NVLinks: 300.0 GB/s one way", text)
        self.assertIn("PIX, 12 NVLinks x 25000 MB/s, from NVML: ", text)
        self.assertIn("peak not known: NVML does not tell the speed of a link", text)
        self.assertIn(r"12 NVLinks: 300\.0 GB/s one way", summary_md(run))

    def test_what_speaks_against_a_measurement_comes_first(self):
        run = _run_with(
            telemetry_samples.HEALTHY, telemetry_samples.absent(), telemetry_samples.throttled(), telemetry_samples.faulty()
        )
        words = [row.word for row in telemetry_rows(run)]
        self.assertEqual(words, ["device fault", "throttled", "incomplete", "valid"])

    def test_the_page_shows_clocks_temperature_power_and_every_throttle_word(self):
        page = Page(report_html(_run_with(telemetry_samples.throttled())))
        text = " ".join(page.text)
        self.assertEqual((page.problems, page.open), ([], []))
        for shown in (
            "1965–1980, median 1980", "48–61, median 55", "310–415, median 402", "limit 700", "90–99, median 97",
            "0x1000 1 of 20, hw_thermal_slowdown 6 of 20", "6 of 20", "the GPU held itself back", "GPU-a",
        ):  # fmt: skip
            self.assertIn(shown, text)
        self.assertIn("telemetry", page.attributes("id"))

    def test_steps_that_were_left_out_are_counted_with_their_reason(self):
        row, healthy = telemetry_rows(_run_with(telemetry_samples.HEALTHY, telemetry_samples.throttled_for_a_moment()))
        self.assertEqual((row.word, row.word_class, row.steps_left_out), ("valid in part", "passed", "810 of 2700"))
        self.assertEqual((healthy.word, healthy.sentence, healthy.steps_left_out), ("valid", "", "0 of 2700"))
        run = _run_with(telemetry_samples.throttled_for_a_moment())
        for report in (report_html(run), summary_md(run).replace("\\", "")):
            self.assertIn("810 of 2700 steps left out: 810 throttled (hw_thermal_slowdown)", report)

    def test_the_chart_marks_the_readings_that_were_invalidated(self):
        bad, good = telemetry_rows(_run_with(telemetry_samples.throttled(), telemetry_samples.HEALTHY))
        self.assertEqual(clock_chart(bad).count("v5"), 6)
        self.assertIn("6 of 24 readings shown are invalidated", clock_chart(bad))
        self.assertNotIn("bad", clock_chart(good))

    def test_absent_telemetry_has_a_row_with_its_reason_and_no_chart(self):
        run = _run_with(telemetry_samples.absent())
        self.assertEqual(clock_chart(telemetry_rows(run)[0]), "")
        for report in (report_html(run), summary_md(run)):
            self.assertIn("NVML has not answered for 2", report)

    def test_the_summary_counts_the_objections(self):
        summary = summary_md(_run_with(telemetry_samples.HEALTHY, telemetry_samples.throttled()))
        self.assertIn("GPUs of 2 attempts, 1 with an objection", summary)
        self.assertIn("| throttled |", summary)

    def test_a_hostile_name_stays_text(self):
        sample = telemetry_samples.throttled()
        sample["gpus"][0]["name"] = sample["invalid_sentence"] = HOSTILE
        sample["clock_events"] = {HOSTILE: 1}
        page = Page(report_html(_run_with(sample)))
        self.assertNotIn("img", {tag for tag, _ in page.elements})
        self.assertNotIn("<img", summary_md(_run_with(sample)))


if __name__ == "__main__":
    unittest.main()
