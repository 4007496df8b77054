import { expect, test, vi } from "vitest";
import { askEarly, early } from "./early";

test("an answer that was asked for early is taken once", async () => {
  const ask = vi.fn(async () => "fresh");
  await askEarly("one", async () => "early");
  expect(await early("one", ask)).toBe("early");
  expect(ask).not.toHaveBeenCalled();
  expect(await early("one", ask)).toBe("fresh");
});

test("an early question that failed is asked again", async () => {
  const asked = askEarly("two", () => Promise.reject(new Error("log in first")));
  await expect(asked).rejects.toThrow("log in first");
  expect(await early("two", async () => "fresh")).toBe("fresh");
});
