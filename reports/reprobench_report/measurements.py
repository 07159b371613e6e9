"""What probes measured of the device: one row an operation and its labels, with every sample at full precision in a CSV.

The coordinator judged the measurements; a median here is for reading and decides nothing.
"""

from __future__ import annotations

import csv
import io
import statistics
from dataclasses import dataclass
from typing import Any

from . import escape
from .load import Run
from .quantity import as_float, human, percent

_LABELS = ("dtype", "shape", "size", "direction", "memory", "library")


@dataclass(frozen=True)
class Row:
    """A measurement as the report shows it."""

    measurement: dict[str, Any]
    operation: str
    labels: str
    value: str  # the median of the samples
    spread: str  # least and most
    share: str  # of the data sheet's peak
    correct: str
    how: str  # the library did it: "by gemm", or why that is not known


def has_measurements(run: Run) -> bool:
    return any("measurements" in cell for cell in run.cells)


def check_name(check: dict[str, Any]) -> str:
    """ "device.bandwidth_share of triad to peak": several checks of a cell may share a metric."""
    return f"{check['metric']} of {check['of']}" if "of" in check else check["metric"]


def _correct(measurement: dict[str, Any]) -> str:
    if measurement["status"] != "measured":
        return measurement["finding"]
    if measurement["results_compared"]:
        return f"{measurement['results_differing']} of {measurement['results_compared']} repetitions differ"
    if measurement["error_rel"] is not None:
        error = f"{human(measurement['error_rel'], 'rel')} to fp64, at most {human(measurement['error_bound_rel'], 'rel')}"
        return f"{error}; {measurement['finding']}" if measurement["finding"] else error
    return measurement["finding"] or "exact"


def _how(measurement: dict[str, Any]) -> str:
    if measurement["algorithm"]:
        return f"by {measurement['algorithm']}"
    unknown = measurement.get("algorithm_unknown", "")
    return f"by what is not known: {unknown}" if unknown else ""


def row_of(measurement: dict[str, Any]) -> Row:
    samples = [as_float(sample) for sample in measurement["samples"]]
    unit, peak = measurement["unit"], as_float(measurement["peak"])
    median = statistics.median(samples) if samples else None
    labels = measurement["labels"]
    return Row(
        measurement,
        measurement["operation"],
        " ".join(labels[name] for name in (*_LABELS, *sorted(set(labels) - set(_LABELS))) if name in labels),
        human(median, unit),
        f"{human(min(samples), unit)} to {human(max(samples), unit)}" if len(samples) > 1 else "–",
        percent(median / peak) if median is not None and peak else "–",
        _correct(measurement),
        _how(measurement),
    )


def measured_cells(run: Run) -> list[tuple[dict[str, Any], list[Row]]]:
    """Cells with measurements, each with the rows of its first repeat."""
    return [
        (cell, [row_of(one) for one in cell["measurements"] if one["repeat"] == cell["measurements"][0]["repeat"]])
        for cell in run.cells
        if "measurements" in cell
    ]


def measurements_csv(run: Run) -> str:
    """One row a sample; an operation without samples has one row that says why."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow([
        "run_id", "cell_id", "slug", "repeat", "operation", *_LABELS, "unit", "status", "sample", "value", "peak", "error_rel",
        "error_bound_rel", "results_compared", "results_differing", "finding", "algorithm", "kernels", "algorithm_unknown",
    ])  # fmt: skip
    for cell in run.cells:
        for one in cell.get("measurements", []):
            start = [run.info["run_id"], cell["cell_id"], cell["slug"], str(one["repeat"]), one["operation"]]
            start += [one["labels"].get(name, "") for name in _LABELS] + [one["unit"], one["status"]]
            end = ["" if one[name] is None else repr(one[name]) for name in (
                "peak", "error_rel", "error_bound_rel", "results_compared", "results_differing",
            )]  # fmt: skip
            samples = [(str(number), repr(value)) for number, value in enumerate(one["samples"], 1)] or [("", "")]
            for number, value in samples:
                texts = [escape.csv_text(text) for text in start]
                told = (one["finding"], one["algorithm"], "; ".join(one["kernels"]), one.get("algorithm_unknown", ""))
                how = [escape.csv_text(text) for text in told]
                writer.writerow([*texts, number, value, *end, *how])
    return out.getvalue()
