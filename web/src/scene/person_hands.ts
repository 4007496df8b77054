// Both hands of a person as they were tracked, and where their head was: bones, joints, axes.
import {
  AxesHelper,
  BufferAttribute,
  BufferGeometry,
  Color,
  Group,
  LineBasicMaterial,
  LineSegments,
  Points,
  PointsMaterial,
  type Vector3,
} from "three";
import { HAND_JOINTS } from "../api/hands";
import type { HandsInScene } from "../api/schema";
import { MotionTrack } from "./motion_track";

/** Older than this, a sample says nothing of now. */
const freshNs = 1e8;
const colours = { left: "#4cc2ff", right: "#ffb03a" };
const wrist = 1;
const chains = [2, 6, 11, 16, 21].map((first) =>
  Array.from({ length: first === 2 ? 4 : 5 }, (_, k) => first + k),
);

/** Bones between the joints that are known, from the wrist out: places one after the other. */
export function bonesOf(points: Float32Array): number[] {
  const known = (joint: number) => Number.isFinite(points[3 * joint]);
  const places: number[] = [];
  for (const chain of chains) {
    const kept = [wrist, ...chain].filter(known);
    for (let k = 1; k < kept.length; k++)
      for (const joint of [kept[k - 1] as number, kept[k] as number])
        places.push(...points.subarray(3 * joint, 3 * joint + 3));
  }
  return places;
}

interface Hand {
  track: MotionTrack;
  lines: LineSegments<BufferGeometry, LineBasicMaterial>;
  dots: Points<BufferGeometry, PointsMaterial>;
  frame: number;
}

export class PersonHands {
  readonly group = new Group();
  /** What is seen from the head is in it: cameras, and hands that were tracked from there. */
  readonly head = new Group();
  private readonly headTrack: MotionTrack | null;
  private headFrame = -2;
  private readonly hands: Hand[] = [];
  private readonly axes = new AxesHelper(0.12);

  constructor(
    id: string,
    readonly facts: HandsInScene,
    endNs: number,
    onArrival: () => void,
  ) {
    const { head } = facts;
    this.headTrack =
      head && new MotionTrack(id, head.stream, head.rate_hz, head.width, onArrival, endNs);
    this.head.add(this.axes);
    this.head.visible = false;
    this.group.add(this.head);
    for (const side of ["left", "right"] as const) {
      const stream = facts[side];
      if (!stream) continue;
      const track = new MotionTrack(
        id,
        stream.stream,
        stream.rate_hz,
        3 * HAND_JOINTS,
        onArrival,
        endNs,
      );
      const colour = new Color(colours[side]);
      const lines = new LineSegments(
        new BufferGeometry(),
        new LineBasicMaterial({ color: colour, toneMapped: false }),
      );
      const dots = new Points(
        new BufferGeometry(),
        new PointsMaterial({ color: colour, size: 3, sizeAttenuation: false, toneMapped: false }),
      );
      lines.frustumCulled = false;
      dots.frustumCulled = false;
      (facts.frame === "head" ? this.head : this.group).add(lines, dots);
      this.hands.push({ track, lines, dots, frame: -2 });
    }
  }

  /** Follow the clock; true when something changed. A hand that was lost is not shown. */
  update(timeNs: number): boolean {
    let changed = this.moveHead(timeNs);
    for (const hand of this.hands) {
      const sample = hand.track.at(timeNs);
      if (!sample) continue;
      const isFresh = sample.frame >= 0 && timeNs - sample.timeNs <= freshNs;
      changed = changed || hand.lines.visible !== isFresh || sample.frame !== hand.frame;
      hand.lines.visible = isFresh;
      hand.dots.visible = isFresh;
      if (!isFresh || sample.frame === hand.frame) continue;
      hand.frame = sample.frame;
      const bones = new Float32Array(bonesOf(sample.values));
      hand.lines.geometry.setAttribute("position", new BufferAttribute(bones, 3));
      hand.dots.geometry.setAttribute("position", new BufferAttribute(bones, 3));
    }
    return changed;
  }

  /** Where the head is now. */
  get place(): Vector3 {
    return this.head.position;
  }

  /** The sides that are shown now. */
  get sides(): number {
    return this.hands.filter(({ lines }) => lines.visible).length;
  }

  dispose(): void {
    this.headTrack?.close();
    this.axes.dispose();
    for (const { track, lines, dots } of this.hands) {
      track.close();
      for (const each of [lines, dots]) {
        each.geometry.dispose();
        each.material.dispose();
      }
    }
  }

  private moveHead(timeNs: number): boolean {
    const sample = this.headTrack?.at(timeNs);
    const { head } = this.facts;
    if (!sample || !head || sample.frame === this.headFrame) return false;
    this.headFrame = sample.frame;
    this.head.visible = sample.frame >= 0;
    if (sample.frame < 0) return true;
    const at = (place: number) => sample.values[place] as number;
    const [x, y, z] = head.position;
    const [w, i, j, k] = head.quaternion;
    this.head.position.set(at(x), at(y), at(z));
    this.head.quaternion.set(at(i), at(j), at(k), at(w));
    return true;
  }
}
