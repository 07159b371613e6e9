"""What the GPUs did while the cells ran: a row an attempt, those that say something against a measurement first.

The rows are the coordinator's findings (verdict.json); nothing is judged here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from . import escape
from .load import Run

MAX_ROWS = 200

_WIDTH, _HEIGHT = 220, 34
_TOP, _BOTTOM = 3, 25  # of the clock's line; invalidated readings are ticks below it


@dataclass(frozen=True)
class TelemetryRow:
    cell: dict[str, Any]
    attempt: dict[str, Any]
    telemetry: dict[str, Any]

    @property
    def word(self) -> str:
        """One word for the attempt, worst first."""
        if self.telemetry["faults"]:
            return "device fault" if any(fault["device"] for fault in self.telemetry["faults"]) else "xid"
        if self.telemetry["invalid_reason"] or self.telemetry["problem"]:
            return self.telemetry["invalid_reason"] or "incomplete"
        return "valid in part" if self.telemetry["steps_left_out"] else "valid"

    @property
    def word_class(self) -> str:
        """The outcome whose colour the word has."""
        return {"valid": "passed", "valid in part": "passed", "xid": "failed", "device fault": "errored"}.get(self.word, "inconclusive")

    @property
    def sentence(self) -> str:
        said = [fault["sentence"] for fault in self.telemetry["faults"]]
        said += [self.telemetry["invalid_sentence"] or self.telemetry["left_out_sentence"], self.telemetry["problem"]]
        return "; ".join(part for part in said if part)

    @property
    def steps_left_out(self) -> str:
        """ "22 of 180"; a dash where the run does not say when its steps ran."""
        timed = self.telemetry["timed_steps"]
        return f"{sum(self.telemetry['steps_left_out'].values())} of {timed}" if timed else "–"

    @property
    def gpus(self) -> str:
        named = ", ".join(f"{gpu['name']} {gpu['uuid']}" for gpu in self.telemetry["gpus"])
        return "; ".join([named, *self.attempt.get("links", [])])

    def of(self, quantity: str, scale: float = 1.0) -> str:
        """ "1410–1980, median 1950"; one number where it never moved; a dash where the driver says nothing."""
        found = self.telemetry["ranges"].get(quantity)
        if found is None:
            return "–"
        least, median, most = (f"{found[part] / scale:.0f}" for part in ("least", "median", "most"))
        return median if least == most else f"{least}–{most}, median {median}"

    @property
    def clock_events(self) -> str:
        total = self.telemetry["training_samples"]
        words = sorted(self.telemetry["clock_events"].items())
        return ", ".join(f"{word} {count} of {total}" for word, count in words) or "none"


_ORDER = ("device fault", "xid", "throttled", "contended", "clock", "incomplete", "valid in part", "valid")


def telemetry_rows(run: Run) -> list[TelemetryRow]:
    """Of every attempt that was watched, worst first, else in the order of the plan."""
    rows = list(_rows(run))
    return sorted(rows, key=lambda row: _ORDER.index(row.word))


def _rows(run: Run) -> Iterator[TelemetryRow]:
    for cell in run.cells:
        for attempt in cell["attempts"]:
            if attempt["telemetry"] is not None:
                yield TelemetryRow(cell, attempt, attempt["telemetry"])


def clock_chart(row: TelemetryRow) -> Markup:
    """The SM clock over the attempt, from 0 to its highest; a tick under every reading that was invalidated."""
    points = [point for point in row.telemetry["series"] if point["sm_clock_mhz"] is not None]
    highest = max((point["sm_clock_mhz"] for point in points), default=0)
    if len(points) < 2 or highest <= 0:
        return Markup("")
    first, last = points[0]["at_ns"], points[-1]["at_ns"]

    def x(point: dict[str, Any]) -> float:
        return 2 + (point["at_ns"] - first) / max(last - first, 1) * (_WIDTH - 4)

    def y(point: dict[str, Any]) -> float:
        return _BOTTOM - point["sm_clock_mhz"] / highest * (_BOTTOM - _TOP)

    line = "L".join(f"{x(point):.1f} {y(point):.1f}" for point in points)
    ticks = "".join(f"M{x(point):.1f} {_BOTTOM + 3}v5" for point in points if point["invalidated"])
    marked = sum(point["invalidated"] for point in points)
    title = f"SM clock, up to {highest} MHz, over {(last - first) / 1e9:.1f} s" + (
        f"; {marked} of {len(points)} readings shown are invalidated" if marked else ""
    )
    return Markup(
        f'<svg class="clock" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" role="img">'
        f'<title>{escape.html(title)}</title><path class="floor" d="M2 {_BOTTOM}H{_WIDTH - 2}"/>'
        f'<path class="line" d="M{line}"/>' + (f'<path class="bad" d="{ticks}"/>' if ticks else "") + "</svg>"
    )
