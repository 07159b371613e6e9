"""Modules against steps, a letter each: where in the network two runs diverge and how that spreads.

Text in a table, not a drawing: it needs no colour to be read, prints, and can be searched and copied.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any

from markupsafe import Markup

# The letters of the document, in the order of a step.
ROLES = {
    "i": "input", "p": "parameter", "f": "forward output", "m": "mask", "l": "loss", "g": "output gradient",
    "d": "parameter gradient", "s": "optimizer state", "b": "buffer", "c": "loss scale", "?": "unknown mark",
}  # fmt: skip

# A page holds many strips. Beyond this many rows those with equal bits go first, then the last ones.
MAX_ROWS = 160

# A network with more modules than this is told in fewer rows: neighbours with equal marks share one.
MAX_UNFOLDED = 48

# A row's words beside its letters tell this many runs of equal letters; a row that flickers more is left to its letters.
_MAX_RUNS = 4


@dataclass(frozen=True)
class Row:
    module: str  # "fc1", or the first and the last of several
    marks: Markup
    words: str  # "forward output from step 4"


@dataclass(frozen=True)
class Strip:
    ticks: str  # a line as wide as the marks, with a step's number above its column
    rows: list[Row]
    legend: list[tuple[str, str]]
    sentence: str
    left_out: int  # modules that no row stands for


def _ticks(steps: list[int]) -> str:
    line = ""
    for column, step in enumerate(steps):
        label = str(step)
        wanted = column == 0 or step % 10 == 0
        if wanted and (not line or len(line) < column) and column + len(label) <= max(len(steps), len(label)):
            line = line.ljust(column) + label
    return line.ljust(len(steps))


def _runs(marks: str, steps: list[int]) -> list[tuple[str, int, int]]:
    """(letter, first step, last step)"""
    found, at = [], 0
    for letter, run in groupby(marks):
        length = len(list(run))
        found.append((letter, steps[at], steps[at + length - 1]))
        at += length
    return found


def _words(marks: str, steps: list[int]) -> str:
    runs = [run for run in _runs(marks, steps) if run[0] != "."]
    if not runs:
        return "equal"
    if len(runs) > _MAX_RUNS:
        return f"differs in {sum(mark != '.' for mark in marks)} of {len(marks)} steps"

    def span(first: int, last: int) -> str:
        if last == steps[-1]:
            return f"from step {first}"
        return f"in steps {first} to {last}" if last > first else f"in step {first}"

    return ", ".join(f"{ROLES[letter]} {span(first, last)}" for letter, first, last in runs)


def _coloured(marks: str) -> Markup:
    """Letters are of ROLES, so none needs escaping."""
    return Markup(
        "".join(
            run if letter == "." else f'<b class="m{"o" if letter == "?" else letter}">{run}</b>'
            for letter, run in ((letter, "".join(group)) for letter, group in groupby(marks))
        )
    )


def _sentence(modules: list[tuple[str, str]], steps: list[int]) -> str:
    span = f"steps {steps[0]} to {steps[-1]}" if len(steps) > 1 else f"step {steps[0]}"
    counted = f"{len(modules)} modules in execution order" if len(modules) > 1 else "1 module"
    differing = sum(bool(marks.strip(".")) for _, marks in modules)
    if not differing:
        return f"{counted}, {span}: all bits equal."
    # Which one is first is the comparison's to say: within a step the rows stand in the order of the forward pass,
    # and gradients run against it.
    return f"{counted}, {span}: {differing} differ{'s' * (differing == 1)}."


def _folded(modules: list[tuple[str, str]]) -> list[tuple[str, str, int]]:
    """(name, marks, modules) of each row; three neighbours or more with equal marks share one in a large network."""
    rows: list[tuple[str, str, int]] = []
    for marks, group in groupby(modules, key=lambda row: row[1]):
        names = [module for module, _ in group]
        if len(modules) > MAX_UNFOLDED and len(names) > 2:
            rows.append((f"{names[0]} … {names[-1]} ({len(names)})", marks, len(names)))
        else:
            rows += [(name, marks, 1) for name in names]
    return rows


def strip_of(document: dict[str, Any] | None) -> Strip | None:
    if not document or not document["steps"] or not document["rows"]:
        return None
    steps = document["steps"]

    def known(marks: str) -> str:
        """As many marks as steps, each of them known."""
        padded = marks[: len(steps)].ljust(len(steps), "?")
        return "".join(mark if mark == "." or mark in ROLES else "?" for mark in padded)

    modules = [(row["module"], known(row["marks"])) for row in document["rows"]]
    rows = _folded(modules)
    if len(rows) > MAX_ROWS:
        rows = [row for row in rows if row[1].strip(".")][:MAX_ROWS]
    present = {mark for _, marks, _ in rows for mark in marks}
    return Strip(
        _ticks(steps),
        [Row(name, _coloured(marks), _words(marks, steps)) for name, marks, _ in rows],
        [(letter, name) for letter, name in ROLES.items() if letter in present],
        _sentence(modules, steps),
        len(modules) - sum(count for *_, count in rows),
    )
