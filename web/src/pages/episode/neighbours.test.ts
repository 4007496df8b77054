import { beforeEach, expect, test, vi } from "vitest";
import { lastList, listAddress, reversed } from "./neighbours";

const kept = new Map<string, string>();
beforeEach(() => {
  kept.clear();
  vi.stubGlobal("sessionStorage", { getItem: (name: string) => kept.get(name) ?? null });
});

test("the list is the one that its page has left", () => {
  kept.set(
    "studio.list",
    JSON.stringify({ query: "task = reach", order: "-score", ids: ["a", 3, "b"] }),
  );
  expect(lastList()).toEqual({ query: "task = reach", order: "-score", ids: ["a", "b"] });
  expect(listAddress(lastList())).toBe("/episodes?query=task+%3D+reach&order=-score");
});

test("without one, or with a broken one, it is the whole list", () => {
  expect(listAddress(lastList())).toBe("/episodes");
  kept.set("studio.list", "{");
  expect(lastList()).toEqual({ query: "", order: "-recorded", ids: [] });
  kept.set("studio.list", "7");
  expect(lastList().ids).toEqual([]);
});

test("a list is walked from either end", () => {
  expect(reversed("-recorded")).toBe("recorded");
  expect(reversed(reversed("score"))).toBe("score");
});
