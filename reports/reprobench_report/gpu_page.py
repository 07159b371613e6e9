"""python3 -m reprobench_report.gpu_page FOLDER: writes FOLDER/gpu.md, what ci/gpu.sh measured there against the goals.

FOLDER holds run/ (a judged run directory), control/ (the negative control) and what was measured beside them. The page says what was
not measured in as many rows as what was.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from . import escape
from .escape import markdown as text
from .gpu_beside import rows_beside
from .gpu_goals import MET, MISSED, NOT_MEASURED, OPEN, RECORDED, SUITE_CHECKS, VERDICT, WORDS, Row, missing, rows_of_run
from .load import ReportError, Run, load_run
from .overview import unique

_EXIT_STORE = 5
_NAME = "gpu.md"


def _without_run(why: str) -> list[Row]:
    rows = [missing(suite, f"{metric} of {of}", why) for suite, names in SUITE_CHECKS.items() for metric, of in names]
    more = ("cuBLASLt to LibTorch's mm", "LibTorch's random numbers", "tax of determinism", "noise between processes")
    return rows + [missing("run", what, why) for what in more]


def _planted(run: Run) -> list[str]:
    """Faults of a drill; a verdict made before it named them has them at the attempts."""
    at_attempts = (attempt["injected"] for cell in run.cells for attempt in cell["attempts"] if attempt["injected"])
    return run.verdict.get("planted") or unique(at_attempts)


def _warnings(run: Run | None, why: str) -> list[str]:
    """What takes the page's word away, before anything else."""
    if run is None:
        return [f"**NO RUN**: {text(why)}. Nothing of it was measured."]
    lines = []
    if planted := _planted(run):
        faults = "; ".join(text(fault) for fault in planted)
        lines.append(f"**DRILL**: planted: {faults}. No number below says anything of the card.")
    if run.info["interrupted"]:
        lines.append("**INTERRUPTED**: the run ended before all of its cells had run.")
    if not run.plan["host"]["gpus"]:
        lines.append("**NO GPU**: the host of this run has none. Nothing below was measured on one.")
    for name in ("selected_by", "changed_by"):
        if options := run.verdict.get(name):
            lines.append(f"Not the matrix as it is written: {', '.join(text(option) for option in options)}.")
    return lines


def _judged(run: Run | None, rows: list[Row]) -> list[Row]:
    """In a drill a goal is neither met nor missed, whatever was measured; the control is a drill of its own."""
    if run is None or not _planted(run):
        return rows
    return [
        Row(**{**vars(row), "word": NOT_MEASURED, "why": "the run is a drill"}) if row.file == VERDICT else row
        for row in rows
    ]


def _ended_early(folder: Path) -> list[str]:
    """What ci/gpu.sh says of a job that did not come to its end."""
    try:
        why = " ".join((folder / "ended.txt").read_text("utf-8", errors="replace").split())
    except OSError:
        return []
    return [f"**ENDED EARLY**: {text(why)}."]


def _head(run: Run) -> list[str]:
    gpus = ", ".join(text(gpu["name"]) for gpu in run.plan["host"]["gpus"]) or "no GPU"
    stacks = ", ".join(text(name) for name in unique(cell["coordinates"]["stack"] for cell in run.cells))
    return [
        f"{gpus} · driver {text(run.plan['host']['driver']) or 'none'} · {stacks} · {text(run.info['started_utc'])} · "
        f"{text(run.info['run_id'])}",
        "",
        f"The run's verdict: **{text(run.verdict['word'])}**: {text(run.verdict['sentence'])}",
        "",
    ]


def gpu_page(folder: Path) -> str:
    """Reads what is in `folder`; a run that cannot be read costs its rows their values, not the page."""
    run, why = None, ""
    try:
        run = load_run(folder / "run")
    except ReportError as error:
        why = str(error)
    rows = _judged(run, (rows_of_run(run) if run else _without_run(why)) + rows_beside(folder, run))
    counts = Counter(row.word for row in rows)
    lines = ["# What the GPU gave, against the goals", ""]
    lines += [part for line in _ended_early(folder) + _warnings(run, why) for part in (line, "")]
    lines += _head(run) if run else []
    lines += [f"{len(rows)} rows: {', '.join(f'**{counts[word]}** {word}' for word in WORDS if counts[word])}.", ""]
    lines += [f"*{MET}* and *{MISSED}* are against the goal in the row. *{OPEN}*: the interval holds the goal. "
              f"*{RECORDED}*: measured, without a goal. *{NOT_MEASURED}*: nothing is known, for the reason in the row.", ""]  # fmt: skip
    for section in unique(row.section for row in rows):
        lines += [f"## {text(section)}", "", "| | What | Goal | Where it stands | Measured | From | Why |", "|" + " --- |" * 7]
        lines += [
            f"| **{row.word}** | {text(row.what)} | {text(row.goal)} | {text(row.goal_source)} | {text(row.value)} "
            f"| {text(row.file)} | {text(row.why)} |"
            for row in rows
            if row.section == section
        ]
        lines.append("")
    return "\n".join(lines)


def main() -> int:
    from .__main__ import write_atomically

    parser = argparse.ArgumentParser(
        prog="python3 -m reprobench_report.gpu_page",
        description=f"Writes FOLDER/{_NAME}: what ci/gpu.sh measured there against the goals. Prints its path.",
    )
    parser.add_argument("folder", type=Path, help="what ci/gpu.sh was given as --out")
    folder = parser.parse_args().folder
    try:
        write_atomically(folder / _NAME, gpu_page(folder))
    except (ReportError, OSError) as error:
        print(f"gpu_page: error: {escape.terminal(error)}", file=sys.stderr)
        return _EXIT_STORE
    print(escape.terminal(folder / _NAME))
    return 0


if __name__ == "__main__":
    sys.exit(main())
