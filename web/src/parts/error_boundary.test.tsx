// @vitest-environment happy-dom
import "../testing/dom";
import { fireEvent, render, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { serve } from "../testing/fake_server";
import { ErrorBoundary } from "./error_boundary";
import { Notice } from "./notice";

function Broken({ message }: { message: string }): never {
  throw new Error(message);
}

function show(of: string, message: string | null) {
  return (
    <ErrorBoundary of={of}>{message ? <Broken message={message} /> : <p>well</p>}</ErrorBoundary>
  );
}

test("a part that cannot be drawn says why, and another page is another attempt", () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const { rerender } = render(show("/one", "no such colour"));
  expect(screen.getByRole("alert").textContent).toMatch(/has failed: no such colour/);
  rerender(show("/one", null));
  expect(screen.queryByText("well")).toBeNull();
  rerender(show("/two", null));
  expect(screen.getByText("well")).toBeTruthy();
});

const notFetched = "Failed to fetch dynamically imported module: scene.js";

test("a page that is older than the server asks to be loaded again", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  serve({ "/session": () => ({}) });
  render(show("/one", notFetched));
  expect((await screen.findByRole("heading")).textContent).toBe("Studio was updated");
});

test("while the server is away nothing is called updated, and the page comes with the server", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const reload = vi.spyOn(window.location, "reload").mockImplementation(() => undefined);
  serve({
    "/session": () => {
      throw new TypeError("Failed to fetch");
    },
  });
  render(show("/one", notFetched));
  expect((await screen.findByRole("alert")).textContent).toMatch(/server does not answer/);
  expect(screen.queryByText(/updated/)).toBeNull();
  window.dispatchEvent(new CustomEvent("studio:reachable", { detail: true }));
  expect(reload).toHaveBeenCalledOnce();
});

test("what went wrong is told in the server's sentence, with a way on", () => {
  const again = vi.fn();
  render(<Notice error={new Error("The file is gone.")} again={again} />);
  expect(screen.getByRole("alert").textContent).toMatch(/The file is gone\./);
  fireEvent.click(screen.getByRole("button", { name: "Try again" }));
  expect(again).toHaveBeenCalledOnce();
});
