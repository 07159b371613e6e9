"""What the loader refuses, and how the command says so: one line, exit code 5, no half-written report."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import golden_run

from reprobench_report import load
from reprobench_report.load import ReportError


class NoRegularFile(unittest.TestCase):
    def test_a_pipe_is_not_waited_for_and_a_huge_or_deep_file_not_read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "verdict.json"
            os.mkfifo(path)
            with self.assertRaisesRegex(ReportError, r"verdict\.json is not a regular file"):
                load.load_run(Path(folder))
            path.unlink()
            path.touch()
            os.truncate(path, 10 << 30)
            with self.assertRaisesRegex(ReportError, r"verdict\.json is larger than"):
                load.load_run(Path(folder))
            os.truncate(path, 0)
            path.write_text("[" * 100_000 + "]" * 100_000)
            with self.assertRaisesRegex(ReportError, r"verdict\.json is not a JSON document"):
                load.load_run(Path(folder))
            path.unlink()
            path.symlink_to("/dev/zero")
            with self.assertRaises(ReportError):
                load.load_run(Path(folder))


class Refusals(unittest.TestCase):
    def _refused(self, pattern, change):
        changed = golden_run.documents()
        change(changed)
        with self.assertRaisesRegex(ReportError, pattern):
            golden_run.loaded(changed)

    def test_another_major_version(self):
        self._refused(r"plan\.json: version 3\.0 cannot be read", lambda d: d["plan"]["version"].update(major=3))

    def test_a_newer_minor_version(self):
        self._refused(r"verdict\.json: version 2\.1 cannot be read", lambda d: d["verdict"]["version"].update(minor=1))

    def test_contract_1_is_refused_by_the_name_of_the_version_that_reads_it(self):
        for name in golden_run.NAMES:
            self._refused(
                rf"^{name}\.json: version 1\.4 cannot be read by this report, which reads 2\.0 to 2\.0; "
                r"reprobench 0\.2\.0 is the last that reads it$",
                lambda d, name=name: d[name]["version"].update(major=1, minor=4),
            )

    def test_the_version_that_reads_contract_1_is_that_of_the_contract(self):
        header = (golden_run.REPOSITORY / "matrix" / "contract" / "version.hpp").read_text("utf-8")
        self.assertIn(f'kLastReaderOfMajor1 = "{load.LAST_READER_OF_MAJOR_1}"', header)

    def test_a_version_that_is_no_number(self):
        self._refused(r"run\.json: `version` with", lambda d: d["run"]["version"].update(minor=True))

    def test_another_document_under_the_name(self):
        self._refused(r"verdict\.json is not a reprobench/verdict", lambda d: d.update(verdict=d["plan"]))

    def test_an_unknown_field(self):
        self._refused(r"verdict\.json: `mood` is not a field", lambda d: d["verdict"].update(mood="good"))

    def test_a_missing_field(self):
        self._refused(r"cells/0: `outcome` is missing", lambda d: d["verdict"]["cells"][0].pop("outcome"))

    def test_an_outcome_nobody_knows(self):
        self._refused(r"cells/0/outcome: 'green'", lambda d: d["verdict"]["cells"][0].update(outcome="green"))

    def test_totals_that_do_not_count_the_cells(self):
        self._refused("`totals` disagree", lambda d: d["verdict"]["totals"].update(passed=90, skipped=0))

    def test_a_cell_that_the_verdict_lost(self):
        self._refused("name different cells", lambda d: d["verdict"]["cells"].pop())

    def test_documents_of_two_runs(self):
        self._refused("name different runs", lambda d: d["run"].update(run_id="r-other"))

    def test_a_bare_nan(self):
        self._refused("NaN is not JSON", lambda d: d["verdict"]["cells"][0]["checks"][0].update(measured=float("nan")))

    def test_an_older_minor_version_is_read(self):
        schema = load.load_schema("run")
        schema["properties"]["version"]["properties"]["minor"]["const"] += 1
        document = golden_run.documents()["run"]
        load._check_version("run.json", document, "run", schema)
        load._check_content("run.json", document, schema)


class Command(unittest.TestCase):
    def _run(self, *arguments):
        environment = {**os.environ, "PYTHONPATH": str(golden_run.REPORTS)}
        command = [sys.executable, "-m", "reprobench_report", *map(str, arguments)]
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    def test_a_folder_that_is_no_run_directory(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self._run(folder)
            self.assertEqual((done.returncode, done.stdout), (5, ""))
            self.assertRegex(
                done.stderr, r"^report: error: verdict\.json is missing: .* is not a judged run directory\n$"
            )
            self.assertEqual(os.listdir(folder), [])

    def test_a_truncated_document_leaves_no_report(self):
        with tempfile.TemporaryDirectory() as folder:
            golden_run.write_run(Path(folder), golden_run.documents())
            path = Path(folder, "verdict.json")
            path.write_bytes(path.read_bytes()[:5000])
            done = self._run(folder)
            self.assertEqual(done.returncode, 5)
            self.assertRegex(done.stderr, r"^report: error: verdict\.json is not a JSON document: ")
            self.assertFalse(Path(folder, "report").exists())

    def test_an_output_path_that_is_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            taken = Path(folder, "taken")
            taken.write_text("mine")
            done = self._run(golden_run.GOLDEN, "--out", taken)
            self.assertEqual(done.returncode, 5)
            self.assertRegex(done.stderr, r"^report: error: .*taken: File exists\n$")
            self.assertEqual(taken.read_text(), "mine")

    def test_reports_land_in_the_run_directory_and_nothing_else_does(self):
        with tempfile.TemporaryDirectory() as folder:
            golden_run.write_run(Path(folder), golden_run.documents())
            self.assertEqual(self._run(folder).returncode, 0)
            self.assertEqual(sorted(os.listdir(Path(folder, "report"))), ["checks.csv", "report.html", "summary.md"])

    def test_usage_errors_end_with_2(self):
        self.assertEqual(self._run().returncode, 2)


if __name__ == "__main__":
    unittest.main()
