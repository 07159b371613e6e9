"""The page of goals: every goal has its row and its word, and nothing that is missing, planted or another card's reads as met."""

import copy
import tempfile
import unittest
from pathlib import Path
from typing import Any

import gpu_samples
from golden_run import REPOSITORY

from reprobench_report.gpu_goals import MET, MISSED, NOT_MEASURED, OPEN, RECORDED, SUITE_CHECKS, VERDICT
from reprobench_report.gpu_page import gpu_page


def page_of(run: dict[str, Any] | None = None, beside: dict[str, Any] | None = None, change=lambda folder: None) -> str:
    with tempfile.TemporaryDirectory() as name:
        folder = gpu_samples.write_job(Path(name), run, beside)
        change(folder)
        return gpu_page(folder)


def rows_of(page: str) -> dict[str, tuple[str, ...]]:
    """what: (word, goal, source, value, file, why), as they read."""
    rows = {}
    for line in page.replace("\\", "").replace("\u00a0", " ").splitlines():
        cells = [cell.strip() for cell in line.split(" | ")]
        if line.startswith("| **") and len(cells) == 7:
            rows[cells[1]] = (cells[0].strip("| *"), *cells[2:6], cells[6].rstrip(" |"))
    return rows


def words(page: str, part: str) -> set[str]:
    found = {row[0] for what, row in rows_of(page).items() if part in what}
    assert found, f"no row of {part}"
    return found


def without(documents: dict[str, Any], keep) -> dict[str, Any]:
    """The run with fewer cells."""
    verdict, plan = documents["verdict"], documents["plan"]
    verdict["cells"] = [cell for cell in verdict["cells"] if keep(cell)]
    kept = {cell["cell_id"] for cell in verdict["cells"]}
    plan["cells"] = [cell for cell in plan["cells"] if cell["cell_id"] in kept]
    verdict["totals"].update(planned=len(kept), passed=len(kept))
    return documents


def cell_named(documents: dict[str, Any], slug: str) -> dict[str, Any]:
    return next(cell for cell in documents["verdict"]["cells"] if cell["slug"] == slug)


class Whole(unittest.TestCase):
    def test_a_job_that_measured_everything_has_no_row_without_a_value(self):
        page = page_of()
        rows = rows_of(page)
        self.assertEqual({row[0] for row in rows.values()}, {MET, RECORDED})
        self.assertNotIn("–", {row[3] for row in rows.values()})
        self.assertEqual(len(rows), page.count("| **"))
        for part in ("triad to peak", "digest to read_sum", "ordered_sum to read_sum", "cub::DeviceReduce", "event telemetry",
                     "A/A noise", "tax of determinism", "eager", "compiled", "random numbers", "atomic"):  # fmt: skip
            self.assertTrue(any(part in what for what in rows), part)

    def test_a_goal_names_where_it_stands_and_a_value_its_file(self):
        row = rows_of(page_of())["device.bandwidth_share of triad to peak"]
        self.assertEqual(row[1:5], ("min: 92%", "suites/definitions/device_memory.yaml:16:7", "93.1 %", VERDICT))

    def test_every_check_of_the_list_is_one_that_its_suite_has(self):
        for suite, names in SUITE_CHECKS.items():
            definition = (REPOSITORY / "suites" / "definitions" / f"{suite}.yaml").read_text("utf-8")
            for metric, of in names:
                operation, *more = of.split(" to ")[0].split(" ")
                label = {"dtype": "dtype: ", "memory": "memory: "}
                selected = "".join(f", {label[name]}{value}" for name, value in (part.split("=") for part in more))
                wanted = f"of: {{operation: {operation}{selected}}}" if more else f"of: {operation}"
                wanted += f", to: {of.split(' to ')[1]}" if " to " in of else ","
                self.assertIn(f"{metric}:", definition)
                self.assertIn(wanted, definition)


