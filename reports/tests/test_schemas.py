"""The schemas themselves: valid, in step with the C++ sources, and read by schema_check as jsonschema reads them."""

import copy
import json
import re
import unittest

import golden_run
import telemetry_samples

from reprobench_report.load import load_schema, schema_folder
from reprobench_report.schema_check import compiled, first_problem

try:
    import jsonschema
except ImportError:
    jsonschema = None

CONTRACT = golden_run.REPOSITORY / "matrix" / "contract"
SCHEMA_FILES = sorted(schema_folder().glob("*.schema.json"))
DIGEST = "0123456789abcdef" * 2


def _current(name):
    """A golden document as this version writes it."""
    return {**golden_run.documents()[name], **_head(name)}


def _trace_line(kind, **fields):
    return {"kind": kind, "seq": 0, "crc32c": "0badf00d", **fields}


def _verdict_with_telemetry():
    verdict = _current("verdict")
    verdict["cells"][1]["attempts"][0]["telemetry"] = telemetry_samples.faulty()
    verdict["cells"][1]["attempts"][1]["telemetry"] = None
    return verdict


def _head(name):
    return {"schema": f"reprobench/{name}", "version": {"major": 2, "minor": 0}}


FINGERPRINT = golden_run.documents()["verdict"]["environments"][0]["fingerprint"]
TENSOR = {
    "name": "fc1.weight", "role": "parameter", "dtype": "float32", "shape": [128, 784], "digest": DIGEST,
    "sketch": {"nan_count": 0, "inf_count": 0, "min": "-inf", "max": 1, "sum": 0.5, "l2": "nan", "signed_sums": [0.0] * 64},
}  # fmt: skip
ELEMENT_PAIR = {
    "index": 1, "measured": {"value": 1.0, "bits": "3f800000"}, "reference": {"value": None, "bits": "3f"}, "ulp": None,
}  # fmt: skip
MEASUREMENT = {
    "operation": "gemm", "labels": {"dtype": "bf16"}, "unit": "TFLOP/s", "status": "measured", "finding": "", "error_rel": 2.9e-3,
    "error_bound_rel": "nan", "results_compared": 0, "results_differing": 0, "samples": [0.5, "inf"], "peak": None, "peak_source": "",
    "algorithm": "", "algorithm_unknown": "no name of what ran tells it", "kernels": ["nvjet_hsh_256x128"],
}  # fmt: skip
SAMPLES = {
    "verdict": [_current("verdict"), _verdict_with_telemetry()],
    "plan": [_current("plan")],
    "run": [_current("run")],
    "request": [{
        **_head("request"), "cell_id": "3f9c1e0a7b52", "nonce": "00112233aabbccdd", "rank": 0, "repeat": 0, "attempt": 0, "suite": "smoke",
        "workload": {"model": "mlp", "preset": "digits", "steps": 10, "batch_size": 32}, "stack": "system", "device": "cpu",
        "world_size": 1, "knobs": {"precision": "fp32"}, "trace": "step", "turn_steps": 5, "poison_allocator": False,
        "gemm_peak_samples": 5, "weight_change": True,
        "inject": {"kind": "weight_ulp", "step": 2, "tensor": "fc1.weight", "element": 5},
    }, {
        **_head("request"), "cell_id": "3f9c1e0a7b52", "nonce": "00112233aabbccdd", "rank": 0, "repeat": 0, "attempt": 0, "suite": "device_memory",
        "workload": {"probe": "device_memory", "preset": "base", "samples": 10}, "stack": "system", "device": "sm_90",
        "world_size": 1, "knobs": {"precision": "fp32"}, "trace": "step", "poison_allocator": False, "inject": None,
        "peaks": {"gpu": "H100 SXM", "device_name": "NVIDIA H100 80GB HBM3", "memory_gb_per_s": 3350, "tflop_per_s": {"bf16": 989}},
    }],
    "result": [{
        **_head("result"), "cell_id": "3f9c1e0a7b52", "nonce": "00112233aabbccdd", "rank": 1,
        "failure": {"cause": "exception", "detail": "no such preset", "step": 0}, "workload_digest": "", "steps_completed": 0,
        "chain": "", "trace_lines": 1, "peak_rss_bytes": 1, "peak_anonymous_bytes": 1, "peak_allocated_bytes": -1, "peak_reserved_bytes": -1,
        "optimizer_state_bytes": 8, "model_state_peak_bytes": 24, "model_state_device_peak_bytes": 8, "model_state_host_peak_bytes": 16,
        "start_to_first_step_ns": 0, "knobs_resolved": {}, "fingerprint": FINGERPRINT, "measurements": [MEASUREMENT],
        "weight_change_rel": 0.25, "model_flops": {
            "flops_per_step": 13_090_816, "missing": "", "samples": 32, "convention": "matrix products, PaLM appendix B", "dtype": "fp32",
        },
    }],
    "exit": [{
        **_head("exit"), "nonce": "00112233aabbccdd", "rank": 1, "exit_code": None, "signal": 11, "launch_error": "", "stopped_by": "runner",
        "leaked_processes": 0, "duration_ns": 1, "max_rss_bytes": 1, "user_ns": 1, "system_ns": 1, "stdout_bytes": 0,
        "stderr_bytes": 0,
    }],
    "batch_fit": [{
        **_head("batch_fit"), "stack": "torch-2.9.0-cu128", "model": "gpt2", "preset": "124m", "available_bytes": 4_000_000_000,
        "available_source": "--memory", "asked": {"knobs": {}, "why_not": "a probe", "largest": None, "too_large": None}, "others": [],
        "wished_batch": 0, "wished": None, "wished_fits": False, "ways": []}],
    "capability": [{
        **_head("capability"), "torch_version": "2.9.0", "devices": ["cpu"], "gpus": [], "gpu_problem": "no driver",
        "knobs": [{"name": "precision", "values": ["fp32"], "reason": "no bf16"}],
        "workloads": [{"model": "mlp", "summary": "two layers", "presets": [{"name": "digits", "parameters": 1, "batch_size": 32}]}],
        "fingerprint": FINGERPRINT,
    }],
    "trace": [
        {**_head("trace"), **_trace_line("header", cell_id="c", nonce="n", rank=0, workload_digest=DIGEST, level="tensor")},
        _trace_line("tensors", step=1, tensors=[TENSOR]),
        _trace_line(
            "step", step=1, loss={"value": "nan", "bits": "7fc00000"}, grad_norm=None, learning_rate=0.001, samples=32,
            step_time_ns=150000, phases={"data_ns": 1, "forward_ns": 1, "backward_ns": 1, "optimizer_ns": 1}, rss_bytes=-1, anonymous_bytes=-1,
            allocated_bytes=-1, root=DIGEST, chain=DIGEST, events={"relu_active": 1733},
        ),
        {
            **_head("trace"),
            **_trace_line("header", cell_id="c", nonce="n", rank=1, workload_digest=DIGEST, level="step", monotonic_us=86_400_000_000),
        },
        _trace_line(
            "step", step=1, loss={"value": 1.5, "bits": "3fc00000"}, grad_norm=None, learning_rate=0.001, samples=32,
            step_time_ns=150000, phases={"data_ns": 1, "forward_ns": 1, "backward_ns": 1, "optimizer_ns": 1}, rss_bytes=-1, anonymous_bytes=-1,
            allocated_bytes=-1, root=DIGEST, chain=DIGEST, events={}, block=0, ended_ns=150001,
        ),
        _trace_line("measurement", **MEASUREMENT),
        _trace_line("final", step=1, tensors=[]),
    ],
    "snapshot_comparison": [{
        **_head("snapshot_comparison"), "measured": "a", "reference": "b", "match": "differs", "sentence": "1 of 1 tensors differ",
        "tensors": [{
            "name": "w", "dtype": "F32", "shape": [2], "match": "differs", "reason": "", "elements": 2, "differing": 1, "first_block": 0,
            "first": ELEMENT_PAIR, "largest_ulp": None, "ulp_histogram": [1, 1], "rel_l2": 8e-8, "max_abs": "inf", "nan_mismatches": 0,
            "nan_payloads": 0, "inf_mismatches": 0, "zero_signs": 0,
        }],
        "missing": ["v"], "extra": [],
    }],
    "lockstep": [{
        **_head("lockstep"), "precision": "fp32", "alpha": 0.001, "legitimate_ratio": 1.05, "batches": 8, "word": "rounding",
        "sentence": "all differences are of rounding size",
        "tensors": [{
            "name": "gradient/w", "dtype": "F32", "shape": [2], "word": "rounding", "reason": "", "equal_bits": False, "worst_batch": 0,
            "e_x": 4e-7, "e_r": 4e-7, "delta": 5e-7, "error_ratio": 0.4, "error_ratio_bound": 3, "triangle": 0.6,
            "pooled": {
                "error_ratio": 1.01, "bound": 1.2, "upper": "inf", "spread_log": 0.1, "effective_batches": 7.5, "decision": "inconclusive",
                "reason": "", "batches_needed": 20,
            },
            "ulp_histogram": [1, 1], "max_ulp": 1, "nan_mismatches": 0, "inf_mismatches": 0,
        }],
        "not_resolved": ["gradient/w"],
    }],
    "telemetry": [
        {
            **_head("telemetry"),
            **_trace_line("header", cell_id="c", nonce="n", period_ns=100_000_000, gpus=telemetry_samples.HEALTHY["gpus"]),
        },
        {
            **_head("telemetry"),
            **_trace_line("header", cell_id="c", nonce="n", period_ns=100_000_000, gpus=[], monotonic_us=86_400_000_000),
        },
        _trace_line(
            "sample", at_ns=5, gpu=0, trace_bytes=0, sm_clock_mhz=1980, memory_clock_mhz=2619, temperature_c=None, power_mw=1,
            power_limit_mw=1, utilisation_percent=0, memory_used_bytes=0, power_violation_ns=0, thermal_violation_ns=0,
            ecc_uncorrected=0, ecc_uncorrected_ever=1, pcie_generation=5, pcie_lanes=16, process_memory_bytes=1, clock_events=8, own_pids=[4242], foreign_pids=[], hidden_pids=[],
        ),
        _trace_line("event", at_ns=6, gpu=0, event="xid", code=79),
        _trace_line("end", samples=1, events=1, absent=["nvmlDeviceGetMigMode"], problem=""),
    ],
    "turns": [
        {**_head("turns"), **_trace_line("header", cell_id="c", nonce="n", rank=0)},
        _trace_line("turn", block=0, first_step=1, last_step=5),
    ],
    "journal": [
        {**_head("journal"), **_trace_line("header", run_id="r-1", plan_sha256="5e" * 32)},
        _trace_line("begin", cell_id="c", repeat=0, attempt=0, nonce="n", folder="cells/c/r0a0.n"),
        _trace_line("end", cell_id="c", repeat=0, attempt=0, nonce="n", end="completed", detail="exit code 0", files=[]),
        _trace_line("end", cell_id="c", repeat=0, attempt=0, nonce="n", rank=1, end="crash", detail="rank 1: SIGSEGV", files=[]),
        _trace_line("finish", interrupted=False),
        _trace_line("verdict", sha256="5e" * 32),
    ],
}  # fmt: skip
# The documents of a run. Those that verbs print are held against their schemas by the verbs' own tests.
SCHEMAS = {name: load_schema(name) for name in SAMPLES}


