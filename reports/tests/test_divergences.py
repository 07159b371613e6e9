"""Where the stacks diverge: what reports of a run with comparisons.json show, and that the others stay as they were."""

import copy
import json
import re
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

import comparison_samples as samples
import golden_run
from test_hostile import ATTACKS, FIXED, _poisoned
from test_reports import Page

from reprobench_report import divergences
from reprobench_report.html import report_html
from reprobench_report.load import load_run, load_schema
from reprobench_report.markdown import summary_md
from reprobench_report.pairs import operator_table, pairs_of
from reprobench_report.quantity import human
from reprobench_report.schema_check import first_problem
from reprobench_report.strip import MAX_ROWS, strip_of

GOLDEN_RUN = golden_run.loaded(golden_run.documents())
GOLDEN_SIZE = (golden_run.GOLDEN / "report" / "report.html").stat().st_size


def run_with(list_):
    return replace(GOLDEN_RUN, comparisons=list_)


def page_of(list_):
    page = Page(report_html(run_with(list_)))
    return page, " ".join("".join(page.text).split())


def section_of(html):
    return html[html.index('<section id="divergences"') : html.index('<section id="attention"')]


def spaced(text):
    """As a page's text is compared: every kind of space alike."""
    return " ".join(text.split())


class File(unittest.TestCase):
    def _loaded(self, content):
        with tempfile.TemporaryDirectory() as folder:
            golden_run.write_run(Path(folder), golden_run.documents())
            if content is not None:
                Path(folder, "comparisons.json").write_bytes(content)
            return load_run(Path(folder))

    def test_without_it_the_reports_stay_the_approved_ones(self):
        run = self._loaded(None)
        self.assertEqual((run.comparisons, run.comparisons_problem), (None, ""))
        for name, render in (("report.html", report_html), ("summary.md", summary_md)):
            approved = (golden_run.GOLDEN / "report" / name).read_text("utf-8")
            self.assertTrue(render(run) == approved, f"{name} differs from the approved one")

    def test_samples_are_what_the_schema_says(self):
        schema = load_schema("comparisons")
        known = schema["definitions"]["comparison"]["properties"]
        for sample in samples.comparisons():
            document = samples.document([{name: value for name, value in sample.items() if name in known}])
            self.assertIsNone(first_problem(document, schema))

    def test_it_is_read_from_the_run_directory(self):
        run = self._loaded(json.dumps(samples.document([])).encode())
        self.assertEqual((run.comparisons, run.comparisons_problem), ([], ""))
        self.assertTrue("No two cells were compared" in report_html(run))

    def test_comparisons_are_read_with_the_documents_in_them(self):
        of_run = [one for one in samples.comparisons() if one["measured"].startswith(samples.RUN_ID)]
        run = self._loaded(json.dumps(samples.document(of_run)).encode())
        self.assertEqual((run.comparisons or [], run.comparisons_problem), (of_run, ""))
        self.assertEqual(len(of_run), 3)

    def test_a_broken_older_or_newer_file_costs_only_its_section(self):
        newer = {**samples.document([]), "version": {"major": 2, "minor": 99}}
        older = {**samples.document([]), "version": {"major": 1, "minor": 4}}
        for content, problem in (
            (b'{"schema":', "comparisons.json is not a JSON document"),
            (b"\xff\xfe", "comparisons.json is not a JSON document"),
            (b'{"schema": "reprobench/plan"}', "comparisons.json is not a reprobench/comparisons document"),
            (json.dumps(newer).encode(), "comparisons.json: version 2.99 cannot be read by this report"),
            (json.dumps(older).encode(), "which reads 2.0 to 2.0; reprobench 0.2.0 is the last that reads it"),
            (
                json.dumps(samples.document([{"word": "equal"}])).encode(),
                "comparisons.json: comparisons/0: `schema` is missing",
            ),
        ):
            with self.subTest(problem):
                run = self._loaded(content)
                page = Page(report_html(run))
                self.assertEqual((page.problems, page.open), ([], []))
                self.assertIn(problem, "".join(page.text))
                self.assertIn("comparisons of this run are not shown", summary_md(run))
                self.assertIn("attention", page.attributes("id"))

    def test_comparisons_of_another_run_are_not_shown(self):
        of_this, of_another = samples.comparisons()[:2]
        of_another["measured"] = "r-20260101-000000-1a2b:" + of_another["measured"].partition(":")[2]
        run = self._loaded(json.dumps(samples.document([of_this, of_another])).encode())
        self.assertIsNone(run.comparisons)
        self.assertEqual(
            run.comparisons_problem, "comparisons.json compares cells of r-20260101-000000-1a2b, not of this run"
        )

    def test_a_folder_of_its_name_is_reported_too(self):
        with tempfile.TemporaryDirectory() as folder:
            golden_run.write_run(Path(folder), golden_run.documents())
            Path(folder, "comparisons.json").mkdir()
            self.assertIn("comparisons.json cannot be read", load_run(Path(folder)).comparisons_problem)


