"""What the three reports say about the golden run, byte for byte, and about runs with little in them."""

import base64
import csv
import hashlib
import io
import os
import re
import subprocess
import sys
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

import golden_run

from reprobench_report import markdown
from reprobench_report.csv_export import checks_csv
from reprobench_report.html import report_html
from reprobench_report.markdown import summary_md

VOID = {"meta", "br", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """Elements, attributes and text of a page; fails on tags that do not pair up."""

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.elements, self.open, self.text, self.problems = [], [], [], []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> closes something else")

    def handle_data(self, data):
        self.text.append(data)

    def attributes(self, name):
        return [attributes[name] for _, attributes in self.elements if name in attributes]


class GoldenRun(unittest.TestCase):
    """To approve a change that is meant: python3 -m reprobench_report reports/tests/golden/run-2.0, and read the diff."""

    def test_reports_equal_the_approved_ones(self):
        run = golden_run.loaded(golden_run.documents())
        for name, render in (("report.html", report_html), ("summary.md", summary_md), ("checks.csv", checks_csv)):
            approved = (golden_run.GOLDEN / "report" / name).read_bytes()
            self.assertTrue(render(run).encode("utf-8") == approved, f"{name} differs from the approved one")

    def test_two_processes_write_the_same_bytes(self):
        written = []
        for seed in ("1", "2"):
            with tempfile.TemporaryDirectory() as out:
                command = [sys.executable, "-m", "reprobench_report", str(golden_run.GOLDEN), "--out", out]
                environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(golden_run.REPORTS)}
                done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
                paths = [Path(line) for line in done.stdout.splitlines()]
                self.assertEqual([path.name for path in paths], ["report.html", "summary.md", "checks.csv"])
                written.append([path.read_bytes() for path in paths])
        self.assertEqual(written[0], written[1])


class Html(unittest.TestCase):
    def setUp(self):
        self.run_ = golden_run.loaded(golden_run.documents())
        self.source = report_html(self.run_)
        self.page = Page(self.source)

    def test_elements_pair_up_and_ids_are_unique(self):
        self.assertEqual((self.page.problems, self.page.open), ([], []))
        ids = self.page.attributes("id")
        self.assertEqual(len(ids), len(set(ids)))

    def test_it_runs_nothing_and_loads_nothing(self):
        self.assertNotIn("script", {tag for tag, _ in self.page.elements})
        self.assertEqual(self.page.attributes("src"), [])
        self.assertEqual({target[0] for target in self.page.attributes("href")}, {"#"})
        self.assertNotIn("@import", self.source)
        self.assertEqual(re.findall(r"url\((?!#)", self.source), [])

    def test_the_policy_allows_exactly_its_style_sheet(self):
        style = re.search(r"<style>(.*?)</style>", self.source, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        policy = next(a["content"] for _, a in self.page.elements if a.get("http-equiv") == "Content-Security-Policy")
        self.assertIn("default-src 'none'", policy)
        self.assertIn(f"style-src 'sha256-{digest}'", policy)
        self.assertEqual(self.page.attributes("style"), [])

    def test_every_cell_has_an_anchor_and_every_link_a_target(self):
        ids = set(self.page.attributes("id"))
        self.assertTrue({f"c-{cell['cell_id']}" for cell in self.run_.cells} <= ids)
        self.assertTrue({target[1:] for target in self.page.attributes("href")} <= ids)

    def test_each_finding_shows_limit_origin_sentence_and_how_to_reproduce_it(self):
        text = " ".join(self.page.text)
        for cell in self.run_.cells:
            if cell["outcome"] in ("failed", "errored", "inconclusive"):
                self.assertIn(cell["reproduce"], text)
                for check in cell["checks"]:
                    for shown in (check["bound"], check["origin"], check["sentence"]):
                        self.assertIn(shown, text)

    def test_the_verdict_stands_before_the_matrix(self):
        self.assertLess(self.source.index("v2.9 NOT qualified"), self.source.index('id="matrix"'))

    def test_tables_name_their_headers(self):
        self.assertTrue(all("scope" in attributes for tag, attributes in self.page.elements if tag == "th"))


class SmallRuns(unittest.TestCase):
    def _render(self, keep):
        changed = golden_run.documents()
        for name in ("verdict", "plan"):
            wanted = [index for index, cell in enumerate(golden_run.documents()["verdict"]["cells"]) if keep(cell)]
            changed[name]["cells"] = [changed[name]["cells"][index] for index in wanted]
        cells = changed["verdict"]["cells"]
        totals = changed["verdict"]["totals"]
        for name in totals:
            totals[name] = len(cells) if name == "planned" else sum(cell["outcome"] == name for cell in cells)
        if not cells:
            changed["verdict"]["environments"] = []
        run = golden_run.loaded(changed)
        page = Page(report_html(run))
        self.assertEqual((page.problems, page.open), ([], []))
        return page, summary_md(run), checks_csv(run)

    def test_a_run_without_cells_is_reported(self):
        _, summary, table = self._render(lambda cell: False)
        self.assertIn("0 cells planned", summary)
        self.assertEqual(len(list(csv.reader(io.StringIO(table)))), 1)

    def test_a_run_in_which_everything_was_skipped_is_reported(self):
        page, summary, table = self._render(lambda cell: cell["outcome"] == "skipped")
        self.assertIn("No cell that ran has a reference stack", " ".join(page.text))
        self.assertIn("63 cells not run", summary)
        self.assertEqual(len(list(csv.reader(io.StringIO(table)))), 1 + 63)

    def test_a_run_without_findings_has_no_findings_section(self):
        page, _, _ = self._render(lambda cell: cell["outcome"] == "passed")
        self.assertNotIn("attention", page.attributes("id"))

    def test_a_file_of_the_users_is_named_with_what_it_held_unless_its_cells_were_left_out(self):
        changed = golden_run.documents()
        cells = changed["plan"]["cells"]
        for cell, file, skip in ((cells[0], "/<my>.json", None), (cells[1], "/left.json", "deselected"), (cells[2], "/<my>.json", None)):
            cell["data_file"] = file
            cell["request"]["workload"]["data_sha256"] = "5f" * 32
            cell["skip"] = skip and {"rule": skip, "reason": "left out by --cell x"}
        cells[0]["weights_file"] = "/w.safetensors"
        cells[0]["request"]["workload"]["weights_sha256"] = "6a" * 32
        text = Page(report_html(golden_run.loaded(changed))).text
        self.assertEqual([part for part in text if "5f5f" in part], ["/<my>.json, SHA-256 " + "5f" * 32])
        places = [i for i, part in enumerate(text) if "6a6a" in part]
        self.assertEqual([text[i] for i in places], ["/w.safetensors, SHA-256 " + "6a" * 32])
        self.assertEqual(text[places[0] - 1], "Weights")

    def test_a_stack_that_never_ran_has_no_fingerprint_and_is_reported(self):
        changed = golden_run.documents()
        changed["verdict"]["environments"][2]["fingerprint"] = None
        text = " ".join(Page(report_html(golden_run.loaded(changed))).text)
        self.assertIn("only declared versions are compared", text)

    def test_a_declared_version_is_never_shown_as_loaded(self):
        changed = golden_run.documents()
        environment = changed["verdict"]["environments"][2]
        environment.update(fingerprint=None, declared={"torch": "9.9.1", "nccl": "9.9.2"})
        crashed = self._versions(changed)
        self.assertEqual(crashed["torch"], "not known declared 9.9.1")
        self.assertEqual(crashed["nccl"], "not known declared 9.9.2")
        environment["torch_loaded"] = "9.9.0"
        told = self._versions(changed)
        self.assertEqual(told["torch"], "≠ 9.9.0")
        self.assertEqual(told["nccl"], "not known declared 9.9.2")

    def _versions(self, changed):
        """What the table of components says of the third stack."""
        text = report_html(golden_run.loaded(changed))
        table = text[text.index('<table class="versions">'):]
        rows = re.findall(r'<th scope="row">(\w+)</th>(.*?)</tr>', table[: table.index("</table>")], re.DOTALL)
        cells = {name: re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)[2] for name, row in rows}
        return {name: " ".join(re.sub(r"<[^>]*>", " ", cell).split()) for name, cell in cells.items()}


