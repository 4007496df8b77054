// @vitest-environment happy-dom
import "../testing/dom";
import { fireEvent, render, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { sampleEpisode, sampleFinding } from "../testing/samples";
import { TimelineDetected } from "./timeline_detected";
import { TimelineFindings, TimelineThroughout } from "./timeline_findings";
import { findingBars } from "./timeline_rows";

const twice = sampleFinding({
  spans: [
    { first: 10, stop: 11, start_ns: 1e9, end_ns: 1.2e9 },
    { first: 30, stop: 31, start_ns: 3e9, end_ns: 3.2e9 },
  ],
});

test("each moment of a finding is a mark that chooses it there; Tab stops once", () => {
  const onChoose = vi.fn();
  const { bars, rows } = findingBars(sampleEpisode({ findings: [twice] }));
  render(
    <TimelineFindings
      bars={bars}
      rows={rows}
      selected={twice.number}
      onChoose={onChoose}
      onTip={() => undefined}
    />,
  );
  const marks = screen.getAllByRole("button", { name: /fail: Robot fell/ });
  expect(marks.map((mark) => mark.tabIndex)).toEqual([0, -1]);
  expect(marks.map((mark) => mark.getAttribute("aria-current"))).toEqual(["true", "true"]);
  expect(marks.map((mark) => mark.style.left)).toEqual(["25%", "75%"]);
  fireEvent.click(marks[1] as HTMLElement);
  expect(onChoose.mock.calls).toEqual([[twice, 3e9]]);
});

test("a mark tells what it is while it has the focus", () => {
  const onTip = vi.fn();
  const { bars, rows } = findingBars(sampleEpisode({ findings: [sampleFinding()] }));
  render(
    <TimelineFindings
      bars={bars}
      rows={rows}
      selected={null}
      onChoose={() => undefined}
      onTip={onTip}
    />,
  );
  const mark = screen.getByRole("button");
  fireEvent.focus(mark);
  fireEvent.blur(mark);
  expect(onTip.mock.calls.map(([tip]) => tip?.timeNs ?? null)).toEqual([1_500_000_000, null]);
});

test("a finding without a moment is chosen without one", () => {
  const onChoose = vi.fn();
  const whole = sampleFinding({ check: "stream_missing", spans: [] });
  render(
    <TimelineThroughout
      findings={[whole]}
      selected={null}
      onChoose={onChoose}
      onTip={() => undefined}
    />,
  );
  fireEvent.click(screen.getByRole("button", { name: "Stream missing" }));
  expect(onChoose.mock.calls).toEqual([[whole, null]]);
});

test("a detected event is a mark that seeks there", () => {
  const onSeek = vi.fn();
  const event = { side: "left", stream: "left_ankle_wrench", confidence: 0.9, uncertainty_ns: 2e6 };
  render(
    <TimelineDetected
      events={[{ ...event, time_ns: 1e9, name: "foot_leaves" }]}
      startNs={0}
      endNs={4e9}
      onSeek={onSeek}
      onTip={() => undefined}
    />,
  );
  const mark = screen.getByRole("button", { name: "left foot leaves at 1.000 s" });
  expect(mark.style.left).toBe("25%");
  fireEvent.click(mark);
  expect(onSeek.mock.calls).toEqual([[1e9]]);
});
