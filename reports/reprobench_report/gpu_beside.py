"""What was measured beside a run on a GPU: a row a goal from the files that ci/gpu.sh leaves next to the run.

Each is one JSON line of the program that measured. Where ci/gpu.sh could not measure it leaves NAME.txt with the reason in place of
NAME.json; a file of another shape, of another card or with results that are wrong counts as not measured.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .gpu_goals import MET, MISSED, NOT_MEASURED, OPEN, PROJECT, RECORDED, Row, cells_to_read, missing, rates
from .load import ReportError, Run, load_run
from .quantity import finite, human, percent, significant

CUB_SHARE_AT_LEAST = 0.97
TELEMETRY_AT_MOST = 0.005
TELEMETRY_FROM_NS = 1e6
BLOCK_SPREAD_AT_MOST = 0.005
_FEWEST_PAIRS = 5
# Python's step over ours.
PYTHON_AT_LEAST = {
    ("mlp/base", "eager"): 1.3, ("gpt2/tiny", "eager"): 1.0, ("gpt2/tiny", "compiled"): 0.85,
}  # fmt: skip

_BESIDE = "beside the run"
_SIZES = {"GiB": 2**30, "MiB": 2**20, "KiB": 2**10, "B": 1}


class _NotMeasured(Exception):
    """Why a file's goals are not measured."""


def read_beside(folder: Path, name: str) -> dict[str, Any]:
    """Throws _NotMeasured with the reason that was left, or with what is wrong with the file."""
    path, reason = folder / f"{name}.json", folder / f"{name}.txt"
    if not path.exists():
        try:
            said = " ".join(reason.read_text("utf-8", errors="replace").split())
        except OSError:
            said = ""
        raise _NotMeasured(said or f"neither {path.name} nor a reason in {reason.name} was left")
    try:
        document = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise _NotMeasured(f"{path.name} cannot be read: {error}") from None
    if not isinstance(document, dict):
        raise _NotMeasured(f"{path.name} is no JSON object")
    return document


def _numbers(values: Any, fewest: int) -> list[float]:
    if not isinstance(values, list) or len(values) < fewest:
        raise _NotMeasured(f"fewer than {fewest} samples")
    if any(isinstance(value, bool) or not isinstance(value, int | float) or not finite(value) or value <= 0 for value in values):
        raise _NotMeasured("a sample is no positive number")
    return [float(value) for value in values]


def _is_of_card(run: Run | None, name: Any) -> None:
    cards = [gpu["name"] for gpu in run.plan["host"]["gpus"]] if run else []
    if name not in cards:
        raise _NotMeasured(f"timed on {name}; the run's host has {', '.join(cards) or 'no GPU'}")


def _bytes(label: str) -> int:
    unit = next((unit for unit in _SIZES if label.endswith(unit)), "")
    digits = label.removesuffix(unit)
    return int(digits) * _SIZES[unit] if unit and digits.isdecimal() else 0


def _ordered_sums(run: Run) -> dict[int, float]:
    """Median rate in GB/s of our fixed-order sum by size in bytes, of the first cell that has any."""
    for cell in cells_to_read(run, "device_memory")[0]:
        labels = [one["labels"] for one in cell.get("measurements", []) if one["operation"] == "ordered_sum"]
        found = {_bytes(one.get("size", "")): rates(cell, "ordered_sum", **one) for one in labels}
        if any(found.values()):
            return {size: statistics.median(samples) for size, samples in found.items() if samples and size}
    return {}


def _cub_rows(folder: Path, run: Run | None) -> Iterator[Row]:
    document = read_beside(folder, "cub_reduce")
    _is_of_card(run, document.get("device"))
    ours = _ordered_sums(run) if run else {}
    theirs = {}
    for one in document.get("sums") or []:
        if one["wrong"] is not False:
            raise _NotMeasured(f"CUB's sum of {one['bytes']} bytes is wrong")
        theirs[one["bytes"]] = one["bytes"] / statistics.median(_numbers(one["call_ns"], _FEWEST_PAIRS))
    both = sorted(set(ours) & set(theirs))
    if not both:
        raise _NotMeasured("no size was summed on both sides")
    for size in both:
        ratio = ours[size] / theirs[size]
        value = f"{percent(ratio)} ({human(ours[size], 'GB/s')} against {human(theirs[size], 'GB/s')})"
        what = f"fixed-order sum to cub::DeviceReduce::Sum, {human(size, 'bytes')}"
        word = MET if ratio >= CUB_SHARE_AT_LEAST else MISSED
        why = f"CUB {document.get('cub')}"
        yield Row(_BESIDE, what, f"≥ {percent(CUB_SHARE_AT_LEAST)}", PROJECT, value, "cub_reduce.json", word, why)


def _telemetry_row(case: dict[str, Any], off: list[float], on: list[float]) -> Row:
    cost = statistics.median(b / a for a, b in zip(off, on, strict=True)) - 1
    step = statistics.median(off)
    what = f"event telemetry, {case['recorded']}, {case['workload']}"
    value = f"{percent(cost, signed=True)} of {human(step, 'ns')}"
    if case["recorded"] != "root digests" or step < TELEMETRY_FROM_NS:
        why = "the goal is about root digests in steps of 1 ms and more"
        return Row(_BESIDE, what, "–", "–", value, "telemetry_cost.json", RECORDED, why)
    word = MET if cost <= TELEMETRY_AT_MOST else MISSED
    goal = f"≤ {percent(TELEMETRY_AT_MOST)} of steps from 1 ms"
    return Row(_BESIDE, what, goal, PROJECT, value, "telemetry_cost.json", word, f"{len(off)} pairs")


