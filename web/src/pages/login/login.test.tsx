// @vitest-environment happy-dom
import "../../testing/dom";
import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { Refusal, serve } from "../../testing/fake_server";
import Login from "./login";

function enter(token: string): void {
  fireEvent.change(screen.getByLabelText("Token"), { target: { value: token } });
  fireEvent.click(screen.getByRole("button", { name: "Log in" }));
}

test("a token is sent once, without the blanks around it, and the page goes on", async () => {
  const log = serve({ "/login": () => ({}) });
  const onDone = vi.fn();
  render(<Login why={null} onDone={onDone} />);
  enter("  crp_abc ");
  await waitFor(() => expect(onDone).toHaveBeenCalledOnce());
  expect(log.map(({ method, path, body }) => [method, path, body])).toEqual([
    ["POST", "/login", { token: "crp_abc" }],
  ]);
});

test("a token that is not known is refused in the server's words, and can be mended", async () => {
  serve({ "/login": () => new Refusal(401, "This token is not known.") });
  const onDone = vi.fn();
  render(<Login why={null} onDone={onDone} />);
  enter("crp_wrong");
  expect((await screen.findByRole("alert")).textContent).toBe("This token is not known.");
  expect(screen.getByLabelText("Token").getAttribute("aria-invalid")).toBe("true");
  expect(screen.getByRole<HTMLButtonElement>("button", { name: "Log in" }).disabled).toBe(false);
  expect(onDone).not.toHaveBeenCalled();
});

test("nothing can be sent before something is written, and a dead link says so", () => {
  render(<Login why="share" onDone={() => undefined} />);
  expect(screen.getByRole<HTMLButtonElement>("button", { name: "Log in" }).disabled).toBe(true);
  expect(screen.getByRole("alert").textContent).toMatch(/This link has ended/);
});
