// What is drawn of a person's hands on one picture: bones, joints and the way of the last second.
import { HAND_JOINTS, type HandRun } from "../api/hands";

export interface Bone {
  from: [number, number];
  to: [number, number];
  opacity: number;
}

export interface Dot {
  at: [number, number];
  radius: number;
  opacity: number;
}

export interface HandStrokes {
  side: "left" | "right";
  /** It was not seen in this picture, but shortly before and after it. */
  isBetween: boolean;
  bones: Bone[];
  dots: Dot[];
  /** Oldest first. */
  trail: ([number, number] | null)[];
}

const SIDES = ["left", "right"] as const;
const PALM = 0;
const WRIST = 1;
const THUMB = [2, 3, 4, 5];
const TIPS = new Set([5, 10, 15, 20, 25]);
const NOT_SEEN = 0;
const BETWEEN = 2;
const LEAST_OPACITY = 0.15;
/** A fingertip half a metre away is so large, as a share of the picture's width. */
const TIP_AT_HALF_METRE = 0.006;
const CHAINS = [THUMB, ...[6, 11, 16, 21].map((first) => [0, 1, 2, 3, 4].map((k) => first + k))];

/** The strokes of a picture; of hands that were not seen there are none. */
export function strokesOf(run: HandRun, frame: number): HandStrokes[] {
  const row = frame - run.first;
  if (row < 0 || row >= run.count) return [];
  const strokes: HandStrokes[] = [];
  SIDES.forEach((side, hand) => {
    const state = run.state[2 * row + hand];
    if (state === NOT_SEEN) return;
    const base = (2 * row + hand) * HAND_JOINTS;
    const at = (joint: number): [number, number] | null => point(run.pixels, 2 * (base + joint));
    const sure = (joint: number) =>
      Math.max(LEAST_OPACITY, Math.min(1, run.confidence[base + joint] ?? 1));
    const bones: Bone[] = [];
    for (const chain of CHAINS) {
      // A device with fewer joints has a bone from each that it has to the next.
      const known = [WRIST, ...chain].filter((joint) => at(joint));
      for (let k = 1; k < known.length; k++) {
        const [a, b] = [known[k - 1] as number, known[k] as number];
        const [from, to] = [at(a), at(b)];
        if (from && to) bones.push({ from, to, opacity: Math.min(sure(a), sure(b)) });
      }
    }
    const dots: Dot[] = [];
    for (let joint = WRIST; joint < HAND_JOINTS; joint++) {
      const place = at(joint);
      if (!place || joint === PALM) continue;
      const far = run.distanceM[base + joint] ?? 0.5;
      const size = TIPS.has(joint) ? Math.min(2, Math.max(0.4, 0.5 / far)) : 0.35;
      dots.push({ at: place, radius: size * TIP_AT_HALF_METRE * run.width, opacity: sure(joint) });
    }
    const trail = Array.from({ length: run.trailPoints }, (_, k) =>
      point(run.trail, 2 * ((2 * row + hand) * run.trailPoints + k)),
    );
    if (bones.length || dots.length)
      strokes.push({ side, isBetween: state === BETWEEN, bones, dots, trail });
  });
  return strokes;
}

/** What the strokes say in words, for those who do not see them. */
export function handsInWords(strokes: HandStrokes[]): string {
  if (!strokes.length) return "no hand";
  return strokes
    .map(({ side, isBetween }) => `${side} hand${isBetween ? " (between two samples)" : ""}`)
    .join(", ");
}

function point(values: Float32Array, place: number): [number, number] | null {
  const [x, y] = [values[place], values[place + 1]];
  return x !== undefined && y !== undefined && Number.isFinite(x) && Number.isFinite(y)
    ? [x, y]
    : null;
}
