"""Several cameras and one board: where each camera is beside the first, from pixels alone.

Moments at which two cameras or more see the board are solved together: a pose of each camera, and
of the board at each moment, by the distance in pixels over each camera's own scatter. Lenses stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from corporeal.calibration.board import Board
from corporeal.calibration.camera import cross_matrices
from corporeal.calibration.detection import BoardView
from corporeal.calibration.flat_pose import flat_poses, refined_pose
from corporeal.calibration.hand_eye import inverse, pose_matrix
from corporeal.calibration.lens import Lens, project, project_with_slopes
from corporeal.errors import CorporealError
from corporeal.geometry import Array

FEWEST_MOMENTS = 3
_STEPS = 50
# A corner that is farther off than so many sigmas pulls less and less.
_TAIL_SIGMAS = 3.0


@dataclass(frozen=True)
class KnownLens:
    """A camera whose lens is solved, and how far its corners scatter in one direction."""

    lens: Lens
    sigma_px: float


@dataclass(frozen=True)
class CamerasTogether:
    """Cameras in the frame of the first (4, 4); the first is the unit pose.

    `covariance` (6, 6) of each is of a turn and shift on its right side; `residual_px` are
    distances by camera; `left_out_px` by moment: what a camera sees of a board that only the
    others placed.
    """

    first: str
    poses: Mapping[str, Array]
    covariance: Mapping[str, Array]
    residual_px: Mapping[str, Array]
    moments: tuple[str, ...]
    left_out_px: Mapping[str, Array]

    def rms_px(self, camera: str) -> float:
        """Root mean square distance of a camera's corners."""
        return float(np.sqrt((self.residual_px[camera] ** 2).mean()))


def solve_cameras(
    views: Mapping[str, Sequence[BoardView]], lenses: Mapping[str, KnownLens], board: Board
) -> CamerasTogether:
    """Poses of cameras in the first one's frame; views of one moment have one name."""
    first, *others = views
    seen = {name: {view.name: view for view in views[name]} for name in views}
    counts: dict[str, int] = {}
    for name in seen:
        for moment in seen[name]:
            counts[moment] = counts.get(moment, 0) + 1
    moments = sorted(moment for moment, count in counts.items() if count > 1)
    if len(moments) < FEWEST_MOMENTS:
        raise CorporealError(
            f"{len(moments)} pictures of {', '.join(views)} show the board at one moment; expected "
            f"{FEWEST_MOMENTS} or more. Pictures of one moment have one name."
        )
    problem = _Together(seen, lenses, board, tuple(moments))
    start = problem.chained(first, others)
    solved = problem.solve(start)
    return problem.result(first, solved)


@dataclass
class _Poses:
    cameras: dict[str, Array]
    boards: dict[str, Array]


