"""ci/gpu_beside.sh with programs that play a worker, nvcc and a Python: what each leaves, and that nothing outlives its time."""

import json
import os
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from golden_run import REPOSITORY

_SCRIPT = REPOSITORY / "ci" / "gpu_beside.sh"
_STACK = "torch-2.9.0-cu128"
_NAMES = ("telemetry_cost", "cub_reduce", "python_eager", "python_compiled")
_WORKER = """case $1 in
  describe) echo '{"devices": ["cpu", "sm_90"]}' ;;
  telemetry-cost) echo "$2 $3 $4" >&2; %s ;;
esac"""
# Makes a program of the source it is given, as nvcc does.
_NVCC = """while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done
printf '#!/bin/sh\\necho "{\\"sums\\": \\"$*\\"}"\\n' >"$out" && chmod +x "$out\""""


class Job:
    """A folder with an installed worker, a PATH and what the script left."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.out = folder / "out"
        for name in ("out", "bin", f"stacks/{_STACK}-0123/workers/4567"):
            (folder / name).mkdir(parents=True)

    def program(self, name: str, body: str) -> None:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{body}\n", "utf-8")
        path.chmod(0o755)

    def worker(self, body: str) -> None:
        self.program(f"stacks/{_STACK}-0123/workers/4567/reprobench-worker", body)

    def run(self, seconds: int = 20, *more: str) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ, "REPROBENCH_STACKS": str(self.folder / "stacks"),
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
        }  # fmt: skip
        command = [_SCRIPT, "--out", self.out, "--stack", _STACK, "--reprobench", "/bin/false", "--seconds", str(seconds), *more]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def left(self) -> dict[str, str]:
        """NAME: the JSON line, or the reason."""
        found = {path.stem: path.read_text("utf-8").strip() for path in self.out.glob("*.json")}
        reasons = {path.stem: path.read_text("utf-8").strip() for path in self.out.glob("*.txt")}
        assert not found.keys() & reasons.keys()
        return {**found, **reasons}


class Beside(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.job = Job(Path(folder.name))
        self.job.program("bin/nvcc", "exit 1")  # before the machine's own, which takes its time

    def test_what_programs_say_last_is_left_as_json(self):
        self.job.worker(_WORKER % """echo noise; echo '{"cases": []}'""")
        self.job.program("bin/nvcc", _NVCC)
        self.assertEqual(self.job.run().returncode, 0)
        left = self.job.left()
        self.assertEqual(json.loads(left["telemetry_cost"]), {"cases": []})
        self.assertEqual(json.loads(left["cub_reduce"]), {"sums": "268435456 536870912 1073741824"})
        self.assertIn("sm_90 --data models/data", (self.job.out / "telemetry_cost.log").read_text("utf-8"))
        for name in ("python_eager", "python_compiled"):
            self.assertIn("no Python that has torch was named", left[name])

    def test_a_program_that_fails_or_says_no_json_leaves_its_last_words(self):
        for body in ("echo '{}'; echo broken >&2; exit 3", "echo broken >&2; echo no json", "echo broken >&2"):
            self.job.worker(_WORKER % body)
            self.job.program("bin/nvcc", "echo no such architecture; exit 1")
            self.assertEqual(self.job.run(20, "--python", "/bin/false").returncode, 0)
            left = self.job.left()
            self.assertRegex(left["telemetry_cost"], r"^ended with [03] within \d+ s: broken$")
            self.assertEqual(left["cub_reduce"], "nvcc made no program of ci/peers/cub_reduce.cu: no such architecture")
            self.assertIn("imports another torch", left["python_eager"])

    def test_an_earlier_measurement_does_not_stand_for_a_failed_one(self):
        (self.job.out / "telemetry_cost.json").write_text("{}", "utf-8")
        self.job.worker(_WORKER % "exit 1")
        self.job.run()
        self.assertFalse((self.job.out / "telemetry_cost.json").exists())

    def test_without_a_worker_or_a_gpu_every_name_says_so(self):
        self.job.run()
        self.assertEqual({name: self.job.left()[name] for name in _NAMES}, dict.fromkeys(_NAMES, f"no worker of {_STACK} is installed"))
        self.job.worker("""echo '{"devices": ["cpu"]}'""")
        self.job.run()
        self.assertEqual({name: self.job.left()[name] for name in _NAMES}, dict.fromkeys(_NAMES, f"the worker of {_STACK} sees no GPU"))

    def test_a_program_that_hangs_ends_with_the_time_and_the_rest_say_that_none_was_left(self):
        self.job.worker(_WORKER % "sleep 60")
        self.job.program("bin/nvcc", _NVCC)
        start = time.monotonic()
        self.job.run(2, "--python", "/bin/false")
        self.assertLess(time.monotonic() - start, 20)
        left = self.job.left()
        self.assertIn("ended with 124", left["telemetry_cost"])
        for name in _NAMES[1:]:
            self.assertIn("no time was left", left[name])

    def test_a_wrong_call_is_refused_with_the_usage(self):
        for more in (("--seconds", "soon"), ("--other", "x"), ("--python",)):
            ended = self.job.run(1, *more)
            self.assertEqual(ended.returncode, 2)
            self.assertIn("usage: ci/gpu_beside.sh", ended.stderr)


if __name__ == "__main__":
    unittest.main()
