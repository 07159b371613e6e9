"""comparisons.json as a reader asks for it: pairs worst first, and which operator differs between which stacks.

Words and numbers are the document's; nothing is judged here.
"""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .load import Run
from .overview import PLACE, varying_knobs
from .quantity import Number, as_float

# Outcome colours of the page for the words of a comparison.
_FP64_CLASS = {"rounding": "passed", "defect": "failed", "undecided": "inconclusive"}
_TRAJECTORY_CLASS = {"within": "passed", "outside": "failed", "not_judged": "inconclusive"}


@dataclass(frozen=True)
class Side:
    """One side of a comparison. A cell that the plan knows is named by its stack, anything else by its own word."""

    text: str  # "r-20261121-101502-7f3a:3f9c1e0a7b52", "torch-2.9.0-cu128"
    stack: str
    cell: dict[str, Any] | None = None
    knobs: tuple[str, ...] = ()
    other_run: str = ""  # its run, if that is not the reported one


@dataclass(frozen=True)
class Pair:
    index: int  # in the document
    comparison: dict[str, Any]
    measured: Side
    expected: Side

    def extra(self, name: str) -> Any:
        """A field that not every writer of these documents had."""
        return self.comparison.get(name)

    @property
    def word(self) -> str:
        return self.comparison["word"]

    @property
    def explanation(self) -> dict[str, Any] | None:
        return self.comparison["explanation"]

    @property
    def lockstep(self) -> dict[str, Any] | None:
        return self.explanation["lockstep"] if self.explanation else None

    @property
    def fp64_class(self) -> str:
        return _FP64_CLASS[self.lockstep["word"]] if self.lockstep else "skipped"

    @property
    def trajectory_class(self) -> str:
        trajectory = self.extra("trajectory")
        return _TRAJECTORY_CLASS[trajectory["word"]] if trajectory else "skipped"

    @property
    def alarming(self) -> bool:
        """The document calls something more than rounding: these pairs stand first and in the colour of failures."""
        diagnosis = (self.explanation or {}).get("diagnosis") or {"word": "rounding"}
        is_more = diagnosis["word"] in ("defect", "another computation")
        return is_more or "failed" in (self.fp64_class, self.trajectory_class) or bool(self.extra("non_finite"))

    @property
    def word_class(self) -> str:
        return "alarm" if self.word == "differs" and self.alarming else self.word

    @property
    def has_details(self) -> bool:
        named = ("explanation", "trajectory", "equivalence", "discrete_events", "loss_split", "first_over_bound", "non_finite")
        return self.word != "equal" or any(self.extra(name) for name in named)

    @property
    def largest_ratio(self) -> dict[str, Any] | None:
        """The tensor with the largest E; one whose E is no number counts as larger than any."""
        tensors = self.lockstep["tensors"] if self.lockstep else []
        return max(tensors, key=lambda tensor: _size(tensor["error_ratio"]), default=None)

    @cached_property
    def operators(self) -> list[str]:
        """Operators that made different outputs of equal inputs; the first of the step leads."""
        if not self.explanation:
            return []
        return list(dict.fromkeys([*filter(None, [self.first_operator]), *self.explanation["diverging_operators"]]))

    @property
    def first_operator(self) -> str:
        call = first_call(self.explanation) if self.explanation else None
        return call["name"] if call else ""

    @property
    def command(self) -> str:
        return f"reprobench compare {shlex.quote(self.measured.text)} {shlex.quote(self.expected.text)} --explain"


def first_call(source: dict[str, Any]) -> dict[str, Any] | None:
    """The measured call of a source of a difference; of a subgraph the first one, of the side that has any."""
    call = source["operator"]
    region = source.get("region") or {"measured": {"calls": []}, "expected": {"calls": []}}
    calls = [call["measured"]] if call else region["measured"]["calls"] or region["expected"]["calls"]
    return calls[0] if calls else None


def _size(number: Number) -> float:
    value = as_float(number)
    return math.inf if math.isnan(value) else value


def _rank(pair: Pair) -> int:
    return ("alarm", "differs", "not_comparable", "equal").index(pair.word_class)


def pairs_of(run: Run) -> list[Pair]:
    """Worst first, otherwise as in the document."""
    cells = {cell["cell_id"]: cell for cell in run.cells}
    knobs = [name for name in varying_knobs(run.cells) if name not in PLACE]

    def side(text: str) -> Side:
        run_id, _, cell_id = text.rpartition(":")
        cell = cells.get(cell_id) if run_id else None
        if cell is None:
            return Side(text, text)
        at = cell["coordinates"]
        shown = [at[name] if name == "precision" else f"{name} {at[name]}" for name in knobs if name in at]
        other = "" if run_id == run.info["run_id"] else run_id
        return Side(text, at.get("stack") or text, cell, tuple(shown), other)

    pairs = [
        Pair(index, comparison, side(comparison["measured"]), side(comparison["expected"]))
        for index, comparison in enumerate(run.comparisons or [])
    ]
    return sorted(pairs, key=_rank)


@dataclass(frozen=True)
class OperatorColumn:
    """One stack with its knobs against another, over all workloads."""

    measured: str
    expected: str
    pairs: list[Pair]

    @property
    def explained(self) -> int:
        return sum(pair.explanation is not None for pair in self.pairs)

    @property
    def equal(self) -> bool:
        return all(pair.word == "equal" for pair in self.pairs)


@dataclass(frozen=True)
class OperatorMark:
    """An operator in a column: the pairs in which it differs, and those of them in which it is the first to."""

    pairs: list[Pair]
    first: int


@dataclass
class OperatorTable:
    columns: list[OperatorColumn] = field(default_factory=list)
    rows: list[tuple[str, list[OperatorMark | None]]] = field(default_factory=list)


def operator_table(pairs: list[Pair]) -> OperatorTable:
    """Operators that differ in most pairs first, then by name."""
    grouped: dict[tuple[str, str], list[Pair]] = {}

    def label(side: Side, other: Side) -> str:
        return " ".join([side.stack, *(knob for knob in side.knobs if knob not in other.knobs)])

    for pair in pairs:
        key = (label(pair.measured, pair.expected), label(pair.expected, pair.measured))
        grouped.setdefault(key, []).append(pair)
    columns = [OperatorColumn(*stacks, found) for stacks, found in grouped.items()]
    seen: dict[str, int] = {}
    for pair in pairs:
        for name in pair.operators:
            seen[name] = seen.get(name, 0) + 1

    def mark(name: str, column: OperatorColumn) -> OperatorMark | None:
        found = [pair for pair in column.pairs if name in pair.operators]
        return OperatorMark(found, sum(pair.first_operator == name for pair in found)) if found else None

    names = sorted(seen, key=lambda name: (-seen[name], name))
    return OperatorTable(columns, [(name, [mark(name, column) for column in columns]) for name in names])
