"""Where a step's time goes: a row a phase, both sides as bars on one scale, and a CSV at full precision.

The coordinator compared the phases; nothing here decides anything.
"""

from __future__ import annotations

import csv
import io
from typing import Any

from markupsafe import Markup

from . import escape
from .load import Run
from .quantity import finite, human

_WIDTH, _BAR, _GAP = 420, 11, 3
_NUMBERS = ("measured_ns", "reference_ns", "ratio", "ratio_low", "ratio_high")


def has_phases(run: Run) -> bool:
    return any("phases" in check for cell in run.cells for check in cell["checks"])


def phase_bars(phases: list[dict[str, Any]]) -> Markup:
    """This cell's step above its reference's, each phase as wide as its time; one bar where there is no reference."""
    sides = [name for name in ("measured_ns", "reference_ns") if finite(phases[0][name]) is not None]
    longest = max(sum(finite(phase[name]) or 0.0 for phase in phases) for name in sides)
    height = len(sides) * (_BAR + _GAP) - _GAP
    parts = [f'<svg class="phasebars" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" role="img">']
    words = ("this cell", "its reference")
    total = (human(sum(finite(phase[name]) or 0.0 for phase in phases), "ns") for name in sides)
    parts.append(f"<title>{escape.html(', '.join(f'{word} {text}' for word, text in zip(words, total, strict=False)))}</title>")
    for row, name in enumerate(sides):
        x = 0.0
        for phase in phases:
            width = (finite(phase[name]) or 0.0) / longest * _WIDTH if longest > 0 else 0.0
            parts.append(
                f'<rect class="p-{escape.html(phase["phase"])}" x="{x:.1f}" y="{row * (_BAR + _GAP)}" '
                f'width="{width:.1f}" height="{_BAR}"/>'
            )
            x += width
    return Markup("".join(parts) + "</svg>")


def phases_csv(run: Run) -> str:
    """One row a phase of a cell whose step time was asked about."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(["run_id", "cell_id", "slug", "reference_cell_id", "phase", *_NUMBERS])
    for cell in run.cells:
        start = [run.info["run_id"], cell["cell_id"], cell["slug"], cell["reference_cell_id"] or ""]
        for check in cell["checks"]:
            for phase in check.get("phases", []):
                numbers = ["" if phase[name] is None else repr(phase[name]) for name in _NUMBERS]
                writer.writerow([*(escape.csv_text(text) for text in start), phase["phase"], *numbers])
    return out.getvalue()
