import { describe, expect, it } from "vitest";
import { dateTicks, labelled, rangeOf, readingOf, shown, ticks, timesOf } from "./scale";

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

it("points lie where their days are, and the axis names days", () => {
  const at = (day: number) => ({
    label: `b${day}`,
    at: `2026-03-${String(day).padStart(2, "0")}T00:00:00Z`,
  });
  expect(timesOf([at(1), at(2), at(5)])).toEqual([0, 0.25, 1]);
  expect(dateTicks([at(1), at(2), at(5)], 2)).toEqual([
    { share: 0, text: "2026-03-01" },
    { share: 0.5, text: "2026-03-03" },
    { share: 1, text: "2026-03-05" },
  ]);
  expect(
    timesOf([
      { label: "a", at: "" },
      { label: "b", at: "" },
    ]),
  ).toEqual([0, 1]);
  expect(
    dateTicks(
      [
        { label: "a", at: "" },
        { label: "b", at: "" },
      ],
      9,
    ).map((each) => each.text),
  ).toEqual(["a", "b"]);
});
