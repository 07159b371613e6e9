"""Comparisons as `compare --explain` writes them, by hand: one of each word, and one pair with a value in every field."""

from __future__ import annotations

import copy
import math
from typing import Any

import golden_run

RUN_ID = golden_run.documents()["run"]["run_id"]


def digest(number: int) -> str:
    return f"{number:032x}"


def _cell(suite: str, stack: str, precision: str = "fp32") -> str:
    """RUN_ID:CELL_ID of a cell of the golden run."""
    wanted = {"suite": suite, "stack": stack, "precision": precision, "device": "cpu"}
    for cell in golden_run.documents()["verdict"]["cells"]:
        if wanted.items() <= cell["coordinates"].items():
            return f"{RUN_ID}:{cell['cell_id']}"
    raise LookupError(wanted)


def _comparison(measured: str, expected: str, word: str, sentence: str, **fields: Any) -> dict[str, Any]:
    return {
        "schema": "reprobench/comparison", "version": {"major": 2, "minor": 0}, "measured": measured, "expected": expected,
        "workload": "mlp/digits, 100 steps of 32, fp32", "word": word, "sentence": sentence, "steps_compared": 100,
        "steps_differing": 0, "first_difference": None, "differences": [], "explanation": None, "strip": None,
        "trajectory": None, "equivalence": None, "discrete_events": [], "loss_split": None, "first_over_bound": None, "non_finite": None,
        "measured_name": "", "expected_name": "", "ratios": [], **fields,
    }  # fmt: skip


