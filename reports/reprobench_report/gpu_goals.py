"""What a run on a GPU measured, held against the goals: a row a goal, whatever became of it.

"triad to peak" of suite device_memory, for example: the goal is the bound that the suite's file states, the value the share that
the coordinator judged, the word met, missed or not measured. A goal whose check is not there is not measured and says why;
no row is left out, so a page without a finding is not a page without a measurement.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from .load import Run
from .quantity import finite, human, percent, significant

MET, MISSED, OPEN, NOT_MEASURED, RECORDED = "met", "missed", "undecided", "not measured", "recorded"
WORDS = (MISSED, OPEN, NOT_MEASURED, MET, RECORDED)

VERDICT = "run/verdict.json"


@dataclass(frozen=True)
class Row:
    section: str
    what: str
    goal: str
    goal_source: str
    value: str  # a dash where there is none
    file: str  # that the value comes from, or that it was looked for in
    word: str
    why: str


# Of each suite: metric and `of` of the checks that its file has for GPUs (suites/definitions, held by a test).
SUITE_CHECKS: dict[str, tuple[tuple[str, str], ...]] = {
    "device_smoke": (
        ("device.latency", "matmul"),
        ("device.latency", "launch_interval"),
        ("device.latency", "launch_latency"),
        ("device.flop_share", "tensor_core_matmul dtype=bf16 to peak"),
        ("device.flop_share", "tensor_core_matmul dtype=tf32 to peak"),
    ),
    "device_memory": (
        ("device.bandwidth_share", "triad to peak"),
        ("device.bandwidth_share", "triad to copy"),
        ("device.bandwidth_share", "digest to read_sum"),
        ("device.bandwidth_share", "ordered_sum to read_sum"),
        ("device.bandwidth_share", "host_to_device memory=pinned to peak"),
        ("device.bandwidth_share", "device_to_host memory=pinned to peak"),
        ("device.bandwidth", "triad"),
    ),
    "device_compute": (
        ("device.flop_share", "gemm dtype=bf16 to peak"),
        ("device.flop_share", "gemm dtype=fp16 to peak"),
        ("device.flop_share", "gemm dtype=tf32 to peak"),
    ),
}

# reference/performance.md's goals for one card; a convolutional network's tax is not asked by matrix/gpu.yaml.
TAX_AT_MOST = 1.10
CUBLASLT_AT_LEAST = 0.98
_PRODUCT_SHAPE = "8192x8192x8192"
PROJECT = "goal of the project"


def gpu_cells(run: Run, suite: str) -> list[dict[str, Any]]:
    return [
        cell
        for cell in run.cells
        if cell["coordinates"]["suite"] == suite and cell["coordinates"]["device"] != "cpu"
    ]


def why_not_run(cell: dict[str, Any]) -> str:
    return f"{cell['slug']} {cell['outcome']}: {cell['sentence']}"


def cells_to_read(run: Run, suite: str) -> tuple[list[dict[str, Any]], str]:
    """Cells of a GPU that ran, or none and the reason. A card is of one class, so classes that are not here are no finding."""
    cells = gpu_cells(run, suite)
    ran = [cell for cell in cells if cell["outcome"] not in ("skipped", "unfinished")]
    if ran:
        return ran, ""
    if not cells:
        return [], f"the run has no cell of suite {suite} for a GPU"
    unfinished = [cell for cell in cells if cell["outcome"] == "unfinished"]
    return [], why_not_run((unfinished or cells)[0])


def missing(section: str, what: str, why: str, goal: str = "–", source: str = "–", file: str = VERDICT) -> Row:
    return Row(section, what, goal, source, "–", file, NOT_MEASURED, why)


def _checked(section: str, what: str, check: dict[str, Any], cell: dict[str, Any]) -> Row:
    words = {"passed": MET, "failed": MISSED}
    word = words.get(check["status"], NOT_MEASURED)
    value = finite(check["measured"])
    if word == MET and value is None:
        word = NOT_MEASURED  # a check that passed on nothing has not measured anything
    shown = percent(value) if check["unit"] == "rel" else human(value, check["unit"])
    why = check["sentence"] if word == NOT_MEASURED else f"{cell['slug']}, {cell['outcome']}"
    return Row(section, what, check["bound"], check["origin"], shown, VERDICT, word, why)


def suite_rows(run: Run) -> Iterator[Row]:
    """A row for each check that the suites of a device have, of each cell that ran."""
    for suite, names in SUITE_CHECKS.items():
        cells, why = cells_to_read(run, suite)
        for metric, of in names:
            what = f"{metric} of {of}"
            if not cells:
                yield missing(suite, what, why)
            for cell in cells:
                found = [check for check in cell["checks"] if (check["metric"], check.get("of")) == (metric, of)]
                if found:
                    yield from (_checked(suite, what, check, cell) for check in found)
                else:
                    yield missing(suite, what, f"no such check; {why_not_run(cell)}")


def rates(cell: dict[str, Any], operation: str, **labels: str) -> list[float]:
    """Samples of exactly that operation and labels, of all repeats; none if any repeat's result was wrong."""
    found = [
        one
        for one in cell.get("measurements", [])
        if one["operation"] == operation and one["labels"] == labels
    ]
    samples = [finite(sample) for one in found if one["status"] == "measured" for sample in one["samples"]]
    usable = all(one["status"] == "measured" for one in found) and all(value is not None and value > 0 for value in samples)
    return [value for value in samples if value is not None] if usable else []


