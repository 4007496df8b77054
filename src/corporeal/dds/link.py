"""A link to DDS topics on one network interface: messages are bytes of the wire, both ways."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, StringConstraints

from corporeal.errors import CorporealError, MissingExtraError

Interface = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.:-]{1,64}$")]
DomainId = Annotated[int, Field(ge=0, le=232)]
Quality = Literal["best_effort", "reliable", "latched"]
LOOPBACK = "lo"
# At 500 Hz this is what two seconds of an absent reader cost.
_HISTORY = 1000
_AT_ONCE = 64


class DdsError(CorporealError):
    """A domain cannot be joined, or what came over it cannot be read."""


class Wire(NamedTuple):
    """One message: topic, bytes with their CDR header, and the writer's own time of sending."""

    topic: str
    data: bytes
    sent_ns: int


def configuration(interface: str) -> str:
    """CycloneDDS settings for one interface; loopback has no multicast and needs its peer named."""
    is_loopback = interface == LOOPBACK
    multicast = "false" if is_loopback else "default"
    general = (
        f'<Interfaces><NetworkInterface name="{interface}" multicast="{multicast}"/></Interfaces>'
    )
    discovery = ""
    if is_loopback:
        general += "<AllowMulticast>false</AllowMulticast>"
        discovery = (
            "<Discovery><ParticipantIndex>auto</ParticipantIndex>"
            '<Peers><Peer address="127.0.0.1"/></Peers></Discovery>'
        )
    return (
        f'<CycloneDDS><Domain Id="any"><General>{general}</General>{discovery}'
        "</Domain></CycloneDDS>"
    )


class _Raw:
    """A sample as bytes: CycloneDDS would decode it field by field, which is slow.

    It stands in for the type of a topic once that is created; a reader hands it what arrives and
    hangs its `sample_info` on the result.
    """

    sample_info: Any

    def __init__(self, data: bytes) -> None:
        self.data = data

    def serialize(self, **_: Any) -> bytes:
        """The bytes of a message that is written."""
        return self.data

    @classmethod
    def deserialize(cls, data: bytes) -> Self:
        """The bytes of a message."""
        return cls(bytes(data))

    @classmethod
    def deserialize_key(cls, data: bytes) -> Self:
        """The bytes of a key, which says that a writer is gone."""
        return cls(bytes(data))


class DdsLink:
    """Readers of some topics, writers of others; use it with `with`, which leaves the domain."""

    def __init__(
        self,
        topics: Mapping[str, Any],
        *,
        domain: int,
        interface: str,
        quality: Quality = "best_effort",
        written: Mapping[str, Any] | None = None,
    ) -> None:
        core, domains = _cyclone()
        from cyclonedds.pub import DataWriter
        from cyclonedds.sub import DataReader
        from cyclonedds.topic import Topic

        self._domain = _open_domain(core, domains, domain, interface)
        try:
            self._participant = domains.DomainParticipant(domain)
            self._waitset = core.WaitSet(self._participant)
            self._readers: dict[str, Any] = {}
            self._conditions: list[Any] = []
            self._writers: dict[str, Any] = {}
            for name, struct in (written or {}).items():
                topic = Topic(self._participant, name, struct)
                topic.data_type = _Raw
                # What is reliable is heard by those, too, that ask for less.
                self._writers[name] = DataWriter(self._participant, topic, qos=_qos("reliable"))
            for name, struct in topics.items():
                topic = Topic(self._participant, name, struct)
                topic.data_type = _Raw
                reader = DataReader(self._participant, topic, qos=_qos(quality))
                anything = (
                    core.SampleState.Any | core.ViewState.Any | core.InstanceState.Alive
                )  # fmt: skip
                condition = core.ReadCondition(reader, anything)
                self._waitset.attach(condition)
                self._readers[name] = reader
                self._conditions.append(condition)
        except core.DDSException as error:
            self.close()
            raise DdsError(
                f"DDS domain {domain} on {interface!r} cannot be joined: {error}."
            ) from None

    def take(self, timeout_s: float) -> list[Wire]:
        """What has arrived, at the latest after `timeout_s`; empty when it was silent."""
        from cyclonedds.util import duration

        self._waitset.wait(duration(seconds=timeout_s))
        taken = []
        for name, reader in self._readers.items():
            for sample in reader.take(_AT_ONCE):
                if isinstance(sample, _Raw):
                    taken.append(Wire(name, sample.data, sample.sample_info.source_timestamp))
        return sorted(taken, key=lambda wire: wire.sent_ns)

    def write(self, topic: str, data: bytes) -> None:
        """Send a message, bytes with their CDR header, on one of the topics that are written."""
        self._writers[topic].write(_Raw(data))

    def publications(self, wait_s: float) -> Iterator[tuple[str, str]]:
        """(topic, type) of every writer that is seen within `wait_s`."""
        from cyclonedds.builtin import BuiltinDataReader, BuiltinTopicDcpsPublication

        reader = BuiltinDataReader(self._participant, BuiltinTopicDcpsPublication)
        end = time.monotonic() + wait_s
        while time.monotonic() < end:
            for entry in reader.take(_AT_ONCE):
                # A writer that left is reported without its names.
                if getattr(entry, "topic_name", None):
                    yield entry.topic_name, entry.type_name
            time.sleep(0.05)

    def close(self) -> None:
        """Leave the domain; safe to call twice."""
        # CycloneDDS frees an entity with its last reference, children first.
        parts = ("_waitset", "_conditions", "_readers", "_writers", "_participant", "_domain")
        for name in parts:
            self.__dict__.pop(name, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _cyclone() -> tuple[Any, Any]:
    try:
        import cyclonedds.core
        import cyclonedds.domain
    except ImportError:
        raise MissingExtraError("cyclonedds", "live") from None
    return cyclonedds.core, cyclonedds.domain


def _open_domain(core: Any, domains: Any, domain: int, interface: str) -> Any:
    known = [name for _, name in socket.if_nameindex()]
    if interface not in known:
        raise DdsError(
            f"network interface, got {interface!r}; expected one of: {', '.join(known)}. "
            "Name the one that the robot is connected to."
        )
    try:
        return domains.Domain(domain, configuration(interface))
    except core.DDSException as error:
        # Another driver of this process has set the domain up; its settings hold for all.
        if error.code == core.DDSException.DDS_RETCODE_PRECONDITION_NOT_MET:
            return None
        raise DdsError(
            f"DDS domain {domain} cannot be set up on {interface!r}: {error}. Check the interface."
        ) from None


def _qos(quality: Quality) -> Any:
    from cyclonedds.core import Policy, Qos
    from cyclonedds.util import duration

    if quality == "best_effort":
        # Such a reader also hears writers that would offer more.
        return Qos(Policy.Reliability.BestEffort, Policy.History.KeepLast(_HISTORY))
    durability = (
        Policy.Durability.TransientLocal if quality == "latched" else Policy.Durability.Volatile
    )
    return Qos(
        Policy.Reliability.Reliable(duration(seconds=1)),
        Policy.History.KeepLast(_HISTORY),
        durability,
    )