class Missing(unittest.TestCase):
    def test_a_suite_that_the_run_lacks_is_not_measured(self):
        for suite in SUITE_CHECKS:
            run = without(gpu_samples.documents(), lambda cell, suite=suite: cell["slug"] != suite)
            rows = rows_of(page_of(run))
            for metric, of in SUITE_CHECKS[suite]:
                row = rows[f"{metric} of {of}"]
                self.assertEqual((row[0], row[3]), (NOT_MEASURED, "–"))
                self.assertIn(f"no cell of suite {suite} for a GPU", row[5])

    def test_a_cell_on_the_cpu_says_nothing_of_a_card(self):
        run = gpu_samples.documents()
        cell_named(run, "device_memory")["coordinates"]["device"] = "cpu"
        self.assertEqual(words(page_of(run), "to read_sum") | words(page_of(run), "cub::DeviceReduce"), {NOT_MEASURED})

    def test_a_check_that_is_gone_undecided_or_without_a_value_is_not_measured(self):
        for change in (
            lambda checks: checks.pop(0),
            lambda checks: checks[0].update(status="inconclusive", sentence="no row in the table of peaks", measured=None),
            lambda checks: checks[0].update(measured=None),
        ):
            run = gpu_samples.documents()
            change(cell_named(run, "device_memory")["checks"])
            self.assertEqual(words(page_of(run), "triad to peak"), {NOT_MEASURED})

    def test_without_a_fast_cell_or_its_strict_reference_there_is_no_tax(self):
        alone = without(gpu_samples.documents(), lambda cell: cell["slug"] != "fast")
        unpaired = gpu_samples.documents()
        cell_named(unpaired, "fast")["reference_cell_id"] = None
        another = gpu_samples.documents()
        cell_named(another, "strict")["coordinates"]["precision"] = "fp16"
        for run in (alone, unpaired, another):
            self.assertEqual(words(page_of(run), "tax of determinism"), {NOT_MEASURED})

    def test_a_run_that_cannot_be_read_costs_every_row_and_says_so_first(self):
        page = page_of(change=lambda folder: (folder / "run" / "verdict.json").unlink())
        self.assertLess(page.index("NO RUN"), page.index("rows:"))
        rows = rows_of(page)
        self.assertEqual({row[0] for what, row in rows.items() if "atomic" not in what}, {NOT_MEASURED})
        for metric, of in (pair for names in SUITE_CHECKS.values() for pair in names):
            self.assertIn(f"{metric} of {of}", rows)

    def test_why_a_job_ended_early_stands_before_everything_else(self):
        page = page_of(change=lambda folder: (folder / "ended.txt").write_text("no card\n| <b>here</b>\n", "utf-8"))
        self.assertLess(page.index("**ENDED EARLY**: no card"), page.index("rows:"))
        self.assertNotIn("<b>", page)
        self.assertNotIn("ENDED EARLY", page_of())

    def test_what_gpu_sh_said_about_a_file_it_could_not_leave_is_the_reason(self):
        def lose(folder: Path) -> None:
            (folder / "cub_reduce.json").unlink()
            (folder / "cub_reduce.txt").write_text("no nvcc here\n", "utf-8")
            (folder / "telemetry_cost.json").unlink()

        rows = rows_of(page_of(change=lose))
        row = rows["fixed-order sum to cub::DeviceReduce::Sum"]
        self.assertEqual((row[0], row[5]), (NOT_MEASURED, "no nvcc here"))
        self.assertIn("neither telemetry_cost.json nor a reason", rows["event telemetry; A/A noise in one process"][5])