def product_rows(run: Run) -> Iterator[Row]:
    """cuBLASLt called directly against LibTorch's mm, on the same random numbers."""
    section, goal = "device_compute", f"≥ {percent(CUBLASLT_AT_LEAST)}"
    cells, why = cells_to_read(run, section)
    for dtype in ("bf16", "fp16", "tf32"):
        what = f"cuBLASLt to LibTorch's mm, {dtype}, {_PRODUCT_SHAPE}"
        if not cells:
            yield missing(section, what, why, goal, PROJECT)
        for cell in cells:
            ours = rates(cell, "gemm", dtype=dtype, shape=_PRODUCT_SHAPE, library="cublaslt")
            theirs = rates(cell, "gemm", dtype=dtype, shape=_PRODUCT_SHAPE)
            if not ours or not theirs:
                lacks = "cuBLASLt" if not ours else "LibTorch"
                yield missing(section, what, f"{cell['slug']} has no right and timed product of {lacks}", goal, PROJECT)
                continue
            ratio = statistics.median(ours) / statistics.median(theirs)
            word = MET if ratio >= CUBLASLT_AT_LEAST else MISSED
            yield Row(section, what, goal, PROJECT, percent(ratio), VERDICT, word, cell["slug"])


def random_rows(run: Run) -> Iterator[Row]:
    section, what, goal = "device_smoke", "LibTorch's random numbers", "as predicted, with the element where other cards diverge"
    cells, why = cells_to_read(run, section)
    if not cells:
        yield missing(section, what, why, goal, PROJECT)
    for cell in cells:
        found = [one for one in cell.get("measurements", []) if one["operation"] == "random_grid"]
        if not found:
            yield missing(section, what, f"no measurement random_grid; {why_not_run(cell)}", goal, PROJECT)
        for one in found:
            words = {"measured": MET, "wrong": MISSED}
            edge = finite(one["samples"][0]) if one["samples"] else None
            word = words.get(one["status"], NOT_MEASURED)
            if word == MET and edge is None:
                word = NOT_MEASURED
            value = f"element {human(edge, 'count')}" if edge is not None else "–"
            yield Row(section, what, goal, PROJECT, value, VERDICT, word, one["finding"] or cell["slug"])


def _step_time(cell: dict[str, Any]) -> dict[str, Any] | None:
    return next((check for check in cell["checks"] if check["metric"] == "throughput.step_time"), None)