def _broken(document):
    """Copies of a document with one thing wrong or odd each, at every place in it."""
    odd = (None, True, -1, 0.5, "", "nan", [], {}, 1.0)
    places = [()]
    while places:
        place = places.pop()
        node = document
        for part in place:
            node = node[part]
        if isinstance(node, dict):
            places += [(*place, key) for key in node]
            yield _with(document, place, {**node, "unheard_of": 1})
            for key in node:
                yield _with(document, place, {name: value for name, value in node.items() if name != key})
        elif isinstance(node, list):
            places += [(*place, index) for index in range(len(node))][:2]
        if place:
            yield from (_with(document, place, value) for value in odd)


def _with(document, place, value):
    if not place:
        return value
    changed = copy.deepcopy(document)
    node = changed
    for part in place[:-1]:
        node = node[part]
    node[place[-1]] = value
    return changed


class Schemas(unittest.TestCase):
    def test_each_schema_accepts_its_samples(self):
        for name, samples in SAMPLES.items():
            for sample in samples:
                self.assertIsNone(first_problem(sample, SCHEMAS[name]), name)

    def test_every_object_is_closed(self):
        def check(node, where):
            if isinstance(node, dict):
                if "properties" in node and node.get("type") == "object":
                    self.assertIs(node.get("additionalProperties"), False, where)
                for key, part in node.items():
                    check(part, f"{where}/{key}")

        for name, schema in SCHEMAS.items():
            check(schema, name)

    def test_versions_equal_the_contract_header(self):
        header = (CONTRACT / "version.hpp").read_text()
        stated = re.search(r"kContractVersion\{(\d+), (\d+)\}", header)
        expected = {"major": {"const": int(stated[1])}, "minor": {"const": int(stated[2])}}
        for path in SCHEMA_FILES:
            schema, name = json.loads(path.read_text()), path.name.removesuffix(".schema.json")
            if "_type" in schema.get("properties", {}):  # its form is in-toto's
                continue
            whole = schema.get("oneOf", [schema])[0]
            properties = whole.get("properties") or schema["definitions"]["header"]["properties"]
            self.assertEqual(properties["version"]["properties"], expected, name)
            self.assertEqual(properties["schema"], {"const": f"reprobench/{name}"})

    def test_what_two_documents_share_is_defined_alike(self):
        seen = {}
        for name, schema in SCHEMAS.items():
            for part in ("fingerprint", "component", "library", "injection", "workload", "number", "exact_float"):
                if part in schema.get("definitions", {}):
                    self.assertEqual(
                        seen.setdefault(part, schema["definitions"][part]),
                        schema["definitions"][part],
                        f"{name} {part}",
                    )

    def test_an_unknown_keyword_is_refused(self):
        with self.assertRaisesRegex(ValueError, "uniqueItems"):
            compiled({"type": "array", "uniqueItems": True}, {})

    def test_a_problem_is_named_with_its_place(self):
        verdict = _current("verdict")
        verdict["cells"][1]["checks"][0]["status"] = "green"
        self.assertRegex(first_problem(verdict, SCHEMAS["verdict"]), r"^cells/1/checks/0/status: 'green' is none of")


