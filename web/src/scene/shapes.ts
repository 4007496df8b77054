// Geometries of the primitives a robot is described with, in the axes of its link.
import {
  BoxGeometry,
  BufferAttribute,
  BufferGeometry,
  CapsuleGeometry,
  type Color,
  CylinderGeometry,
  Euler,
  Matrix4,
  Quaternion,
  SphereGeometry,
  Vector3,
} from "three";
import { ConvexGeometry } from "three/examples/jsm/geometries/ConvexGeometry.js";
import { RoundedBoxGeometry } from "three/examples/jsm/geometries/RoundedBoxGeometry.js";
import { mergeVertices } from "three/examples/jsm/utils/BufferGeometryUtils.js";
import type { Triple } from "../api/robot";
import type { Shape } from "../api/schema";

const upright = new Quaternion().setFromUnitVectors(new Vector3(0, 1, 0), new Vector3(0, 0, 1));
const one = new Vector3(1, 1, 1);

/** Roll, pitch and yaw about fixed axes, as robots have them. */
export function quaternionOf(rpy: Triple): Quaternion {
  return new Quaternion().setFromEuler(new Euler(rpy[0], rpy[1], rpy[2], "ZYX"));
}

export function placement(xyz: Triple, rpy: Triple): Matrix4 {
  return new Matrix4().compose(new Vector3(...xyz), quaternionOf(rpy), one);
}

/** A capsule about the z axis: `length` is that of its straight part. */
export function capsule(radius: number, length: number): BufferGeometry {
  return new CapsuleGeometry(radius, Math.max(length, 1e-4), 6, 18).applyQuaternion(upright);
}

export function cylinder(radius: number, length: number, sides = 20): BufferGeometry {
  return new CylinderGeometry(radius, radius, length, sides).applyQuaternion(upright);
}

export function roundedBox(x: number, y: number, z: number, share = 0.28): BufferGeometry {
  const radius = share * Math.min(x, y, z);
  return radius > 1e-4 ? new RoundedBoxGeometry(x, y, z, 3, radius) : new BoxGeometry(x, y, z);
}

function bare(shape: Shape): BufferGeometry {
  const [a = 0.01, b = 0.01, c = 0.01] = shape.size;
  if (shape.type === "box") return roundedBox(a, b, c);
  if (shape.type === "sphere") return new SphereGeometry(a, 20, 14);
  if (shape.type === "capsule") return capsule(a, b);
  return cylinder(a, b);
}

export function shapeGeometry(shape: Shape): BufferGeometry {
  return bare(shape).applyMatrix4(placement(shape.xyz, shape.rpy));
}

/** The smallest measure across a shape, halved. */
export function slimness(shape: Shape): number {
  return shape.type === "box" ? Math.min(...shape.size) / 2 : (shape.size[0] ?? 0);
}

function points(geometry: BufferGeometry): Vector3[] {
  const position = geometry.getAttribute("position");
  return Array.from({ length: position.count }, (_, n) =>
    new Vector3().fromBufferAttribute(position, n),
  );
}

function isAlike(a: Shape, b: Shape): boolean {
  const numbers = (shape: Shape) => [...shape.size, ...shape.rpy];
  return (
    a.type === b.type &&
    numbers(a).every((value, place) => Math.abs(value - (numbers(b)[place] ?? 0)) < 1e-6)
  );
}

/** One skin around shapes of the same kind that touch: a chest is no bundle of tubes. */
export function shells(shapes: readonly Shape[]): BufferGeometry[] {
  const groups: Shape[][] = [];
  for (const shape of shapes) {
    const near = (other: Shape) =>
      new Vector3(...shape.xyz).distanceTo(new Vector3(...other.xyz)) < 3 * slimness(shape);
    const home = groups.find((group) =>
      group.every((other) => isAlike(other, shape) && near(other)),
    );
    if (home) home.push(shape);
    else groups.push([shape]);
  }
  return groups.map((group) => {
    const parts = group.map(shapeGeometry);
    if (parts.length === 1) return parts[0] as BufferGeometry;
    const hull = new ConvexGeometry(parts.flatMap(points));
    hull.deleteAttribute("normal");
    const smooth = mergeVertices(hull, 1e-4);
    smooth.computeVertexNormals();
    return smooth;
  });
}

/** Ready to be merged with others: positions, normals and one colour. */
export function painted(geometry: BufferGeometry, colour: Color): BufferGeometry {
  const plain = geometry.index ? geometry.toNonIndexed() : geometry;
  const found = new BufferGeometry();
  found.setAttribute("position", plain.getAttribute("position"));
  found.setAttribute("normal", plain.getAttribute("normal"));
  const count = plain.getAttribute("position").count;
  const colours = new Float32Array(count * 3);
  for (let n = 0; n < count; n += 1) colour.toArray(colours, n * 3);
  found.setAttribute("color", new BufferAttribute(colours, 3));
  return found;
}