@dataclass
class _Together:
    seen: Mapping[str, Mapping[str, BoardView]]
    lenses: Mapping[str, KnownLens]
    board: Board
    moments: tuple[str, ...]
    _flat: dict[tuple[str, str], list[Array]] = field(default_factory=dict)

    def flat(self, camera: str, moment: str) -> list[Array]:
        """The poses that the board may have in a camera, the better one first."""
        key = camera, moment
        if key not in self._flat:
            view, lens = self.seen[camera][moment], self.lenses[camera].lens
            points = self.board.points[view.corners]
            fits = [refined_pose(pose, points, view.pixels, lens)
                    for pose in flat_poses(points, view.pixels, lens)]  # fmt: skip
            self._flat[key] = [pose for pose, left in sorted(fits, key=lambda fit: fit[1])
                               if np.isfinite(left)]  # fmt: skip
        return self._flat[key]

    def chained(self, first: str, others: Sequence[str]) -> _Poses:
        """A start: cameras one after another by the board that both see, then the boards."""
        cameras = {first: np.eye(4)}
        waiting = list(others)
        while waiting:
            found = [(len(self._shared(name, known)), name, known)
                     for name in waiting for known in cameras]  # fmt: skip
            count, name, known = max(found, key=lambda each: each[0])
            if count == 0:
                raise CorporealError(
                    f"{name} sees the board at no moment at which {', '.join(cameras)} does; "
                    "expected pictures of one moment, with one name."
                )
            cameras[name] = cameras[known] @ self._between(known, name)
            waiting.remove(name)
        boards = {moment: self._best_board(cameras, moment) for moment in self.moments}
        return _Poses(cameras, boards)

    def _shared(self, one: str, two: str) -> list[str]:
        return [moment for moment in self.moments
                if moment in self.seen[one] and moment in self.seen[two]]  # fmt: skip

    def _between(self, one: str, two: str) -> Array:
        """The second camera in the first: of all that single moments say, the one most agree on."""
        shared = self._shared(one, two)
        tried = [board @ inverse(other[None])[0] for moment in shared
                 for board in self.flat(one, moment)[:2]
                 for other in self.flat(two, moment)[:2]]  # fmt: skip
        costs = []
        for between in tried:
            off = [min((float(np.linalg.norm((between @ other - board)[:3]))
                        for board in self.flat(one, moment)[:2]
                        for other in self.flat(two, moment)[:2]), default=np.inf)
                   for moment in shared]  # fmt: skip
            costs.append(float(np.median(off)))
        best: Array = tried[int(np.argmin(costs))]
        return best

    def _best_board(self, cameras: Mapping[str, Array], moment: str) -> Array:
        choices = [cameras[name] @ pose for name in cameras if moment in self.seen[name]
                   for pose in self.flat(name, moment)]  # fmt: skip
        costs = [sum(float((self.residual(cameras[name], choice, name, moment) ** 2).sum())
                     for name in cameras if moment in self.seen[name])
                 for choice in choices]  # fmt: skip
        return choices[int(np.nanargmin(costs))]

    def residual(self, camera: Array, board: Array, name: str, moment: str) -> Array:
        """Predicted minus seen (N, 2) in sigmas."""
        view, known = self.seen[name][moment], self.lenses[name]
        placed = inverse(camera[None])[0] @ board
        points = self.board.points[view.corners] @ placed[:3, :3].T + placed[:3, 3]
        return (project(known.lens, points) - view.pixels) / known.sigma_px

    def slopes(self, camera: Array, board: Array, name: str, moment: str) -> tuple[Array, Array]:
        """By a turn and shift of the camera on its right, and of the board on its right."""
        view, known = self.seen[name][moment], self.lenses[name]
        placed = inverse(camera[None])[0] @ board
        points = self.board.points[view.corners]
        seen = points @ placed[:3, :3].T + placed[:3, 3]
        _, _, by_point = project_with_slopes(known.lens, seen)
        by_camera = np.concatenate([by_point @ cross_matrices(seen), -by_point], axis=2)
        turned = by_point @ placed[:3, :3]
        by_board = np.concatenate([turned @ -cross_matrices(points), turned], axis=2)
        size = 2 * len(points)
        return (by_camera.reshape(size, 6) / known.sigma_px,
                by_board.reshape(size, 6) / known.sigma_px)  # fmt: skip

    def solve(self, poses: _Poses) -> _Poses:
        """Gauss and Newton, damped; the boards are eliminated moment by moment."""
        damping, cost = 1e-3, self.cost(poses)
        for _ in range(_STEPS):
            normal, right, back = self.normal(poses, damping)
            step: Array = np.asarray(-np.linalg.lstsq(normal, right, rcond=1e-14)[0], np.float64)
            tried = self._moved(poses, step, back)
            new = self.cost(tried)
            if new >= cost:
                damping *= 10
                if damping > 1e6:
                    break
                continue
            gained, poses, damping = cost - new, tried, max(damping / 10, 1e-12)
            cost = new
            if gained < 1e-10 * cost:
                break
        return poses

    def cost(self, poses: _Poses) -> float:
        """Sum of squares that grow slower far away."""
        total = 0.0
        for name, moment in self._pairs():
            residual = self.residual(poses.cameras[name], poses.boards[moment], name, moment)
            squares = (residual**2).sum(axis=1)
            total += float((_TAIL_SIGMAS**2 * np.log1p(squares / _TAIL_SIGMAS**2)).sum())
        return total if np.isfinite(total) else np.inf

    def _pairs(self) -> list[tuple[str, str]]:
        return [(name, moment) for moment in self.moments for name in self.seen
                if moment in self.seen[name]]  # fmt: skip

    def normal(
        self, poses: _Poses, damping: float = 0.0
    ) -> tuple[Array, Array, dict[str, tuple[Array, Array, Array]]]:
        """J^T J and J^T r of the cameras but the first, and how each board follows."""
        free = list(poses.cameras)[1:]
        size = 6 * len(free)
        normal, right = np.zeros((size, size)), np.zeros(size)
        back: dict[str, tuple[Array, Array, Array]] = {}
        for moment in self.moments:
            own, own_right = np.zeros((6, 6)), np.zeros(6)
            between = np.zeros((size, 6))
            for name in self.seen:
                if moment not in self.seen[name]:
                    continue
                camera, board = poses.cameras[name], poses.boards[moment]
                residual = self.residual(camera, board, name, moment)
                weight = 1 / (1 + (residual**2).sum(axis=1) / _TAIL_SIGMAS**2)
                weights = np.repeat(weight, 2)
                a, b = self.slopes(camera, board, name, moment)
                own += (b.T * weights) @ b
                own_right += (b.T * weights) @ residual.ravel()
                if name in free:
                    place = slice(6 * free.index(name), 6 * free.index(name) + 6)
                    normal[place, place] += (a.T * weights) @ a
                    right[place] += (a.T * weights) @ residual.ravel()
                    between[place] += (a.T * weights) @ b
            solid = np.asarray(np.linalg.inv(own + damping * np.diag(np.diag(own))), np.float64)
            normal -= between @ solid @ between.T
            right -= between @ solid @ own_right
            back[moment] = solid, own_right, between
        return normal + damping * np.diag(np.diag(normal)), right, back

    def _moved(
        self, poses: _Poses, step: Array, back: Mapping[str, tuple[Array, Array, Array]]
    ) -> _Poses:
        first, *free = poses.cameras
        cameras = {first: poses.cameras[first]}
        for number, name in enumerate(free):
            part = step[6 * number : 6 * number + 6]
            cameras[name] = poses.cameras[name] @ pose_matrix(part[:3], part[3:])
        boards = {}
        for moment, (solid, right, between) in back.items():
            part = -solid @ (right + between.T @ step)
            boards[moment] = poses.boards[moment] @ pose_matrix(part[:3], part[3:])
        return _Poses(cameras, boards)

    def result(self, first: str, poses: _Poses) -> CamerasTogether:
        """What was solved, how sure it is, and what it leaves."""
        normal, _, _ = self.normal(poses)
        residuals = {pair: self.residual(poses.cameras[pair[0]], poses.boards[pair[1]], *pair)
                     for pair in self._pairs()}  # fmt: skip
        count = sum(each.size for each in residuals.values())
        freedom = max(count - len(normal) - 6 * len(self.moments), 1)
        share = sum(float((each**2).sum()) for each in residuals.values()) / freedom
        covariance = max(share, 1.0) * np.linalg.pinv(normal, hermitian=True, rcond=1e-14)
        free = list(poses.cameras)[1:]
        spreads: dict[str, Array] = {first: np.zeros((6, 6))}
        for number, name in enumerate(free):
            place = slice(6 * number, 6 * number + 6)
            spreads[name] = np.asarray(covariance[place, place])
        distances: dict[str, list[Array]] = {name: [] for name in self.seen}
        for (name, _), residual in residuals.items():
            distances[name].append(np.linalg.norm(residual, axis=1) * self.lenses[name].sigma_px)
        return CamerasTogether(
            first, poses.cameras, spreads,
            {name: np.concatenate(each) if each else np.zeros(0)
             for name, each in distances.items()},
            self.moments, self._left_out(poses),
        )  # fmt: skip

    def _left_out(self, poses: _Poses) -> dict[str, Array]:
        """By camera: where it sees the boards that another camera alone has placed, in pixels."""
        found: dict[str, Array] = {}
        for name in self.seen:
            off: list[float] = []
            for moment in self.moments:
                others = [each for each in self.seen if each != name and moment in self.seen[each]]
                if moment not in self.seen[name] or not others:
                    continue
                placed = [poses.cameras[other] @ pose for other in others
                          for pose in self.flat(other, moment)]  # fmt: skip
                residuals = [self.residual(poses.cameras[name], board, name, moment)
                             for board in placed]  # fmt: skip
                rms = [np.sqrt((each**2).sum(axis=1).mean()) for each in residuals]
                off.append(float(min(rms)) * self.lenses[name].sigma_px)
            found[name] = np.array(off)
        return found
