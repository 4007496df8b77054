// @vitest-environment happy-dom
import "../testing/dom";
import { fireEvent, render, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
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

test("a page that is older than the server asks to be loaded again", () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  render(show("/one", "Failed to fetch dynamically imported module: scene.js"));
  expect(screen.getByRole("heading").textContent).toBe("Studio was updated");
});

test("what went wrong is told in the server's sentence, with a way on", () => {
  const again = vi.fn();
  render(<Notice error={new Error("The file is gone.")} again={again} />);
  expect(screen.getByRole("alert").textContent).toMatch(/The file is gone\./);
  fireEvent.click(screen.getByRole("button", { name: "Try again" }));
  expect(again).toHaveBeenCalledOnce();
});
