import { describe, expect, it } from "vitest";
import type { CalibrationFacts } from "../../api/schema";
import { agoText, dueText, minuteText, stateOf } from "./calibration_words";

const now = Date.parse("2026-11-19T12:00:00Z");
const facts: CalibrationFacts = {
  name: "cell",
  reference: "cell@1.0.1",
  measured: "2026-11-18",
  state: "good",
  checked_at: "2026-11-19T11:40:00Z",
  due_at: "2026-11-19T12:25:00Z",
  every_min: 45,
  cameras: [],
  creeps: [],
  halt: null,
  halts: [],
  checks: [],
  versions: [],
};

describe("a calibration in words", () => {
  it("says how old a check is and when the next one is due", () => {
    expect(agoText("2026-11-19T11:40:00Z", now)).toBe("20 min ago");
    expect(agoText("2026-11-19T08:00:00Z", now)).toBe("4 h ago");
    expect(agoText("2026-11-15T08:00:00Z", now)).toBe("4 days ago");
    expect(dueText(facts, now)).toBe("in 25 min");
    expect(dueText({ ...facts, due_at: "2026-11-19T11:00:00Z" }, now)).toBe(
      "before the next episode",
    );
    expect(dueText({ ...facts, state: null }, now)).toBe("names no markers");
    expect(dueText({ ...facts, state: "halted" }, now)).toContain("fastened");
  });

  it("has a state that nobody takes for another", () => {
    expect(stateOf(facts).text).toBe("good");
    expect(stateOf({ ...facts, state: "halted" }).chip).toContain("fail");
    expect(stateOf({ ...facts, state: null }).text).toBe("not verified");
    expect(minuteText("2026-11-19T11:40:31+00:00")).toBe("2026-11-19 11:40");
  });
});
