"""The clocks of the episode run equally fast."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from corporeal.quality.check import Check, Finding, Findings, drawn_whole
from corporeal.quality.evidence.time import StreamStamps, stamped, timed_sources
from corporeal.quality.subject import Subject


def find(
    subject: Subject, *, max_drift_ppm: float = 2000.0, max_clock_ppm: float = 500.0
) -> Findings:
    """Yield each stream that gains or loses more than `max_drift_ppm` against its stated rate.

    And each source whose clock, as the recorder measured it, drifts by more than `max_clock_ppm`,
    was set during the episode, or ran backwards. A stream that is off by a per cent and more runs
    at another rate, which another check says. A rate that nobody stated is held against nobody,
    nor is the clock of a source of which only a few messages or events came.

    Why: a drift of 0.5 % puts a stream 0.1 s out of step after 20 seconds.
    Fix: discipline the clocks (PTP, NTP), or estimate the drift and correct the stamps.
    """
    clocks = subject.recording.facts.other.get("clocks")
    yield from _recorded(clocks, timed_sources(subject), max_clock_ppm)
    for stream in stamped(subject, least=50):
        drift = _drift_ppm(stream) if stream.is_stated else None
        if drift is None or abs(drift) <= max_drift_ppm:
            continue
        span = float(stream.seconds[-1] - stream.seconds[0])
        away = 1e-6 * drift * span
        due = stream.seconds[0] + np.arange(len(stream)) / (stream.rate_hz or 1.0)
        direction = "slow" if drift > 0 else "fast"
        yield Finding(
            f"the clock of {stream.named} runs {abs(drift) / 1e4:.2f} % {direction} against its"
            f" rate of {stream.rate_hz:.4g} Hz: {1e3 * abs(away):.0f} ms over {span:.0f} s",
            stream=stream.label,
            value=abs(drift),
            limit=max_drift_ppm,
            evidence=drawn_whole(stream.seconds, {"behind_s": stream.seconds - due}),
        )


def _drift_ppm(stream: StreamStamps) -> float | None:
    """How much longer a period is than stated; None where the stamps do not tell."""
    if stream.bunched or stream.rate_hz is None or stream.typical_s <= 0:
        return None
    # Lost samples make whole periods; what is left of a step is the clock.
    periods = stream.steps * stream.rate_hz
    whole = np.rint(periods)
    if (whole < 1).any():
        return None
    drift = 1e6 * float(periods.sum() / whole.sum() - 1.0)
    jitter = float(np.std(periods - whole)) / np.sqrt(len(periods))
    sure = abs(drift) > 5e6 * jitter / np.sqrt(len(periods)) + 1.0
    return drift if sure and abs(drift) < 2e4 else None


def _recorded(clocks: Any, is_timed: Callable[[str], bool], max_clock_ppm: float) -> Findings:
    """What the recorder noted of each source's clock."""
    if not isinstance(clocks, Mapping):
        return
    for name, facts in clocks.items():
        if not isinstance(facts, Mapping) or not is_timed(str(name)):
            continue
        drift = facts.get("drift_ppm")
        # Over few samples the estimate of the drift is worth little.
        many = isinstance(facts.get("samples"), int) and facts["samples"] >= 50
        if isinstance(drift, int | float) and many and abs(drift) > max_clock_ppm:
            message = f"the recorder saw the clock of source {name} drift by {drift:.0f} ppm"
            yield Finding(message, value=abs(float(drift)), limit=max_clock_ppm)
        for what in ("jumps", "backwards"):
            times = facts.get(what)
            if isinstance(times, int) and times > 0:
                said = "was set" if what == "jumps" else "ran backwards"
                message = f"the clock of source {name} {said} {times} times during the recording"
                yield Finding(message, value=float(times), limit=0.0)


CHECK = Check(find, topic="time", severity="quarantine", unit="ppm", formerly=("clocks_agree",))
