// Where one looks from: ready views, steps by keys, and the camera that goes along.
import { Spherical, Vector3 } from "three";
import type { Stage } from "./stage";

export const VIEWS = ["corner", "front", "side", "top"] as const;
export type View = (typeof VIEWS)[number];

const angles: Record<View, [number, number]> = {
  // Azimuth from the robot's front, and how far down from the top, degrees.
  corner: [-58, 76],
  front: [0, 82],
  side: [-90, 82],
  top: [-0.5, 4],
};
const rad = Math.PI / 180;
const step = 8 * rad;

/** The direction from what one looks at to the camera; the robot looks along x, z is up. */
export function direction(azimuth: number, down: number): Vector3 {
  return new Vector3(Math.sin(down) * Math.cos(azimuth), Math.sin(down) * Math.sin(azimuth), Math.cos(down));
}

/** Look at a body `height` tall about its centre, so that all of it is in the picture. */
export function lookFrom(stage: Stage, view: View, centre: Vector3, height: number): void {
  const [azimuth, down] = angles[view];
  const half = Math.tan((stage.camera.fov * rad) / 2);
  const narrow = Math.min(stage.camera.aspect / 0.8, 1);
  const far = (0.66 * height) / half / narrow;
  stage.controls.target.copy(centre);
  stage.camera.position.copy(stage.controls.target).addScaledVector(direction(azimuth * rad, down * rad), far);
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
  else if (way) stage.camera.position.copy(stage.controls.target).add(turned(arm, way[0] * step, way[1] * step));
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
