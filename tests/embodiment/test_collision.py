from __future__ import annotations

from collections.abc import Callable

import coal
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corporeal.embodiment import Embodiment
from corporeal.embodiment.collision import CollisionModel, collision_model
from corporeal.embodiment.collision.broad_phase import nearest_on_segments, segment_distance
from corporeal.embodiment.collision.collision_model import adjacent_pairs
from corporeal.embodiment.embodiment import Standing
from corporeal.embodiment.engines import compile_pinocchio
from corporeal.embodiment.engines.pinocchio_model import geometry_model
from corporeal.embodiment.joints import standing_positions
from corporeal.errors import ModelError
from corporeal.geometry import Array

PositionsOf = Callable[[Embodiment, int], Array]

COAL_M = 1e-5


def _every_distance(model: CollisionModel, q: Array) -> list[dict[tuple[str, str], float]]:
    """The signed distance of every tested pair of links, frame by frame, by coal alone."""
    compiled = compile_pinocchio(model.embodiment)
    geometry = geometry_model(compiled, model.pairs)
    data, shapes = compiled.model.createData(), geometry.createData()
    links = [one.name.rsplit("_", 1)[0] for one in geometry.geometryObjects]
    pairs = [(links[pair.first], links[pair.second]) for pair in geometry.collisionPairs]
    frames = []
    for x in compiled.configurations(q):
        pin.updateGeometryPlacements(compiled.model, data, geometry, shapes, x)
        nearest: dict[tuple[str, str], float] = {}
        for number, pair in enumerate(pairs):
            distance = pin.computeDistance(geometry, shapes, number).min_distance
            nearest[pair] = min(distance, nearest.get(pair, np.inf))
        frames.append(nearest)
    return frames


def test_distances_and_collisions_are_those_of_coal_on_every_pair(
    robot: Embodiment, positions_of: PositionsOf
) -> None:
    model, q = CollisionModel(robot), positions_of(robot, 60)
    truth = _every_distance(model, q)
    distances, collisions = model.distances(q), model.collisions(q, tolerance_m=0.001)
    found = {
        (int(frame), pair): depth
        for frame, pair, depth in zip(
            collisions.frames, collisions.links, collisions.depths_m, strict=True
        )
    }
    for frame, nearest in enumerate(truth):
        assert distances.minimum_m[frame] == pytest.approx(min(nearest.values()), abs=COAL_M)
        closest = distances.closest(frame)
        assert closest is not None
        assert nearest[closest] == pytest.approx(distances.minimum_m[frame], abs=COAL_M)
        for pair, distance in nearest.items():
            if abs(distance + 0.001) > COAL_M:
                assert ((frame, pair) in found) == (distance < -0.001)
            if (frame, pair) in found:
                assert found[frame, pair] == pytest.approx(-distance, abs=COAL_M)


def test_a_standing_robot_does_not_collide(robot: Embodiment) -> None:
    model = CollisionModel(robot)
    standing = standing_positions(robot)[None]
    assert model.distances(standing).minimum_m[0] > 0
    assert len(model.collisions(standing)) == 0
    assert model.pairs


def test_a_hand_through_the_torso_is_found_and_named(humanoid: Embodiment) -> None:
    q = np.tile(standing_positions(humanoid), (5, 1))
    columns = [humanoid.joint_names.index(f"left_{j}_joint") for j in ("shoulder_roll", "elbow")]
    q[3, columns] = (-1.2, 0.0)
    collisions = CollisionModel(humanoid).collisions(q, tolerance_m=0.005)
    assert set(collisions.frames) == {3}
    assert ("left_elbow", "torso") in collisions.links
    assert collisions.depths_m.min() > 0.005
    assert len(collisions) == len(collisions.links)


def test_neighbours_through_shapeless_links_are_adjacent(humanoid: Embodiment) -> None:
    adjacent = adjacent_pairs(humanoid)
    assert frozenset(("pelvis", "torso")) in adjacent
    assert frozenset(("torso", "left_shoulder_yaw")) in adjacent
    assert frozenset(("left_slide", "left_elbow")) in adjacent
    assert frozenset(("torso", "left_elbow")) not in adjacent
    assert frozenset(("left_slide", "left_follow")) not in adjacent


def test_a_far_link_is_no_neighbour_though_all_between_have_no_shape(
    humanoid: Embodiment,
) -> None:
    links = tuple(
        link if link.name in ("pelvis", "left_ankle") else link.model_copy(update={"collision": ()})
        for link in humanoid.links
    )
    assert CollisionModel(humanoid.model_copy(update={"links": links})).pairs == (
        ("pelvis", "left_ankle"),
    )


