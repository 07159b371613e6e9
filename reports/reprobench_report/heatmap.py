"""The matrix as a grid: a row per suite, workload and knobs; a column per stack, grouped by device.

A device on which no cell ran keeps one column that says so, so that the stacks that did run stay side by side.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .load import DIMENSIONS, STATUSES
from .overview import unique, varying_knobs


@dataclass(frozen=True)
class Column:
    device: str
    stack: str  # empty: all stacks of a device on which nothing ran


@dataclass
class DeviceGroup:
    device: str
    columns: list[Column]


@dataclass
class Row:
    suite: str
    workload: str
    knobs: list[str]
    cells: dict[Column, list[dict[str, Any]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Grid:
    devices: list[DeviceGroup]
    rows: list[Row]

    @property
    def columns(self) -> list[Column]:
        return [column for group in self.devices for column in group.columns]


def _device_groups(cells: list[dict[str, Any]]) -> list[DeviceGroup]:
    groups = []
    for device in unique(cell["coordinates"].get("device", "") for cell in cells):
        here = [cell for cell in cells if cell["coordinates"].get("device", "") == device]
        ran = any(cell["outcome"] != "skipped" for cell in here)
        stacks = unique(cell["coordinates"].get("stack", "") for cell in here) if ran else [""]
        groups.append(DeviceGroup(device, [Column(device, stack) for stack in stacks]))
    return groups


def grid_of(cells: list[dict[str, Any]]) -> Grid:
    devices = _device_groups(cells)
    columns = {column for group in devices for column in group.columns}
    knobs = varying_knobs(cells)
    rows: dict[tuple[str, ...], Row] = {}
    for cell in cells:
        at = cell["coordinates"]
        # A cell that several hosts ran has a row a host; all others share one.
        host = at.get("host", "") if "@" in cell["slug"] else ""
        key = (at.get("suite", ""), at.get("workload", ""), *(at.get(name, "") for name in knobs), host)
        if key not in rows:
            names = [*knobs, "host"]
            shown = [
                value if name == "precision" else f"{name} {value}" for name, value in zip(names, key[2:]) if value
            ]
            rows[key] = Row(key[0], key[1], shown)
        exact = Column(at.get("device", ""), at.get("stack", ""))
        column = exact if exact in columns else Column(exact.device, "")
        rows[key].cells.setdefault(column, []).append(cell)
    by_suite = {suite: index for index, suite in enumerate(unique(row.suite for row in rows.values()))}
    return Grid(devices, sorted(rows.values(), key=lambda row: by_suite[row.suite]))


def letters(cell: dict[str, Any]) -> list[tuple[str, str, str]]:
    """(letter, dimension, status) for each dimension that was checked; the worst status of its armed checks."""
    found = []
    for dimension in DIMENSIONS:
        statuses = {c["status"] for c in cell["checks"] if c["dimension"] == dimension and c["gate"] == "armed"}
        worst = next((status for status in STATUSES if status in statuses), None)
        if worst:
            found.append((dimension[0].upper(), dimension, worst))
    return found