@unittest.skipUnless(jsonschema, "jsonschema is not installed")
class AgainstJsonschema(unittest.TestCase):
    def test_schemas_are_valid_draft_07(self):
        for path in SCHEMA_FILES:
            with self.subTest(path.name):
                jsonschema.Draft7Validator.check_schema(json.loads(path.read_text()))

    def test_both_validators_agree_on_broken_documents(self):
        compared, rejected = 0, 0
        for name, samples in SAMPLES.items():
            validator, check = jsonschema.Draft7Validator(SCHEMAS[name]), compiled(SCHEMAS[name], SCHEMAS[name])
            for sample in samples:
                small = _small(sample)
                for broken in _broken(small):
                    compared += 1
                    accepted = check(broken) is None
                    rejected += not accepted
                    self.assertEqual(accepted, validator.is_valid(broken), f"{name}: {str(broken)[:500]}")
        self.assertGreater(rejected, 1000)
        self.assertGreater(compared - rejected, 100)


def _small(document):
    """Enough of a run to have one of each kind of thing in it."""
    changed = copy.deepcopy(document)
    if "cells" in changed:
        changed["cells"] = changed["cells"][1:2]
    if "environments" in changed:
        changed["environments"] = changed["environments"][:1]
    return changed


if __name__ == "__main__":
    unittest.main()
