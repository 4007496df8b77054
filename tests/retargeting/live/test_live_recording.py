"""What a live session left behind becomes an episode that checks of retargeting can judge."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.retargeting.goal.test_supports import kneeling_person

from corporeal.embodiment import open_robot
from corporeal.embodiment.joints import standing_positions
from corporeal.episode import Episode
from corporeal.episode.recording import recording_of
from corporeal.quality import Subject
from corporeal.quality.checks.retarget_limb_off import CHECK
from corporeal.retargeting.live.live_recording import LiveFrames, as_followed, live_result
from corporeal.retargeting.robot_episode import write_episode

pytest.importorskip("pinocchio", reason="live retargeting needs the extra robot")


def test_limbs_and_what_rests_on_the_ground_of_a_live_session_are_in_its_episode(
    tmp_path: Path,
) -> None:
    robot, person = open_robot("g1"), kneeling_person()
    count = len(person.positions)
    base = np.tile([0.0, 0.0, 0.75, 1.0, 0.0, 0.0, 0.0], (count, 1))
    frames = LiveFrames(
        robot="g1",
        joint_names=robot.joint_names,
        t_s=np.arange(count) / person.rate_hz,
        q=np.tile(standing_positions(robot), (count, 1)),
        base=base,
        error_m=np.zeros((count, 4)),
        ok=np.ones(count, bool),
        latency_ms=np.ones(count),
        positions=person.positions,
        confidence=person.confidence,
    )
    followed, time_ns = as_followed(frames, live_result(frames, robot, Path("knees.live")))
    written = write_episode(followed, tmp_path / "knees.h5", time_ns=time_ns)
    with Episode.open(written) as episode:
        touches = episode["debug/body_contact"][:]
        names = episode["debug/body_contact"].spec.components
        findings = list(CHECK.find(Subject(recording_of(episode))))
    assert names is not None
    assert touches[:, names.index("left_knee")].mean() > 0.5
    assert any("thigh" in each.message or "shank" in each.message for each in findings)