def _block_row(case: dict[str, Any], off: list[float]) -> Row:
    """A/A: the same steps again in the same process; 1.4826 makes the median deviation a standard deviation's estimate."""
    middle = statistics.median(off)
    spread = 1.4826 * statistics.median(abs(value - middle) for value in off) / middle
    goal = f"≤ {percent(BLOCK_SPREAD_AT_MOST)}"
    what = f"A/A noise of blocks of {case['steps']} steps in one process, {case['workload']}"
    word = MET if spread <= BLOCK_SPREAD_AT_MOST else MISSED
    return Row(_BESIDE, what, goal, PROJECT, percent(spread), "telemetry_cost.json", word, f"{len(off)} blocks")


def _telemetry_rows(folder: Path, run: Run | None) -> Iterator[Row]:
    document = read_beside(folder, "telemetry_cost")
    _is_of_card(run, document.get("device_name"))
    rows = []
    for case in document["cases"]:
        off, on = (_numbers(case[name], _FEWEST_PAIRS) for name in ("step_off_ns", "step_on_ns"))
        rows.append(_telemetry_row(case, off, on))
        if case["recorded"] == "root digests":
            rows.append(_block_row(case, off))
    if not any("event telemetry" in row.what and row.word != RECORDED for row in rows):
        why = "no step with root digests took 1 ms"
        rows.append(missing(_BESIDE, "event telemetry of steps from 1 ms", why, f"≤ {percent(TELEMETRY_AT_MOST)}", PROJECT, "telemetry_cost.json"))
    yield from rows


def _python_rows(folder: Path, run: Run | None, how: str) -> Iterator[Row]:
    name = f"python_{how}"
    document = read_beside(folder, name)
    _is_of_card(run, document.get("device_name"))
    for (workload, mode), least in PYTHON_AT_LEAST.items():
        if mode != how:
            continue
        ratios = sorted(_numbers(document["ratios"][workload], 1))
        ratio = statistics.median(ratios)
        value = f"x{significant(ratio)} [{significant(ratios[0])}, {significant(ratios[-1])}]"
        what = f"a step in Python, {how}, to one here, {workload}, {document['precision']}"
        word = OPEN if len(ratios) < 2 or ratios[0] < least <= ratios[-1] else MET if ratio >= least else MISSED
        why = f"torch {document['torch']}, {len(ratios)} pair{'s' if len(ratios) > 1 else '; one decides nothing'}"
        yield Row(_BESIDE, what, f"≥ x{least:.2f}", PROJECT, value, f"{name}.json", word, why)


def _control_rows(folder: Path, _: Run | None) -> Iterator[Row]:
    try:
        control = load_run(folder / "control")
    except ReportError as error:
        raise _NotMeasured(str(error)) from None
    planted = [fault for fault in control.verdict.get("planted", []) if "atomic_add" in fault]
    if not planted:
        raise _NotMeasured("control/verdict.json is of a run without planted sums by atomic operations")
    judged = [
        check
        for cell in control.cells
        if cell["coordinates"]["device"] != "cpu"
        for check in cell["checks"]
        if check["metric"] == "numerics.repeat_mismatches" and check["status"] != "inconclusive"
    ]
    if not judged:
        raise _NotMeasured("no cell of a GPU was judged")
    found = [check for check in judged if check["status"] == "failed"]
    value = (found or judged)[0]["sentence"]
    word = MET if found else MISSED
    yield Row(_BESIDE, "sums by atomic operations", "found to differ", "ci/gpu.sh", value, "control/verdict.json", word, planted[0])


Part = Callable[[Path, Run | None], Iterator[Row]]
_PARTS: tuple[tuple[str, str, str, Part], ...] = (
    ("fixed-order sum to cub::DeviceReduce::Sum", f"≥ {percent(CUB_SHARE_AT_LEAST)}", "cub_reduce.json", _cub_rows),
    ("event telemetry; A/A noise in one process", f"≤ {percent(TELEMETRY_AT_MOST)} each", "telemetry_cost.json", _telemetry_rows),
    ("a step in Python, eager, to one here", "≥ x1.30 mlp/base, ≥ x1.00 gpt2/tiny", "python_eager.json",
     lambda folder, run: _python_rows(folder, run, "eager")),
    ("a step in Python, compiled, to one here", "≥ x0.85 gpt2/tiny", "python_compiled.json",
     lambda folder, run: _python_rows(folder, run, "compiled")),
    ("sums by atomic operations", "found to differ", "control/verdict.json", _control_rows),
)  # fmt: skip


def rows_beside(folder: Path, run: Run | None) -> list[Row]:
    """`run` is the one in FOLDER/run; none where it cannot be read."""
    rows: list[Row] = []
    for what, goal, file, part in _PARTS:
        try:
            rows += list(part(folder, run))
        except _NotMeasured as reason:
            rows.append(Row(_BESIDE, what, goal, PROJECT, "–", file, NOT_MEASURED, str(reason)))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            why = f"{file} is not what its program writes: {type(error).__name__} {error}"
            rows.append(Row(_BESIDE, what, goal, PROJECT, "–", file, NOT_MEASURED, why))
    return rows
