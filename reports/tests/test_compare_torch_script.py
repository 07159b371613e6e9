"""ci/compare_torch.sh and through it ci/gpu_beside.sh, with programs that play the coordinator and a Python that has torch."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from golden_run import REPOSITORY

# Imports torch 2.9.0 as far as it is asked to; a step of ours takes 1 ms, of Python's 2 ms eager with the fused update and 0.5 ms compiled.
_PYTHON = """if [ "$1" = -c ]; then [ "$3" = "${TORCH:-2.9.0}" ]; exit; fi
if [ "$1" = ci/peers/torch_step.py ]; then
  case "$*" in *--compile*) step=500000 ;; *fused*) step=2000000 ;; *) step=3000000 ;; esac
  echo '{"torch": "2.9.0+cu128", "device_name": "'"$*"'", "step_time_ns": '$step'}'
  exit
fi
exec PYTHON "$@\""""
# A step takes 1 ms, and with the flat update, where the matrix asks for it, what FLAT says.
_COORDINATOR = """while [ $# -gt 0 ]; do
  case $1 in --out) out=$2 ;; --matrix) matrix=$2 ;; esac
  shift
done
layouts=per_tensor
if grep -q flat "$matrix"; then layouts='per_tensor flat'; fi
for model in mlp/base mlp/sgd mlp/adamw mlp/mid gpt2/tiny resnet/tiny llama/tiny; do
  for layout in $layouts; do
    mkdir -p "$out/$model/$layout"
    echo '{"workload": {"model": "'${model%/*}'", "preset": "'${model#*/}'"}, "knobs": {"optimizer_layout": "'$layout'"}}' >"$out/$model/$layout/request.json"
    step=1000000
    if [ $layout = flat ]; then step=${FLAT:-1250000}; fi
    for line in 1 2 3 4 5; do echo '{"step_time_ns": '$step'}'; done >"$out/$model/$layout/trace.jsonl"
  done
done
exit ${ENDS:-0}"""

_WORKLOADS = ("mlp/base", "mlp/sgd", "mlp/adamw", "mlp/mid", "gpt2/tiny", "resnet/tiny", "llama/tiny")


class Compared(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name, body in (("python-with-torch", _PYTHON.replace("PYTHON", sys.executable)), ("reprobench", _COORDINATOR)):
            (self.folder / name).write_text(f"#!/bin/sh\n{body}\n", "utf-8")
            (self.folder / name).chmod(0o755)

    def compare(self, *more: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [REPOSITORY / "ci" / "compare_torch.sh", "--stack", "torch-2.9.0-cu128", "--python", self.folder / "python-with-torch",
                   "--reprobench", self.folder / "reprobench", "--pairs", "2", *more]  # fmt: skip
        return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)

    def test_a_ratio_is_pythons_step_over_ours(self):
        self.assertIn(
            "mlp/base: a step in ms: Python 3.000 (loop), 3.000 (foreach), 2.000 (fused); here 1.000 (per_tensor), 1.250 (flat); "
            "x2.00 [2.00, 2.00] of the fastest two over 2 pairs",
            self.compare().stdout,
        )
        self.assertIn("x0.50", self.compare("--compile").stdout)

    def test_the_flat_update_is_ours_where_it_is_the_fastest_and_not_asked_of_a_gpu(self):
        self.assertIn("here 1.000 (per_tensor), 0.800 (flat); x2.50 [2.50, 2.50]", self.compare(FLAT="800000").stdout)
        self.assertIn("here 1.000 (per_tensor); x2.00 [2.00, 2.00]", self.compare("--device", "sm_90", FLAT="800000").stdout)

    def test_the_line_of_json_is_the_last_that_is_printed_or_lies_in_the_file(self):
        printed = json.loads(self.compare("--json", "-", "--precision", "bf16").stdout.splitlines()[-1])
        self.assertEqual(printed["ratios"], {name: [2.0, 2.0] for name in _WORKLOADS})
        self.assertEqual((printed["torch"], printed["precision"]), ("2.9.0+cu128", "bf16"))
        self.assertIn("--precision bf16", printed["device_name"])
        path = self.folder / "ratios.json"
        self.compare("--json", str(path))
        self.assertEqual(json.loads(path.read_text("utf-8"))["precision"], "fp32")

    def test_only_the_workloads_that_are_named_are_compared(self):
        printed = json.loads(self.compare("--workload", "mlp/mid", "--workload", "llama/tiny", "--json", "-").stdout.splitlines()[-1])
        self.assertEqual(list(printed["ratios"]), ["mlp/mid", "llama/tiny"])
        unknown = self.compare("--workload", "mlp/huge")
        self.assertEqual(unknown.returncode, 2)
        self.assertIn("mlp/huge is none of mlp/base, mlp/sgd,", unknown.stderr)

    def test_another_torch_and_a_run_that_failed_are_refused(self):
        other = self.compare(TORCH="2.8.0")
        self.assertEqual(other.returncode, 2)
        self.assertIn("imports another torch", other.stderr)
        self.assertEqual(self.compare(ENDS="1").returncode, 1)
        self.assertEqual(self.compare(ENDS="3").returncode, 0)

    def test_beside_a_run_on_a_gpu_it_is_asked_for_both_and_of_that_gpu(self):
        worker = self.folder / "stacks" / "torch-2.9.0-cu128-0123" / "workers" / "4567" / "reprobench-worker"
        worker.parent.mkdir(parents=True)
        worker.write_text("#!/bin/sh\n[ $1 = describe ] && echo '\"sm_90\"'\n", "utf-8")
        worker.chmod(0o755)
        nvcc = self.folder / "nvcc"  # before the machine's own, which takes its time
        nvcc.write_text("#!/bin/sh\nexit 1\n", "utf-8")
        nvcc.chmod(0o755)
        subprocess.run(
            [REPOSITORY / "ci" / "gpu_beside.sh", "--out", self.folder, "--stack", "torch-2.9.0-cu128", "--seconds", "60",
             "--reprobench", self.folder / "reprobench", "--python", self.folder / "python-with-torch"],
            env={**os.environ, "REPROBENCH_STACKS": str(self.folder / "stacks"), "PATH": f"{self.folder}:{os.environ['PATH']}"}, check=True,
        )  # fmt: skip
        for name, ratio in (("python_eager", 2.0), ("python_compiled", 0.5)):
            line = json.loads((self.folder / f"{name}.json").read_text("utf-8"))
            self.assertEqual(line["ratios"], {"mlp/base": [ratio, ratio], "gpt2/tiny": [ratio, ratio]})
            self.assertIn("--device cuda --precision bf16", line["device_name"])


if __name__ == "__main__":
    unittest.main()
