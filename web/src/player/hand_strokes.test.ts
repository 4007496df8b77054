import { expect, test } from "vitest";
import { HAND_JOINTS, type HandRun } from "../api/hands";
import { handsInWords, strokesOf } from "./hand_strokes";

function run(changed: Partial<HandRun> = {}): HandRun {
  const count = 2;
  const pixels = new Float32Array(count * 2 * HAND_JOINTS * 2).map((_, k) => k);
  return {
    first: 10,
    count,
    width: 640,
    height: 480,
    reason: null,
    pixels,
    state: Uint8Array.from([1, 0, 2, 1]),
    confidence: new Float32Array(count * 2 * HAND_JOINTS).fill(1),
    distanceM: new Float32Array(count * 2 * HAND_JOINTS).fill(0.5),
    trail: new Float32Array(count * 2 * 3 * 2).fill(5),
    trailPoints: 3,
    ...changed,
  };
}

test("a hand that was not seen is not drawn", () => {
  const strokes = strokesOf(run(), 10);
  expect(strokes.map(({ side }) => side)).toEqual(["left"]);
  expect(strokes[0]?.isBetween).toBe(false);
  expect(handsInWords(strokesOf(run(), 11))).toBe("left hand (between two samples), right hand");
  expect(handsInWords([])).toBe("no hand");
});

test("a picture that was not asked for has no hands", () => {
  expect(strokesOf(run(), 9)).toEqual([]);
  expect(strokesOf(run(), 12)).toEqual([]);
});

test("four bones of a thumb and five of each finger lie where the joints are", () => {
  const bones = strokesOf(run(), 10)[0]?.bones ?? [];
  expect(bones).toHaveLength(4 + 4 * 5);
  expect(bones[0]?.from).toEqual([2, 3]);
  expect(bones[0]?.to).toEqual([4, 5]);
});

test("a joint that is not known is bridged, one that is not sure is paler", () => {
  const changed = run();
  changed.pixels[2 * 3] = Number.NaN;
  changed.confidence[8] = 0.4;
  const [hand] = strokesOf(changed, 10);
  expect(hand?.bones).toHaveLength(23);
  expect(hand?.bones.filter(({ opacity }) => Math.abs(opacity - 0.4) < 1e-6)).toHaveLength(2);
});

test("a fingertip that is nearer is larger", () => {
  const near = run();
  near.distanceM[10] = 0.25;
  const sizes = strokesOf(near, 10)[0]?.dots.map(({ radius }) => radius) ?? [];
  expect(Math.max(...sizes)).toBeCloseTo(
    2 * Math.max(...(strokesOf(run(), 10)[0]?.dots ?? []).map(({ radius }) => radius)),
  );
});
