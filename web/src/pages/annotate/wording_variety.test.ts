import { expect, test } from "vitest";
import { varietyOf, varietySentence } from "./wording_variety";

test("the same words in the same order are as alike as can be", () => {
  expect(varietyOf(["Pick up the box.", "pick up  the BOX"]).closest?.alike).toBe(1);
  expect(varietySentence(["Pick up the box.", "pick up the box"]).isLow).toBe(true);
});

test("different wordings have variety", () => {
  const found = varietyOf(["Pick up the red box.", "Take the crate and lift it."]);
  expect(found.closest?.alike).toBeLessThan(0.3);
  expect(found.distinct).toBeGreaterThan(0.7);
  expect(varietySentence(["Pick up the red box.", "Take the crate and lift it."]).isLow).toBe(
    false,
  );
});

test("one wording has nothing to be like", () => {
  expect(varietyOf(["Pick up the box."]).closest).toBeNull();
  expect(varietyOf([])).toEqual({ distinct: 0, closest: null });
});
