// The robot of an episode.

import { getArrays, getJson } from "./client";
import { below } from "./episode";
import type { RobotFacts } from "./schema";

export type Triple = [number, number, number];

export function getRobot(id: string, signal?: AbortSignal): Promise<RobotFacts> {
  return getJson<RobotFacts>(below(id, "robot"), {}, signal);
}

/** All vertices of a robot's meshes, three numbers each, and the index of its triangles. */
export interface RobotMeshArrays {
  positions: Float32Array;
  normals: Int16Array;
  colours: Uint8Array;
  index: Uint32Array;
}

export async function getRobotMeshes(name: string, signal?: AbortSignal): Promise<RobotMeshArrays> {
  const { values } = await getArrays(`/robots/meshes/${encodeURIComponent(name)}`, {}, signal);
  return {
    positions: values.positions as Float32Array,
    normals: values.normals as Int16Array,
    colours: values.colours as Uint8Array,
    index: values.index as Uint32Array,
  };
}
