// The meshes that somebody gave for a robot, as one geometry per link with its colours inside.
import { BufferAttribute, BufferGeometry } from "three";
import type { RobotMeshArrays } from "../api/robot";
import type { RobotMeshes } from "../api/schema";

/**
 * What each value of a colour is in light. Descriptions are painted for viewers that take colours
 * as they are; read strictly as those of screens (to the power of 2.2) robots would be too dark.
 */
const light = Float32Array.from({ length: 256 }, (_, n) => (n / 255) ** 1.6);

export function meshGeometries(
  meshes: RobotMeshes,
  arrays: RobotMeshArrays,
): Map<string, BufferGeometry> {
  const found = new Map<string, BufferGeometry>();
  for (const part of meshes.links) {
    const from = 3 * part.first_vertex;
    const to = from + 3 * part.vertices;
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new BufferAttribute(arrays.positions.slice(from, to), 3));
    geometry.setAttribute("normal", new BufferAttribute(arrays.normals.slice(from, to), 3, true));
    const colours = Float32Array.from(
      arrays.colours.subarray(from, to),
      (value) => light[value] as number,
    );
    geometry.setAttribute("color", new BufferAttribute(colours, 3));
    const index = arrays.index.slice(part.first_index, part.first_index + part.indices);
    // Numbers that no vertex has would be read from beyond the end of the array.
    if (index.some((number) => number >= part.vertices)) continue;
    geometry.setIndex(new BufferAttribute(index, 1));
    found.set(part.link, geometry);
  }
  return found;
}
