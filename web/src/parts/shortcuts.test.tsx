// @vitest-environment happy-dom
import "../testing/dom";
import { fireEvent, render, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { Dialog } from "./dialog";
import { useShortcuts } from "./shortcuts";

function Page({ run, isCovered }: { run: () => void; isCovered: boolean }) {
  useShortcuts("Page", [{ keys: ["v", "Escape"], does: "Something", run }]);
  return isCovered ? (
    <Dialog title="Keys" onClose={() => undefined}>
      <p>above</p>
    </Dialog>
  ) : null;
}

test("no key of the page works behind a dialog, and Escape is the dialog's", () => {
  const run = vi.fn();
  const { rerender } = render(<Page run={run} isCovered={false} />);
  fireEvent.keyDown(document.body, { key: "v" });
  expect(run).toHaveBeenCalledOnce();
  rerender(<Page run={run} isCovered />);
  const inside = screen.getByText("above");
  fireEvent.keyDown(inside, { key: "v" });
  expect(fireEvent.keyDown(inside, { key: "Escape" })).toBe(true);
  expect(run).toHaveBeenCalledOnce();
});
