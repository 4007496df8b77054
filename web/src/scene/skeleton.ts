// A person as solids: which named points are joined, and how thick, so that a body is seen.

/** How thin a limb is at its end, as a share of its radius at the start. */
export const TAPER = 0.75;

/** A limb from one point to another, by their numbers; the radius is that at its start, m. */
export interface Bone {
  from: number;
  to: number;
  radius: number;
}

export interface Ball {
  at: number;
  radius: number;
}

export interface Body {
  bones: Bone[];
  balls: Ball[];
}

const trunk = ["pelvis", "spine", "chest", "neck"];
const headRadius = 0.105;
const sides = ["left", "right"] as const;

/** Limbs of one side: from, to, and the radius at the start. */
const limbs: [string, string, number][] = [
  ["hip", "knee", 0.075],
  ["knee", "ankle", 0.056],
  ["ankle", "heel", 0.04],
  ["ankle", "toe", 0.042],
  ["heel", "toe", 0.034],
  ["shoulder", "elbow", 0.052],
  ["elbow", "wrist", 0.042],
  ["wrist", "hand", 0.036],
];

/** Which points are seen: those with numbers, and with a confidence over zero where there is one. */
export function seenPoints(
  points: ArrayLike<number>,
  confidence: ArrayLike<number> | null,
): boolean[] {
  return Array.from({ length: Math.floor(points.length / 3) }, (_, n) => {
    const isNumber = Number.isFinite(
      (points[3 * n] as number) + (points[3 * n + 1] as number) + (points[3 * n + 2] as number),
    );
    return isNumber && (confidence === null || (confidence[n] ?? 0) > 0);
  });
}

/** The solids of the points that are seen. A limb is left out with either end; the trunk bridges what it lacks. */
export function bodyOf(names: readonly string[], seen: readonly boolean[]): Body {
  const bones: Bone[] = [];
  const find = (name: string | undefined) => {
    const place = name === undefined ? -1 : names.indexOf(name);
    return place >= 0 && seen[place] ? place : null;
  };
  const join = (a: string | undefined, b: string | undefined, radius: number) => {
    const [from, to] = [find(a), find(b)];
    if (from !== null && to !== null) bones.push({ from, to, radius });
  };
  const spine = trunk.filter((name) => find(name) !== null);
  for (const [place, name] of spine.slice(1).entries()) join(spine[place], name, 0.09);
  const waist = spine.find((name) => name === "spine") ?? spine[0];
  const top = spine.at(-1);
  join(top, "head", 0.05);
  for (const side of sides) {
    join("pelvis", `${side}_hip`, 0.09);
    join(top, `${side}_shoulder`, 0.062);
    join(waist, `${side}_shoulder`, 0.075);
    for (const [from, to, radius] of limbs) join(`${side}_${from}`, `${side}_${to}`, radius);
  }
  return { bones, balls: ballsOf(bones, seen, find("head")) };
}

/** Every end is round, as thick as the thickest limb that ends there. */
function ballsOf(bones: readonly Bone[], seen: readonly boolean[], head: number | null): Ball[] {
  const radii = new Map<number, number>();
  const grow = (at: number, radius: number) => radii.set(at, Math.max(radii.get(at) ?? 0, radius));
  for (const { from, to, radius } of bones) {
    grow(from, radius);
    grow(to, TAPER * radius);
  }
  if (head !== null) grow(head, headRadius);
  // Points of names that nobody knows make no limbs, and are still worth seeing.
  if (!bones.length) {
    for (const [at, isSeen] of seen.entries()) if (isSeen) grow(at, 0.03);
  }
  return [...radii].map(([at, radius]) => ({ at, radius }));
}
