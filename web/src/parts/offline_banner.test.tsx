// @vitest-environment happy-dom
import "../testing/dom";
import { act, render, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { getJson } from "../api/client";
import { serve } from "../testing/fake_server";
import { OfflineBanner } from "./offline_banner";

test("the banner comes with the first request that fails, asks every two seconds, and goes", async () => {
  vi.useFakeTimers();
  let isUp = false;
  const log = serve({
    "/session": () => {
      if (!isUp) throw new TypeError("Failed to fetch");
      return {};
    },
  });
  render(<OfflineBanner />);
  expect(screen.queryByRole("alert")).toBeNull();
  await act(async () => {
    await expect(getJson("/session")).rejects.toThrow("does not answer");
  });
  expect(screen.getByRole("alert").textContent).toMatch(/does not answer/);
  await act(() => vi.advanceTimersByTimeAsync(4100));
  expect(log).toHaveLength(3);
  expect(screen.getByRole("alert")).toBeTruthy();
  isUp = true;
  await act(() => vi.advanceTimersByTimeAsync(2000));
  expect(screen.queryByRole("alert")).toBeNull();
});
