import { expect, test, vi } from "vitest";
import { prefetch, prefetched } from "./prefetch";

test("an answer that was asked for early is taken once", async () => {
  const ask = vi.fn(async () => "fresh");
  await prefetch("one", async () => "early");
  expect(await prefetched("one", ask)).toBe("early");
  expect(ask).not.toHaveBeenCalled();
  expect(await prefetched("one", ask)).toBe("fresh");
});

test("an early question that failed is asked again", async () => {
  const asked = prefetch("two", () => Promise.reject(new Error("log in first")));
  await expect(asked).rejects.toThrow("log in first");
  expect(await prefetched("two", async () => "fresh")).toBe("fresh");
});
