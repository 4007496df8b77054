// @vitest-environment happy-dom
import "../testing/dom";
import { act, fireEvent, render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { sampleEpisode } from "../testing/samples";
import { Clock } from "./clock";
import { Transport } from "./transport";

const stamps = [0, 1e9, 2e9, 3e9];

function show(): Clock {
  const clock = new Clock(0, 4e9);
  clock.setSteps(stamps, "observations/head");
  render(<Transport episode={sampleEpisode()} clock={clock} />);
  return clock;
}

function jump(label: string, text: string): HTMLInputElement {
  const field = screen.getByLabelText<HTMLInputElement>(label);
  fireEvent.focus(field);
  fireEvent.change(field, { target: { value: text } });
  fireEvent.keyDown(field, { key: "Enter" });
  return field;
}

test("one button plays and pauses, and says which", () => {
  const clock = show();
  fireEvent.click(screen.getByRole("button", { name: "Play" }));
  expect(clock.isPlaying).toBe(true);
  fireEvent.click(screen.getByRole("button", { name: "Pause" }));
  expect(clock.isPlaying).toBe(false);
});

test("steps go from frame to frame of the chosen camera", () => {
  const clock = show();
  fireEvent.click(screen.getByRole("button", { name: "Next frame" }));
  fireEvent.click(screen.getByRole("button", { name: "Next frame" }));
  expect(clock.timeNs).toBe(2e9);
  fireEvent.click(screen.getByRole("button", { name: "Previous frame" }));
  expect(clock.timeNs).toBe(1e9);
  expect(screen.getByLabelText<HTMLInputElement>("Frame of observations/head").value).toBe("1");
});

test("a time or a frame can be typed; a frame that is not there stays, marked", () => {
  const clock = show();
  jump("Time", "0:02.5");
  expect(clock.timeNs).toBe(2.5e9);
  jump("Frame of observations/head", "3");
  expect(clock.timeNs).toBe(3e9);
  const field = jump("Frame of observations/head", "4");
  expect(clock.timeNs).toBe(3e9);
  expect(field.getAttribute("aria-invalid")).toBe("true");
});

test("the speed that holds is pressed, and keys do what buttons do", () => {
  const clock = show();
  fireEvent.click(screen.getByRole("button", { name: "0.5x speed" }));
  expect(clock.rate).toBe(0.5);
  const pressed = () => screen.getByRole("button", { pressed: true }).textContent;
  expect(pressed()).toBe("0.5x");
  act(() => void fireEvent.keyDown(document.body, { key: "]" }));
  expect(pressed()).toBe("1x");
  act(() => void fireEvent.keyDown(document.body, { key: " " }));
  expect(clock.isPlaying).toBe(true);
  act(() => clock.pause());
});
