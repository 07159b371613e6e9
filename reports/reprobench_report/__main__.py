"""python3 -m reprobench_report RUN_DIR [--out DIR]: writes the three reports and prints their paths."""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import secrets
import sys
from pathlib import Path

from . import escape
from .csv_export import checks_csv
from .html import report_html
from .load import ReportError, load_run
from .markdown import summary_md
from .measurements import has_measurements, measurements_csv
from .phases import has_phases, phases_csv

# Exit codes of the coordinator (matrix/contract/exit_code.hpp) that a report can end with.
EXIT_STORE = 5
# matrix/cli/report_process.cpp has the names of all reports.
WRITTEN_IF_MEASURED = frozenset({"measurements.csv", "phases.csv"})


def write_atomically(path: Path, content: str) -> None:
    """Never leaves a half-written file under its final name: temporary name, fsync, rename. Of a killed process the coordinator removes
    it by its name, as long as nobody holds the folder (matrix/record/abandoned_files.hpp)."""
    owned = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks: nobody else can lock it either
            fcntl.flock(owned, fcntl.LOCK_SH)
        temporary = path.parent / f".{path.name}.{secrets.token_hex(8)}.tmp"
        try:
            with open(temporary, "xb") as file:
                file.write(content.encode("utf-8"))
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    finally:
        os.close(owned)


def write_reports(run_folder: Path, out_folder: Path) -> list[Path]:
    """All of them are rendered before the first is written, so a failure leaves the old set whole."""
    run = load_run(run_folder)
    contents = {"report.html": report_html(run), "summary.md": summary_md(run), "checks.csv": checks_csv(run)}
    if has_measurements(run):
        contents["measurements.csv"] = measurements_csv(run)
    if has_phases(run):
        contents["phases.csv"] = phases_csv(run)
    out_folder.mkdir(parents=True, exist_ok=True)
    paths = [out_folder / name for name in contents]
    for path, content in zip(paths, contents.values(), strict=True):
        write_atomically(path, content)
    for name in WRITTEN_IF_MEASURED - contents.keys():  # of an earlier verdict, or of another run
        (out_folder / name).unlink(missing_ok=True)
    return paths


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python3 -m reprobench_report",
        description="Writes report.html, summary.md and checks.csv of a judged run directory and prints their paths.",
        epilog="example: python3 -m reprobench_report .reprobench/runs/r-20261121-101502-7f3a",
    )
    parser.add_argument("run_dir", type=Path, help="a run directory with verdict.json, plan.json and run.json")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder to write into (default: RUN_DIR/report)")
    arguments = parser.parse_args()
    try:
        paths = write_reports(arguments.run_dir, arguments.out or arguments.run_dir / "report")
    except ReportError as error:
        print(f"report: error: {escape.terminal(error)}", file=sys.stderr)
        return EXIT_STORE
    except OSError as error:
        print(f"report: error: {escape.terminal(error.filename)}: {escape.terminal(error.strerror)}", file=sys.stderr)
        return EXIT_STORE
    for path in paths:
        print(escape.terminal(path))
    return 0


if __name__ == "__main__":
    sys.exit(main())
