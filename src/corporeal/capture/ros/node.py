"""A link to ROS 2 topics through rclpy, for machines with a ROS installation."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import TracebackType
from typing import Any, Self

from corporeal.capture.driver import DriverError
from corporeal.dds.link import Quality, Wire

_DEPTH = 1000


class RosNode:
    """Subscriptions to some topics (name to type); use it with `with`, which ends the node."""

    def __init__(
        self, topics: Mapping[str, str], *, domain: int, quality: Quality = "best_effort"
    ) -> None:
        try:
            rclpy: Any = import_module("rclpy")
            messages: Any = import_module("rosidl_runtime_py.utilities")
        except ImportError:
            raise DriverError(
                "route rclpy, got no rclpy in this Python; expected a sourced ROS 2 installation. "
                "Source its setup file first, or use route=dds, which needs no ROS."
            ) from None
        self._ros = rclpy
        self._taken: list[Wire] = []
        self._context = rclpy.Context()
        rclpy.init(context=self._context, domain_id=domain)
        self._node = rclpy.create_node("corporeal", context=self._context)
        for topic, message_type in topics.items():
            self._node.create_subscription(
                messages.get_message(message_type),
                topic,
                self._receiver(topic),
                _qos(quality),
                raw=True,
            )

    def _receiver(self, topic: str) -> Any:
        def receive(data: bytes) -> None:
            self._taken.append(Wire(topic, bytes(data), time.time_ns()))

        return receive

    def take(self, timeout_s: float) -> list[Wire]:
        """What has arrived, at the latest after `timeout_s`; empty when it was silent."""
        end = time.monotonic() + timeout_s
        while not self._taken and time.monotonic() < end:
            self._ros.spin_once(self._node, timeout_sec=max(0.0, end - time.monotonic()))
        taken, self._taken = self._taken, []
        return taken

    def publications(self, wait_s: float) -> Iterator[tuple[str, str]]:
        """(topic, type) of every topic that is seen within `wait_s`."""
        end = time.monotonic() + wait_s
        while time.monotonic() < end:
            for topic, types in self._node.get_topic_names_and_types():
                yield topic, types[0]
            time.sleep(0.1)

    def close(self) -> None:
        """End the node."""
        self._node.destroy_node()
        self._ros.shutdown(context=self._context)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _qos(quality: Quality) -> Any:
    qos: Any = import_module("rclpy.qos")
    reliability, durability = qos.ReliabilityPolicy, qos.DurabilityPolicy
    return qos.QoSProfile(
        depth=_DEPTH,
        reliability=(reliability.BEST_EFFORT if quality == "best_effort" else reliability.RELIABLE),
        durability=durability.TRANSIENT_LOCAL if quality == "latched" else durability.VOLATILE,
    )
