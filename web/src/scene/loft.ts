// Bodies of makers: skins over rings, as chests, helmets, hips and shoes are.
import { BufferAttribute, BufferGeometry, Matrix4 } from "three";

/** A ring across an axis: where, its middle beside the axis, and its half widths, m. */
export interface Ring {
  at: number;
  /** Of the middle: forward for rings along z, up for rings along x. */
  off?: number;
  deep: number;
  wide: number;
}

const around = 28;
const alongX = new Matrix4().set(0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1);

/**
 * A closed skin over rings in the order of `at`: along z (`deep` is along x), or along x (`deep` is
 * along z). `square` 2 makes ellipses, more makes them boxes with round edges.
 */
export function loft(rings: readonly Ring[], square = 2.6, axis: "x" | "z" = "z"): BufferGeometry {
  const places: number[] = [];
  for (const { at, off = 0, deep, wide } of rings) {
    for (let n = 0; n < around; n += 1) {
      const angle = (2 * Math.PI * n) / around;
      const [c, s] = [Math.cos(angle), Math.sin(angle)];
      const reach = (Math.abs(c) ** square + Math.abs(s) ** square) ** (-1 / square);
      places.push(off + deep * reach * c, wide * reach * s, at);
    }
  }
  const index: number[] = [];
  for (let ring = 0; ring + 1 < rings.length; ring += 1) {
    for (let n = 0; n < around; n += 1) {
      const [a, b] = [ring * around + n, ring * around + ((n + 1) % around)];
      index.push(a, b, a + around, b, b + around, a + around);
    }
  }
  const [first, last] = [rings[0] as Ring, rings.at(-1) as Ring];
  const base = places.length / 3;
  places.push(first.off ?? 0, 0, first.at, last.off ?? 0, 0, last.at);
  const top = (rings.length - 1) * around;
  for (let n = 0; n < around; n += 1) {
    const next = (n + 1) % around;
    index.push(base, next, n, base + 1, top + n, top + next);
  }
  const found = new BufferGeometry();
  found.setAttribute("position", new BufferAttribute(new Float32Array(places), 3));
  found.setIndex(index);
  if (axis === "x") {
    found.applyMatrix4(alongX);
    // The axes change places: what was outside would be inside.
    found.setIndex(index.map((_, n) => index[n - (n % 3) + (2 - (n % 3))] as number));
  }
  found.computeVertexNormals();
  return found;
}
