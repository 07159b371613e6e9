"""checks.csv: one row per cell and check, and one row for a cell without checks. Values at full precision. Each row has the run's verdict.

Columns named `*_rel` are fractions of one. `measured` and `reference` are in the row's `unit`; `limit` is as the bound
means it, a fraction for max_regression.
"""

from __future__ import annotations

import csv
import io
from typing import Any

from . import escape
from .load import Run

_COORDINATES = ("suite", "workload", "stack", "device", "world_size")
_NUMBERS = ("measured", "reference", "ratio", "ratio_low", "ratio_high", "noise_rel", "samples", "limit", "margin_rel")
_CHECK = (
    "dimension", "metric", "of", "unit", "better", "gate", "status", "reason", "measured", "reference", "ratio", "ratio_low",
    "ratio_high", "noise_rel", "samples", "bound", "limit", "margin_rel", "gain", "origin", "sentence",
)  # fmt: skip
_DIVERGENCE = ("step", "tensor", "role", "against", "measured_digest", "expected_digest")


def _field(value: Any, is_number: bool = False) -> Any:
    """Numbers and the words nan and inf are exempt from the formula guard, by type and not by looks."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    return value if is_number and value in ("nan", "inf", "-inf") else escape.csv_text(value)


def checks_csv(run: Run) -> str:
    knobs = sorted({name for cell in run.cells for name in cell["coordinates"]} - set(_COORDINATES))
    # A run may be undecided although every check of every cell passed.
    header = ["run_id", "run_verdict", "cell_id", "slug", "outcome", "outcome_reason", "required", *_COORDINATES, *knobs]
    header += [f"check_{name}" if name == "reason" else name for name in _CHECK]
    header += [f"divergence_{name}" for name in _DIVERGENCE] + ["reproduce"]
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow([escape.csv_text(name) for name in header])
    for cell in run.cells:
        start = [run.info["run_id"], run.verdict["word"], cell["cell_id"], cell["slug"], cell["outcome"], cell["reason"], cell["required"]]
        start += [cell["coordinates"].get(name, "") for name in (*_COORDINATES, *knobs)]
        for check in cell["checks"] or [{}]:
            divergence = check.get("divergence") or {}
            row = [_field(value) for value in start]
            row += [_field(check.get(name), name in _NUMBERS) for name in _CHECK]
            row += [_field(divergence.get(name)) for name in _DIVERGENCE]
            writer.writerow([*row, _field(cell["reproduce"])])
    return out.getvalue()
