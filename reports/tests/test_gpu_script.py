"""ci/gpu.sh up to where it plans, with a program that plays the coordinator: which matrix it makes, and what a refused plan is called."""

import subprocess
import tempfile
import unittest
from pathlib import Path

from golden_run import REPOSITORY

# Takes no plan that names the stack `here`, as the coordinator takes none of a stack that no file defines; no cell can run.
_COORDINATOR = """while [ $# -gt 0 ]; do
  [ "$1" = --matrix ] && grep -q 'stack: here' "$2" && { echo 'refused plan' >&2; exit 2; }
  shift
done"""
_STACK = "torch-2.9.0-cu128"


class Planned(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        program = self.folder / "reprobench"
        program.write_text(f"#!/bin/sh\n{_COORDINATOR}\n", "utf-8")
        program.chmod(0o755)

    def gpu(self, matrix: str) -> subprocess.CompletedProcess[str]:
        command = [REPOSITORY / "ci" / "gpu.sh", "--stack", _STACK, "--matrix", matrix, "--out", self.folder / "out",
                   "--reprobench", self.folder / "reprobench"]  # fmt: skip
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_the_stack_stands_wherever_the_matrix_named_its_own(self):
        matrix = self.folder / "here.yaml"
        required = "\nrequired:\n  - {device: cpu, stack: here}\n"
        matrix.write_text((REPOSITORY / "matrix/here.yaml").read_text("utf-8") + required, "utf-8")
        done = self.gpu(str(matrix))
        made = (self.folder / "out" / "matrix.yaml").read_text("utf-8")
        self.assertIn(f"\n  stack: [{_STACK}]\n", made)
        self.assertIn(f"reference: {{stack: {_STACK}}}", made)
        self.assertIn(f"{{device: cpu, stack: {_STACK}}}", made)
        self.assertEqual((done.returncode, f"no cell of {matrix} finds its GPU" in done.stderr), (4, True))

    def test_a_plan_that_is_refused_is_no_missing_gpu(self):
        matrix = self.folder / "two.yaml"
        matrix.write_text("name: two\naxes:\n  stack: [a, b]\nreference: {stack: here}\n", "utf-8")
        done = self.gpu(str(matrix))
        self.assertEqual(done.returncode, 2)
        self.assertIn("refused plan", done.stderr)
        self.assertNotIn("finds its GPU", done.stderr)


if __name__ == "__main__":
    unittest.main()
