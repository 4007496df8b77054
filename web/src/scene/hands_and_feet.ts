// Hands and feet of drawn robots: shoes, open hands, and fingers whose joints move.
import { type BufferGeometry, type Color, Vector3 } from "three";
import type { LinkFacts, RobotModel, Shape } from "../api/schema";
import { loft, type Ring } from "./loft";
import { capsule, painted, roundedBox } from "./shapes";

/** How long each finger is, as shares of the hand. */
const fingerShares = [0.34, 0.4, 0.38, 0.3];

/** A shoe in the place of a sole's box: round at the heel, flat at the toes. */
export function shoe(box: Shape, colour: Color): BufferGeometry {
  const [long = 0.2, wide = 0.07, high = 0.03] = box.size;
  const [x, y, z] = box.xyz;
  const at = (share: number) => x - long / 2 + share * long;
  const ring = (share: number, across: number, tall: number): Ring => ({
    at: at(share),
    // The sole stays flat: what is taller goes up.
    off: z - high / 2 + (tall * high) / 2,
    deep: (tall * high) / 2,
    wide: (across * wide) / 2,
  });
  const found = loft(
    [
      ring(0, 0.5, 1.0),
      ring(0.06, 0.82, 1.5),
      ring(0.3, 0.95, 1.9),
      ring(0.5, 1.0, 1.5),
      ring(0.8, 1.04, 0.95),
      ring(0.95, 0.85, 0.75),
      ring(1, 0.5, 0.6),
    ],
    3,
    "x",
  );
  return painted(found.translate(0, y, 0), colour);
}

/** An open hand in the place of a box: a palm, four fingers along its longest side, and a thumb. */
export function hand(box: Shape, side: 1 | -1, colour: Color): BufferGeometry[] {
  const [dx = 0.1, dy = 0.05, dz = 0.05] = box.size;
  const [x, y, z] = box.xyz;
  const isDown = dz > dx;
  const long = isDown ? dz : dx;
  const wide = isDown ? dx : dz;
  const flat = Math.min(dy, 0.035);
  // In a frame whose z goes to the finger tips, x across the palm.
  const parts = [roundedBox(0.8 * wide, flat, 0.5 * long).translate(0, 0, -0.25 * long)];
  for (let finger = 0; finger < fingerShares.length; finger += 1) {
    const length = long * (fingerShares[finger] ?? 0.34);
    const radius = 0.088 * wide;
    parts.push(
      capsule(radius, length)
        .rotateX(side * 0.16)
        .translate((finger - 1.5) * 0.2 * wide, 0, length / 2),
    );
  }
  parts.push(
    capsule(0.1 * wide, 0.3 * long)
      .rotateY(-0.75)
      .translate(-0.55 * wide, side * 0.2 * flat, -0.18 * long),
  );
  return parts.map((part) =>
    painted(
      (isDown ? part.rotateX(Math.PI) : part.rotateY(Math.PI / 2)).translate(x, y, z),
      colour,
    ),
  );
}

const fingerWords = /thumb|index|middle|ring|little|pinky|finger/;

export function isFinger(link: Pick<LinkFacts, "name">): boolean {
  return fingerWords.test(link.name);
}

/** A bone of a finger: to the next joint, or as far again as the one before it, for the last. */
export function fingerBone(link: LinkFacts, model: RobotModel, colour: Color): BufferGeometry[] {
  const own = model.joints.find((joint) => joint.child === link.name);
  const next = model.joints.filter((joint) => joint.parent === link.name);
  const ends = next.map((joint) => new Vector3(...joint.xyz));
  if (!ends.length && own) {
    const before = new Vector3(...own.xyz);
    ends.push(before.setLength(Math.min(Math.max(0.85 * before.length(), 0.018), 0.032)));
  }
  return ends
    .filter((end) => end.length() > 0.006 && end.length() < 0.14)
    .map((end) => {
      const radius = Math.min(Math.max(0.2 * end.length(), 0.006), 0.0095);
      const bone = capsule(radius, end.length());
      const middle = end.clone().multiplyScalar(0.5);
      bone.lookAt(end);
      return painted(bone.translate(middle.x, middle.y, middle.z), colour);
    });
}
