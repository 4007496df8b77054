// @vitest-environment happy-dom
import "../testing/dom";
import { act, renderHook, waitFor } from "@testing-library/react";
import { expect, test } from "vitest";
import { useAnswer } from "./use_answer";

test("an answer that comes too late for the last question is dropped", async () => {
  const answers = new Map<string, (value: string) => void>();
  const ask = (key: string) => new Promise<string>((resolve) => answers.set(key, resolve));
  const { result, rerender } = renderHook(({ key }) => useAnswer(() => ask(key), [key]), {
    initialProps: { key: "old" },
  });
  rerender({ key: "new" });
  await act(async () => answers.get("new")?.("of the new"));
  await act(async () => answers.get("old")?.("of the old"));
  expect(result.current).toMatchObject({ value: "of the new", waiting: false, error: null });
});

test("after a failure it can be asked again, and the failure goes", async () => {
  let tries = 0;
  const ask = () => {
    tries += 1;
    return tries === 1 ? Promise.reject(new Error("gone")) : Promise.resolve("here");
  };
  const { result } = renderHook(() => useAnswer(ask, []));
  await waitFor(() => expect(result.current.error?.message).toBe("gone"));
  act(() => result.current.again());
  await waitFor(() => expect(result.current.value).toBe("here"));
  expect(result.current.error).toBeNull();
});