def _differing(cell: dict[str, Any], reference: dict[str, Any]) -> dict[str, tuple[str, str]]:
    mine, other = cell["coordinates"], reference["coordinates"]
    return {
        name: (mine.get(name, ""), other.get(name, ""))
        for name in {*mine, *other}
        if mine.get(name) != other.get(name)
    }


def _ratio_problem(check: dict[str, Any] | None, cell: dict[str, Any]) -> str:
    if check is None:
        return f"no check of step times; {why_not_run(cell)}"
    if check["status"] == "inconclusive" or any(
        (finite(check[name]) or 0) <= 0 for name in ("ratio", "ratio_low", "ratio_high")
    ):
        return check["sentence"]
    return ""


def _paired(run: Run, axes: dict[str, tuple[str, str]]) -> Iterable[dict[str, Any]]:
    by_id = {cell["cell_id"]: cell for cell in run.cells}
    for cell in cells_to_read(run, "throughput")[0]:
        reference = by_id.get(cell["reference_cell_id"])
        if reference is not None and _differing(cell, reference) == axes:
            yield cell


def determinism_rows(run: Run) -> Iterator[Row]:
    """Tax of determinism: a strict step over a fast one, by the interval of the pairs."""
    section, what, goal = "throughput", "tax of determinism", f"≤ x{TAX_AT_MOST:.2f}"
    found = False
    for cell in _paired(run, {"determinism": ("fast", "strict")}):
        found = True
        name, check = f"{what}, {cell['coordinates']['workload']}", _step_time(cell)
        problem = _ratio_problem(check, cell)
        if problem or check is None:
            yield missing(section, name, problem, goal, PROJECT)
            continue
        # The check has fast over strict.
        tax, low, high = (1 / float(check[key]) for key in ("ratio", "ratio_high", "ratio_low"))
        word = MET if high <= TAX_AT_MOST else MISSED if low > TAX_AT_MOST else OPEN
        value = f"x{significant(tax)} [{significant(low)}, {significant(high)}]"
        yield Row(section, name, goal, PROJECT, value, VERDICT, word, cell["slug"])
    if not found:
        why = cells_to_read(run, section)[1] or "no cell with determinism fast has a strict one as its reference"
        yield missing(section, what, why, goal, PROJECT)


def graph_rows(run: Run) -> Iterator[Row]:
    """Gain of recording a step as one CUDA graph. It has no goal of its own."""
    section, what = "throughput", "a step as one CUDA graph over a plain one"
    found = False
    for cell in _paired(run, {"cuda_graph": ("on", "off")}):
        found = True
        name, check = f"{what}, {cell['coordinates']['workload']}", _step_time(cell)
        problem = _ratio_problem(check, cell)
        if problem or check is None:
            yield missing(section, name, problem)
            continue
        low, high = (significant(float(check[key])) for key in ("ratio_low", "ratio_high"))
        value = f"x{significant(float(check['ratio']))} [{low}, {high}] of its time"
        yield Row(section, name, "–", "–", value, VERDICT, RECORDED, cell["slug"])
    if not found:
        why = cells_to_read(run, section)[1] or "no cell with cuda_graph on has one without as its reference"
        yield missing(section, what, why)


def noise_rows(run: Run) -> Iterator[Row]:
    """Spread of step times between fresh processes. The goal is about blocks in one process (gpu_beside.py)."""
    section, what = "throughput", "noise between processes"
    rows = [
        Row(section, f"{what}, {cell['slug']}", "–", "–", percent(check["noise_rel"]), VERDICT, RECORDED, cell["outcome"])
        for cell in cells_to_read(run, section)[0]
        if (check := _step_time(cell)) is not None and finite(check["noise_rel"]) is not None
    ]
    why = cells_to_read(run, section)[1] or "no check of step times has a spread"
    yield from rows or [missing(section, what, why)]


def rows_of_run(run: Run) -> list[Row]:
    parts = (suite_rows, product_rows, random_rows, determinism_rows, graph_rows, noise_rows)
    return [row for part in parts for row in part(run)]
