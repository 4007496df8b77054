"""How long the operator's input took, by the device's clock or what can be told without it."""

from __future__ import annotations

from dataclasses import dataclass

from corporeal.teleoperation.operator_input import InputTimes

# Two clocks drift apart by this much from one message to the next, ns.
_DRIFT_NS = 1_000


@dataclass
class LatencyMeter:
    """Follows the offset of a device's clock by the quickest of its messages.

    `offset_ns` is how far the host's clock is ahead of the device's, once the two were compared.
    """

    quickest_ns: int | None = None
    offset_ns: int | None = None

    def see(self, times: InputTimes, commanded_ns: int) -> tuple[float, float]:
        """Seconds from the frame to reception, and from reception to the command.

        Without a comparison of the clocks the first is counted beyond the quickest message: a delay
        that all have is not seen.
        """
        command_s = (commanded_ns - times.received_ns) / 1e9
        if self.offset_ns is not None:
            return (times.received_ns - times.device_ns - self.offset_ns) / 1e9, command_s
        told_ns = times.sent_ns if times.sent_ns is not None else times.device_ns
        delay_ns = times.received_ns - told_ns
        if self.quickest_ns is None or delay_ns < self.quickest_ns:
            self.quickest_ns = delay_ns
        late_ns = delay_ns - self.quickest_ns
        self.quickest_ns += min(late_ns, _DRIFT_NS)
        input_ns = late_ns + told_ns - times.device_ns
        return input_ns / 1e9, command_s
