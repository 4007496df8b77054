// Where one looks from: ready views, steps by keys, and the camera that goes along.
import { Spherical, Vector3 } from "three";
import type { Stage } from "./stage";

export const VIEWS = ["corner", "front", "right", "back", "left", "top"] as const;
export type View = (typeof VIEWS)[number];

const angles: Record<View, [number, number]> = {
  // Azimuth from the robot's front, and how far down from the top, degrees.
  corner: [-52, 79],
  front: [0, 83],
  right: [-90, 83],
  back: [180, 83],
  left: [90, 83],
  top: [-0.5, 4],
};
/** Of two beside each other, one would hide the other from some sides. */
const pairAngles: Record<View, [number, number]> = { ...angles, corner: [30, 79] };
const rad = Math.PI / 180;
const step = 8 * rad;

/** The direction from what one looks at to the camera; the robot looks along x, z is up. */
export function direction(azimuth: number, down: number): Vector3 {
  return new Vector3(
    Math.sin(down) * Math.cos(azimuth),
    Math.sin(down) * Math.sin(azimuth),
    Math.cos(down),
  );
}

/** What must be in the picture: so tall and so wide about its centre, m; `turn` is where it looks, rad. */
export interface Frame {
  centre: Vector3;
  height: number;
  width: number;
  turn: number;
  /** How far before the centre somebody may stand, m: half of what is between two; 0 for one alone. */
  near: number;
}

/** Look at a frame, so that all of it is in the picture. */
export function lookFrom(stage: Stage, view: View, frame: Frame): void {
  const [azimuth, down] = (frame.near > 0 ? pairAngles : angles)[view];
  look(stage, direction(azimuth * rad + frame.turn, down * rad), frame);
}

/** Look across a fall, from the side on which the robot's front is seen. */
export function lookAcross(stage: Stage, headingRad: number, frame: Frame): void {
  const aside = Math.sin(headingRad - frame.turn) > 0 ? -Math.PI / 2 : Math.PI / 2;
  look(stage, direction(headingRad + aside, angles.corner[1] * rad), frame);
}

/** Look at another frame from the side that one looks from. */
export function refit(stage: Stage, frame: Frame): void {
  look(stage, stage.camera.position.clone().sub(stage.controls.target).normalize(), frame);
}

/** How far the camera must be from a frame, for a picture `aspect` times as wide as it is high. */
export function distance(
  frame: Pick<Frame, "height" | "width">,
  fov: number,
  aspect: number,
): number {
  return (0.6 * Math.max(frame.height, frame.width / aspect)) / Math.tan((fov * rad) / 2);
}

function look(stage: Stage, from: Vector3, frame: Frame): void {
  const far = distance(frame, stage.camera.fov, stage.camera.aspect) + frame.near;
  stage.controls.target.copy(frame.centre);
  stage.camera.position.copy(frame.centre).addScaledVector(from, far);
  stage.controls.update();
  stage.invalidate();
}

/** What an arrow key, + or - does; false for any other key. */
export function nudge(stage: Stage, key: string, isShift: boolean): boolean {
  const arm = stage.camera.position.clone().sub(stage.controls.target);
  const across: Record<string, [number, number]> = {
    ArrowLeft: [-1, 0],
    ArrowRight: [1, 0],
    ArrowUp: [0, 1],
    ArrowDown: [0, -1],
  };
  const way = across[key];
  if (way && isShift) stage.shift(sideways(stage, way[0], way[1], 0.06 * arm.length()));
  else if (way)
    stage.camera.position
      .copy(stage.controls.target)
      .add(turned(arm, way[0] * step, way[1] * step));
  else if (key === "+" || key === "=") stage.camera.position.addScaledVector(arm, -0.12);
  else if (key === "-") stage.camera.position.addScaledVector(arm, 0.14);
  else return false;
  stage.controls.update();
  stage.invalidate();
  return true;
}

function sideways(stage: Stage, right: number, up: number, by: number): Vector3 {
  const x = new Vector3().setFromMatrixColumn(stage.camera.matrix, 0);
  const y = new Vector3().setFromMatrixColumn(stage.camera.matrix, 1);
  return x.multiplyScalar(right * by).addScaledVector(y, up * by);
}

function turned(arm: Vector3, azimuth: number, rise: number): Vector3 {
  // Spherical has y for up: turn the axes there and back.
  const round = new Spherical().setFromVector3(new Vector3(arm.y, arm.z, arm.x));
  round.theta += azimuth;
  round.phi = Math.min(Math.max(round.phi - rise, 0.03), 0.53 * Math.PI);
  const found = new Vector3().setFromSpherical(round);
  return new Vector3(found.z, found.x, found.y);
}
