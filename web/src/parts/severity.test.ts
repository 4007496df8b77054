import { expect, test } from "vitest";
import { severityRank, severityText } from "./severity";

test("the gravest comes first, and what nobody knows comes last in its own word", () => {
  const sorted = ["odd", "note", "fail", "quarantine"].sort(
    (a, b) => severityRank(a) - severityRank(b),
  );
  expect(sorted).toEqual(["fail", "quarantine", "note", "odd"]);
  expect(sorted.map(severityText)).toEqual(["failed", "needs review", "note", "odd"]);
});
