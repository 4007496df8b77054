"""What a finding measured, as people read it: with its unit, against what was allowed."""

from __future__ import annotations

import re

from corporeal.quality.check import checks

_NUMBER_WITH_UNIT = re.compile(
    r"(?<![\w.])(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?) "
    r"(N m|m/s2|rad/s|m/s|rad|deg|MPa|kPa|Pa|Hz|ppm|N|mm|m|ms|s|rows|frames|samples|pictures)\b"
)
# Messages write large and small values in these; values are kept in the plain unit.
_SCALED = {"MPa": ("Pa", 1e6), "kPa": ("Pa", 1e3), "ms": ("s", 1e-3), "mm": ("m", 1e-3)}
# How the names of limits say their unit.
_SUFFIXES = {"_m_s2": "m/s2", "_rad_s": "rad/s", "_m_s": "m/s", "_rad": "rad", "_deg": "deg",
             "_ppm": "ppm", "_n": "N", "_m": "m", "_s": "s", "_share": "share"}  # fmt: skip


def finding_unit(
    check: str, limit: float | None, *, value: float | None = None, message: str = ""
) -> str:
    """The unit of a finding's value and limit; "1" where a check has several and none is sure.

    A limit of the check by that value tells it by its name; else the check's own unit holds only
    where all of its limits are in it, or the message tells the value with its unit. A wrong unit
    would be worse than none.
    """
    unit = _unit_of_limit(check, limit)
    if unit != "1" or value is None:
        return unit
    for number, written in _NUMBER_WITH_UNIT.findall(message):
        unit, scale = _SCALED.get(written, (written, 1.0))
        if abs(abs(float(number)) * scale - abs(value)) <= 0.01 * abs(value):
            return str(unit)
    return "1"


def against_limit(value: float, limit: float, unit: str) -> str:
    """`84.4 ms, allowed 50 ms`; what is too small, `0.31 m, at least 0.5 m`."""
    word = "allowed" if value > limit else "at least"
    return f"{measure_text(value, unit)}, {word} {measure_text(limit, unit)}"


def measure_text(value: float, unit: str) -> str:
    """`84.4 ms`, `0.31 m`, `12 samples`; without a unit the number alone."""
    size = abs(value)
    if unit == "share":
        return f"{_digits(100 * value)} %"
    if unit == "s" and size < 1:
        return f"{_digits(1000 * value)} ms"
    if unit == "Pa" and size >= 1e6:
        return f"{_digits(value / 1e6)} MPa"
    if unit == "Pa" and size >= 1e3:
        return f"{_digits(value / 1e3)} kPa"
    if unit == "m" and size < 0.1:
        return f"{_digits(1000 * value)} mm"
    if unit == "1":
        return _digits(value)
    return f"{_digits(value)} {'°' if unit == 'deg' else unit}"


def _unit_of_limit(name: str, limit: float | None) -> str:
    check = checks().get(name)
    if check is None:
        return "1"
    units = {
        parameter: next((unit for end, unit in _SUFFIXES.items() if parameter.endswith(end)), "")
        for parameter in check.limits
    }
    meant = {units[parameter] for parameter, value in check.limits.items() if value == limit}
    if len(meant) == 1 and "" not in meant:
        return meant.pop()
    if check.unit == "share":
        return "share"
    return check.unit if set(units.values()) == {check.unit} else "1"


def _digits(value: float) -> str:
    """Three digits that count, thousands whole."""
    size = abs(value)
    if size >= 1e6 or 0 < size < 1e-4:
        return f"{value:.2e}"
    return f"{value:,.0f}" if size >= 1000 or value == int(value) else f"{float(f'{value:.3g}'):g}"
