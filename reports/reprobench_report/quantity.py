"""Numbers for people: a unit of readable size, four significant digits, and the exact value kept beside it."""

from __future__ import annotations

import math

# As in the documents: a number, or one of the words nan, inf, -inf (matrix/base/number.hpp).
Number = int | float | str

_SCALES = {
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns")),
    "bytes": ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B")),
}
_SUFFIXES = {"rel": "", "count": "", "step": "", "1": ""}


def as_float(number: Number | None) -> float | None:
    """The value of a document's number; nothing for null, an infinity for an integer no double can hold."""
    try:
        return None if number is None else float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def finite(number: Number | None) -> float | None:
    value = as_float(number)
    return value if value is not None and math.isfinite(value) else None


def significant(value: float, digits: int = 4) -> str:
    """Fixed notation where it is readable, with `digits` significant digits; whole numbers in full."""
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if value == int(value) and abs(value) < 1e7:
        return f"{int(value):,}".replace(",", "\u202f")
    magnitude = math.floor(math.log10(abs(value)))
    if -4 <= magnitude < 7:
        return f"{value:,.{max(0, digits - 1 - magnitude)}f}".replace(",", "\u202f")
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def human(number: Number | None, unit: str) -> str:
    """ "1.234 ms", "812.4 MiB", "1 204 /s"; a dash where there is no value."""
    value = as_float(number)
    if value is None:
        return "–"
    if not math.isfinite(value):
        return significant(value)
    for factor, name in _SCALES.get(unit, ()):
        if abs(value) >= factor or factor == 1:
            return f"{significant(value / factor)}\u00a0{name}"
    suffix = _SUFFIXES.get(unit, "/s" if unit == "1/s" else unit)
    return f"{significant(value)}\u00a0{suffix}".rstrip("\u00a0")


def exact(number: Number | None, unit: str) -> str:
    """The value as the document has it, for a title attribute."""
    return "no value" if number is None else f"{number!r} {unit}".replace("'", "")


def percent(number: Number | None, signed: bool = False) -> str:
    value = as_float(number)
    if value is None:
        return "–"
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "+∞" if value > 0 else "\u2212∞"
    scaled = value * 100
    digits = 0 if abs(scaled) >= 99.95 else 1 if abs(scaled) >= 1 else 2
    return f"{scaled:{'+' if signed else ''}.{digits}f}\u00a0%".replace("-", "\u2212")


def duration(nanoseconds: int) -> str:
    """ "2 h 05 min", "4 min 07 s", "12.3 s"."""
    seconds = nanoseconds / 1e9
    if seconds < 60:
        return f"{seconds:.1f}\u00a0s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes}\u00a0min {rest:02d}\u00a0s"
    return f"{minutes // 60}\u00a0h {minutes % 60:02d}\u00a0min"
