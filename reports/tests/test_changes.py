"""What each change did: who counts as equal, how cells are grouped, and which ratio is the worst."""

import copy
import itertools
import unittest

import golden_run

from reprobench_report.changes import Bits, changes_of, dimensions_of, workloads_of
from reprobench_report.html import report_html
from reprobench_report.markdown import summary_md


def cell(identifier, bits, coordinates, reference=None, checks=(), **more):
    return {
        "cell_id": identifier, "slug": identifier, "outcome": "passed", "reference_bits": bits, "coordinates": coordinates,
        "reference_cell_id": reference, "checks": list(checks), **more,
    }  # fmt: skip


def ratio(dimension, value, better="lower", gate="armed"):
    return {"dimension": dimension, "gate": gate, "status": "passed", "ratio": value, "better": better, "metric": "m"}


class FakeRun:
    def __init__(self, *cells):
        self.cells = list(cells)


class Squares(unittest.TestCase):
    def test_they_count_what_the_verdict_said_of_each_cell(self):
        bits = Bits()
        for word in ("equal", "differs", "not_comparable", "equal", "equal", "not_comparable"):
            bits.add({"slug": word}, word)
        self.assertEqual((bits.equal, bits.differing, bits.open), (3, [{"slug": "differs"}], 2))

    def test_a_square_says_how_many_where_not_all_are_alike(self):
        one, two = [cell("a", "differs", {})], [cell("a", "differs", {}), cell("b", "differs", {})]
        self.assertEqual([bits.text for bits in (Bits(2), Bits(0, two), Bits(1, one), Bits(1, one, 1), Bits(0, [], 2), Bits(1, [], 1))],
                         ["=", "≠", "≠ 1 of 2", "≠ 1 of 3", "?", "? 1 of 2"])  # fmt: skip
        self.assertEqual([bits.word for bits in (Bits(2), Bits(1, one, 1), Bits(1, [], 1))], ["equal", "differs", "open"])


class Grouping(unittest.TestCase):
    at = {"stack": "s1", "threads": "1", "workload": "mlp"}
    reference = cell("ref", "equal", at)

    def test_cells_are_grouped_by_what_they_have_instead_fewest_first(self):
        both = cell("both", "differs", {**self.at, "stack": "s2", "threads": "2"}, "ref")
        threads = cell("threads", "equal", {**self.at, "threads": "2"}, "ref")
        again = cell("again", "differs", {**self.at, "threads": "2"}, "ref")
        changes = changes_of(FakeRun(self.reference, both, threads, again))
        self.assertEqual([(c.under_test, c.reference, c.cells) for c in changes],
                         [("threads 2", "threads 1", 2), ("s2, threads 2", "s1, threads 1", 1)])  # fmt: skip
        self.assertEqual([c.bits["mlp"].text for c in changes], ["≠ 1 of 2", "≠"])
        self.assertEqual(workloads_of(changes), ["mlp"])

    def test_a_run_that_does_not_say_has_no_square(self):
        silent = cell("old", "equal", {**self.at, "threads": "2"}, "ref", [ratio("memory", 1.5)])
        del silent["reference_bits"]
        (change,) = changes_of(FakeRun(self.reference, silent))
        self.assertEqual((change.cells, change.bits, list(change.ratios)), (1, {}, ["memory"]))

    def test_what_was_skipped_or_has_no_reference_here_is_no_change(self):
        skipped = cell("s", "differs", {**self.at, "threads": "2"}, "ref", outcome="skipped")
        elsewhere = cell("e", "differs", self.at, "gone")
        self.assertEqual(changes_of(FakeRun(self.reference, skipped, elsewhere)), [])

    def test_the_worst_ratio_is_the_largest_where_less_is_better_and_the_smallest_where_more_is(self):
        cells = [
            cell(str(i), "equal", {**self.at, "stack": "s2"}, "ref", [check])
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
        documents = golden_run.documents()
        for one, word in zip(documents["verdict"]["cells"], itertools.cycle(["equal", "differs", "not_comparable"])):
            if one["reference_cell_id"] is not None:
                one["reference_bits"] = word
        run = golden_run.loaded(documents)
        changes = changes_of(run)
        self.assertTrue(changes)
        page, summary = report_html(run), summary_md(run)
        self.assertIn('id="changes"', page)
        self.assertIn("### What each change did", summary)
        self.assertGreater(len(workloads_of(changes)), 0)
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
