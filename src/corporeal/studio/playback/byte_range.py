"""The part of a resource that a Range header asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from corporeal.errors import CorporealError

_ONE_RANGE = re.compile(r"\s*bytes\s*=\s*([0-9]{0,19})\s*-\s*([0-9]{0,19})\s*", re.ASCII)


class RangeError(CorporealError):
    """No byte of the resource lies in the range that was asked for."""


@dataclass(frozen=True)
class ByteRange:
    """Bytes `first` to `stop` (not included) of `length`."""

    first: int
    stop: int
    length: int

    @property
    def content_range(self) -> str:
        """The header that tells it."""
        return f"bytes {self.first}-{self.stop - 1}/{self.length}"


def asked_range(header: str | None, length: int) -> ByteRange | None:
    """The one range of a Range header; None when all is wanted, RangeError when nothing is left.

    A header that cannot be understood, or with several ranges, asks for everything: HTTP says so.
    """
    found = _ONE_RANGE.fullmatch(header) if header is not None else None
    if found is None or found.groups() == ("", ""):
        return None
    begin, end = found.groups()
    if not begin:
        first, stop = max(0, length - int(end)), length
    else:
        first = int(begin)
        stop = min(int(end) + 1, length) if end else length
        if end and int(end) < first:
            return None
    if first >= stop:
        raise RangeError(f"bytes {header}, of {length}; expected a range inside.")
    return ByteRange(first, stop, length)
