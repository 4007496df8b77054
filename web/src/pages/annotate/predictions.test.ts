import { expect, test } from "vitest";
import { predictionsOf, readValue, valueText } from "./predictions";

test("values are read as people write them", () => {
  expect(["0.04", "0.1, -2 3", "[5]", "power", "true", " "].map(readValue)).toEqual([
    0.04,
    [0.1, -2, 3],
    [5],
    "power",
    true,
    null,
  ]);
  expect(valueText(readValue("0.1, 0.2"))).toBe("0.1, 0.2");
});

test("only whole predictions are taken from the settings", () => {
  const good = { time_ns: 5, kind: "grasp", predicted: { width: 0.1 } };
  expect(
    predictionsOf({ predictions: [good, { kind: "grasp" }, null, { ...good, kind: "other" }] }),
  ).toEqual([good]);
  expect(predictionsOf({})).toEqual([]);
});
