"""What each change did: who counts as equal, how cells are grouped, and which ratio is the worst."""

import copy
import unittest

import golden_run

from reprobench_report.changes import Bits, changes_of, compared_bits, dimensions_of, workloads_of
from reprobench_report.html import report_html
from reprobench_report.markdown import summary_md


def cell(identifier, chains, coordinates, reference=None, checks=(), **more):
    attempts = [{"repeat": i, "attempt": 0, "end": "completed", "chain": chain} for i, chain in enumerate(chains)]
    return {
        "cell_id": identifier, "slug": identifier, "outcome": "passed", "attempts": attempts, "coordinates": coordinates,
        "reference_cell_id": reference, "workload_digest": "w", "checks": list(checks), **more,
    }  # fmt: skip


def ratio(dimension, value, better="lower", gate="armed"):
    return {"dimension": dimension, "gate": gate, "status": "passed", "ratio": value, "better": better, "metric": "m"}


class FakeRun:
    def __init__(self, *cells):
        self.cells = list(cells)


class EqualBits(unittest.TestCase):
    ours = cell("a", ["x", "x"], {})

    def test_all_repeats_of_both_sides_have_to_agree(self):
        self.assertEqual(compared_bits(self.ours, cell("b", ["x", "x"], {})), "equal")
        self.assertEqual(compared_bits(self.ours, cell("b", ["x", "y"], {})), "differs")
        self.assertEqual(compared_bits(cell("b", ["x", "y"], {}), cell("c", ["x", "y"], {})), "differs")
        self.assertEqual(compared_bits(self.ours, cell("b", ["y"], {})), "differs")

    def test_a_side_without_evidence_is_not_compared(self):
        crashed = cell("b", ["x", "x"], {})
        crashed["attempts"][1]["end"] = "crash"
        without_chain = cell("b", ["x", ""], {})
        for other in (
            crashed, without_chain, cell("b", [], {}), cell("b", ["x"], {}, outcome="errored"),
            cell("b", ["x"], {}, outcome="unfinished"), cell("b", ["x"], {}, workload_digest="v"),
        ):  # fmt: skip
            self.assertEqual(compared_bits(self.ours, other), "open")
            self.assertEqual(compared_bits(other, self.ours), "open")

    def test_the_last_attempt_of_a_repeat_counts(self):
        retried = cell("b", ["y", "x"], {})
        retried["attempts"][0].update(end="crash", chain="")
        retried["attempts"].append({"repeat": 0, "attempt": 1, "end": "completed", "chain": "x"})
        self.assertEqual(compared_bits(self.ours, retried), "equal")
        retried["attempts"].reverse()
        self.assertEqual(compared_bits(self.ours, retried), "equal")

    def test_numbers_that_failed_an_armed_check_equal_nothing(self):
        wrong = {"dimension": "numerics", "gate": "armed", "status": "failed", "ratio": None}
        self.assertEqual(compared_bits(cell("b", ["x"], {}, checks=[wrong]), self.ours), "differs")
        self.assertEqual(compared_bits(self.ours, cell("b", ["x"], {}, checks=[wrong])), "differs")
        for other in ({"gate": "record_only"}, {"status": "passed"}, {"dimension": "memory"}):
            self.assertEqual(compared_bits(cell("b", ["x"], {}, checks=[{**wrong, **other}]), self.ours), "equal")

    def test_a_square_says_how_many_where_not_all_are_alike(self):
        one, two = [cell("a", ["x"], {})], [cell("a", ["x"], {}), cell("b", ["x"], {})]
        self.assertEqual([bits.text for bits in (Bits(2), Bits(0, two), Bits(1, one), Bits(1, one, 1), Bits(0, [], 2), Bits(1, [], 1))],
                         ["=", "≠", "≠ 1 of 2", "≠ 1 of 3", "?", "? 1 of 2"])  # fmt: skip
        self.assertEqual([bits.word for bits in (Bits(2), Bits(1, one, 1), Bits(1, [], 1))], ["equal", "differs", "open"])


class Grouping(unittest.TestCase):
    at = {"stack": "s1", "threads": "1", "workload": "mlp"}
    reference = cell("ref", ["x"], at)

    def test_cells_are_grouped_by_what_they_have_instead_fewest_first(self):
        both = cell("both", ["y"], {**self.at, "stack": "s2", "threads": "2"}, "ref")
        threads = cell("threads", ["x"], {**self.at, "threads": "2"}, "ref")
        again = cell("again", ["y"], {**self.at, "threads": "2"}, "ref")
        changes = changes_of(FakeRun(self.reference, both, threads, again))
        self.assertEqual([(c.under_test, c.reference, c.cells) for c in changes],
                         [("threads 2", "threads 1", 2), ("s2, threads 2", "s1, threads 1", 1)])  # fmt: skip
        self.assertEqual([c.bits["mlp"].text for c in changes], ["≠ 1 of 2", "≠"])
        self.assertEqual(workloads_of(changes), ["mlp"])

    def test_what_was_skipped_or_has_no_reference_here_is_no_change(self):
        skipped = cell("s", ["y"], {**self.at, "threads": "2"}, "ref", outcome="skipped")
        elsewhere = cell("e", ["y"], self.at, "gone")
        self.assertEqual(changes_of(FakeRun(self.reference, skipped, elsewhere)), [])

    def test_the_worst_ratio_is_the_largest_where_less_is_better_and_the_smallest_where_more_is(self):
        cells = [
            cell(str(i), ["x"], {**self.at, "stack": "s2"}, "ref", [check])
            for i, check in enumerate([
                ratio("throughput", 1.1), ratio("throughput", 0.8, "higher"), ratio("throughput", 1.2),
                ratio("memory", 0.5), ratio("numerics", 9.0), ratio("communication", None), ratio("memory", "inf"),
            ])
        ]  # fmt: skip
        (change,) = changes_of(FakeRun(self.reference, *cells))
        self.assertEqual({name: worst.ratio for name, worst in change.ratios.items()}, {"throughput": 0.8, "memory": 0.5})
        self.assertEqual(change.ratios["throughput"].cell["cell_id"], "1")
        self.assertEqual(dimensions_of([change]), ["throughput", "memory"])


class Reports(unittest.TestCase):
    def test_page_and_summary_have_the_table(self):
        run = golden_run.loaded(golden_run.documents())
        changes = changes_of(run)
        self.assertTrue(changes)
        page, summary = report_html(run), summary_md(run)
        self.assertIn('id="changes"', page)
        self.assertIn("### What each change did", summary)
        self.assertEqual(page.count('<td class="bits'), len(changes) * len(workloads_of(changes)))

    def test_a_run_without_references_has_none(self):
        documents = copy.deepcopy(golden_run.documents())
        for one in documents["verdict"]["cells"]:
            one["reference_cell_id"] = None
        run = golden_run.loaded(documents)
        self.assertNotIn('id="changes"', report_html(run))
        self.assertNotIn("What each change did", summary_md(run))


if __name__ == "__main__":
    unittest.main()