class Csv(unittest.TestCase):
    def test_there_is_a_row_for_each_check_and_for_each_cell_without_one(self):
        run = golden_run.loaded(golden_run.documents())
        rows = list(csv.DictReader(io.StringIO(checks_csv(run))))
        self.assertEqual(len(rows), sum(max(1, len(cell["checks"])) for cell in run.cells))
        self.assertEqual({row["cell_id"] for row in rows}, {cell["cell_id"] for cell in run.cells})

    def test_each_row_has_the_verdict_of_the_run_which_no_sum_of_checks_gives(self):
        documents = golden_run.documents()
        documents["verdict"]["word"] = "undecided"
        rows = list(csv.DictReader(io.StringIO(checks_csv(golden_run.loaded(documents)))))
        self.assertEqual({row["run_verdict"] for row in rows}, {"undecided"})

    def test_numbers_keep_every_digit_and_words_for_the_others(self):
        changed = golden_run.documents()
        check = next(cell["checks"][0] for cell in changed["verdict"]["cells"] if cell["checks"])
        check.update(measured=0.1 + 0.2, reference="-inf", ratio="nan", limit=-5)
        row = next(r for r in csv.DictReader(io.StringIO(checks_csv(golden_run.loaded(changed)))) if r["metric"])
        self.assertEqual(float(row["measured"]), 0.1 + 0.2)
        self.assertEqual((row["reference"], row["ratio"], row["limit"]), ("-inf", "nan", "-5"))


class Summary(unittest.TestCase):
    def test_passing_rows_go_first_when_space_is_short(self):
        run = golden_run.loaded(golden_run.documents())
        full = summary_md(run)
        budget = markdown.BUDGET_BYTES
        try:
            markdown.BUDGET_BYTES = 13_500
            short = summary_md(run)
        finally:
            markdown.BUDGET_BYTES = budget
        self.assertLessEqual(len(short.encode()), 13_500)
        failed = next(cell for cell in run.cells if cell["outcome"] == "failed")
        self.assertIn(failed["reproduce"], short)
        self.assertIn("rows left out for size", short)
        self.assertNotIn("left out", full)

    def test_the_first_line_is_the_verdict(self):
        self.assertTrue(summary_md(golden_run.loaded(golden_run.documents())).startswith("## ✕ FAILED: v2"))


if __name__ == "__main__":
    unittest.main()
