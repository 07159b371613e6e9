"""The words a report may say: what did not run, was not asked, was planted or only recorded is never shown as a pass."""

import unittest

import golden_run

from reprobench_report.html import report_html
from reprobench_report.markdown import summary_md
from reprobench_report.overview import cells_that_ran, dimension_counts, first_of_each, recorded_over


def plain(markdown):
    """Without the escapes that keep text from becoming markup."""
    return markdown.replace("\\", "").replace("&#95;", "_")


def recount(changed):
    verdict = changed["verdict"]
    names = [name for name in verdict["totals"] if name != "planned"] + ["recorded"]
    verdict["totals"].update({name: sum(cell["outcome"] == name for cell in verdict["cells"]) for name in names})
    return golden_run.loaded(changed)


def first_passed(changed):
    return next(cell for cell in changed["verdict"]["cells"] if cell["outcome"] == "passed" and cell["checks"])


class Words(unittest.TestCase):
    def test_of_each_metric_over_its_bound_the_first_are_shown_and_the_rest_counted(self):
        over = [(cell, {"metric": metric}) for cell, metric in ((1, "a"), (2, "b"), (3, "a"), (4, "a"))]
        shown = [(metric, [cell for cell, _ in found], more) for metric, found, more in first_of_each(over, 2)]
        self.assertEqual(shown, [("a", [1, 3], 1), ("b", [2], 0)])
        self.assertEqual([more for _, _, more in first_of_each(over, 3)], [0, 0])

    def test_a_recorded_cell_is_counted_and_shown_apart_from_the_passed(self):
        changed = golden_run.documents()
        passed = changed["verdict"]["totals"]["passed"]
        cell = first_passed(changed)
        cell.update(outcome="recorded", reason="nothing_armed", sentence="ran to completion; nothing was asked")
        run = recount(changed)
        page, summary = report_html(run), plain(summary_md(run))
        self.assertIn('<td class="o recorded">', page)
        self.assertIn("<b>1</b> recorded", page)
        self.assertIn("Of 1&nbsp;cell nothing was asked", page)
        self.assertIn(f"**{passed - 1}** passed, **1** recorded", summary)
        self.assertIn("1 cells ran and were asked nothing", summary)

    def test_what_is_over_its_bound_and_only_recorded_stands_on_the_first_screen_with_the_line_that_disarmed_it(self):
        changed = golden_run.documents()
        cell = first_passed(changed)
        cell["checks"][0].update(
            gate="record_only", status="failed", sentence="x1.498, worse", gate_origin="matrix/v2.9.yaml:38:7"
        )
        run = recount(changed)
        page = report_html(run)
        for document in (page[: page.index('id="matrix"')], plain(summary_md(run))):
            self.assertIn("x1.498, worse", document)
            self.assertIn("matrix/v2.9.yaml:38:7", document)

    def test_gains_are_counted_within_what_passed(self):
        check = {"dimension": "memory", "gate": "record_only", "status": "passed", "gain": True}
        memory = dimension_counts([{"checks": [check, {**check, "gate": "armed"}]}])[2]
        self.assertEqual((memory.gains, memory.passed, memory.recorded), (1, 1, 1))

    def test_a_recorded_failure_is_counted_within_what_only_records(self):
        check = {"dimension": "memory", "gate": "record_only", "status": "failed", "gain": False}
        memory = dimension_counts([{"checks": [check]}])[2]
        self.assertEqual((memory.failed, memory.recorded, memory.recorded_over), (0, 1, 1))

    def test_what_is_recorded_of_context_stacks_comes_behind_the_candidates(self):
        check = {"metric": "m", "gate": "record_only", "status": "failed"}
        cells = [
            {"coordinates": {"stack": stack}, "required": stack == "new", "checks": [check]} for stack in ("a", "new", "b")
        ]
        self.assertEqual([cell["coordinates"]["stack"] for cell, _ in recorded_over(cells)], ["new", "a", "b"])

    def test_cells_that_an_interrupted_run_did_not_finish_did_not_run(self):
        outcomes = ("passed", "failed", "errored", "inconclusive", "recorded", "unfinished", "skipped")
        self.assertEqual(cells_that_ran([{"outcome": outcome, "attempts": [{}]} for outcome in outcomes]), 5)

    def test_one_line_a_dimension_stands_before_the_matrix_and_a_drill_before_everything(self):
        changed = golden_run.documents()
        verdict = changed["verdict"]
        verdict["planted"] = ["weight_ulp at step 20, fc1.weight[5] in 1 cell"]
        verdict["sentence"] = "DRILL, planted: weight_ulp at step 20, fc1.weight[5] in 1 cell: no verdict on v2.9; found"
        verdict["dimensions"] = [
            {"dimension": "numerics", "word": "failed", "sentence": "bits equal to torch-2.8.0 in 4 of 6 cells"},
            {"dimension": "communication", "word": "not_checked", "sentence": "not checked"},
        ]
        run = golden_run.loaded(changed)
        page, summary = report_html(run), plain(summary_md(run))
        self.assertIn('<h1 id="sentence">DRILL, planted', page)
        self.assertLess(page.index("bits equal to torch-2.8.0 in 4 of 6 cells"), page.index('id="matrix"'))
        self.assertIn("DRILL", summary.splitlines()[0])
        self.assertIn("- **numerics** failed: bits equal to torch-2.8.0 in 4 of 6 cells", summary)
        self.assertIn("- **not checked** communication", summary)
        self.assertLess(page.index("<dt>not checked</dt><dd>communication</dd>"), page.index('id="matrix"'))

    def test_each_finding_says_what_to_do_next(self):
        changed = golden_run.documents()
        cell = next(cell for cell in changed["verdict"]["cells"] if cell["outcome"] == "failed")
        cell["next"] = "reprobench explain 0123 numerics.final_loss --run r-1"
        run = golden_run.loaded(changed)
        for document in (report_html(run), plain(summary_md(run))):
            self.assertIn(cell["next"], document)


if __name__ == "__main__":
    unittest.main()
