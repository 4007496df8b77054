"""The units a stream may be in: SI, plus the few that sensors really speak."""

from __future__ import annotations

from corporeal.errors import UnknownNameError

SECOND_NS = 1_000_000_000

KNOWN = {
    "1": "a number without unit (quaternion, ratio, label)",
    "rad": "angle",
    "rad/s": "angular velocity",
    "rad/s2": "angular acceleration",
    "m": "length",
    "m/s": "velocity",
    "m/s2": "acceleration",
    "mm": "length, as depth cameras count it",
    "N": "force",
    "N m": "torque",
    "Pa": "pressure",
    "T": "magnetic flux density",
    "kg": "mass",
    "s": "duration",
    "A": "current",
    "V": "voltage",
    "degC": "temperature",
    "px": "picture elements",
    "deg": "angle in degrees; convert to rad before training",
}


def check_unit(unit: str) -> str:
    """The unit itself, or UnknownNameError with the list of known ones."""
    if unit not in KNOWN:
        raise UnknownNameError("unit", unit, KNOWN)
    return unit