class Spoiled(unittest.TestCase):
    def test_a_drill_says_so_first_and_meets_nothing(self):
        planted = gpu_samples.documents()
        planted["verdict"]["planted"] = ["operation_slow of triad in 1 cell"]
        older = gpu_samples.documents()
        older["verdict"]["cells"][0]["attempts"][0]["injected"] = "operation_slow of triad"
        for run in (planted, older):
            page = page_of(run)
            self.assertIn("DRILL", page.splitlines()[2])
            self.assertEqual({row[0] for row in rows_of(page).values() if row[4] == VERDICT}, {NOT_MEASURED})

    def test_an_interrupted_run_and_a_host_without_a_gpu_are_said(self):
        run = gpu_samples.documents()
        for document in ("verdict", "run"):
            info = run[document]["info"] if document == "verdict" else run[document]
            info["interrupted"] = True
        self.assertIn("INTERRUPTED", page_of(run))
        run = gpu_samples.documents()
        run["plan"]["host"]["gpus"] = []
        page = page_of(run)
        self.assertIn("NO GPU", page.splitlines()[2])
        for part in ("cub::DeviceReduce", "event telemetry", "eager", "compiled"):
            self.assertEqual(words(page, part), {NOT_MEASURED}, part)

    def test_what_was_timed_on_another_card_is_not_this_ones(self):
        for name, field in (("cub_reduce", "device"), ("telemetry_cost", "device_name"), ("python_eager", "device_name"),
                            ("python_compiled", "device_name")):  # fmt: skip
            beside = copy.deepcopy(gpu_samples.BESIDE)
            beside[name][field] = "NVIDIA A100-SXM4-80GB"
            rows = rows_of(page_of(beside=beside))
            self.assertEqual([row[0] for row in rows.values() if row[4] == f"{name}.json"], [NOT_MEASURED], name)

    def test_wrong_sums_few_samples_and_other_shapes_are_not_measured(self):
        def broken(name: str, change) -> dict[str, Any]:
            beside = copy.deepcopy(gpu_samples.BESIDE)
            change(beside[name])
            return beside

        for name, change in (
            ("cub_reduce", lambda one: one["sums"][0].update(wrong=True)),
            ("cub_reduce", lambda one: one["sums"][0].update(bytes=2**29)),
            ("cub_reduce", lambda one: one["sums"][0].update(call_ns=[1.0])),
            ("cub_reduce", lambda one: one["sums"][0].update(call_ns=[0.0] * 10)),
            ("cub_reduce", lambda one: one.update(sums=[])),
            ("telemetry_cost", lambda one: one["cases"][1].update(step_on_ns=[2e6] * 4)),
            ("telemetry_cost", lambda one: one["cases"][1].update(step_on_ns=["fast"] * 7)),
            ("telemetry_cost", lambda one: one.pop("cases")),
            ("python_eager", lambda one: one["ratios"].pop("gpt2/tiny")),
        ):
            rows = rows_of(page_of(beside=broken(name, change)))
            found = [row for row in rows.values() if row[4] == f"{name}.json"]
            self.assertEqual([row[0] for row in found], [NOT_MEASURED], (name, found))

    def test_a_file_that_is_no_json_is_not_measured(self):
        page = page_of(change=lambda folder: (folder / "cub_reduce.json").write_text("{", "utf-8"))
        self.assertEqual(words(page, "cub::DeviceReduce"), {NOT_MEASURED})

    def test_a_wrong_product_has_no_share(self):
        run = gpu_samples.documents()
        cell_named(run, "device_compute")["measurements"][1].update(status="wrong", finding="off", samples=[])
        self.assertEqual(words(page_of(run), "cuBLASLt to LibTorch's mm, bf16"), {NOT_MEASURED})
        self.assertEqual(words(page_of(run), "cuBLASLt to LibTorch's mm, fp16"), {MET})
        again = gpu_samples.documents()
        products = cell_named(again, "device_compute")["measurements"]
        products.append({**products[1], "repeat": 1, "status": "wrong", "finding": "off"})
        self.assertEqual(words(page_of(again), "cuBLASLt to LibTorch's mm, bf16"), {NOT_MEASURED})

    def test_what_a_run_says_is_no_markup(self):
        run = gpu_samples.documents()
        cell_named(run, "device_memory")["checks"][0].update(status="inconclusive", sentence="<b> | [x](http://y) | `")
        page = page_of(run)
        self.assertNotIn("<b>", page)
        self.assertIn("\\| \\[x\\]", page)


