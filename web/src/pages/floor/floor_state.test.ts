import { expect, test } from "vitest";
import type { Health, Recorder, StreamHealth } from "../live/health";
import {
  barOf,
  chosen,
  countText,
  lampsOf,
  noFloor,
  rulesOf,
  type Take,
  verdictOf,
} from "./floor_state";

const stream: StreamHealth = {
  path: "observations/head_left",
  kind: "video",
  state: "good",
  samples: 9,
  rate_hz: 30,
  nominal_hz: 30,
  age_s: 0.01,
  late: 0,
  refused: 0,
  reason: "",
  skew_ms: 0,
  skew_error_ms: 0.4,
  clock: "known",
};
const take: Take = {
  name: "reach_0001",
  state: "recording",
  seconds: 7.4,
  outcome: null,
  is_discarded: false,
  verdict: null,
  words: "",
};

function recorder(
  values: Partial<Health> = {},
  status: Recorder["status"] = "connected",
): Recorder {
  const health: Health = {
    time_ns: 0,
    state: "idle",
    episode: "",
    episodes: 0,
    elapsed_s: 0,
    streams: [stream],
    waiting_bytes: 0,
    written_bytes: 0,
    slowest_sync_s: 0,
    disk_free_bytes: 1e12,
    alarms: [],
    floor: { ...noFloor, starts_by: "key" },
    ...values,
  };
  return { address: "127.0.0.1:8790", status, sentence: "", health, history: {}, pictures: {} };
}

const withTake = (values: Partial<Take>) =>
  recorder({ floor: { ...noFloor, takes: [{ ...take, ...values }] } });

test("the bar says the state and the time", () => {
  expect(barOf(recorder())).toMatchObject({ colour: "grey", text: "READY" });
  expect(barOf(withTake({}))).toMatchObject({ colour: "green", text: "RECORDING 0:07" });
  expect(barOf(withTake({ state: "ending" })).text).toBe("KEEP STILL");
  expect(barOf(withTake({ state: "open" })).text).toBe("SUCCESS OR FAILED?");
  expect(barOf(withTake({ state: "open", is_discarded: true })).text).toBe("DISCARDED");
  expect(barOf(recorder({}, "gone"))).toMatchObject({ colour: "red", text: "OFFLINE" });
  expect(barOf(recorder({ state: "ended" }, "ended")).text).toBe("ENDED");
});

test("a dead camera makes it red, also while nothing is recorded", () => {
  const dead: StreamHealth = { ...stream, state: "silent" };
  const alarms = ["observations/head_left is silent for 2.0 s: check its cable and power"];
  const found = recorder({ streams: [dead], alarms });
  expect(barOf(found)).toMatchObject({ colour: "red", text: "PROBLEM" });
  expect(lampsOf(found.health as Health, true)[0]).toMatchObject({
    state: "bad",
    words: "dead: head left",
  });
});

test("lamps say nothing of a recorder that is not there", () => {
  expect(lampsOf(recorder().health as Health, false).map(({ state }) => state)).toEqual([
    "none",
    "none",
    "none",
  ]);
});

test("the count is of the plan, where there is one", () => {
  expect(countText({ ...noFloor, today: 12, plan: 50 })).toBe("12 of 50 today");
  expect(countText({ ...noFloor, today: 12 })).toBe("12 today");
});

test("a stated failure of the task is no reason to record it again", () => {
  const done = { ...take, state: "done" as const, verdict: "failed" };
  expect(verdictOf({ ...done, words: "kept as a failure: drop" }).look).toBe("warn");
  expect(verdictOf({ ...done, words: "camera frozen (head left): redo" }).look).toBe("bad");
  expect(verdictOf({ ...take, state: "checking" })).toEqual({ look: "wait", words: "checking…" });
});

test("a screen remembers its station, and shows no other in its place", () => {
  const one = recorder({ facts: { station: "s1" } });
  expect(chosen([one], "")).toBe(one);
  expect(chosen([one], "s2")).toBeNull();
  const two = { ...recorder({ facts: { station: "s2" } }), address: "127.0.0.1:8791" };
  expect(chosen([one, two], "")).toBeNull();
  expect(chosen([one, two], "s2")).toBe(two);
  const ended = { ...recorder({ facts: { station: "s1" } }, "ended"), address: "127.0.0.1:1" };
  expect(chosen([ended, one], "s1")).toBe(one);
  expect(chosen([ended, two], "")).toBe(two);
  expect(chosen([ended], "")).toBe(ended);
});

test("nobody starts a take during a break, and a take that runs goes on", () => {
  const work = {
    state: "halted" as const,
    worked_min: 46,
    day_min: 46,
    sentence: "Break: 46 minutes of work. Rest until 09:01; no take begins before.",
    until: null,
  };
  expect(barOf(recorder({ work }))).toEqual({
    colour: "red",
    text: "BREAK",
    sentence: work.sentence,
  });
  const running = { ...noFloor, takes: [take] };
  expect(barOf(recorder({ work, floor: running, state: "recording" })).text).toMatch(/^RECORDING/);
});

test("rules of the protocol are counted as far as they could be judged", () => {
  const rules = [
    { name: "force", kept: true, message: "" },
    { name: "speed", kept: false, message: "the hand was at 1.4 m/s" },
    { name: "approaches", kept: null, message: "no protocol" },
  ];
  const done: Take = { ...take, state: "done", verdict: "quarantined", rules };
  expect(rulesOf(done)?.words).toBe("1 of 2 rules kept");
  expect(rulesOf(done)?.broken.map(({ name }) => name)).toEqual(["speed"]);
  expect(rulesOf({ ...done, rules: [] })).toBeNull();
  expect(rulesOf({ ...done, state: "checking" })).toBeNull();
});
