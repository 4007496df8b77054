import { expect, test } from "vitest";
import { bonesOf } from "./person_hands";

test("bones go from the wrist over the joints that are known", () => {
  const points = new Float32Array(26 * 3).map((_, k) => k);
  expect(bonesOf(points)).toHaveLength((4 + 4 * 5) * 2 * 3);
  expect(bonesOf(points).slice(0, 6)).toEqual([3, 4, 5, 6, 7, 8]);
  points.fill(Number.NaN, 3 * 6, 3 * 7);
  expect(bonesOf(points)).toHaveLength(23 * 6);
  expect(bonesOf(new Float32Array(78).fill(Number.NaN))).toEqual([]);
});