class Goals(unittest.TestCase):
    def test_a_check_over_its_bound_is_missed_though_it_is_only_recorded(self):
        run = gpu_samples.documents()
        cell_named(run, "device_memory")["checks"][0].update(status="failed", measured=0.9)
        self.assertEqual(rows_of(page_of(run))["device.bandwidth_share of triad to peak"][0], MISSED)

    def test_a_slower_cublaslt_is_missed(self):
        run = gpu_samples.documents()
        cell_named(run, "device_compute")["measurements"][1]["samples"] = [680.0]
        self.assertEqual(words(page_of(run), "cuBLASLt to LibTorch's mm, bf16"), {MISSED})

    def test_a_class_that_is_not_here_has_no_row_beside_the_one_that_is_and_its_reason_where_none_is(self):
        run = gpu_samples.documents()
        cell = cell_named(run, "device_memory")
        other = {**copy.deepcopy(cell), "cell_id": "f" * 12, "slug": "device_memory-sm_80", "outcome": "skipped", "checks": [],
                 "reason": "no-such-gpu", "sentence": "no sm_80 here"}  # fmt: skip
        other["coordinates"]["device"] = "sm_80"
        run["verdict"]["cells"].append(other)
        run["plan"]["cells"].append({**run["plan"]["cells"][0], "cell_id": other["cell_id"]})
        run["verdict"]["totals"].update(planned=len(run["verdict"]["cells"]), skipped=1)
        self.assertEqual(words(page_of(run), "to read_sum"), {MET})
        self.assertNotIn("sm\\_80", page_of(run))
        alone = without(run, lambda one: one["slug"] != "device_memory")
        alone["verdict"]["totals"]["passed"] -= 1
        row = rows_of(page_of(alone))["device.bandwidth_share of triad to peak"]
        self.assertEqual((row[0], row[5]), (NOT_MEASURED, "device_memory-sm_80 skipped: no sm_80 here"))

    def test_each_goal_beside_the_run_can_be_missed(self):
        for name, change, part in (
            ("cub_reduce", lambda one: one["sums"][0].update(call_ns=[2**30 / 3100.0] * 10), "cub::DeviceReduce"),
            ("telemetry_cost", lambda one: one["cases"][1].update(step_on_ns=[2.0101e6] * 7), "event telemetry, root digests, gpt2"),
            ("telemetry_cost", lambda one: one["cases"][0].update(step_off_ns=[2e5, 2.02e5, 1.98e5, 2.03e5, 2e5, 1.97e5, 2e5]),
             "A/A noise of blocks of 1000 steps in one process, mlp"),
            ("python_eager", lambda one: one["ratios"].update({"mlp/base": [1.2, 1.29]}), "eager, to one here, mlp"),
            ("python_eager", lambda one: one["ratios"].update({"gpt2/tiny": [0.98, 0.99]}), "eager, to one here, gpt2"),
            ("python_compiled", lambda one: one["ratios"].update({"gpt2/tiny": [0.8, 0.84]}), "compiled, to one here, gpt2"),
        ):  # fmt: skip
            beside = copy.deepcopy(gpu_samples.BESIDE)
            change(beside[name])
            self.assertEqual(words(page_of(beside=beside), part), {MISSED}, part)

    def test_pairs_on_both_sides_of_a_goal_and_a_single_pair_decide_nothing(self):
        for ratios in ([1.2, 1.6], [1.6]):
            beside = copy.deepcopy(gpu_samples.BESIDE)
            beside["python_eager"]["ratios"]["mlp/base"] = ratios
            self.assertEqual(words(page_of(beside=beside), "eager, to one here, mlp"), {OPEN})

    def test_short_steps_and_tensor_digests_are_recorded_and_the_goal_of_long_steps_stays_open_to_see(self):
        rows = rows_of(page_of())
        self.assertEqual(rows["event telemetry, root digests, mlp/base"][0], RECORDED)
        self.assertEqual(rows["event telemetry, every tensor, gpt2/tiny"][0], RECORDED)
        beside = copy.deepcopy(gpu_samples.BESIDE)
        beside["telemetry_cost"]["cases"].pop(1)
        self.assertEqual(words(page_of(beside=beside), "event telemetry of steps from 1 ms"), {NOT_MEASURED})

    def test_the_tax_is_judged_by_its_interval(self):
        for ratios, word in (((0.96, 0.95, 0.97), MET), ((0.95, 0.90, 0.96), OPEN), ((0.88, 0.85, 0.92), OPEN), ((0.8, 0.75, 0.85), MISSED)):
            run = gpu_samples.documents()
            check = cell_named(run, "fast")["checks"][0]
            check.update(zip(("ratio", "ratio_low", "ratio_high"), ratios, strict=True))
            self.assertEqual(words(page_of(run), "tax of determinism"), {word})
            check.update(status="inconclusive", sentence="throttled")
            self.assertEqual(words(page_of(run), "tax of determinism"), {NOT_MEASURED})

    def test_random_numbers_that_were_not_as_predicted_are_not_met(self):
        for status, word in (("wrong", MISSED), ("unsupported", NOT_MEASURED)):
            run = gpu_samples.documents()
            for samples in ([], [270336.0]):
                cell_named(run, "device_smoke")["measurements"][0].update(status=status, samples=samples, finding="element 3 differs")
                self.assertEqual(words(page_of(run), "random numbers"), {word})

    def test_the_control_is_met_only_by_a_planted_difference_on_a_gpu_that_was_found(self):
        def changed(change):
            def write(folder: Path) -> None:
                documents = gpu_samples.control()
                change(documents)
                gpu_samples.golden_run.write_run(folder / "control", documents)

            return write

        passed, undecided = gpu_samples.control("passed"), gpu_samples.control("inconclusive")
        for change, word in (
            (lambda one: None, MET),
            (lambda one: one.update(passed), MISSED),
            (lambda one: one.update(undecided), NOT_MEASURED),
            (lambda one: one["verdict"].pop("planted"), NOT_MEASURED),
            (lambda one: one["verdict"].update(planted=["weight_ulp at step 2 in 1 cell"]), NOT_MEASURED),
            (lambda one: one["verdict"]["cells"][0]["coordinates"].update(device="cpu"), NOT_MEASURED),
        ):
            self.assertEqual(words(page_of(change=changed(change)), "atomic"), {word})


if __name__ == "__main__":
    unittest.main()
