"""How near trainings come to what their machine can do: a row a check of a share of a peak, with its sentence.

The sentence names the convention by which operations were counted; the coordinator wrote it, and nothing here decides
anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .load import Run
from .quantity import percent

# Metrics that are such a share, and what of.
_LIMITS = {"throughput.gemm_peak_share": "fastest product measured", "throughput.mfu": "data sheet (MFU)"}


@dataclass(frozen=True)
class LimitRow:
    """A cell's share of one limit; `value` is a dash where there is none, and `sentence` says why."""

    cell: dict[str, Any]
    limit: str
    value: str
    sentence: str


def limit_rows(run: Run) -> list[LimitRow]:
    return [
        LimitRow(cell, _LIMITS[check["metric"]], percent(check["measured"]), check["sentence"])
        for cell in run.cells
        for check in cell["checks"]
        if check["metric"] in _LIMITS
    ]