def test_pairs_that_touch_by_design_are_left_out(humanoid: Embodiment) -> None:
    touching = (("left_follow", "left_slide"),)
    model = CollisionModel(humanoid.model_copy(update={"touching": touching}))
    assert ("left_follow", "left_slide") in CollisionModel(humanoid).pairs
    assert ("left_follow", "left_slide") not in model.pairs
    assert model.disabled_pairs == ()


def test_pairs_that_overlap_when_standing_are_left_out_and_reported(humanoid: Embodiment) -> None:
    folded = Standing(height=0.9, posture={"left_shoulder_roll_joint": -0.6})
    standing = humanoid.model_copy(update={"standing": folded})
    model = CollisionModel(standing)
    assert ("left_elbow", "torso") in model.disabled_pairs
    assert set(model.disabled_pairs) == set(CollisionModel(humanoid).pairs) - set(model.pairs)
    assert model.distances(standing_positions(standing)[None]).minimum_m[0] > 0


def test_a_frame_that_is_not_finite_has_no_distance(humanoid: Embodiment) -> None:
    q = np.tile(standing_positions(humanoid), (3, 1))
    q[1, 4] = np.nan
    distances = CollisionModel(humanoid).distances(q)
    assert np.isnan(distances.minimum_m).tolist() == [False, True, False]
    assert distances.closest(1) is None
    assert len(CollisionModel(humanoid).collisions(q)) == 0


