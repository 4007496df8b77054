import { expect, test } from "vitest";
import { mapTime } from "./comparison";

test("one point shifts the whole clock", () => {
  expect(mapTime([0], [500], -200)).toBe(300);
  expect(mapTime([0], [500], 900)).toBe(1400);
});

test("between two points the map is straight, outside both clocks run alike", () => {
  const a = [0, 100, 200];
  const b = [0, 300, 350];
  expect(mapTime(a, b, 50)).toBe(150);
  expect(mapTime(a, b, 100)).toBe(300);
  expect(mapTime(a, b, 150)).toBe(325);
  expect(mapTime(a, b, 260)).toBe(410);
  expect(mapTime(a, b, -10)).toBe(-10);
});
