// @vitest-environment happy-dom
import "../../testing/dom";
import { fireEvent, render, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { sampleBench } from "../../testing/samples";
import { Outcome } from "./outcome";

test("an outcome is one edit, and pressed again it is taken back", () => {
  const edit = vi.fn();
  const { rerender } = render(<Outcome bench={sampleBench({}, { do: edit })} />);
  expect(screen.queryByRole("group", { name: "failure mode" })).toBeNull();
  fireEvent.click(screen.getByRole("button", { name: "failure" }));
  expect(edit.mock.lastCall).toEqual(["outcome", [{ set: { outcome: "failure" } }]]);
  rerender(<Outcome bench={sampleBench({ outcome: "failure" }, { do: edit })} />);
  fireEvent.click(screen.getByRole("button", { name: "failure" }));
  const none = { outcome: null, failure_mode: null };
  expect(edit.mock.lastCall).toEqual(["outcome", [{ set: none }]]);
});

test("a failure asks why, and success takes the reason away", () => {
  const edit = vi.fn();
  const bench = sampleBench({ outcome: "failure", failure_mode: "robot_fell" }, { do: edit });
  render(<Outcome bench={bench} />);
  expect(screen.getByRole("button", { name: "robot fell" }).getAttribute("aria-pressed")).toBe(
    "true",
  );
  fireEvent.click(screen.getByRole("button", { name: "dropped object" }));
  expect(edit.mock.lastCall).toEqual(["outcome", [{ set: { failure_mode: "dropped_object" } }]]);
  fireEvent.click(screen.getByRole("button", { name: "success" }));
  const won = { outcome: "success", failure_mode: null };
  expect(edit.mock.lastCall).toEqual(["outcome", [{ set: won }]]);
});

test("borderline asks what was off, and keeps it when it becomes a failure", () => {
  const edit = vi.fn();
  const { rerender } = render(<Outcome bench={sampleBench({}, { do: edit })} />);
  fireEvent.click(screen.getByRole("button", { name: "borderline" }));
  expect(edit.mock.lastCall).toEqual(["outcome", [{ set: { outcome: "borderline" } }]]);
  rerender(<Outcome bench={sampleBench({ outcome: "borderline" }, { do: edit })} />);
  expect(screen.getByRole("group", { name: "failure mode" })).toBeTruthy();
  fireEvent.click(screen.getByRole("button", { name: "failure" }));
  expect(edit.mock.lastCall).toEqual(["outcome", [{ set: { outcome: "failure" } }]]);
});

test("flags are added to those that are there", () => {
  const edit = vi.fn();
  render(<Outcome bench={sampleBench({ flags: ["look_again"] }, { do: edit })} />);
  fireEvent.click(screen.getByRole("checkbox", { name: "Not usable for training" }));
  expect(edit.mock.lastCall).toEqual(["flag", [{ set: { flags: ["look_again", "not_usable"] } }]]);
  fireEvent.click(screen.getByRole("checkbox", { name: "Look at it again" }));
  expect(edit.mock.lastCall).toEqual(["flag", [{ set: { flags: [] } }]]);
});

test("whoever may only look can change nothing", () => {
  render(<Outcome bench={sampleBench({ outcome: "failure" }, { canEdit: false })} />);
  const controls = [...document.querySelectorAll<HTMLButtonElement>("button, input, select")];
  expect(controls.length).toBeGreaterThan(6);
  expect(controls.every((control) => control.disabled)).toBe(true);
});
