"""Forms for a robot whose description has none: those of the built-in one with the same links."""

from __future__ import annotations

from corporeal.embodiment import Embodiment, open_robot, robot_names

LEAST_SHARE = 0.9


def formed(robot: Embodiment) -> Embodiment:
    """The robot as it is drawn; descriptions without meshes often lack a chest, a head and soles.

    What is built in is taken for links of the same name only, and where nearly all of them are
    the same; how it moves stays the description's.
    """
    if robot.name in robot_names():
        return robot
    names = {link.name for link in robot.links}
    like = max((open_robot(each) for each in robot_names()), key=lambda each: _share(each, names))
    if _share(like, names) < LEAST_SHARE:
        return robot
    shapes = {link.name: link.collision for link in like.links if link.collision}
    links = tuple(
        link.model_copy(update={"collision": shapes.get(link.name, link.collision)})
        for link in robot.links
    )
    known = {frame.name for frame in robot.frames} | names
    wanted = {*like.end_effectors.values(), *like.feet.values()}
    frames = [each for each in like.frames if each.name in wanted - known and each.link in names]
    return robot.model_copy(update={
        "links": links, "frames": (*robot.frames, *frames),
        "end_effectors": dict(like.end_effectors), "feet": dict(like.feet),
        "standing": robot.standing or like.standing,
    })  # fmt: skip


def _share(like: Embodiment, names: set[str]) -> float:
    own = {link.name for link in like.links}
    return len(own & names) / len(own)
