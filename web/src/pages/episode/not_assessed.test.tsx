// @vitest-environment happy-dom
import "../../testing/dom";
import { render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { sampleEpisode } from "../../testing/samples";
import { Adherence, assessedText, NotAssessed } from "./not_assessed";

const assessment = {
  number: 1,
  at: "2026-11-18T00:00:00Z",
  who: "ann",
  verdict: "accepted",
  score: 0.8,
  policy: "default@1.0.0",
  reason: null,
};

test("what could not run is counted, and never called passed", () => {
  const row = { verdict: "accepted" } as never;
  const not_assessed = [
    { check: "joints_swapped", reason: "no action stream" },
    { check: "action_late", reason: "no action stream" },
  ];
  const one = sampleEpisode({ row, not_assessed, checks: 90, assessments: [assessment] });
  expect(assessedText(one)).toBe("88 of 90 checks could run; 2 could not.");
  expect(assessedText({ ...one, not_assessed: [] })).toBe("All 90 checks could run.");
  expect(assessedText({ ...one, assessments: [] })).toContain("corporeal rejudge");
  const open = { ...one, checked: false, row: { ...one.row, number: 4 } };
  expect(assessedText(open)).toContain(
    "No check has looked at it. Have it checked: corporeal rejudge '#4'.",
  );
  render(<NotAssessed episode={one} />);
  expect(screen.getByText("no action stream")).toBeTruthy();
  expect(screen.getByText("Joints swapped, Action late")).toBeTruthy();
});

test("the rules of a protocol are told one by one", () => {
  const adherence = [
    { name: "duration", check: "duration_off_protocol", kept: true, message: "as it says" },
    { name: "speed", check: "speed_off_protocol", kept: false, message: "1.4 m/s" },
    { name: "force", check: "force_off_protocol", kept: null, message: "no force stream" },
  ];
  render(<Adherence episode={sampleEpisode({ protocol: "pick@1.0.0", adherence })} />);
  expect(screen.getByText("1 rule kept, 1 broken, 1 unchecked", { exact: false })).toBeTruthy();
  expect(screen.getByText("1.4 m/s")).toBeTruthy();
  expect(screen.getByText("no force stream")).toBeTruthy();
});
