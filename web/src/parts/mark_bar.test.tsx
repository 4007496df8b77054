// @vitest-environment happy-dom
import "../testing/dom";
import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import { expect, test } from "vitest";
import type { Session } from "../api/schema";
import { SessionContext } from "../api/session";
import { serve } from "../testing/fake_server";
import { MarkBar } from "./mark_bar";
import { UndoToast } from "./undo_toast";

const lead = { may: ["read", "annotate", "judge"], read_only: false } as unknown as Session;

function shown(session: Session, tags: string[] = []) {
  return render(
    <SessionContext value={session}>
      <MarkBar
        target={{ episodes: ["e1", "e2"] }}
        count={2}
        query="number in (1, 2)"
        tags={tags}
        section="Episodes"
      />
      <UndoToast />
    </SessionContext>,
  );
}

function made(count: number, kept: Record<string, string> = {}) {
  return { key: "k1", count, kept };
}

test("a verdict that is not good asks why, and can be taken back", async () => {
  const log = serve({
    "/marks": () => made(2, { e2: "released" }),
    "/marks/k1/undo": () => made(2),
  });
  shown(lead);
  fireEvent.keyDown(document.body, { key: "q" });
  const reason = await screen.findByLabelText("Reason");
  const send = screen
    .getAllByRole<HTMLButtonElement>("button", { name: /^Quarantine/, hidden: true })
    .at(-1) as HTMLButtonElement;
  expect(send.disabled).toBe(true);
  fireEvent.change(reason, { target: { value: "cable in view" } });
  fireEvent.click(send);
  await screen.findByText("Quarantined 2 episodes. 1 in a release keep their state.");
  expect(log[0]?.body).toEqual({
    episodes: ["e1", "e2"],
    verdict: "quarantined",
    reason: "cable in view",
  });
  fireEvent.click(screen.getByRole("button", { name: /Undo/ }));
  await screen.findByText("Taken back.");
  expect(log.map(({ path }) => path)).toEqual(["/marks", "/marks/k1/undo"]);
});

test("tags are put on and taken off together", async () => {
  const log = serve({ "/marks": () => made(2), "/tags": () => [{ tag: "slow", count: 3 }] });
  shown(lead, ["cable"]);
  fireEvent.click(screen.getByRole("button", { name: /^Tag/ }));
  fireEvent.click(await screen.findByRole("button", { name: /slow/ }));
  fireEvent.click(screen.getByRole("button", { name: /cable/ }));
  fireEvent.click(screen.getByRole("button", { name: /Save/ }));
  await waitFor(() => expect(log.some(({ path }) => path === "/marks")).toBe(true));
  expect(log.find(({ path }) => path === "/marks")?.body).toEqual({
    episodes: ["e1", "e2"],
    tags: ["slow"],
    untags: ["cable"],
  });
});

test("who may only label tags and notes; who may only look does nothing", () => {
  const { unmount } = shown({ ...lead, may: ["read", "annotate"] } as Session);
  expect(screen.getAllByRole("button").map((button) => button.textContent)).toEqual([
    "Tag t",
    "Note",
  ]);
  unmount();
  shown({ ...lead, may: ["read"] } as Session);
  expect(screen.queryByRole("group")).toBeNull();
});
