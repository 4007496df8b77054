// @vitest-environment happy-dom
import "../../testing/dom";
import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import { expect, test } from "vitest";
import { SessionContext } from "../../api/session";
import { Refusal, serve } from "../../testing/fake_server";
import Accounts from "./accounts";

const session = {
  workspace: "lab",
  version: "1",
  name: "ada",
  role: "admin",
  guest: false,
  read_only: false,
  may: ["read", "account"],
  accounts: true,
  sees_people: true,
  episodes: null,
};
const roles = [
  { name: "viewer", may: ["look"] },
  { name: "admin", may: ["look", "change accounts"] },
];
const bo = {
  name: "bo",
  role: "viewer",
  created_at: "2026-11-18T10:00:00Z",
  disabled: false,
  tokens: [{ label: "note book", created_at: "2026-11-18T10:00:00Z", expires_at: null }],
  sessions: [
    {
      id: "abc",
      label: "note book",
      address: "10.0.0.7",
      created_at: "2026-11-18T10:00:00Z",
      expires_at: "2026-12-02T10:00:00Z",
    },
  ],
};

function open(may = session.may): void {
  render(
    <SessionContext value={{ ...session, may }}>
      <Accounts />
    </SessionContext>,
  );
}

test("an admin disables an account, changes its role, and ends its token and session", async () => {
  const log = serve({
    "/accounts": () => ({ accounts: [bo], roles }),
    "/accounts/bo": () => bo,
    "/accounts/bo/tokens": () => null,
    "/accounts/bo/sessions": () => null,
  });
  open();
  fireEvent.click(await screen.findByRole("button", { name: "Disable bo" }));
  fireEvent.change(screen.getByLabelText("Role of bo"), { target: { value: "admin" } });
  fireEvent.click(screen.getByRole("button", { name: "Revoke: note book" }));
  fireEvent.click(screen.getByRole("button", { name: "Log out: from 10.0.0.7" }));
  await waitFor(() => expect(log.filter(({ method }) => method !== "GET")).toHaveLength(4));
  expect(log.filter(({ method }) => method === "PATCH").map(({ body }) => body)).toEqual([
    { disabled: true },
    { role: "admin" },
  ]);
});

test("the first account's token is shown before anybody has to log in with it", async () => {
  const log = serve({
    "/accounts": ({ method }: { method: string }) =>
      method === "POST" ? { account: bo, token: "crp_once" } : { accounts: [], roles },
  });
  open();
  fireEvent.change(await screen.findByLabelText("Name"), { target: { value: "ada" } });
  fireEvent.click(screen.getByRole("button", { name: "Add" }));
  expect((await screen.findByLabelText<HTMLInputElement>("The token")).value).toBe("crp_once");
  expect(log.filter(({ method }) => method === "POST").map(({ body }) => body)).toEqual([
    { name: "ada", role: "admin" },
  ]);
  expect(log.filter(({ method }) => method === "GET")).toHaveLength(1);
});

test("what the server refuses is told in its words", async () => {
  serve({
    "/accounts": () => ({ accounts: [bo], roles }),
    "/accounts/bo": () => new Refusal(422, "account 'bo' is the last admin."),
  });
  open();
  fireEvent.click(await screen.findByRole("button", { name: "Disable bo" }));
  expect((await screen.findByRole("alert")).textContent).toBe("account 'bo' is the last admin.");
});
