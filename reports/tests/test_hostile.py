"""Names and messages of a run are whatever a YAML file or a worker says. None of them may act in a report."""

import csv
import io
import re
import unittest

import golden_run
from test_reports import Page

from reprobench_report import escape
from reprobench_report.csv_export import checks_csv
from reprobench_report.html import report_html
from reprobench_report.markdown import summary_md

ATTACKS = (
    "</script><img src=x onerror=alert(1)>",
    "</style><script>alert(1)</script>",
    '"\' onmouseover="alert(1)" style="x',
    "=cmd|' /C calc'!A0",
    "\u00a0 +1+1",
    "line\n@SUM(1)",
    "\x1b[31mred\x1b]0;title\x07\x00\x9b2J",
    "\ud800\ufffe\u202egnp.exe",
    "[x](javascript:alert(1)) <!-- | --> `a` @everyone https://example.org/",
    "{{ 7 * 7 }}{% raw %}",
)
# Fields whose words the schema fixes, and ids that tie the documents together.
FIXED = {
    "schema", "word", "outcome", "dimension", "better", "gate", "status", "end", "trace", "kind", "cell_id", "run_id",
    "reference_cell_id", "measured", "limit", "margin_rel",
}  # fmt: skip


def _poisoned(node, attack, key=""):
    if isinstance(node, dict):
        return {name: value if name in FIXED else _poisoned(value, attack, name) for name, value in node.items()}
    if isinstance(node, list):
        return [_poisoned(item, attack, key) for item in node]
    return attack + node if isinstance(node, str) else node


def _reports(attack):
    changed = {name: _poisoned(document, attack) for name, document in golden_run.documents().items()}
    run = golden_run.loaded(changed)
    return report_html(run), summary_md(run), checks_csv(run)


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        clean = golden_run.loaded(golden_run.documents())
        cls.clean = Page(report_html(clean))
        cls.reports = {attack: _reports(attack) for attack in ATTACKS}

    def test_html_has_the_elements_and_attributes_of_a_harmless_run(self):
        names = {(tag, tuple(sorted(attributes))) for tag, attributes in self.clean.elements}
        for attack, (html, _, _) in self.reports.items():
            page = Page(html)
            self.assertEqual((page.problems, page.open), ([], []), attack)
            self.assertEqual(
                {(tag, tuple(sorted(attributes))) for tag, attributes in page.elements} - names, set(), attack
            )
            self.assertEqual({target[0] for target in page.attributes("href")}, {"#"})

    def test_the_text_itself_is_shown(self):
        html = self.reports[ATTACKS[0]][0]
        self.assertIn("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;", html)

    def test_templates_are_not_evaluated_twice(self):
        self.assertIn("{{ 7 * 7 }}", self.reports[ATTACKS[-1]][0])

    def test_no_control_character_reaches_any_report(self):
        for attack, reports in self.reports.items():
            for report in reports:
                report.encode("utf-8")
                self.assertIsNone(
                    re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\ufffe]", report), repr(attack)
                )

    def test_no_csv_field_that_holds_text_is_a_formula(self):
        for attack, (_, _, table) in self.reports.items():
            for row in csv.reader(io.StringIO(table)):
                for field in row:
                    begins = re.match(r"[\s\u00a0]*[=+\-@\t\r]", field)
                    number = re.fullmatch(r"-?(\d+(\.\d+)?(e[+-]?\d+)?|inf)", field)
                    self.assertFalse(begins and not number, (attack, field))

    def test_markdown_has_no_markup_link_or_mention_of_theirs(self):
        for attack, (_, summary, _) in self.reports.items():
            tags = set(re.findall(r"<(/?[a-z]+)", summary, re.IGNORECASE))
            self.assertLessEqual(tags, {"details", "/details", "summary", "/summary", "code", "/code"}, attack)
            self.assertIsNone(re.search(r"(?<!\\)\]\(", summary), attack)
            self.assertNotIn("@everyone", summary)
            self.assertNotIn("://", summary)

    def test_every_markdown_row_keeps_its_columns(self):
        for attack, (_, summary, _) in self.reports.items():
            widths = []
            for line in summary.splitlines():
                if line.startswith("|"):
                    widths.append((len(re.findall(r"(?<!\\)\|", line)), line))
                elif widths:
                    self.assertEqual(len({width for width, _ in widths}), 1, (attack, widths))
                    widths = []


class EscapeFunctions(unittest.TestCase):
    def test_a_terminal_line_has_no_escape_and_no_break(self):
        self.assertEqual(escape.terminal("a\x1b[2Jb\nc\x07"), "ab c\ufffd")

    def test_a_number_in_a_text_field_is_still_guarded(self):
        self.assertEqual(escape.csv_text("-1"), "'-1")
        self.assertEqual(escape.csv_text("torch-2.9.0"), "torch-2.9.0")

    def test_an_ampersand_is_escaped_once(self):
        self.assertEqual(escape.markdown_code("a&b|c"), "<code>a&amp;b&#124;c</code>")
        self.assertEqual(escape.html("a&b"), "a&amp;b")


if __name__ == "__main__":
    unittest.main()
