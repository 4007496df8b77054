"""Alerts: what people are told, and the channels that carry it to them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from corporeal.catalog.audit import now
from corporeal.catalog.database import CatalogError
from corporeal.registry import plugins
from corporeal.trust import is_here, may_send, require_trust

PACKAGE = "corporeal.operations.alerts"
Severity = Literal["alarm", "recovered", "note"]
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_SECRET = re.compile(r"password|token|secret|credential|api_?key", re.IGNORECASE)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class AlertError(CatalogError):
    """An alert could not be delivered, or its channel is not set up right."""


@dataclass(frozen=True)
class Alert:
    """One thing to tell: a `title` of one line, a `text` in words, and `facts` for machines."""

    title: str
    text: str
    severity: Severity = "alarm"
    facts: Mapping[str, Any] = field(default_factory=dict)
    at: str = field(default_factory=now)

    def to_json(self) -> dict[str, Any]:
        """The alert as plain values."""
        return {"at": self.at, "severity": self.severity, "title": self.title,
                "text": self.text, "facts": dict(self.facts)}  # fmt: skip


Send = Callable[[Sequence[Alert]], None]
"""Delivers some alerts together; raises AlertError, in words without a secret, when it cannot."""


@dataclass(frozen=True)
class AlertChannel:
    """An open way to people: `name` is its section's, `kind` the plugin's."""

    name: str
    kind: str
    send: Send


@dataclass(frozen=True)
class Delivery:
    """What became of some alerts in one channel; `reason` is None when they arrived."""

    channel: str
    alerts: int
    reason: str | None = None


@dataclass(frozen=True)
class ChannelSettings:
    """The options of one channel, read with clear errors; what is not asked for is unknown."""

    where: str
    values: Mapping[str, Any]
    root: Path
    environment: Mapping[str, str]

    def text(self, name: str, default: str | None = None) -> str:
        """A string on one line."""
        value = self.values.get(name, default)
        if not isinstance(value, str) or not value.strip() or _CONTROL.search(value):
            raise self.wrong(name, "a text on one line")
        return value

    def number(self, name: str, default: float, *, lowest: float, highest: float) -> float:
        """A number within a range."""
        value = self.values.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(name, "a number")
        if not lowest <= value <= highest:
            raise self.wrong(name, f"{lowest:g} to {highest:g}")
        return float(value)

    def secret(self, name: str) -> str | None:
        """The secret in the environment variable that option `name` names; None without it."""
        if name not in self.values:
            return None
        variable = self.values[name]
        if not isinstance(variable, str) or not _VARIABLE.fullmatch(variable):
            # What stands here may be the secret itself, so it is not shown.
            raise AlertError(
                f"{self.where} {name}; expected the name of an environment variable, such as "
                "CORPOREAL_ALERT_TOKEN."
            )
        if not may_send(variable):
            raise AlertError(
                f"{self.where} {name}, got {variable}; expected a name that begins with "
                f"CORPOREAL_, or one that you allow: corporeal trust --variable {variable}."
            )
        if not self.environment.get(variable):
            raise AlertError(
                f"{self.where} {name}: the environment variable {variable} is not set. Set it."
            )
        return self.environment[variable]

    def require_host(self, scheme: str, host: str, port: int | None) -> None:
        """Raise TrustError for a host elsewhere that the user does not trust."""
        if not is_here(host):
            require_trust((f"{scheme}://{host}" + (f":{port}" if port else ""),), self.where)

    def wrong(self, name: str, expected: str) -> AlertError:
        """The error for an option."""
        value = self.values.get(name)
        got = "nothing" if value is None else repr(value)[:80]
        return AlertError(f"{self.where} {name}, got {got}; expected {expected}.")


@dataclass(frozen=True)
class ChannelKind:
    """A kind of channel: `open(setting)` gives what sends; `options` are those it knows."""

    open: Callable[[ChannelSettings], Send]
    options: tuple[str, ...]


@cache
def channel_kinds() -> dict[str, ChannelKind]:
    """Every kind of channel by name."""
    return plugins(PACKAGE, "CHANNEL", ChannelKind)


def alert_channels(
    raw: Mapping[str, Any],
    *,
    root: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> list[AlertChannel]:
    """The channels of `corporeal.toml`, read whole: one section [alerts.NAME] for each.

    `kind` may be left out where the section has the name of one. Files lie below `root`.
    """
    sections = raw.get("alerts", {})
    if not isinstance(sections, Mapping):
        raise AlertError("alerts, got a value; expected sections such as [alerts.file].")
    return [
        _channel(str(name), section, root or Path.cwd(), environment or os.environ)
        for name, section in sections.items()
    ]


def _channel(name: str, section: Any, root: Path, environment: Mapping[str, str]) -> AlertChannel:
    where = f"[alerts.{one_line(name)[:40]}]"
    if not isinstance(section, Mapping):
        raise AlertError(f"{where}, got a value; expected a section with a kind and its options.")
    kind = section.get("kind", name)
    kinds = channel_kinds()
    if not isinstance(kind, str) or kind not in kinds:
        raise AlertError(
            f"{where} kind, got {repr(kind)[:80]}; expected one of: {', '.join(kinds)}."
        )
    known = (*kinds[kind].options, "kind")
    for option in section:
        if option in known:
            continue
        if _SECRET.search(option):
            raise AlertError(
                f"{where} {option}; expected no secret in this file. Put it into an environment "
                f"variable and name that with one of: {', '.join(known)}."
            )
        raise AlertError(f"{where}, got option {option!r}; expected one of: {', '.join(known)}.")
    return AlertChannel(
        name, kind, kinds[kind].open(ChannelSettings(where, section, root, environment))
    )


def tell(channels: Sequence[AlertChannel], alerts: Sequence[Alert]) -> list[Delivery]:
    """Send alerts through every channel; one that fails is reported and stops nothing."""
    if not alerts:
        return []
    deliveries = []
    for channel in channels:
        try:
            channel.send(alerts)
        except (AlertError, OSError, ValueError) as error:
            # Only an AlertError is known to name no secret.
            said = str(error) if isinstance(error, AlertError) else type(error).__name__
            deliveries.append(Delivery(channel.name, len(alerts), said))
        else:
            deliveries.append(Delivery(channel.name, len(alerts)))
    return deliveries


def one_line(text: str) -> str:
    """Text without line breaks and control characters, for headers and titles."""
    return _CONTROL.sub(" ", text).strip()
