import { expect, test } from "vitest";
import { idleMs, worked } from "./use_time_spent";

test("a second in which somebody works is a second", () => {
  expect(worked(10_000, 9_000, 9_500, false)).toBe(1);
});

test("nothing counts while the window is hidden or nobody is there", () => {
  expect(worked(10_000, 9_000, 9_500, true)).toBe(0);
  expect(worked(idleMs + 10_001, idleMs + 9_000, 10_000, false)).toBe(0);
});

test("a computer that slept has not worked", () => {
  expect(worked(50_000, 9_000, 9_500, false)).toBe(2);
});