def _tensor(number: int, *shape: int, dtype: str = "float32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape), "digest": digest(number) if number else "", "not_finite": 0}


def _call(output: int, constants: str, index: int) -> dict[str, Any]:
    return {
        "kind": "operator", "step": 3, "index": index, "name": "aten::addmm", "depth": 1, "pass": "forward", "module": "fc1",
        "inputs": [_tensor(11, 128), _tensor(12, 32, 784), _tensor(0, 784, 128)], "outputs": [_tensor(output, 32, 128)],
        "constants": constants,
    }  # fmt: skip


def _judged(name: str, word: str, ratio: Any, pooled: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "name": name, "dtype": "F32", "shape": [128, 784], "word": word, "reason": f"E is at most {ratio}, class B2 allows 3",
        "equal_bits": False, "worst_batch": 2, "e_x": 4.8885e-7, "e_r": 4.4127e-7, "delta": 2.7012e-7, "error_ratio": ratio,
        "error_ratio_bound": 3, "triangle": 0.5046, "pooled": pooled, "ulp_histogram": [263, 548, 907], "max_ulp": 25922,
        "nan_mismatches": 3, "inf_mismatches": 4,
    }  # fmt: skip


_POOLED = {
    "error_ratio": 1.2345, "bound": 1.1771, "upper": 1.3169, "spread_log": 0.12, "effective_batches": 30.2, "decision": "defect",
    "reason": "pooled E is over its bound", "batches_needed": 0,
}  # fmt: skip

_LOCKSTEP = {
    "schema": "reprobench/lockstep", "version": {"major": 2, "minor": 0}, "precision": "fp32", "alpha": 0.001,
    "legitimate_ratio": 1.05, "batches": 32, "word": "defect", "sentence": "1 of 6 tensors is off by more than rounding",
    "tensors": [
        _judged("gradient/fc1.weight", "defect", 7.25, _POOLED),
        _judged("gradient/fc1.bias", "undecided", "inf", None),
        *(_judged(f"update/layer{n}", "rounding", 0.5 + n / 8, {**_POOLED, "error_ratio": 1.01, "decision": "rounding"}) for n in range(4)),
    ],
    "not_resolved": ["update/layer2", "update/layer3"],
}  # fmt: skip

_EXPLANATION = {
    "operator": {
        "measured": _call(21, "1, 1e-05 (0x3ee4f8b588e368f1)", 4), "expected": _call(22, "1, 1.1e-05 (0x3ee711947cfa26a2)", 5),
        "output": 0, "constants_differ": True, "calls_compared": 17, "calls_unmatched": 2,
    },
    "diverging_operators": ["aten::addmm", "AddmmBackward0"],
    "element": {
        "tensor": "output 0 of aten::addmm", "shape": [32, 128], "index": 1234, "block": 5, "measured": 0.000999949756078422,
        "expected": 0.000999949872493744, "measured_bits": "000000003a8310bf", "expected_bits": "000000003a8310c0", "ulp": 1,
        "max_ulp": 2048, "differing": 234, "count": 4096,
    },
    "operator_budget": {
        "measured_error_rel": 1.871e-7, "expected_error_rel": 1.652e-7, "distance_rel": 2.413e-7, "amplification": 3.217,
    },
    "no_operator_budget": "", "lockstep": _LOCKSTEP, "lockstep_state": 2,
    "lockstep_states": [{"state": 100, "word": "rounding", "sentence": "all differences are of rounding size after step 100"}],
    "suspect": {"component": "blas", "sentence": "blas: `2024.2` against `2023.1`; it implements aten::addmm"},
    "notes": ["the replay took 0.8 s"],
}  # fmt: skip

# What an explanation says of a step in which more than one call makes a difference.
_FURTHER = [
    {
        "diagnosis": {"word": "defect", "sentence": "aten::mul_ is off by more than it can round"}, "inputs_agree": True,
        "on_substituted_inputs": True,
        "operator": {
            "measured": {**_call(31, "0.99", 61), "name": "aten::mul_", "pass": "optimizer", "module": "fc2.weight"},
            "expected": {**_call(32, "0.99", 62), "name": "aten::mul_", "pass": "optimizer", "module": "fc2.weight"},
            "output": 0, "constants_differ": False, "calls_compared": 60, "calls_unmatched": 2,
        },
        "region": None, "element": None, "no_operator_budget": "",
        "operator_budget": {
            "measured_error_rel": 0.0217, "expected_error_rel": 3.371e-8, "distance_rel": 0.0219, "amplification": None,
        },
    },
    {
        "diagnosis": {"word": "rounding", "sentence": "the two subgraphs make the same"}, "inputs_agree": False,
        "operator": None,
        "region": {
            "measured": {"calls": [{**_call(33, "", 71), "name": "aten::gelu"}], "outflow": _tensor(33, 4)},
            "expected": {"calls": [{**_call(34, "", 72), "name": "aten::erf"}], "outflow": _tensor(34, 4)},
            "constants_differ": False,
        },
        "element": None, "operator_budget": None, "no_operator_budget": "its inputs differ already",
    },
]  # fmt: skip
_FURTHER.append({key: value for key, value in _FURTHER[0].items() if key != "on_substituted_inputs"})
BEHIND_THE_FIRST = {"further_sources": _FURTHER, "sources_left_out": 5, "calls_apart": 173}

# What a module is by itself whose sides take other operators.
MODULE = {
    "module": {
        "module": "h.0.mlp.gelu", "pass": "forward", "word": "defect", "farther": "measured", "farther_factor": 33.2,
        "sentence": "`h.0.mlp.gelu` (forward): off by more than it can round: aten::tanh on the measured side",
        "measured": {"calls": 8, "of_bound": 31.4, "call": "aten::tanh", "source": "2 ULP", "no_bound": ""},
        "expected": {"calls": 1, "of_bound": None, "call": "", "source": "", "no_bound": "no bound is derived for aten::own"},
    }
}  # fmt: skip

_POINTS = [
    {"step": step, "distance_rel": 1e-7 * step**1.5, "bound_rel": 1.52e-7 * step**1.4 if step < 90 else None}
    for step in range(1, 101)
] + [{"step": 101, "distance_rel": "nan", "bound_rel": 1e-4}]  # fmt: skip

FULL = _comparison(
    _cell("determinism", "torch-2.9.0-cu128"), _cell("determinism", "torch-2.1.0-cu121"), "differs",
    "bits differ from step 3, forward_output `fc1`; aten::addmm made it; against fp64: defect; suspect: blas",
    steps_differing=98,
    first_difference={
        "step": 3, "tensor": "fc1", "role": "forward_output", "measured_digest": digest(21), "expected_digest": digest(22),
    },
    differences=[{"what": "blas", "measured": "2024.2", "expected": "2023.1"}, {"what": "cuda", "measured": "12.8", "expected": ""}],
    implementations={
        "changed": [{"what": "aten::addmm (128), (32,784), (784,128) float32", "measured": "mkl SGEMM for AVX2", "expected": ""}],
        "compared": 17, "incomplete": ["of 2 operations of the measured side it is not known what computed them"],
    },
    explanation=_EXPLANATION,
    strip={
        "steps": list(range(1, 33)),
        "rows": [
            {"module": "fc1", "marks": ".." + "f" * 10 + "ipmlgdsb" + "f" * 12},
            {"module": "relu", "marks": "..." + "i" * 29},
            {"module": "frozen", "marks": "." * 32},
        ],
    },
    trajectory={
        "word": "outside", "sentence": "leaves its bound at step 66", "members": 8, "horizon_step": 90,
        "growth": {"alpha": 1.5432, "lambda_per_step": 0.0123, "doubling_steps": 56.35}, "points": _POINTS,
    },
    equivalence={
        "equivalent": False, "sentence": "not shown in 1 of 2 windows", "seeds": 12, "margin_rel": 0.0123,
        "windows": [
            {"first_step": 51, "last_step": 75, "difference": 0.00131, "low": -0.00217, "high": 0.00479, "margin": 0.00617,
             "p_value": 0.0031, "equivalent": True},
            {"first_step": 76, "last_step": 100, "difference": 0.00331, "low": -0.00117, "high": 0.00779, "margin": 0.00618,
             "p_value": 0.0877, "equivalent": False},
        ],
    },
    loss_split={"step": 8, "distance_rel": 0.0317, "before_rel": 2.73e-7, "event": "relu_active"},
    discrete_events=[{"event": "relu_active", "steers": True, "first_step": 7, "flips": 4321, "steps_with_flips": 88}],
    first_over_bound={"step": 66, "role": "parameter_gradient", "tensor": "fc2.weight", "distance_rel": 5.361e-5, "bound_rel": 5.295e-5},
    non_finite={"side": "measured", "step": 101, "sentence": "the loss is nan from step 101"},
)  # fmt: skip

ROUNDING = _comparison(
    _cell("determinism", "torch-2.15.0-cu132"), _cell("determinism", "torch-2.1.0-cu121"), "differs",
    "bits differ from step 3; against fp64: rounding; suspect: torch", steps_differing=97,
    explanation={
        **_EXPLANATION, "operator": None, "diverging_operators": ["aten::mul"], "element": None, "operator_budget": None,
        "no_operator_budget": "its inputs are whole numbers", "notes": [], "suspect": {"component": "torch", "sentence": "torch"},
        "lockstep": {**_LOCKSTEP, "word": "rounding", "tensors": _LOCKSTEP["tensors"][2:], "not_resolved": []},
    },
    strip={"steps": [1, 2, 3], "rows": [{"module": "fc1", "marks": "..f"}]},
)  # fmt: skip

EQUAL = _comparison(
    _cell("determinism", "torch-2.8.0-cu128"), _cell("determinism", "torch-2.1.0-cu121"), "equal", "all 100 steps have equal bits",
)  # fmt: skip

NOT_COMPARABLE = _comparison(
    "torch-2.8.0-cu128", "r-elsewhere:0123456789ab", "not_comparable", "the workloads differ: 111 against 222",
    workload="gpt2/tiny, 20 steps of 4, fp32", steps_compared=0,
    differences=[{"what": "knob threads", "measured": "1", "expected": "2"}],
)  # fmt: skip


def comparisons() -> list[dict[str, Any]]:
    """Fresh copies; the document's order is not the report's."""
    return copy.deepcopy([EQUAL, ROUNDING, NOT_COMPARABLE, FULL])


def document(list_: list[dict[str, Any]]) -> dict[str, Any]:
    return {"schema": "reprobench/comparisons", "version": {"major": 2, "minor": 0}, "comparisons": list_}


def strip_of_network(layers: int, steps: int, from_step: int) -> dict[str, Any]:
    """Of a decoder in which a difference in layer 1 reaches all others."""
    modules = ["wte", "wpe"]
    for layer in range(layers):
        modules += [
            f"h.{layer}.{part}" for part in ("ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj")
        ]
    modules += ["ln_f", "lm_head", "loss"]
    rows = []
    for place, module in enumerate(modules):
        first = from_step if place > 8 else from_step + 1 + place % 3
        role = "f" if place == 9 else "l" if module == "loss" else "i" if place > 9 else "g"
        marks = ("." * (first - 1) + role + ("p" if role != "l" else "l") * steps)[:steps]
        rows.append({"module": module, "marks": marks})
    return {"steps": list(range(1, steps + 1)), "rows": rows}


def growing(points: int) -> list[dict[str, Any]]:
    return [
        {
            "step": step,
            "distance_rel": 1e-8 * math.exp(step / 40) * (1 + 0.3 * math.sin(step)),
            "bound_rel": 1e-7 * math.exp(step / 38),
        }
        for step in range(1, points + 1)
    ]
