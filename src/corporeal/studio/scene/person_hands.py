"""A person's hands and head in the scene: which streams they are, and in whose frame."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from corporeal.episode import Episode
from corporeal.studio.scene.joint_motion import PoseTrack, SceneStream

HEAD = "debug/head_pose"
_JOINTS = 26


class HandsInScene(BaseModel):
    """Joints (26, 3) of each hand in the frame of the head, which moves, or in the world."""

    head: PoseTrack | None
    left: SceneStream | None
    right: SceneStream | None
    frame: Literal["head", "world"]


def find_hands(episode: Episode, others: list[PoseTrack]) -> HandsInScene | None:
    """The hands of an episode; takes the head out of `others`, as it is no object."""
    head = next((each for each in others if each.stream == HEAD), None)
    for group, frame in (("observations", "head"), ("debug", "world")):
        sides = {side: _side(episode, f"{group}/{side}_hand_joints", frame)
                 for side in ("left", "right")}  # fmt: skip
        if not any(sides.values()) or (frame == "head" and head is None):
            continue
        if head is not None:
            others.remove(head)
        return HandsInScene(
            head=head, left=sides["left"], right=sides["right"],
            frame="head" if frame == "head" else "world",
        )  # fmt: skip
    return None


def _side(episode: Episode, path: str, frame: str) -> SceneStream | None:
    if path not in episode or not len(episode[path]):
        return None
    spec = episode[path].spec
    if spec.shape != (_JOINTS, 3) or spec.frame != frame:
        return None
    return SceneStream(stream=path, rate_hz=spec.rate_hz, samples=len(episode[path]))
