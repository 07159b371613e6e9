"""The distance of two trainings over their steps, on two logarithmic axes, against the bound it is held to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from . import escape
from .quantity import finite, significant

_WIDTH, _HEIGHT = 640, 216
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 14, 10, 34

# The table beside the drawing tells this many of the points, spread over the steps as the axis is.
_POINTS_TOLD = 12

# In pixels: the width of a point of a line, and how far apart circles stand.
_COLUMN = 4
_CIRCLE_GAP = 10


def _positive(number: Any) -> float | None:
    value = finite(number)
    return value if value is not None and value > 0 else None


def over_bound(point: dict[str, Any]) -> bool:
    """A distance that is no number is over any bound."""
    distance, bound = finite(point["distance_rel"]), finite(point["bound_rel"])
    return bound is not None and (distance is None or distance > bound)


@dataclass(frozen=True)
class _Axis:
    """From a value to a place, by its logarithm."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def decades(self) -> list[int]:
        first, last = math.ceil(self.low - 1e-9), math.floor(self.high + 1e-9)
        return list(range(first, last + 1, max(1, math.ceil((last - first) / 6))))


def _axes(steps: list[int], values: list[float]) -> tuple[_Axis, _Axis]:
    low, high = math.log10(steps[0]), math.log10(steps[-1])
    x = _Axis(low, high if high > low else low + 1, _LEFT, _WIDTH - _RIGHT)
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return x, _Axis(low, high if high > low else low + 1, _HEIGHT - _BOTTOM, _TOP)


def _line(places: list[tuple[float, float]]) -> str:
    """Of points closer than the eye tells apart the highest, so that no peak is lost; y grows downwards."""
    highest: dict[int, tuple[float, float]] = {}
    for place in places:
        column = round(place[0] / _COLUMN)
        if column not in highest or place[1] < highest[column][1]:
            highest[column] = place
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in highest.values())


def _apart(places: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The first, and of the others those whose circles do not run into one."""
    kept: list[tuple[float, float]] = []
    for place in places:
        if not kept or math.dist(place, kept[-1]) >= _CIRCLE_GAP:
            kept.append(place)
    return kept


def _power(exponent: int) -> str:
    return f"1e{exponent}" if not 0 <= exponent < 4 else str(10**exponent)


def _grid(x: _Axis, y: _Axis, last: int) -> list[str]:
    parts = []
    for exponent in y.decades():
        at = y.at(10.0**exponent) if -307 < exponent < 308 else None
        if at is not None:
            parts.append(f'<path class="rule" d="M{_LEFT} {at:.1f}H{_WIDTH - _RIGHT}"/>')
            parts.append(f'<text class="y" x="{_LEFT - 8}" y="{at + 4:.1f}">{_power(exponent)}</text>')
    for exponent in x.decades():
        at = x.at(10.0**exponent)
        if at < _WIDTH - _RIGHT - 40:
            parts.append(f'<text class="x" x="{at:.1f}" y="{_HEIGHT - _BOTTOM + 16}">{_power(exponent)}</text>')
    end = "start" if x.at(last) < _LEFT + 40 else "end"
    parts.append(f'<text class="x {end}" x="{x.at(last):.1f}" y="{_HEIGHT - _BOTTOM + 16}">step {last}</text>')
    return parts


def curve(trajectory: dict[str, Any]) -> Markup:
    """Nothing if fewer than two points can be drawn; distances of zero and what is no number cannot be."""
    points = [point for point in trajectory["points"] if point["step"] >= 1 and finite(point["step"]) is not None]
    points = sorted(points, key=lambda point: point["step"])
    distances = [(p["step"], _positive(p["distance_rel"]), over_bound(p)) for p in points]
    distances = [(step, value, over) for step, value, over in distances if value is not None]
    bounds = [(p["step"], _positive(p["bound_rel"])) for p in points]
    bounds = [(step, value) for step, value in bounds if value is not None]
    if len(distances) < 2:
        return Markup("")
    steps = [step for step, *_ in (*distances, *bounds)]
    x, y = _axes([min(steps), max(steps)], [value for _, value, *_ in (*distances, *bounds)])
    peak = max(value for _, value, _ in distances)
    over = [(x.at(step), y.at(value)) for step, value, over in distances if over]
    title = (
        f"distance from step {distances[0][0]} to {distances[-1][0]}, from {significant(distances[0][1])} to "
        f"{significant(distances[-1][1])}, at most {significant(peak)}"
        + (f"; {sum(map(over_bound, points))} of {len(points)} points over the bound" if bounds else "; no bound")
    )
    parts = [
        f'<svg class="curve" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" role="img">',
        f"<title>{escape.html(title)}</title>",
        *_grid(x, y, max(steps)),
    ]
    horizon = trajectory["horizon_step"]
    if horizon is not None and min(steps) <= horizon <= max(steps):
        parts.append(f'<path class="horizon" d="M{x.at(horizon):.1f} {_TOP}V{_HEIGHT - _BOTTOM}"/>')
    if len(bounds) > 1:
        parts.append(f'<path class="bound" d="{_line([(x.at(step), y.at(value)) for step, value in bounds])}"/>')
    parts.append(f'<path class="distance" d="{_line([(x.at(step), y.at(value)) for step, value, _ in distances])}"/>')
    parts += [f'<circle class="beyond" cx="{cx:.1f}" cy="{cy:.1f}" r="3.5"/>' for cx, cy in _apart(over)]
    return Markup("".join(parts) + "</svg>")


def told(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A few of the points for a table: the first, the last, the first over its bound, and some on the way."""
    if len(points) <= _POINTS_TOLD:
        return points
    last = len(points) - 1
    wanted = {round(last ** (i / (_POINTS_TOLD - 2))) for i in range(_POINTS_TOLD - 1)} | {0, last}
    wanted |= set([index for index, point in enumerate(points) if over_bound(point)][:1])
    return [points[index] for index in sorted(wanted)]
