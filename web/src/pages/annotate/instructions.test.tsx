// @vitest-environment happy-dom
import "../../testing/dom";
import { fireEvent, render, screen } from "@testing-library/react";
import { beforeEach, expect, test, vi } from "vitest";
import { sampleBench } from "../../testing/samples";
import { Instructions } from "./instructions";

const instruction = { id: "a", text: "Lift the crate", language: "en", source: "person" };

function field(name: string): HTMLTextAreaElement {
  return screen.getByRole("textbox", { name });
}

function draftsAt(moment: () => void): [string, string][] {
  moment();
  return Object.keys(localStorage).map((key) => [key, localStorage.getItem(key) as string]);
}

beforeEach(() => localStorage.clear());

test("a draft that the browser brings back after it was added is not added again", () => {
  const edit = vi.fn((..._made: unknown[]) => true);
  const { unmount } = render(<Instructions bench={sampleBench({}, { do: edit })} />);
  const drafts = draftsAt(() =>
    fireEvent.change(field("New instruction"), { target: { value: "Lift it" } }),
  );
  fireEvent.keyDown(field("New instruction"), { key: "Enter" });
  const [, steps] = edit.mock.lastCall as unknown as [string, { put: typeof instruction }[]];
  const added = steps[0]?.put as typeof instruction;
  expect(added.text).toBe("Lift it");
  expect(field("New instruction").value).toBe("");
  unmount();
  // A crash: of what the browser wrote last, nothing is on the disk.
  for (const [key, value] of drafts) localStorage.setItem(key, value);
  const bench = sampleBench({ instructions: [added] } as never, { do: edit });
  render(<Instructions bench={bench} />);
  expect(field("New instruction").value).toBe("");
  fireEvent.blur(field("New instruction"));
  expect(edit).toHaveBeenCalledTimes(1);
});

test("a draft that was never added is in its field again", () => {
  const edit = vi.fn(() => true);
  const { unmount } = render(<Instructions bench={sampleBench({}, { do: edit })} />);
  fireEvent.change(field("New instruction"), { target: { value: "Half a w" } });
  unmount();
  render(<Instructions bench={sampleBench({}, { do: edit })} />);
  expect(field("New instruction").value).toBe("Half a w");
});

test("an old draft of a wording does not overwrite what was saved after it", () => {
  const edit = vi.fn(() => true);
  const bench = sampleBench({ instructions: [instruction] } as never, { do: edit });
  const { unmount } = render(<Instructions bench={bench} />);
  const drafts = draftsAt(() =>
    fireEvent.change(field("Instruction 1"), { target: { value: "Lift the bo" } }),
  );
  unmount();
  edit.mockClear();
  for (const [key, value] of drafts) localStorage.setItem(key, value);
  const later = { ...instruction, text: "Lift the box" };
  render(<Instructions bench={sampleBench({ instructions: [later] } as never, { do: edit })} />);
  expect(field("Instruction 1").value).toBe("Lift the box");
  expect(edit).not.toHaveBeenCalled();
});
