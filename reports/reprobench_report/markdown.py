"""summary.md: the run for $GITHUB_STEP_SUMMARY, a merge request or a mail. The verdict comes first.

GitHub drops a step summary beyond 1 MiB as a whole, so this stays under 900 KB: rows of passed and skipped cells go
first, then the details of findings, and a line says how many were left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .changes import Change, changes_of, dimensions_of, workloads_of
from .escape import markdown as text
from .escape import markdown_code as code
from .hosts import SharedCell, hosts_of, shared_cells
from .images import images_of
from .limits import LimitRow, limit_rows
from .load import OUTCOMES, Run
from .measurements import Row, check_name, measured_cells
from .overview import comparisons, dimension_counts, dimension_lines, disarmed_by, recorded_over, skip_groups, unchecked
from .pairs import Pair, Side, operator_table, pairs_of
from .quantity import duration, human, percent, significant
from .telemetry import TelemetryRow, telemetry_rows

BUDGET_BYTES = 900_000

_FINDINGS = ("failed", "errored", "inconclusive", "unfinished")
_MARKS = {
    "failed": "✕", "errored": "!", "inconclusive": "?", "unfinished": "…", "passed": "✓", "recorded": "○",
    "skipped": "–",
    "undecided": "?", "nothing_ran": "–", "interrupted": "…",
}  # fmt: skip
_PAIR_MARKS = {"alarm": "✕", "differs": "≠", "not_comparable": "?", "equal": "="}

# Beside a table of pairs: so many pairs of stacks, each with so many operators.
_COLUMNS_NAMED = 8
_OPERATORS_NAMED = 8
_COMPARISONS_NAMED = 3  # the table of changes has all of them


def _table(header: str, rows: Iterable[str]) -> list[str]:
    columns = header.count("|") - 1
    return [header, "|" + " --- |" * columns, *rows, ""]


def _head(run: Run) -> list[str]:
    verdict, totals = run.verdict, run.verdict["totals"]
    counts = ", ".join(f"**{totals[name]}** {name}" for name in OUTCOMES if totals.get(name))
    lines = [
        f"## {_MARKS[verdict['word']]} {verdict['word'].replace('_', ' ').upper()}: {text(verdict['sentence'])}",
        "",
        f"{totals['planned']} cells planned: {counts or 'none'}.",
        "",
    ]
    for line in dimension_lines(run):
        lines += [f"- **{line['dimension']}** {line['word']}: {text(line['sentence'])}"]
    lines += [f"- **not checked** {unchecked(run)}"] if unchecked(run) else []
    lines += [""] if run.verdict["dimensions"] else []
    compared = comparisons(run.cells)
    for comparison in compared[:_COMPARISONS_NAMED]:
        tested = ", ".join(text(name) for name in comparison.under_test[:12])
        against = ", ".join(text(name) for name in comparison.reference[:12])
        lines += [f"Compared by {text(comparison.axes)}: {tested} against {against}.", ""]
    if len(compared) > _COMPARISONS_NAMED:
        lines += [f"And by {len(compared) - _COMPARISONS_NAMED} more sets of coordinates.", ""]
    rows = (
        f"| {row.name} | {row.failed} | {row.inconclusive} | {row.passed} | {row.gains} | {row.recorded} "
        f"| {row.recorded_over} |"
        for row in dimension_counts(run.cells)
        if row.total
    )
    return lines + _table("| Checks | failed | inconclusive | passed | of these gains | record only | of these over |", rows)


def _finding_row(cell: dict[str, Any]) -> str:
    return (
        f"| {_MARKS[cell['outcome']]} {cell['outcome']} | {text(cell['slug'])} | {text(cell['sentence'])} "
        f"| {code(cell['next']) if cell.get('next') else '–'} | {code(cell['reproduce'])} |\n"
    )


def _over_row(cell: dict[str, Any], check: dict[str, Any]) -> str:
    return (
        f"| {text(cell['slug'])} | {text(check_name(check))} | {text(check['sentence'])} "
        f"| {text(disarmed_by(check))} |\n"
    )


def _measured(check: dict[str, Any]) -> str:
    return text(human(check["measured"], check["unit"]))


def _check_row(cell: dict[str, Any], check: dict[str, Any]) -> str:
    ratio = "–" if check["ratio"] is None else f"× {significant(float(check['ratio']))}"
    gate = " (record only)" if check["gate"] == "record_only" else ""
    return (
        f"| {text(cell['slug'])} | {text(check_name(check))}{gate} | {_measured(check)} "
        f"| {text(check['bound'])} ({text(check['origin'])}) | {ratio} | {percent(check['noise_rel'])} "
        f"| {percent(check['margin_rel'], signed=True)} | {check['samples']} "
        f"| {check['status']}: {text(check['reason'])} |\n"
    )


def _passed_row(cell: dict[str, Any]) -> str:
    values = (
        f"{text(check_name(check))} {_measured(check)}" + (" gain" if check["gain"] else "")
        for check in cell["checks"]
        if check["measured"] is not None
    )
    return f"| {text(cell['slug'])} | {', '.join(values)} |\n"


def _change_row(change: Change, workloads: list[str], dimensions: list[str]) -> str:
    bits = [change.bits[name].text if name in change.bits else "" for name in workloads]
    ratios = [change.ratios[name].text if name in change.ratios else "–" for name in dimensions]
    sides = [text(side) or "the same" for side in (change.under_test, change.reference)]
    return f"| {' | '.join([*sides, *bits, *ratios])} |\n"


def _image_rows(run: Run) -> Iterable[str]:
    for image in images_of(run):
        yield (
            f"| {text(image.role)} | {text(image.name)} | {code(image.digest)} | {image.word} "
            f"| {text(image.summary) or '–'} |\n"
        )


def _host_rows(run: Run) -> Iterable[str]:
    for host in hosts_of(run):
        outcomes = ", ".join(f"{count} {name}" for name, count in host.outcomes.items())
        yield (
            f"| {text(host.label)} | {text(host.devices)} | {text(host.facts['cpu_model'])} "
            f"| {text(host.facts['driver'] or 'none')} | {outcomes or '–'} |\n"
        )


def _shared_row(shared: SharedCell) -> str:
    outcomes = ", ".join(f"{text(host)} {cell['outcome']}" for host, cell in shared.entries)
    return f"| {shared.word} | {text(shared.slug)} | {outcomes} | {text(shared.sentence) or '–'} |\n"


def _measurement_row(cell: dict[str, Any], row: Row) -> str:
    status = row.measurement["status"]
    result = row.correct if status == "measured" else f"{status}: {row.correct}"
    return (
        f"| {text(cell['slug'])} | {text(row.operation)} {text(row.labels)} | {text(row.value)} | {text(row.spread)} "
        f"| {row.share} | {text(result)} |\n"
    )


def _limit_row(row: LimitRow) -> str:
    return f"| {text(row.cell['slug'])} | {row.limit} | {row.value} | {text(row.sentence)} |\n"


def _side(side: Side, other: Side) -> str:
    return text(" ".join([side.stack, *(() if side.knobs == other.knobs else side.knobs)]))


def _pair_row(pair: Pair) -> str:
    first, worst = pair.comparison["first_difference"], pair.largest_ratio
    where = f"step {first['step']}, {text(first['tensor'])}" if first else "–"
    fp64 = pair.lockstep["word"] if pair.lockstep else "–"
    ratio = f", E {human(worst['error_ratio'], 'rel')}" if worst else ""
    suspect = text(pair.explanation["suspect"]["component"]) if pair.explanation else ""
    return (
        f"| {_PAIR_MARKS[pair.word_class]} {pair.word.replace('_', ' ')} | {text(pair.comparison['workload'])} "
        f"| {_side(pair.measured, pair.expected)} | {_side(pair.expected, pair.measured)} | {where} "
        f"| {pair.comparison['steps_differing']} | {fp64}{ratio} | {suspect or '–'} |\n"
    )


def _operator_lines(pairs: list[Pair]) -> Iterable[str]:
    """Which operators differ, a line for each stack against another."""
    table = operator_table(pairs)
    for place, column in enumerate(table.columns[:_COLUMNS_NAMED]):
        names = [code(name) for name, marks in table.rows if marks[place]]
        if names:
            more = f" and {len(names) - _OPERATORS_NAMED} more" if len(names) > _OPERATORS_NAMED else ""
            stacks = f"{text(column.measured)} against {text(column.expected)}"
            yield f"Operators that differ, {stacks}: {', '.join(names[:_OPERATORS_NAMED])}{more}.\n\n"


def _telemetry_row(row: TelemetryRow) -> str:
    return (
        f"| {row.word} | {text(row.cell['slug'])} r{row.attempt['repeat']}a{row.attempt['attempt']} | {text(row.gpus)} "
        f"| {row.of('sm_clock_mhz')} | {row.of('temperature_c')} | {row.of('power_mw', 1000)} | {text(row.clock_events)} "
        f"| {row.telemetry['invalidated_samples']} of {row.telemetry['training_samples']} | {row.steps_left_out} "
        f"| {text(row.sentence) or '–'} |\n"
    )


class _Budget:
    """Counts the bytes of what is written and of the lines still to come, so that the whole never exceeds the limit."""

    def __init__(self, used: int) -> None:
        self.left = BUDGET_BYTES - used

    def take(self, rows: Iterable[str]) -> list[str]:
        taken, total = [], 0
        for row in rows:
            total += 1
            size = len(row.encode("utf-8"))
            if size <= self.left:
                self.left -= size
                taken.append(row)
        if len(taken) < total:
            taken.append(f"\n{total - len(taken)} rows left out for size; report.html and checks.csv have them.\n")
        return taken


def _folded(summary: str, header: str, rows: list[str]) -> str:
    table = "\n".join(_table(header, [])[:2])
    return f"<details><summary>{summary}</summary>\n\n{table}\n{''.join(rows)}\n</details>\n\n"


def summary_md(run: Run) -> str:
    findings = [cell for name in _FINDINGS for cell in run.cells if cell["outcome"] == name]
    passed = [cell for cell in run.cells if cell["outcome"] == "passed"]
    recorded = [cell for cell in run.cells if cell["outcome"] == "recorded"]
    skips = skip_groups(run.cells)
    info = run.info
    foot = (
        f"{text(info['run_id'])} · {text(run.verdict['matrix_file'])} · {text(run.plan['host']['host_name'])} · "
        f"{text(info['started_utc'])} · {duration(info['duration_ns'])} · "
        f"reprobench {text(info['reprobench_version'])}\n"
    )
    head = "\n".join(_head(run)) + "\n"
    # 8 KiB cover the fixed words of the sections below. What is asked for first is kept longest.
    budget = _Budget(len(head.encode("utf-8")) + len(foot.encode("utf-8")) + 8192)
    finding_rows = budget.take(_finding_row(cell) for cell in findings)
    skip_rows = budget.take(
        f"| {text(group.rule)} | {text(group.reason)} | {len(group.cells)} | {group.required} |\n" for group in skips
    )
    image_rows = budget.take(_image_rows(run))
    pairs = pairs_of(run)
    pair_rows = budget.take(_pair_row(pair) for pair in pairs)
    operator_lines = budget.take(_operator_lines(pairs))
    problem = [f"The comparisons of this run are not shown: {text(run.comparisons_problem)}\n\n"]
    problem = budget.take(problem if run.comparisons_problem else [])
    changes = changes_of(run)
    columns = (workloads_of(changes), dimensions_of(changes))
    change_rows = budget.take(_change_row(change, *columns) for change in changes)
    host_rows = budget.take(_host_rows(run))
    shared_rows = budget.take(_shared_row(shared) for shared in shared_cells(run))
    telemetry = telemetry_rows(run)
    telemetry_lines = budget.take(_telemetry_row(row) for row in telemetry)
    over = recorded_over(run.cells)
    over_rows = budget.take(_over_row(cell, check) for cell, check in over)
    check_rows = budget.take(_check_row(cell, check) for cell in findings for check in cell["checks"])
    limit_lines = budget.take(_limit_row(row) for row in limit_rows(run))
    measurement_rows = budget.take(_measurement_row(cell, row) for cell, rows in measured_cells(run) for row in rows)
    passed_rows = budget.take(_passed_row(cell) for cell in passed)
    recorded_rows = budget.take(_passed_row(cell) for cell in recorded)

    out = head
    if image_rows:
        table = "\n".join(_table("| Role | Image | Digest | Inspection | In a sentence |", [])[:2])
        out += f"### Images\n\n{table}\n{''.join(image_rows)}\n"
    if findings:
        table = "\n".join(_table("| Outcome | Cell | Why | Next | Reproduce |", [])[:2])
        out += f"{table}\n{''.join(finding_rows)}\n"
        header = "| Cell | Check | Measured | Threshold | Ratio | Noise | Margin | n | Status |"
        out += _folded(f"Checks of the {len(findings)} cells above", header, check_rows)
    if changes:
        # A workload may be named with a bar in it: columns are not counted by theirs.
        names = ["Under test", "Instead of", *(text(name) for names in columns for name in names)]
        legend = "= equal bits in all repeats of both sides, ≠ other bits, ? could not be compared; ratios are the row's worst."
        table = f"| {' | '.join(names)} |\n|{' --- |' * len(names)}"
        out += f"### What each change did\n\n{legend}\n\n{table}\n{''.join(change_rows)}\n"
    if over:
        table = "\n".join(_table("| Cell | Check | Why | Disarmed by |", [])[:2])
        out += f"### Over the bound, only recorded\n\n{table}\n{''.join(over_rows)}\n"
    if host_rows:
        table = "\n".join(_table("| Host | Devices | CPU | Driver | Cells |", [])[:2])
        out += f"### Hosts\n\n{table}\n{''.join(host_rows)}\n"
    if shared_rows:
        out += _folded("Cells that several hosts ran", "| Bits | Cell | Outcomes | Why |", shared_rows)
    if pairs:
        header = "| Bits | Workload | Stack | Against | First difference | Steps | fp64 | Suspect |"
        table = "\n".join(_table(header, [])[:2])
        out += f"### Where the stacks diverge\n\n{table}\n{''.join(pair_rows)}\n{''.join(operator_lines)}"
    out += "".join(problem)
    if limit_lines:
        out += _folded("Against what the machine can do", "| Cell | Of | Share | From |", limit_lines)
    if measurement_rows:
        header = "| Cell | Operation | Median | Least to most | Of peak | Result |"
        out += _folded("What the device gave", header, measurement_rows)
    if telemetry:
        header = (
            "| Telemetry | Attempt | GPU | SM clock, MHz | Temperature, °C | Power, W | Clocks events "
            "| Readings invalidated | Steps left out | Why |"
        )
        objections = sum(row.word != "valid" for row in telemetry)
        summary = f"GPUs of {len(telemetry)} attempt{'s' if len(telemetry) > 1 else ''}, {objections} with an objection"
        out += _folded(summary, header, telemetry_lines)
    if skips:
        header = "| Rule | Reason | Cells | Required |"
        out += _folded(f"{run.verdict['totals']['skipped']} cells not run", header, skip_rows)
    if passed:
        out += _folded(f"{len(passed)} cells passed", "| Cell | Measured |", passed_rows)
    if recorded:
        out += _folded(f"{len(recorded)} cells ran and were asked nothing", "| Cell | Measured |", recorded_rows)
    return out + foot
