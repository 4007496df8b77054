"""The roles that streams play, by name or by the end of it, and what the entries of a pose are."""

from __future__ import annotations

from typing import Final

JOINT_POSITION: Final = "joint_position"
JOINT_VELOCITY: Final = "joint_velocity"
JOINT_TORQUE: Final = "joint_torque"
JOINT_POSITION_TARGET: Final = "joint_position_target"
JOINT_VELOCITY_TARGET: Final = "joint_velocity_target"
JOINT_TORQUE_TARGET: Final = "joint_torque_target"
BASE_POSE: Final = "base_pose"
BASE_VELOCITY: Final = "base_velocity"
OBJECT_POSE: Final = "object_pose"
INSTRUCTION: Final = "instruction"
OUTCOME: Final = "outcome"
MODE: Final = "mode"
HUMAN_POINTS: Final = "human_points"
HUMAN_CONFIDENCE: Final = "human_confidence"
RETARGET_ERROR: Final = "retarget_error"
RETARGET_CONFIDENCE: Final = "retarget_confidence"
HAND_SEEN: Final = "hand_seen"
RETARGET_LIMB_ERROR: Final = "retarget_limb_error"
FOOT_CONTACT: Final = "foot_contact"
BODY_CONTACT: Final = "body_contact"

# A source that does not name its columns calls them so.
STATE: Final = "state"
ACTION: Final = "action"
ACTIONS: Final = "actions"

MEASURED: Final = (JOINT_POSITION, STATE)
"""Where the robot is, the best description first."""
COMMANDED: Final = (JOINT_POSITION_TARGET, ACTION, ACTIONS)
"""What the robot was told, the best description first."""
OTHER_TARGETS: Final = (JOINT_VELOCITY_TARGET, JOINT_TORQUE_TARGET)
"""What it was told instead where it was told no positions."""

# Ends of the names of streams of which a robot may have several.
IMU: Final = "_imu"
ORIENTATION: Final = "_orientation"
WRENCH: Final = "_wrench"
TACTILE: Final = "_tactile"
GRIPPER: Final = "_gripper"
GRIPPER_TARGET: Final = "_gripper_target"
HAND_POSITION: Final = "_hand_position"
ANY_POSE: Final = "_pose"
HAND_JOINTS: Final = "_hand_joints"
GLOVE_JOINTS: Final = "_glove_joints"
HAND_PIXELS: Final = "_hand_pixels"
PARTLY_KNOWN: Final = (HAND_JOINTS, GLOVE_JOINTS, HAND_PIXELS)
"""Points of which a device knows some: the others are NaN."""

POSITION: Final = ("x", "y", "z")
QUATERNION: Final = ("qw", "qx", "qy", "qz")
POSE: Final = (*POSITION, *QUATERNION)
POSE_UNITS: Final = ("m", "m", "m", "1", "1", "1", "1")
