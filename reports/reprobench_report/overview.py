"""What a reader wants first: how much ran, what was compared with what, what was skipped. Counts only, no judgement."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from .load import DIMENSIONS, Run

# Coordinates that name a cell's place in the matrix; the others are knobs.
PLACE = ("suite", "workload", "stack", "device", "world_size", "host")


OWN_FILES = ("data", "weights")


def own_files(plan: dict[str, Any]) -> list[tuple[str, str]]:
    """Files of the user's that cells were to train with: the kind, the path and what it held when the plan was made."""
    files = set()
    for cell in plan["cells"]:
        if cell["skip"] is not None and cell["skip"]["rule"] == "deselected":
            continue
        for kind in OWN_FILES:
            if f"{kind}_file" in cell:
                digest = cell["request"]["workload"][f"{kind}_sha256"]
                files.add((kind.capitalize(), f"{cell[f'{kind}_file']}, SHA-256 {digest}"))
    return sorted(files)


@dataclass
class DimensionCount:
    """Checks of one dimension that decide an outcome, by status; those that only record are counted apart.

    Gains are counted within the passed ones, and what is over its bound within the recorded ones.
    """

    name: str
    passed: int = 0
    failed: int = 0
    inconclusive: int = 0
    gains: int = 0
    recorded: int = 0
    recorded_over: int = 0

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.inconclusive + self.recorded


@dataclass(frozen=True)
class Comparison:
    """Cells that differ from their reference in one set of coordinates: which values stand against which."""

    axes: str
    under_test: list[str]
    reference: list[str]
    cells: int


@dataclass
class SkipGroup:
    """Skipped cells that one rule explains with one sentence."""

    rule: str
    reason: str
    cells: list[dict[str, Any]] = field(default_factory=list)

    @property
    def required(self) -> int:
        return sum(cell["required"] for cell in self.cells)


def unique(values: Any) -> list[Any]:
    """Each value once, in order of first appearance."""
    return list(dict.fromkeys(values))


def dimension_counts(cells: list[dict[str, Any]]) -> list[DimensionCount]:
    counts = {name: DimensionCount(name) for name in DIMENSIONS}
    for cell in cells:
        for check in cell["checks"]:
            count = counts[check["dimension"]]
            kind = "recorded" if check["gate"] == "record_only" else check["status"]
            count.gains += check["gain"] and kind == "passed"
            count.recorded_over += check["status"] == "failed" and kind == "recorded"
            setattr(count, kind, getattr(count, kind) + 1)
    return list(counts.values())


def in_order(coordinates: dict[str, str]) -> list[tuple[str, str]]:
    """Coordinates as a reader names them: the place in the matrix first, then the knobs by name."""
    names = [*(name for name in PLACE if name in coordinates), *sorted(set(coordinates) - set(PLACE))]
    return [(name, coordinates[name]) for name in names]


def comparisons(cells: list[dict[str, Any]]) -> list[Comparison]:
    """Of the cells that ran; a skipped cell was compared with nothing."""
    by_id = {cell["cell_id"]: cell["coordinates"] for cell in cells}
    pairs: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for cell in cells:
        reference = by_id.get(cell["reference_cell_id"])
        if reference is None or cell["outcome"] == "skipped":
            continue
        mine = cell["coordinates"]
        axes = tuple(name for name in sorted({*mine, *reference}) if mine.get(name) != reference.get(name))
        values = [" ".join(side.get(name, "–") for name in axes) for side in (mine, reference)]
        pairs.setdefault(axes, []).append((values[0], values[1]))
    return [
        Comparison(", ".join(axes), unique(mine for mine, _ in found), unique(ref for _, ref in found), len(found))
        for axes, found in pairs.items()
    ]


def reference_stacks(cells: list[dict[str, Any]]) -> list[str]:
    by_id = {cell["cell_id"]: cell["coordinates"].get("stack", "") for cell in cells}
    used = (by_id.get(cell["reference_cell_id"]) for cell in cells if cell["reference_cell_id"] is not None)
    return unique(stack for stack in used if stack)


def skip_groups(cells: list[dict[str, Any]]) -> list[SkipGroup]:
    """The largest group first, except that groups with required cells, which cost the run its verdict, lead."""
    groups: dict[tuple[str, str], SkipGroup] = {}
    for cell in cells:
        if cell["outcome"] == "skipped":
            key = (cell["reason"], cell["sentence"])
            groups.setdefault(key, SkipGroup(*key)).cells.append(cell)
    return sorted(groups.values(), key=lambda group: (-group.required, -len(group.cells), group.rule, group.reason))


def varying_knobs(cells: list[dict[str, Any]]) -> list[str]:
    """Knobs that take several values in this run, precision always among them if the matrix names it."""
    values: dict[str, set[str]] = {}
    for cell in cells:
        for name, value in cell["coordinates"].items():
            values.setdefault(name, set()).add(value)
    names = [name for name in sorted(values) if name not in PLACE and (len(values[name]) > 1 or name == "precision")]
    if len(values.get("world_size", ())) > 1:
        names.append("world_size")
    return sorted(names, key=lambda name: (name != "precision", name))


def cells_that_ran(cells: list[dict[str, Any]]) -> int:
    """To their end: an interrupted run leaves a cell unfinished, and the verdict's sentence does not count it either."""
    return sum(cell["outcome"] not in ("skipped", "unfinished") for cell in cells)


def recorded_over(cells: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """(cell, check) for each check that is over its bound and decides nothing; required stacks before the context."""
    required = {cell["coordinates"].get("stack") for cell in cells if cell["required"]}
    return [
        (cell, check)
        for cell in sorted(cells, key=lambda cell: cell["coordinates"].get("stack") not in required)
        for check in cell["checks"]
        if check["gate"] == "record_only" and check["status"] == "failed"
    ]


def first_of_each(over: list[tuple[dict[str, Any], dict[str, Any]]], most: int) -> list[tuple[str, list[Any], int]]:
    """(metric, the first few of it, how many more): a hundred cells over one bound are one thing to know."""
    by_metric: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    for cell, check in over:
        by_metric.setdefault(check["metric"], []).append((cell, check))
    return [(metric, found[:most], max(len(found) - most, 0)) for metric, found in by_metric.items()]


def disarmed_by(check: dict[str, Any]) -> str:
    """Absent from verdicts before it was recorded: then the bound's own line is what is known."""
    return check.get("gate_origin", check["origin"])


def dimension_lines(run: Run) -> list[dict[str, str]]:
    """Candidates against references, a sentence for each dimension that was checked."""
    return [line for line in run.verdict["dimensions"] if line["word"] != "not_checked"]


def unchecked(run: Run) -> str:
    """Dimensions in which nothing was asked: "memory, communication"."""
    return ", ".join(line["dimension"] for line in run.verdict["dimensions"] if line["word"] == "not_checked")


def outcome_counts(run: Run) -> Counter[str]:
    return Counter({name: count for name, count in run.verdict["totals"].items() if name != "planned"})