def test_the_blocks_of_a_long_recording_change_nothing(
    humanoid: Embodiment, positions_of: PositionsOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    q = positions_of(humanoid, 50)
    whole, hits = CollisionModel(humanoid).distances(q), CollisionModel(humanoid).collisions(q)
    monkeypatch.setattr(collision_model, "BLOCK", 7)
    pieces, again = CollisionModel(humanoid).distances(q), CollisionModel(humanoid).collisions(q)
    np.testing.assert_allclose(pieces.minimum_m, whole.minimum_m, atol=COAL_M)
    np.testing.assert_array_equal(again.frames, hits.frames)
    assert again.links == hits.links


def test_a_robot_without_shapes_never_collides(humanoid: Embodiment) -> None:
    links = tuple(link.model_copy(update={"collision": ()}) for link in humanoid.links)
    model = CollisionModel(humanoid.model_copy(update={"links": links}))
    q = standing_positions(humanoid)[None]
    assert np.isinf(model.distances(q).minimum_m).all()
    assert model.distances(q).closest(0) is None
    assert len(model.collisions(q)) == 0


def test_a_negative_tolerance_is_refused(humanoid: Embodiment) -> None:
    with pytest.raises(ModelError, match=r"got -0.01 m; expected 0 or more"):
        CollisionModel(humanoid).collisions(standing_positions(humanoid)[None], tolerance_m=-0.01)


COORDINATE = st.floats(-1, 1).map(lambda value: round(value, 3))
VECTOR = st.tuples(COORDINATE, COORDINATE, COORDINATE).map(np.array)


@settings(max_examples=150, deadline=None)
@given(VECTOR, VECTOR, VECTOR, st.one_of(VECTOR, st.floats(-2, 2)))
def test_segments_are_as_far_apart_as_their_nearest_points(
    centre_a: Array, half_a: Array, centre_b: Array, half_b: Array | float
) -> None:
    # A number makes the second segment parallel to the first, the hard case.
    second = half_a * half_b if isinstance(half_b, float) else half_b
    ours = segment_distance(*(v[:, None] for v in (centre_a, half_a, centre_b, second)))[0]
    steps = np.linspace(-1, 1, 41)
    points_a = centre_a + steps[:, None] * half_a
    points_b = centre_b + steps[:, None] * second
    sampled = np.linalg.norm(points_a[:, None] - points_b[None], axis=-1).min()
    spacing = (np.linalg.norm(half_a) + np.linalg.norm(second)) / 40
    assert sampled - spacing - 1e-9 <= ours <= sampled + 1e-9


def test_the_solvers_outlive_the_shapes_that_made_them(humanoid: Embodiment) -> None:
    model = CollisionModel(humanoid)
    q = np.tile(standing_positions(humanoid), (20, 1))
    first = model.distances(q).minimum_m
    clutter = [coal.Box(9, 9, 9) for _ in range(200)]
    np.testing.assert_array_equal(model.distances(q).minimum_m, first)
    assert len(clutter) == 200


def test_shapes_near_each_other_are_those_that_coal_finds(
    robot: Embodiment, positions_of: PositionsOf
) -> None:
    model, q = CollisionModel(robot), positions_of(robot, 60)
    reach_m = 0.02
    near = model.near(q, reach_m)
    names = model.kinematics.names
    found: dict[tuple[int, tuple[str, str]], float] = {}
    for frame, (a, b), distance in zip(near.frame, near.links, near.distance, strict=True):
        key = int(frame), (names[a], names[b])
        found[key] = min(distance, found.get(key, np.inf))
    for frame, nearest in enumerate(_every_distance(model, q)):
        for pair, distance in nearest.items():
            if abs(distance - reach_m) > COAL_M:
                assert ((frame, pair) in found) == (distance < reach_m)
            if (frame, pair) in found:
                assert found[frame, pair] == pytest.approx(distance, abs=COAL_M)


def test_nearest_points_lie_apart_along_the_normal_by_the_distance(
    robot: Embodiment, positions_of: PositionsOf
) -> None:
    near = CollisionModel(robot).near(positions_of(robot, 60), 0.03)
    assert len(near.frame)
    np.testing.assert_allclose(np.linalg.norm(near.normal, axis=1), 1, atol=1e-6)
    between = near.points[:, 0] - near.points[:, 1]
    np.testing.assert_allclose(between, near.distance[:, None] * near.normal, atol=1e-5)


def test_moving_one_shape_along_the_normal_changes_the_distance_by_as_much(
    humanoid: Embodiment, positions_of: PositionsOf
) -> None:
    # The normal is how far the distance changes: what a solver that pushes links apart relies on.
    model = CollisionModel(humanoid)
    q = positions_of(humanoid, 200)
    near = model.near(q, 0.03)
    step, checked = 1e-5, 0
    poses = [model.kinematics.transforms(q + step * each) for each in np.eye(q.shape[1])]
    here = model.kinematics.transforms(q)
    one = [np.flatnonzero((near.frame == f) & (near.distance > 0.002)) for f in range(40)]
    for row in (rows[0] for rows in one if len(rows) == 1):
        frame, links = near.frame[row], near.links[row]
        for column, moved in enumerate(poses):
            shift = []
            for side in range(2):
                pose, after = here[links[side], ..., frame], moved[links[side], ..., frame]
                on_link = pose[:, :3].T @ (near.points[row, side] - pose[:, 3])
                shift.append(after[:, :3] @ on_link + after[:, 3] - near.points[row, side])
            expected = near.normal[row] @ (shift[0] - shift[1])
            again = model.near(q[frame : frame + 1] + step * np.eye(q.shape[1])[column], 0.04)
            same = (again.links == links).all(axis=1)
            change = again.distance[same].min() - near.distance[row]
            assert change == pytest.approx(expected, abs=0.05 * step)
        checked += 1
    assert checked >= 5


def test_a_negative_reach_finds_only_what_is_deeper(humanoid: Embodiment) -> None:
    q = np.tile(standing_positions(humanoid), (2, 1))
    columns = [humanoid.joint_names.index(f"left_{j}_joint") for j in ("shoulder_roll", "elbow")]
    q[1, columns] = (-1.2, 0.0)
    model = CollisionModel(humanoid)
    assert set(model.near(q, -0.004).frame) == {1}
    assert model.near(q, -0.004).distance.max() < -0.004
    assert len(model.near(q[:1], 0.0).frame) == 0


def test_nothing_is_near_where_there_are_no_shapes_and_no_frames(humanoid: Embodiment) -> None:
    links = tuple(link.model_copy(update={"collision": ()}) for link in humanoid.links)
    bare = CollisionModel(humanoid.model_copy(update={"links": links}))
    q = standing_positions(humanoid)[None]
    assert len(bare.near(q, 1.0).frame) == 0
    assert len(CollisionModel(humanoid).near(q[:0], 1.0).frame) == 0


@settings(max_examples=100, deadline=None)
@given(VECTOR, VECTOR, VECTOR, VECTOR)
def test_the_nearest_points_lie_on_their_segments_and_no_step_brings_them_nearer(
    centre_a: Array, half_a: Array, centre_b: Array, half_b: Array
) -> None:
    given_ = [v[:, None] for v in (centre_a, half_a, centre_b, half_b)]
    first, second = (each[:, 0] for each in nearest_on_segments(*given_))
    steps = np.linspace(-1, 1, 21)[:, None]
    distance = float(np.linalg.norm(first - second))
    for point, centre, half, other in (
        (first, centre_a, half_a, second),
        (second, centre_b, half_b, first),
    ):
        length = half @ half
        share = float((point - centre) @ half / length) if length > 0 else 0.0
        np.testing.assert_allclose(centre + share * half, point, atol=1e-9)
        assert abs(share) <= 1 + 1e-9
        along = np.linalg.norm(centre + steps * half - other, axis=1)
        assert along.min() >= distance - 1e-9
