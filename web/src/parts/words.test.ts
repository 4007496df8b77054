import { expect, test } from "vitest";
import { againstLimit, count, measureText } from "./words";

test("a value has its unit, short times and lengths in thousandths", () => {
  expect(measureText(0.08438, "s")).toBe("84.4 ms");
  expect(measureText(2.5, "s")).toBe("2.5 s");
  expect(measureText(0.0123, "m")).toBe("12.3 mm");
  expect(measureText(0.31, "m")).toBe("0.31 m");
  expect(measureText(12345, "samples")).toBe("12,345 samples");
  expect(measureText(0.068, "1")).toBe("0.068");
  expect(measureText(61.25, "deg")).toBe("61.3 °");
});

test("a limit is what is allowed, or what there should be at least", () => {
  expect(againstLimit(0.08438, 0.05, "s")).toBe("84.4 ms, allowed 50 ms");
  expect(againstLimit(0.31, 0.5, "m")).toBe("0.31 m, at least 0.5 m");
});

test("one is not plural", () => {
  expect([count(1, "episode"), count(1200, "episode")]).toEqual(["1 episode", "1,200 episodes"]);
});
