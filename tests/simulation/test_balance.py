"""The robot stands on its own legs, carries, catches a push, and falls for a great one."""

from __future__ import annotations

import numpy as np
import pytest

from corporeal.simulation.balance import Balance, Sway, standing_start
from corporeal.simulation.gripper import OPENING_M
from corporeal.simulation.physics import TICK_S, Physics
from corporeal.simulation.variation import FIXED, SceneLayout, vary
from corporeal.simulation.world import World, build_world

OPEN = np.full(2, OPENING_M)


@pytest.fixture(scope="module")
def world() -> World:
    return build_world(vary(SceneLayout(table=False, objects=False), 1, ranges=FIXED))


def _stand(
    world: World,
    seconds: float,
    *,
    push_ns: tuple[float, float] = (0.0, 0.0),
    sway: Sway | None = None,
    hand_load_n: float = 0.0,
    wave_rad: float = 0.0,
) -> Physics:
    physics, balance = Physics(world, standing_start(world)), Balance(world, sway or Sway())
    hand = world.model.body("right_wrist_yaw_link").id
    shoulder = world.joints("right_arm")[0]
    for tick in range(round(seconds / TICK_S)):
        time = tick * TICK_S
        pushed = 1.0 <= time < 1.1
        physics.push(np.array([*push_ns, 0.0]) / 0.1 if pushed else np.zeros(3))
        physics.data.xfrc_applied[hand, 2] = -hand_load_n
        target = balance.targets(physics.data, TICK_S)
        target[shoulder] += wave_rad * np.sin(4.0 * time)
        physics.act(target, OPEN, torque=balance.support_torque(physics.data))
    return physics


def test_it_stands_still(world: World) -> None:
    physics = _stand(world, 2.0)
    assert np.linalg.norm(physics.data.qpos[:2] - standing_start(world)[:2]) < 0.02
    assert physics.data.qpos[2] == pytest.approx(standing_start(world)[2], abs=0.01)


def test_it_carries_its_own_weight_and_no_more(world: World) -> None:
    physics = _stand(world, 1.0)
    weight = 9.81 * world.model.body_subtreemass[world.model.body("pelvis").id]
    rows = np.array(physics.log.sensordata[-50:])
    ankles = [rows[:, world.sensors[f"{side}_ankle_force"]] for side in ("left", "right")]
    # Each sensor also carries its foot, which weighs 0.6 kg.
    carried = sum(float(np.linalg.norm(force, axis=1).mean()) for force in ankles)
    assert carried == pytest.approx(weight, rel=0.06)


def test_the_torques_stay_within_the_limits(world: World) -> None:
    torque = np.abs(np.array(_stand(world, 1.5, push_ns=(8.0, 0.0)).log.torque))
    limits = np.array([joint.effort for joint in world.embodiment.actuated])
    assert (torque <= limits + 1e-9).all()


@pytest.mark.parametrize("push", [(6.0, 0.0), (-6.0, 0.0), (0.0, 6.0), (0.0, -6.0)])
def test_it_catches_a_push(world: World, push: tuple[float, float]) -> None:
    assert _stand(world, 3.0, push_ns=push).data.qpos[2] > 0.7


@pytest.mark.parametrize("push", [(30.0, 0.0), (0.0, -30.0)])
def test_it_falls_for_a_great_push(world: World, push: tuple[float, float]) -> None:
    assert _stand(world, 3.0, push_ns=push).data.qpos[2] < 0.5


def test_it_carries_a_kilogram_while_an_arm_swings(world: World) -> None:
    physics = _stand(world, 3.0, hand_load_n=9.81, wave_rad=0.5)
    assert physics.data.qpos[2] > 0.73


def test_it_goes_where_it_is_asked(world: World) -> None:
    usual, low = _stand(world, 2.0), _stand(world, 2.0, sway=Sway(left_m=0.03, up_m=-0.05))
    moved = low.data.qpos[:3] - usual.data.qpos[:3]
    assert moved[2] == pytest.approx(-0.05, abs=0.01)
    assert moved[1] == pytest.approx(0.03, abs=0.015)
