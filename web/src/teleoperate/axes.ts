// WebXR's axes and those of the robot's world: x ahead, y left, z up.
import { Quaternion, Vector3 } from "three";
import type { Pose } from "./input";

export interface Placed {
  position: Vector3;
  rotation: Quaternion;
}

/** A pose of the wire as the house has it. */
export function fromXr([x, y, z, qx, qy, qz, qw]: Pose): Placed {
  return { position: new Vector3(-z, -x, y), rotation: new Quaternion(-qz, -qx, qy, qw) };
}

/** A way or an axis of the house as WebXR has it. */
export function toXr({ x, y, z }: Vector3): Vector3 {
  return new Vector3(-y, z, -x);
}