class Section(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.source = report_html(run_with(samples.comparisons()))
        cls.page = Page(cls.source)
        cls.section = section_of(cls.source)
        cls.text = spaced("".join(Page(cls.section).text))

    def test_it_stands_between_the_matrix_and_the_findings(self):
        ids = [
            identifier for identifier in self.page.attributes("id") if identifier in ("matrix", "divergences", "attention")
        ]
        self.assertEqual(ids, ["matrix", "divergences", "attention"])
        self.assertIn("#divergences", self.page.attributes("href"))

    def test_the_page_stays_whole(self):
        self.assertEqual((self.page.problems, self.page.open), ([], []))
        ids = self.page.attributes("id")
        self.assertEqual(len(ids), len(set(ids)))
        self.assertLessEqual({target[1:] for target in self.page.attributes("href")}, set(ids))
        self.assertTrue(all("scope" in attributes for tag, attributes in self.page.elements if tag == "th"))
        self.assertEqual(self.page.attributes("style"), [])

    def test_pairs_stand_worst_first(self):
        self.assertEqual([pair.word_class for pair in pairs_of(run_with(samples.comparisons()))],
                         ["alarm", "differs", "not_comparable", "equal"])  # fmt: skip
        places = [self.section.index(f">{comparison['sentence'][:20]}") for comparison in
                  (samples.FULL, samples.NOT_COMPARABLE, samples.EQUAL)]  # fmt: skip
        self.assertEqual(places, sorted(places))

    def test_cells_are_named_by_their_stacks(self):
        pair = pairs_of(run_with([samples.FULL]))[0]
        self.assertEqual((pair.measured.stack, pair.expected.stack), ("torch-2.9.0-cu128", "torch-2.1.0-cu121"))
        self.assertIn(f'<a href="#c-{samples.FULL["measured"].partition(":")[2]}">torch-2.9.0-cu128</a>', self.section)

    def test_a_cell_of_another_run_is_named_with_it_if_the_plan_knows_it(self):
        other = {**samples.FULL, "expected": samples.FULL["expected"].replace(samples.RUN_ID, "r-before")}
        side = pairs_of(run_with([other]))[0].expected
        self.assertEqual((side.stack, side.other_run), ("torch-2.1.0-cu121", "r-before"))
        self.assertIn("r-elsewhere:0123456789ab", self.text)

    def test_every_word_and_number_of_a_pair_is_shown(self):
        shown_otherwise = {
            "schema", "version", "kind", "operator_budget", "strip", "points", "trajectory", "ulp_histogram", "word", "workload",
            "worst_batch", "equal_bits", "margin_rel", "batches_needed", "effective_batches", "spread_log", "output",
        }  # fmt: skip

        def leaves(node, key=""):
            if isinstance(node, dict):
                for name, value in node.items():
                    if name not in shown_otherwise:
                        yield from leaves(value, name)
            elif isinstance(node, list):
                for value in node[: divergences.MAX_TENSORS]:
                    yield from leaves(value, key)
            elif node not in (None, "") and not isinstance(node, bool):
                yield key, node

        full = {**samples.FULL, "budget": samples.FULL["explanation"]["operator_budget"]}
        missing = []
        for key, value in leaves(full):
            texts = {str(value), str(value).replace("_", " "), str(value).capitalize(), str(value).rstrip(".")}
            if isinstance(value, (int, float)):
                texts.add(human(value, "rel"))
            elif key.endswith("_bits"):
                texts = {value[8:]}
            if not any(spaced(text) in self.text for text in texts):
                missing.append((key, value))
        self.assertEqual(missing, [])
        for shown in (
            "outside bound",
            "not shown equivalent",
            "1.2 % of the reference's loss",
            "98 of 100",
            "Compare again",
        ):
            self.assertIn(shown, self.text)

    def test_the_copyable_line_names_both_sides_and_quotes_them(self):
        self.assertIn(f"reprobench compare {samples.FULL['measured']} {samples.FULL['expected']} --explain", self.text)
        pair = pairs_of(run_with([{**samples.EQUAL, "measured": "a b; rm", "expected": "c"}]))[0]
        self.assertEqual(pair.command, "reprobench compare 'a b; rm' c --explain")

    def test_equal_pairs_have_a_row_and_no_details(self):
        self.assertEqual(self.section.count('<details class="divergence '), 3)
        self.assertEqual(len(re.findall(r'<details class="divergence [a-z_]+" id="divergence-\d+" open>', self.section)), 1)

    def test_subgraphs_of_other_operators_are_shown_with_the_diagnosis(self):
        call = samples.FULL["explanation"]["operator"]["measured"]
        subgraph = {"calls": [{**call, "name": "aten::erf"}, {**call, "name": "aten::mul"}], "outflow": call["outputs"][0]}
        nothing = {"calls": [], "outflow": call["outputs"][0]}
        explanation = {
            **samples.FULL["explanation"], "operator": None,
            "diagnosis": {"word": "another computation", "sentence": "in fp64 the two sides are 1e-06 apart"},
            "region": {"measured": subgraph, "expected": nothing, "constants_differ": False},
        }  # fmt: skip
        rounding = {**samples.FULL, "explanation": {**explanation, "lockstep": None}, "trajectory": None, "non_finite": None}
        pair = pairs_of(run_with([rounding]))[0]
        self.assertTrue(pair.alarming)
        self.assertEqual(pair.first_operator, "aten::erf")
        _, text = page_of([rounding])
        for shown in ("Another computation:", "in fp64 the two sides are 1e-06 apart", "aten::erf", "nothing: the value passes"):
            self.assertIn(shown, text)
        harmless = {**explanation, "diagnosis": {"word": "rounding", "sentence": "within"}, "lockstep": None}
        self.assertFalse(pairs_of(run_with([{**rounding, "explanation": harmless}]))[0].alarming)

    def test_sources_behind_the_first_are_shown_with_their_words(self):
        behind = {**samples.FULL, "explanation": {**samples.FULL["explanation"], **samples.BEHIND_THE_FIRST}}
        _, text = page_of([behind])
        for shown in (
            "Further sources in that step", "5 more are not on record", "were not judged: 173",
            "aten::mul_", "optimizer of fc2.weight, call 61", "off by more than it can round", "0.0217",
            "aten::gelu", "its inputs differ already", "the two subgraphs make the same",
            "on the values of the expected side",
        ):  # fmt: skip
            self.assertIn(shown, text)
        self.assertNotIn("Further sources", self.text)
        self.assertNotIn("were not judged", self.text)

    def test_a_module_of_other_operators_is_shown_with_its_word_and_what_has_no_bound(self):
        judged = {**samples.FULL, "explanation": {**samples.FULL["explanation"], **samples.MODULE}}
        _, text = page_of([judged])
        for shown in (
            "Module h.0.mlp.gelu, defect:", "off by more than it can round: aten::tanh on the measured side",
            "8 calls that make values", "31.4", "no bound: no bound is derived for aten::own",
        ):  # fmt: skip
            self.assertIn(shown, text)
        self.assertNotIn("calls that make values", self.text)

    def test_elements_across_zero_are_apart_in_units_of_the_rms(self):
        element = {**samples.FULL["explanation"]["element"], "ulp": 1799223643, "max_ulp": 1799223644}
        apart = {**element, "distance_rms": 0.0317, "max_distance_rms": 0.0479}
        for shown, present, absent in (
            (apart, ("across zero", "0.03170 of the tensor's RMS", "by up to 0.04790 of the RMS"), ("1,799,223,643", "1799223643")),
            (element, ("ULP apart",), ("across zero",)),
        ):
            _, text = page_of([{**samples.FULL, "explanation": {**samples.FULL["explanation"], "element": shown}}])
            for words in present:
                self.assertIn(words, text)
            for words in absent:
                self.assertNotIn(words, text)

    def test_an_explanation_without_operator_or_element_is_shown(self):
        self.assertIn("Not judged: its inputs are whole numbers", self.text)

    def test_documents_from_before_the_newer_fields_are_shown(self):
        newer = ("strip", "trajectory", "equivalence", "discrete_events", "first_over_bound", "non_finite", "implementations")
        old = {name: value for name, value in samples.FULL.items() if name not in newer}
        _, text = page_of([old])
        self.assertIn("aten::addmm made it", text)
        self.assertNotIn("Modules by step", text)
        self.assertNotIn("library code", text)

    def test_operations_that_other_library_code_computed_are_named_with_both(self):
        for shown in ("Operations that other library code computed", "aten::addmm (128), (32,784), (784,128) float32",
                      "mkl SGEMM for AVX2", "Library code: of 2 operations of the measured side it is not known"):  # fmt: skip
            self.assertIn(shown, self.text)
        same = {**samples.FULL, "implementations": {"changed": [], "compared": 17, "incomplete": []}}
        _, text = page_of([same])
        self.assertNotIn("library code", text.lower())
        many = [{"what": f"aten::mm {n}", "measured": "a", "expected": "b"} for n in range(1000)]
        _, text = page_of([{**samples.FULL, "implementations": {**same["implementations"], "changed": many}}])
        self.assertIn("aten::mm 0", text)
        self.assertNotIn("aten::mm 999", text)

    def test_values_no_reader_expects_do_no_harm(self):
        odd = copy.deepcopy(samples.FULL)
        call = odd["explanation"]["operator"]
        call.update(output=99)
        call["expected"]["outputs"] = []
        odd["explanation"]["element"]["ulp"] = 10**400
        odd["explanation"]["operator_budget"]["amplification"] = "nan"
        odd["trajectory"].update(horizon_step=-3)
        odd["trajectory"]["points"] = [
            {"step": step, "distance_rel": value, "bound_rel": value}
            for step, value in ((0, 1), (-1, 1), (2, 5e-324), (3, 1e308), (10**400, 1), (5, "inf"), (6, -1), (7, 0))
        ]
        odd["equivalence"]["windows"][0].update(low="-inf", high="nan", margin=0)
        odd["strip"] = {"steps": [5, 6], "rows": [{"module": "m", "marks": "<b>fff"}, {"module": "n", "marks": ""}]}
        odd["explanation"]["lockstep"]["tensors"][0]["pooled"]["bound"] = "inf"
        page, text = page_of([odd, {**odd, "strip": {"steps": [], "rows": []}}])
        self.assertEqual((page.problems, page.open), ([], []))
        self.assertIn("unknown mark", text)


class Operators(unittest.TestCase):
    def test_each_operator_is_marked_for_the_stacks_that_differ_in_it(self):
        table = operator_table(pairs_of(run_with(samples.comparisons())))
        columns = [column.measured for column in table.columns]
        marked = {name: [columns[i] for i, mark in enumerate(marks) if mark] for name, marks in table.rows}
        self.assertEqual(
            marked,
            {
                "aten::addmm": ["torch-2.9.0-cu128"],
                "AddmmBackward0": ["torch-2.9.0-cu128"],
                "aten::mul": ["torch-2.15.0-cu132"],
            },
        )

    def test_what_was_not_replayed_is_not_called_equal(self):
        html = section_of(report_html(run_with(samples.comparisons())))
        table = html[html.index("Operators that differ, by stack") : html.index("Pair by pair")]
        self.assertEqual(
            (table.count("not replayed"), table.count("equal bits"), table.count("no difference")), (3, 3, 3)
        )
        self.assertIn("first to differ", table)

    def test_pairs_of_the_same_stacks_share_a_column(self):
        other = {**samples.FULL, "workload": "gpt2/tiny, 20 steps of 4, fp32"}
        table = operator_table(pairs_of(run_with([samples.FULL, other])))
        self.assertEqual(len(table.columns), 1)
        self.assertEqual((len(table.rows[0][1][0].pairs), table.rows[1][1][0].first), (2, 2))


class Strip(unittest.TestCase):
    def test_words_say_what_letters_and_colours_do(self):
        strip = strip_of({"steps": [4, 5, 6, 7], "rows": [
            {"module": "a", "marks": "...."}, {"module": "b", "marks": ".f.l"}, {"module": "c", "marks": "..gg"},
        ]})  # fmt: skip
        self.assertEqual(strip.sentence, "3 modules in execution order, steps 4 to 7: 2 differ.")
        self.assertEqual([row.words for row in strip.rows],
                         ["equal", "forward output in step 5, loss from step 7", "output gradient from step 6"])  # fmt: skip
        self.assertEqual(strip.rows[1].marks, '.<b class="mf">f</b>.<b class="ml">l</b>')
        self.assertEqual([letter for letter, _ in strip.legend], ["f", "l", "g"])

    def test_steps_stand_above_their_columns(self):
        strip = strip_of({"steps": list(range(7, 47)), "rows": [{"module": "a", "marks": "." * 40}]})
        for step in (7, 10, 20, 30, 40):
            self.assertTrue(strip.ticks[step - 7 :].startswith(str(step)), strip.ticks)
        self.assertEqual(len(strip.ticks), 40)

    def test_equal_modules_go_first_when_there_are_too_many(self):
        rows = [{"module": f"m{n}", "marks": "f." if n % 2 else ".."} for n in range(2 * MAX_ROWS)]
        strip = strip_of({"steps": [1, 2], "rows": rows})
        self.assertEqual((len(strip.rows), strip.left_out), (MAX_ROWS, MAX_ROWS))
        self.assertNotIn("equal", {row.words for row in strip.rows})

    def test_neighbours_with_equal_marks_share_a_row_in_a_large_network(self):
        small, large = (strip_of(samples.strip_of_network(layers, 20, 3)) for layers in (4, 12))
        self.assertEqual((len(small.rows), small.left_out), (29, 0))
        self.assertEqual((len(large.rows), large.left_out), (12, 0))
        self.assertEqual(large.rows[-2].module, "h.1.attn.c_proj … lm_head (66)")
        self.assertIn("77 modules in execution order, steps 1 to 20: 77 differ.", large.sentence)

    def test_the_page_has_letters_a_legend_and_the_words(self):
        html = section_of(report_html(run_with([samples.FULL])))
        self.assertIn('<th scope="row">relu</th><td title="input from step 4">...<b class="mi">', html)
        self.assertIn('<b class="mi">i</b> input', html)
        self.assertIn("3 modules in execution order, steps 1 to 32: 2 differ.", html)


class Size(unittest.TestCase):
    def test_fifty_pairs_with_strips_and_all_details_fit(self):
        large = {**samples.FULL, "strip": samples.strip_of_network(12, 64, 9)}
        large["trajectory"] = {**samples.FULL["trajectory"], "points": samples.growing(2000)}
        html = report_html(run_with([large] * 50))
        self.assertEqual(html.count('<details class="divergence '), 50)
        self.assertLess(len(html.encode()) - GOLDEN_SIZE, 1_500_000)

    def test_what_does_not_fit_is_counted(self):
        rows = [{"module": f"h.{n}", "marks": ("fpmlgdsb" * 9)[n % 8 :][:64]} for n in range(150)]
        noisy = [{**samples.FULL, "strip": {"steps": list(range(64)), "rows": rows}}] * 50
        html = report_html(run_with(noisy))
        self.assertLess(len(html.encode()) - GOLDEN_SIZE, 1_500_000)
        shown, left_out = (
            html.count('<details class="divergence '),
            re.search(r"Details of (\d+) more pairs are left out", html),
        )
        self.assertEqual(shown + int(left_out[1]), 50)
        many = report_html(run_with([samples.EQUAL] * (divergences.MAX_PAIRS + 7)))
        self.assertTrue("7 more pairs are in comparisons.json" in many)

    def test_two_renderings_are_the_same_bytes(self):
        self.assertEqual(report_html(run_with(samples.comparisons())), report_html(run_with(samples.comparisons())))


class Summary(unittest.TestCase):
    def test_it_has_a_row_a_pair_and_the_operators(self):
        summary = summary_md(run_with(samples.comparisons()))
        rows = [line for line in summary.splitlines() if re.match(r"\| [✕≠?=] (differs|equal|not comparable) \|", line)]
        self.assertEqual(len(rows), 4)
        self.assertIn("step 3, fc1 | 98 | defect, E inf | blas |", rows[0])
        self.assertIn("Operators that differ, torch\\-2\\.9\\.0\\-cu128 against", summary)
        self.assertEqual({len(re.findall(r"(?<!\\)\|", row)) for row in rows}, {9})


class Hostile(unittest.TestCase):
    # Words of the schema, and names whose cells must stay those of the plan.
    KEPT = FIXED | {"side", "pass", "expected", "measured_digest", "expected_digest", "measured_bits", "expected_bits",
                    "decision", "digest", "marks", "difference", "low", "high", "distance_rel"}  # fmt: skip

    def _attacked(self, attack):
        def poisoned(node, key=""):
            if isinstance(node, dict):
                return {name: value if name in self.KEPT and not isinstance(value, (dict, list)) else poisoned(value, name)
                        for name, value in node.items()}  # fmt: skip
            if isinstance(node, list):
                return [poisoned(item, key) for item in node]
            if key in ("error_ratio", "bound_rel"):
                return node
            return _poisoned(node, attack, key)

        list_ = [poisoned(comparison) for comparison in samples.comparisons()]
        list_ += [{**list_[0], "word": "differs", "measured": attack, "expected": attack + ":" + attack}]
        list_[-2]["differences"] = [{"what": attack, "measured": attack, "expected": attack}]
        list_[-2]["strip"]["rows"][1]["marks"] = attack
        return run_with(list_)

    def test_no_attack_becomes_markup(self):
        clean = Page(report_html(self._attacked("harmless")))
        names = {(tag, tuple(sorted(attributes))) for tag, attributes in clean.elements}
        for attack in ATTACKS:
            with self.subTest(attack):
                html = report_html(self._attacked(attack))
                page = Page(html)
                self.assertEqual((page.problems, page.open), ([], []))
                self.assertLessEqual({(tag, tuple(sorted(attributes))) for tag, attributes in page.elements}, names)
                self.assertEqual({target[0] for target in page.attributes("href")}, {"#"})
                self.assertIsNone(re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\ufffe]", html))
                html.encode("utf-8")

    def test_no_attack_becomes_markdown(self):
        for attack in ATTACKS:
            with self.subTest(attack):
                summary = summary_md(self._attacked(attack))
                tags = set(re.findall(r"<(/?[a-z]+)", summary, re.IGNORECASE))
                self.assertLessEqual(tags, {"details", "/details", "summary", "/summary", "code", "/code"})
                self.assertNotIn("@everyone", summary)
                self.assertNotIn("://", summary)

    def test_the_reason_of_a_broken_file_is_escaped(self):
        for attack in ATTACKS:
            run = replace(GOLDEN_RUN, comparisons_problem=f"comparisons.json: `{attack}` is not a field")
            page = Page(report_html(run))
            self.assertEqual((page.problems, page.open), ([], []))
            self.assertNotIn("script", {tag for tag, _ in page.elements})


if __name__ == "__main__":
    unittest.main()
