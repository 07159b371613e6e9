"""A folder as ci/gpu.sh leaves it after a job on one GPU, and parts of it that a test may break."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import golden_run

from reprobench_report.gpu_goals import SUITE_CHECKS

CARD = "NVIDIA H100 80GB HBM3"
GPU = {
    "name": CARD, "uuid": "GPU-1", "compute_capability": "9.0", "memory_bytes": 85_520_809_984, "pci_bus_id": "",
    "cuda_cores": 0, "max_sm_clock_mhz": 0, "max_memory_clock_mhz": 0, "application_sm_clock_mhz": 0, "power_limit_mw": 0,
    "ecc": "", "mig": "", "persistence": "", "compute_mode": "", "max_pcie_generation": 0, "max_pcie_lanes": 0, "nvlinks_active": 0,
}  # fmt: skip

CHECK = {
    "metric": "device.bandwidth_share", "of": "triad to peak", "dimension": "throughput", "unit": "rel", "better": "higher",
    "gate": "record_only", "status": "passed", "reason": "within_bound", "sentence": "93.1 % of peak.", "measured": 0.931,
    "reference": None, "ratio": None, "ratio_low": None, "ratio_high": None, "noise_rel": None, "samples": 10,
    "bound": "min: 92%", "limit": 0.92, "origin": "suites/definitions/device_memory.yaml:16:7", "margin_rel": 0.01,
    "gain": False, "divergence": None,
}  # fmt: skip
MEASUREMENT = {
    "repeat": 0, "operation": "ordered_sum", "labels": {"library": "reprobench", "size": "1GiB"}, "unit": "GB/s",
    "status": "measured", "finding": "", "error_rel": None, "error_bound_rel": None, "results_compared": 0,
    "results_differing": 0, "samples": [2990.0, 3000.0, 3010.0], "peak": None, "peak_source": "", "algorithm": "", "kernels": [],
}  # fmt: skip


def measurement(operation: str, labels: dict[str, str], samples: list[float], **changed: Any) -> dict[str, Any]:
    return {**copy.deepcopy(MEASUREMENT), "operation": operation, "labels": labels, "samples": samples, **changed}


def _products() -> list[dict[str, Any]]:
    shape = {"shape": "8192x8192x8192"}
    return [
        measurement("gemm", {"dtype": dtype, **shape, **library}, [rate], unit="TFLOP/s")
        for dtype in ("bf16", "fp16", "tf32")
        for library, rate in (({}, 700.0), ({"library": "cublaslt"}, 693.0))
    ]


def _step_time(ratio: float, low: float, high: float) -> dict[str, Any]:
    check = {**copy.deepcopy(CHECK), "metric": "throughput.step_time", "unit": "ns", "better": "lower", "measured": 9e5}
    del check["of"]
    return {
        **check, "reference": 1e6, "ratio": ratio, "ratio_low": low, "ratio_high": high, "noise_rel": 0.004,
        "bound": "max_regression: 10%", "sentence": "900.0 us a step.",
    }  # fmt: skip


def documents() -> dict[str, Any]:
    """verdict, plan and run of a job in which every goal is met."""
    changed = golden_run.documents()
    verdict, plan = changed["verdict"], changed["plan"]
    template = copy.deepcopy(verdict["cells"][0])
    for attempt in template["attempts"]:
        attempt["injected"] = ""
    template.update(outcome="passed", checks=[], notes=[], required=False, reference_cell_id=None)
    cells = []

    def add(name: str, suite: str, device: str = "sm_90", **more: Any) -> dict[str, Any]:
        cell = copy.deepcopy(template)
        cell.update(cell_id=f"{len(cells) + 1:012x}", slug=name)
        cell["coordinates"] = {
            "suite": suite, "workload": suite, "stack": "torch-2.9.0-cu128", "device": device, "world_size": "1",
            "determinism": "strict", "cuda_graph": "off",
        }  # fmt: skip
        cell["coordinates"].update(more)
        cells.append(cell)
        return cell

    for suite, names in SUITE_CHECKS.items():
        cell = add(suite, suite)
        cell["checks"] = [{**copy.deepcopy(CHECK), "metric": metric, "of": of} for metric, of in names]
        cell["measurements"] = []
    by_slug = {cell["slug"]: cell for cell in cells}
    by_slug["device_smoke"]["measurements"] = [measurement("random_grid", {}, [270336.0], unit="count")]
    by_slug["device_memory"]["measurements"] = [measurement("ordered_sum", MEASUREMENT["labels"], [2990.0, 3000.0, 3010.0])]
    by_slug["device_compute"]["measurements"] = _products()
    reference = add("strict", "throughput", workload="mlp")
    fast = add("fast", "throughput", workload="mlp", determinism="fast")
    graph = add("graph", "throughput", workload="mlp", cuda_graph="on")
    for cell, check in ((fast, _step_time(0.96, 0.95, 0.97)), (graph, _step_time(0.4, 0.39, 0.41))):
        cell["reference_cell_id"] = reference["cell_id"]
        cell["checks"] = [check]
    verdict["cells"] = cells
    verdict["totals"] = {"planned": len(cells), "passed": len(cells)} | {
        word: 0 for word in ("failed", "inconclusive", "errored", "recorded", "skipped", "unfinished")
    }
    planned = copy.deepcopy(plan["cells"][0])
    plan["cells"] = [{**copy.deepcopy(planned), "cell_id": cell["cell_id"]} for cell in cells]
    plan["host"]["gpus"] = [copy.deepcopy(GPU)]
    plan["host"]["driver"] = "580.65"
    return changed


def control(status: str = "failed") -> dict[str, Any]:
    """The drill of the negative control, whose one cell of a GPU ended like that."""
    changed = documents()
    verdict, plan = changed["verdict"], changed["plan"]
    cell = verdict["cells"][0]
    cell["coordinates"]["suite"] = "determinism"
    outcome = {"failed": "failed", "passed": "passed", "inconclusive": "inconclusive"}[status]
    check = {**copy.deepcopy(CHECK), "metric": "numerics.repeat_mismatches", "dimension": "numerics", "unit": "count",
             "status": status, "gate": "armed", "measured": 1, "sentence": "repeat 1 diverges from repeat 0"}  # fmt: skip
    del check["of"]
    cell.update(outcome=outcome, checks=[check])
    verdict.update(cells=[cell], planted=["atomic_add at step 2, fc1.weight[0] in 1 cell"])
    verdict["totals"] = {"planned": 1} | {word: 0 for word in ("passed", "failed", "inconclusive", "errored", "recorded", "skipped", "unfinished")}
    verdict["totals"][outcome] = 1
    plan["cells"] = plan["cells"][:1]
    return changed


BESIDE: dict[str, dict[str, Any]] = {
    "cub_reduce": {"device": CARD, "cub": "3.0.2", "sums": [{"bytes": 2**30, "wrong": False, "call_ns": [2**30 / 3050.0] * 10}]},
    "telemetry_cost": {
        "device": "sm_90", "device_name": CARD, "torch": "2.9.0",
        "cases": [
            {"workload": "mlp/base", "batch_size": 32, "steps": 1000, "recorded": "root digests",
             "step_off_ns": [2e5] * 7, "step_on_ns": [2.02e5] * 7},
            {"workload": "gpt2/tiny", "batch_size": 4, "steps": 100, "recorded": "root digests",
             "step_off_ns": [2e6] * 7, "step_on_ns": [2.008e6] * 7},
            {"workload": "gpt2/tiny", "batch_size": 4, "steps": 40, "recorded": "every tensor",
             "step_off_ns": [2e6] * 7, "step_on_ns": [2.4e6] * 7},
        ],
    },
    "python_eager": {"device_name": CARD, "torch": "2.9.0", "precision": "bf16", "ratios": {"mlp/base": [1.5, 1.6], "gpt2/tiny": [1.1, 1.2]}},
    "python_compiled": {"device_name": CARD, "torch": "2.9.0", "precision": "bf16", "ratios": {"mlp/base": [0.9, 0.9], "gpt2/tiny": [0.9, 0.92]}},
}  # fmt: skip


def write_job(folder: Path, run: dict[str, Any] | None = None, beside: dict[str, Any] | None = None) -> Path:
    for name, changed in (("run", run or documents()), ("control", control())):
        (folder / name).mkdir(exist_ok=True)
        golden_run.write_run(folder / name, changed)
    for name, document in (beside or copy.deepcopy(BESIDE)).items():
        (folder / f"{name}.json").write_text(json.dumps(document) + "\n", "utf-8")
    return folder
