import { describe, expect, it } from "vitest";
import { labelled, rangeOf, readingOf, shown, ticks } from "./scale";

describe("ticks", () => {
  it("are round and stay within the range", () => {
    expect(ticks(0, 1, 5)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
    expect(ticks(0.61, 1, 4)).toEqual([0.7, 0.8, 0.9, 1]);
    expect(ticks(3, 3, 4)).toEqual([3]);
  });
});

describe("values", () => {
  it("are written in a unit that can be read", () => {
    expect(shown(0.9412, readingOf("share", 1))).toBe("94.1 %");
    expect(shown(0.000199, readingOf("m", 0.0004))).toBe("0.2 mm");
    expect(shown(0.25, readingOf("hours", 0.5))).toBe("15 min");
    expect(shown(1200, readingOf("count", 1200))).toBe("1,200");
  });

  it("keep a share between nought and one", () => {
    expect(rangeOf([0.5, 1], "share")[1]).toBe(1);
    expect(rangeOf([0, 0.02], "share")[0]).toBe(0);
    expect(rangeOf([], "count")).toEqual([0, 1]);
  });
});

describe("labels", () => {
  it("are thinned out until they fit, and keep the last", () => {
    expect([...labelled(4, 400, 60)].sort()).toEqual([0, 1, 2, 3]);
    const few = labelled(60, 300, 60);
    expect(few.size).toBeLessThanOrEqual(5);
    expect(few.has(59)).toBe(true);
  });
});
