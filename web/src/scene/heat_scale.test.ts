import { expect, test } from "vitest";
import { heatOf, heatTable, readOut, unitText } from "./heat_scale";

test("the colours rise in lightness from end to end", () => {
  const table = heatTable();
  const light = (n: number) =>
    0.2126 * (table[n * 4] ?? 0) +
    0.7152 * (table[n * 4 + 1] ?? 0) +
    0.0722 * (table[n * 4 + 2] ?? 0);
  for (let n = 8; n < 256; n += 8) expect(light(n)).toBeGreaterThan(light(n - 8));
});

test("values outside the range have the colours of its ends", () => {
  expect(heatOf(-5, 0, 10)).toBe(0);
  expect(heatOf(Number.NaN, 0, 10)).toBe(0);
  expect(heatOf(5, 0, 10)).toBe(128);
  expect(heatOf(50, 0, 10)).toBe(255);
});

test("a readout leaves out what is no number, and takes the length of vectors", () => {
  const sizes = new Float32Array(2);
  expect(readOut([3, Number.NaN], 1, sizes)).toEqual({ peak: 3, sum: 3, mean: 3 });
  expect(readOut([3, 4, 0, 0, 0, 1], 3, sizes)).toEqual({ peak: 5, sum: 6, mean: 3 });
  expect([...sizes]).toEqual([5, 1]);
});

test("values are told with few digits and the right unit", () => {
  expect(unitText(457_617, "Pa")).toBe("458 kPa");
  expect(unitText(27.5, "Pa")).toBe("27.5 Pa");
  expect(unitText(0, "N")).toBe("0 N");
  expect(unitText(Number.NaN, "N")).toBe("– N");
});
