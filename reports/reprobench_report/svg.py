"""Small inline drawings. They repeat what a table beside them says in words, so none is needed to read the report."""

from __future__ import annotations

import math
from typing import Any

from markupsafe import Markup

from . import escape
from .quantity import Number, finite, human, percent, significant

_WIDTH, _HEIGHT = 168, 26


def _x(value: float, low: float, high: float) -> float:
    return 4 + (min(max(value, low), high) - low) / (high - low) * (_WIDTH - 8)


def bullet(check: dict[str, Any], kind: str) -> Markup:
    """The measured value with its interval against the limit; the forbidden side is hatched. Nothing without numbers.

    `kind` is the bound's, from the plan. A ratio to the reference is drawn on an axis where 1 is the reference, any
    other value on one that begins at 0.
    """
    lower_is_better = kind == "max" or (kind == "max_regression" and check["better"] == "lower")
    if kind == "max_regression":
        value, fraction = finite(check["ratio"]), finite(check["limit"])
        if value is None or fraction is None:
            return Markup("")
        limit, marks = (1 + fraction if lower_is_better else 1 - fraction), [1.0]
        interval = [finite(check["ratio_low"]), finite(check["ratio_high"])]
        title = f"ratio {significant(value)}, limit {significant(limit)}"
    else:
        value, limit = finite(check["measured"]), finite(check["limit"])
        if value is None or limit is None or kind in ("equal", "band") or limit <= 0 or value < 0:
            return Markup("")
        marks, interval = [0.0], [None, None]
        title = f"measured {human(value, check['unit'])}, limit {human(limit, check['unit'])}"
    if None not in interval:
        title += f", interval {significant(interval[0])} to {significant(interval[1])}"
    points = [value, limit, *marks, *(bound for bound in interval if bound is not None)]
    spread = (max(points) - min(points)) or 1.0
    low, high = (min(points) - 0.15 * spread if marks == [1.0] else 0.0), max(points) + 0.15 * spread
    return _draw(check, title, low, high, value, limit, interval, marks[0] if marks == [1.0] else None, lower_is_better)


def _draw(
    check: dict[str, Any], title: str, low: float, high: float, value: float, limit: float,
    interval: list[float | None], reference: float | None, lower_is_better: bool,
) -> Markup:  # fmt: skip
    at = _x(limit, low, high)
    start, width = (at, _WIDTH - 4 - at) if lower_is_better else (4, at - 4)
    parts = [
        f'<svg class="bullet {check["status"]}" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" role="img">',
        f"<title>{escape.html(title)}</title>",
        f'<rect class="track" x="4" y="9" width="{_WIDTH - 8}" height="8"/>',
        f'<rect class="over" x="{start:.1f}" y="9" width="{max(width, 0):.1f}" height="8"/>',
    ]
    if reference is not None:
        x = _x(reference, low, high)
        parts.append(f'<path class="ref" d="M{x:.1f} 6v14"/>')
    if None not in interval:
        left, right = (_x(bound, low, high) for bound in interval)
        parts.append(f'<path class="span" d="M{left:.1f} 13H{right:.1f}M{left:.1f} 9.5v7M{right:.1f} 9.5v7"/>')
    parts.append(f'<path class="limit" d="M{at:.1f} 3v20"/>')
    parts.append(f'<circle class="dot" cx="{_x(value, low, high):.1f}" cy="13" r="4"/></svg>')
    return Markup("".join(parts))


def step_strip(step: int, steps: int) -> Markup:
    """Steps up to the first divergence plain, from it on hatched; nothing where the step is not one of the run's."""
    if not 1 <= step <= steps:
        return Markup("")
    width = 560
    at = (step - 1) / steps * width
    equal = f"steps 1 to {step - 1} agree, " if step > 1 else ""
    return Markup(
        f'<svg class="strip" viewBox="0 0 {width} 14" width="{width}" height="14" role="img" '
        'preserveAspectRatio="none">'
        f"<title>{equal}from step {step} of {steps} on the traces differ</title>"
        f'<rect class="same" x="0" y="3" width="{at:.1f}" height="8"/>'
        f'<rect class="apart" x="{at:.1f}" y="3" width="{width - at:.1f}" height="8"/>'
        f'<path class="cut" d="M{max(at, 1):.1f} 0v14"/></svg>'
    )


def outcome_bar(counts: list[tuple[str, int]]) -> Markup:
    """Cells by outcome as one bar; a share is never thinner than three pixels, so a single failure shows."""
    shown = [(name, count) for name, count in counts if count]
    total = sum(count for _, count in shown)
    if not total:
        return Markup("")
    width, gap, thinnest = 1000.0, 2.0, 6.0
    free = width - gap * (len(shown) - 1) - thinnest * len(shown)
    title = ", ".join(f"{count} {name} ({percent(count / total)})" for name, count in shown)
    parts = [
        '<svg class="outcomes" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img">'
        f"<title>{escape.html(title)}</title>"
    ]
    x = 0.0
    for name, count in shown:
        part = thinnest + free * count / total
        parts.append(f'<rect class="{name}" x="{x:.1f}" y="0" width="{part:.1f}" height="10"/>')
        x += part + gap
    return Markup("".join(parts) + "</svg>")


def interval(low: Number, middle: Number, high: Number, margin: Number) -> Markup:
    """A difference with its interval on an axis around zero; what lies beyond the margin on either side is hatched."""
    ends = [finite(number) for number in (low, middle, high, margin)]
    if None in ends or ends[3] <= 0:
        return Markup("")
    left, dot, right, limit = ends
    reach = 1.25 * max(limit, abs(left), abs(dot), abs(right))
    if not math.isfinite(reach):
        return Markup("")
    first, last = _x(-limit, -reach, reach), _x(limit, -reach, reach)
    start, end = _x(left, -reach, reach), _x(right, -reach, reach)
    title = f"{significant(dot)}, interval {significant(left)} to {significant(right)}, margin ±{significant(limit)}"
    inside = "passed" if -limit < left and right < limit else "inconclusive"
    return Markup(
        f'<svg class="bullet {inside}" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" role="img">'
        f"<title>{escape.html(title)}</title>"
        f'<rect class="track" x="4" y="9" width="{_WIDTH - 8}" height="8"/>'
        f'<rect class="over" x="4" y="9" width="{first - 4:.1f}" height="8"/>'
        f'<rect class="over" x="{last:.1f}" y="9" width="{_WIDTH - 4 - last:.1f}" height="8"/>'
        f'<path class="ref" d="M{_x(0, -reach, reach):.1f} 6v14"/>'
        f'<path class="span" d="M{start:.1f} 13H{end:.1f}M{start:.1f} 9.5v7M{end:.1f} 9.5v7"/>'
        f'<path class="limit" d="M{first:.1f} 3v20M{last:.1f} 3v20"/>'
        f'<circle class="dot" cx="{_x(dot, -reach, reach):.1f}" cy="13" r="4"/></svg>'
    )
