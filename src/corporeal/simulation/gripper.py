"""A parallel two-finger gripper with soft pads, mounted in place of a rubber hand."""

from __future__ import annotations

from xml.etree import ElementTree

Element = ElementTree.Element

# Metres. Full opening between the pads, and the pad itself: along the finger and across it.
OPENING_M = 0.09
PAD_LENGTH_M, PAD_WIDTH_M, PAD_THICKNESS_M = 0.05, 0.032, 0.008
# Where the palm ends and the fingertips end, along x of the wrist's last link.
PALM_END_M, TIP_M = 0.095, 0.165
# The middle of the pads: what is aimed at an object.
GRASP_M = TIP_M - PAD_LENGTH_M / 2
STIFFNESS_N_M, FORCE_LIMIT_N = 1600.0, 50.0
SIDES = ("left", "right")
FINGERS = ("near", "far")


def add_gripper(root: Element, wrist: Element, side: str) -> None:
    """Put a gripper on the last link of an arm: two fingers, one motor, sites for the grasp.

    The joints are `{side}_gripper_near` and `_far`, 0 closed to half the opening each; the
    second follows the first. The motor `{side}_gripper` takes half the opening and presses
    both fingers together with up to FORCE_LIMIT_N between them.
    """
    _shorten_hand(wrist, side)
    for finger, sign in zip(FINGERS, (1.0, -1.0), strict=True):
        _add_finger(wrist, side, finger, sign)
    site = {"name": f"{side}_grasp", "pos": f"{GRASP_M} 0 0", "size": "0.005", "group": "4"}
    ElementTree.SubElement(wrist, "site", site)
    near, far = (f"{side}_gripper_{finger}" for finger in FINGERS)
    equality = {"joint1": far, "joint2": near, "polycoef": "0 1 0 0 0", "solref": "0.005 1"}
    _child(root, "equality").append(ElementTree.Element("joint", equality))
    _child(root, "actuator").append(
        ElementTree.Element(
            "position",
            name=f"{side}_gripper",
            joint=near,
            kp=str(STIFFNESS_N_M),
            kv="40",
            ctrlrange=f"-0.02 {OPENING_M / 2}",
            forcerange=f"{-FORCE_LIMIT_N} {FORCE_LIMIT_N}",
        )
    )


def pad_names(side: str) -> tuple[str, str]:
    """Names of the two pad geoms of a hand, near finger first."""
    return f"{side}_pad_{FINGERS[0]}", f"{side}_pad_{FINGERS[1]}"


def _shorten_hand(wrist: Element, side: str) -> None:
    # The rubber hand's box reaches to the fingertips; the gripper keeps only its root as a palm.
    box = next(geom for geom in wrist.iter("geom") if geom.get("type") == "box")
    box.set("name", f"{side}_palm_box")
    box.set("size", f"{(PALM_END_M - 0.04) / 2} 0.03 0.03")
    box.set("pos", f"{(PALM_END_M + 0.04) / 2} 0 0")
    box.set("friction", "1.0 0.01 0.001")


def _add_finger(wrist: Element, side: str, finger: str, sign: float) -> None:
    name = f"{side}_gripper_{finger}"
    body = ElementTree.SubElement(wrist, "body", name=name, pos=f"{PALM_END_M} 0 0")
    ElementTree.SubElement(
        body, "joint", name=name, type="slide", axis=f"0 {sign} 0",
        range=f"0 {OPENING_M / 2}", damping="2", armature="0.05",
    )  # fmt: skip
    length = TIP_M - PALM_END_M
    back = sign * (PAD_THICKNESS_M + 0.007)
    ElementTree.SubElement(
        body, "geom", name=f"{name}_back", type="box", mass="0.03", material="robot_dark",
        size=f"{length / 2} 0.007 {PAD_WIDTH_M / 2}", pos=f"{length / 2} {back} 0",
    )  # fmt: skip
    # Soft in depth, so that a touch spreads over the pad; twisting friction holds an object level.
    ElementTree.SubElement(
        body, "geom", name=f"{side}_pad_{finger}", type="box", mass="0.01", material="pad",
        size=f"{PAD_LENGTH_M / 2} {PAD_THICKNESS_M / 2} {PAD_WIDTH_M / 2}",
        pos=f"{length - PAD_LENGTH_M / 2} {sign * PAD_THICKNESS_M / 2} 0",
        condim="4", friction="1.1 0.02 0.001", solref="0.012 1", solimp="0.85 0.97 0.003",
    )  # fmt: skip


def _child(root: Element, tag: str) -> Element:
    found = root.find(tag)
    return ElementTree.SubElement(root, tag) if found is None else found
