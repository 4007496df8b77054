import { expect, test } from "vitest";
import { changeText, lengthText, queryLink } from "./start_words";

test("a length has the unit that people say it in", () => {
  expect(lengthText(42)).toEqual(["42", "s"]);
  expect(lengthText(816)).toEqual(["13.6", "min"]);
  expect(lengthText(36_000)).toEqual(["10.0", "h"]);
});

test("a change is a share of what was before", () => {
  expect(changeText(14, 10)).toBe("+40 %");
  expect(changeText(6, 10)).toBe("−40 %");
  expect(changeText(5, 0)).toBe("new");
  expect(changeText(0, 0)).toBe("");
});

test("a figure leads to its episodes", () => {
  expect(queryLink("")).toBe("/episodes");
  expect(queryLink("verdict = failed")).toBe("/episodes?query=verdict%20%3D%20failed");
});
