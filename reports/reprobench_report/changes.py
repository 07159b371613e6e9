"""What each change did: cells held against their reference, grouped by the coordinates in which the two differ.

Where a matrix varies one thing at a time a row answers for it: "threads 2 instead of 1: other bits in resnet and clip".
Read from the verdict alone; nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .load import Run
from .overview import in_order, unique
from .quantity import finite, significant

_RATIO_DIMENSIONS = ("throughput", "memory", "communication")


@dataclass
class Bits:
    """Of the cells of one workload: how many have their reference's bits, other bits, or cannot be compared."""

    equal: int = 0
    differing: list[dict[str, Any]] = field(default_factory=list)
    open: int = 0

    def add(self, cell: dict[str, Any], word: str) -> None:
        self.equal += word == "equal"
        self.open += word == "not_comparable"
        if word == "differs":
            self.differing.append(cell)

    @property
    def word(self) -> str:
        return "differs" if self.differing else "open" if self.open else "equal"

    @property
    def text(self) -> str:
        of = self.equal + len(self.differing) + self.open
        mark, count = ("≠", len(self.differing)) if self.differing else ("?", self.open) if self.open else ("=", of)
        return mark if count == of else f"{mark} {count} of {of}"


@dataclass(frozen=True)
class Worst:
    """The ratio to the reference that is worst among the cells of a change."""

    ratio: float
    check: dict[str, Any]
    cell: dict[str, Any]

    @property
    def text(self) -> str:
        return f"×\u00a0{significant(self.ratio)}"


@dataclass
class Change:
    under_test: str
    reference: str
    axes: int
    cells: int = 0
    bits: dict[str, Bits] = field(default_factory=dict)  # by workload
    ratios: dict[str, Worst] = field(default_factory=dict)  # by dimension


def _named(side: dict[str, str], other: dict[str, str]) -> str:
    """ "torch-2.9.0-cu128, threads 2": a stack or a device names itself."""
    return ", ".join(
        value if name in ("stack", "device") else f"{name} {value}"
        for name, value in in_order(side)
        if other.get(name) != value
    )


def _ratios(cell: dict[str, Any]) -> Iterator[tuple[str, float, Worst]]:
    """(dimension, how much worse, the check) for each check with a ratio to the reference."""
    for check in cell["checks"]:
        ratio = finite(check["ratio"])
        if check["dimension"] in _RATIO_DIMENSIONS and ratio is not None and ratio > 0:
            yield check["dimension"], ratio if check["better"] == "lower" else 1 / ratio, Worst(ratio, check, cell)


def _add(change: Change, cell: dict[str, Any]) -> None:
    change.cells += 1
    if word := cell.get("reference_bits"):  # a cell that did not run, or has no reference, does not say
        change.bits.setdefault(cell["coordinates"].get("workload", ""), Bits()).add(cell, word)
    for dimension, worsening, worst in _ratios(cell):
        known = change.ratios.get(dimension)
        lower = known is None or known.check["better"] == "lower"
        if known is None or worsening > (known.ratio if lower else 1 / known.ratio):
            change.ratios[dimension] = worst


def changes_of(run: Run) -> list[Change]:
    """Those of fewest coordinates first: what one of them does is known before what two do together."""
    by_id = {cell["cell_id"]: cell for cell in run.cells}
    changes: dict[tuple[str, str], Change] = {}
    for cell in run.cells:
        reference = by_id.get(cell["reference_cell_id"])
        if reference is None or cell["outcome"] == "skipped":
            continue
        mine, theirs = cell["coordinates"], reference["coordinates"]
        names = (_named(mine, theirs), _named(theirs, mine))
        axes = sum(mine.get(name) != theirs.get(name) for name in {*mine, *theirs})
        _add(changes.setdefault(names, Change(*names, axes)), cell)
    return sorted(changes.values(), key=lambda change: change.axes)


def workloads_of(changes: list[Change]) -> list[str]:
    return unique(workload for change in changes for workload in change.bits)


def dimensions_of(changes: list[Change]) -> list[str]:
    """Those of which any change has a ratio."""
    return [name for name in _RATIO_DIMENSIONS if any(name in change.ratios for change in changes)]
