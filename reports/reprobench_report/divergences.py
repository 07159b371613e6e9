"""The section "Where the stacks diverge": what its templates show of each pair."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Any

import jinja2
from markupsafe import Markup

from . import escape, svg
from .curve import curve, told
from .load import Run
from .pairs import Pair, first_call, operator_table, pairs_of
from .quantity import finite
from .strip import strip_of

# The section stays under about 1.5 MB: pairs beyond this many are counted, and details are given, worst pair first,
# while there is room.
MAX_PAIRS = 200
DETAILS_BUDGET_BYTES = 1_300_000

# Of long lists the first; the rest is counted.
MAX_TENSORS = 5
MAX_LISTED = 24
MAX_OPERATORS = 60

_BITS = {"float64": 16, "int64": 16, "float32": 8, "int32": 8, "float16": 4, "bfloat16": 4, "int16": 4}


def squeezed(text: str) -> str:
    """Without the indentation of templates; no element keeps white space but the strips, which have none to lose."""
    return re.sub(r"\n\s*", "\n", text)


def tensor_rows(measured: list[Any], expected: list[Any]) -> list[tuple[int, Any, Any, bool]]:
    """(position, measured, expected, equal digests) of a call's inputs or outputs; nothing for what one side lacks."""
    return [
        (index, mine, theirs, bool(mine and theirs and mine["digest"] == theirs["digest"]))
        for index, (mine, theirs) in enumerate(zip_longest(measured, expected))
    ]


def bit_patterns(element: dict[str, Any], call: dict[str, Any] | None) -> tuple[Markup, Markup]:
    """The two patterns in hex, as wide as the type, digits that differ set off."""
    mine, theirs = element["measured_bits"], element["expected_bits"]
    outputs = call["measured"]["outputs"] if call and element["tensor"].startswith("output ") else []
    dtype = outputs[call["output"]]["dtype"] if call and call["output"] < len(outputs) else ""
    # The document does not name the type of other elements: without it only half a word of zeros is left out.
    width = _BITS.get(dtype, 8)
    if any(bits[: 16 - width].strip("0") for bits in (mine, theirs)):
        width = 16

    def pattern(bits: str, other: str) -> Markup:
        digits = zip(bits[16 - width :], other[16 - width :], strict=True)
        return Markup(
            "0x" + "".join(f"<b>{escape.html(a)}</b>" if a != b else str(escape.html(a)) for a, b in digits)
        ).replace(Markup("</b><b>"), Markup(""))

    return pattern(mine, theirs), pattern(theirs, mine)


def _error_bullet(tensor: dict[str, Any]) -> Markup:
    """E against its bound, drawn as a check is."""
    check = {"better": "lower", "unit": "rel", "measured": tensor["error_ratio"], "limit": tensor["error_ratio_bound"]}
    return svg.bullet({**check, "status": _BULLET[tensor["word"]]}, "max")


def _pooled_bullet(pooled: dict[str, Any]) -> Markup:
    """Pooled E around 1, where both sides are equally far from fp64."""
    bound = finite(pooled["bound"])
    if bound is None:
        return Markup("")
    check = {
        "better": "lower",
        "ratio": pooled["error_ratio"],
        "limit": bound - 1,
        "ratio_low": None,
        "ratio_high": None,
    }
    return svg.bullet({**check, "status": _BULLET[pooled["decision"]]}, "max_regression")


_BULLET = {"rounding": "passed", "defect": "failed", "undecided": "inconclusive", "inconclusive": "inconclusive"}


def _details(pairs: list[Pair], template: jinja2.Template, context: dict[str, Any]) -> tuple[dict[int, Markup], int]:
    """By index of the pair, in the order of `pairs`; and how many were left out for size."""
    rendered: dict[int, Markup] = {}
    left, left_out = DETAILS_BUDGET_BYTES, 0
    for pair in pairs:
        if not pair.has_details:
            continue
        text = squeezed(template.render(**context, pair=pair, strip_=strip_of(pair.extra("strip")), open_=not rendered))
        size = len(text.encode("utf-8"))
        if size > left:
            left_out += 1
            continue
        left -= size
        rendered[pair.index] = Markup(text)
    return rendered, left_out


_MOST_ULP = 2**24


def _far_in_ulp(ulp: int, distance_rms: Any) -> bool:
    """A factor of four apart or more: ULP then only count how many numbers there are around zero."""
    return ulp > _MOST_ULP and bool(distance_rms)


def divergences(run: Run, environment: jinja2.Environment, context: dict[str, Any]) -> dict[str, Any]:
    """What divergences.html.j2 needs beside `context`; `shown` says whether there is anything to show."""
    if run.comparisons is None:
        return {"shown": bool(run.comparisons_problem), "problem": run.comparisons_problem, "pairs": []}
    pairs = pairs_of(run)
    operators = operator_table(pairs)
    context = {
        **context,
        "first_call": first_call,
        "far_in_ulp": _far_in_ulp,
        "tensor_rows": tensor_rows,
        "bit_patterns": bit_patterns,
        "error_bullet": _error_bullet,
        "pooled_bullet": _pooled_bullet,
        "interval": svg.interval,
        "curve": curve,
        "told": told,
        "max_tensors": MAX_TENSORS,
        "max_listed": MAX_LISTED,
    }
    details, left_out = _details(pairs[:MAX_PAIRS], environment.get_template("divergence.html.j2"), context)
    words = [pair.word for pair in pairs]
    return {
        "shown": True,
        "problem": "",
        "pairs": pairs[:MAX_PAIRS],
        "pairs_left_out": len(pairs) - len(pairs[:MAX_PAIRS]),
        "counts": [(word, words.count(word)) for word in ("differs", "not_comparable", "equal") if word in words],
        "judged": any(pair.extra("trajectory") or pair.extra("equivalence") for pair in pairs),
        "columns": operators.columns,
        "operators": operators.rows[:MAX_OPERATORS],
        "operators_left_out": len(operators.rows) - len(operators.rows[:MAX_OPERATORS]),
        "details": details,
        "details_left_out": left_out,
    }
