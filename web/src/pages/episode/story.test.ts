import { expect, test } from "vitest";
import type { EpisodeDetail, EpisodeFinding } from "../../api/schema";
import { sampleEpisode } from "../../testing/samples";
import { byWeight, failureMoment, storyOf } from "./story";

function finding(number: number, more: Partial<EpisodeFinding>): EpisodeFinding {
  const plain = {
    number,
    check: "c",
    stream: null,
    value: null,
    limit: null,
    unit: "1",
    message: "m",
    spans: [],
    evidence: null,
  };
  return { ...plain, severity: "note", ...more };
}

function at(startNs: number): EpisodeFinding["spans"] {
  return [{ first: 0, stop: 1, start_ns: startNs, end_ns: startNs }];
}

function episode(
  row: Partial<EpisodeDetail["row"]>,
  more: Partial<EpisodeDetail> = {},
): EpisodeDetail {
  const whole = { verdict: "failed", success: null, failure: null, ...row } as EpisodeDetail["row"];
  return sampleEpisode({ row: whole, end_ns: 1e10, ...more });
}

const events = {
  name: "outcome",
  items: [
    { label: "start", detail: "", start_ns: 0, end_ns: 0 },
    { label: "contact", detail: "robot against furniture", start_ns: 3.4e9, end_ns: 3.4e9 },
    { label: "fall", detail: "", start_ns: 4.2e9, end_ns: 4.2e9 },
    { label: "end", detail: "", start_ns: 4.3e9, end_ns: 4.3e9 },
  ],
};

test("the gravest come first, then the earliest; those of no moment last", () => {
  const sorted = byWeight([
    finding(1, { severity: "note", spans: at(0) }),
    finding(2, { severity: "fail" }),
    finding(3, { severity: "fail", spans: at(5) }),
    finding(4, { severity: "quarantine" }),
  ]);
  expect(sorted.map(({ number }) => number)).toEqual([3, 2, 4, 1]);
});

test("a fall is told with its moment, and with no cause that nobody knows", () => {
  const told = storyOf(episode({ success: false, failure: "fall" }, { lanes: [events] }));
  expect(told.moment).toEqual({ timeNs: 4.2e9, name: "the fall" });
  expect(told.cause).toBe("the robot fell at 4.200 s.");
});

test("without an event, the check that saw the fall tells its moment", () => {
  const fell = finding(7, { check: "robot_fell", severity: "fail", spans: at(4.1e9) });
  const said = finding(6, { check: "task_failed", severity: "fail" });
  const one = episode({ success: false, failure: "fall" }, { findings: [said, fell] });
  expect(failureMoment(one)?.timeNs).toBe(4.1e9);
  expect(storyOf(one).finding?.number).toBe(7);
});

test("an episode against which nothing speaks says so", () => {
  const told = storyOf(episode({ verdict: "accepted", success: true }));
  expect([told.tone, told.verdict, told.moment]).toEqual(["good", "accepted", null]);
  expect(told.cause).toBe("nothing was found against it.");
});

test("an episode that half of the checks could not look at says so", () => {
  const not_assessed = [{ check: "joints_swapped", reason: "no action stream" }];
  const told = storyOf(episode({ verdict: "accepted" }, { not_assessed, checks: 90 }));
  expect(told.cause).toBe("nothing was found against it; 1 check of 90 could not run.");
});

test("one that no check has looked at is not clean, though a person accepted it", () => {
  const told = storyOf(episode({ verdict: "accepted" }, { checked: false }));
  expect([told.tone, told.cause]).toEqual([
    "note",
    "a person decided, and no check has looked at it.",
  ]);
  const waiting = storyOf(episode({ verdict: null }, { checked: false }));
  expect(waiting.cause).toBe("no check has looked at it yet.");
});
