"""The robot follows its commands, and not the other way round."""

import numpy as np

from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.action_lag import action_lags
from corporeal.quality.subject import Subject


def find(
    subject: Subject, *, max_lag_s: float = 0.2, max_lead_s: float = 0.01, max_lead: float = 0.5
) -> Findings:
    """Yield an action that comes after the motion it commands, or far ahead of it.

    The state may lead the action by `max_lead_s` and `max_lead` frames, which covers actions made
    from the states themselves; it may trail by `max_lag_s`. The middle joint counts for a lead; for
    a lag it is the joint that only a quarter of the joints beat, since hands are slow.

    Why: a policy trained on actions of another moment acts too early or too late.
    Fix: shift the actions back by the lag that is stated; stamp commands when they are sent.
    """
    found = action_lags(subject)
    lead = max_lead_s + max_lead * found.period_s
    if found.typical_s < -lead:
        value, limit = found.typical_s, -lead
        said = (
            f"{found.state} leads {found.action} by {-1e3 * value:.0f} ms: the robot moves before"
            f" it is told to"
        )
    elif found.quickest_s > max_lag_s:
        value, limit = found.quickest_s, max_lag_s
        said = f"{found.state} follows {found.action} only after {1e3 * value:.0f} ms"
    else:
        return
    yield Finding(
        f"{said} (middle of {len(found.by_joint)} joints {1e3 * found.typical_s:.0f} ms)",
        stream=found.action,
        value=value,
        limit=limit,
        evidence={"lag_s": np.sort(found.lags_s)[:400]},
    )


CHECK = Check(find, topic="lag", severity="fail", unit="s", formerly=("action_leads_state",))
