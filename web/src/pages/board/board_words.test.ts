import { describe, expect, it } from "vitest";
import type { BoardFacts, BoardStationFacts, CampaignLine } from "../../api/schema";
import { noFloor } from "../floor/floor_state";
import type { Health, Recorder } from "../live/health";
import {
  breakOf,
  calibrationOf,
  doesOf,
  doneText,
  leftOf,
  linesOf,
  rateOf,
  tilesOf,
  whoOf,
} from "./board_words";

const station: BoardStationFacts = {
  name: "s2",
  robot: "g1",
  task: "pick_place",
  operator: null,
  today: 12,
  accepted: 10,
  per_hour: 11.5,
  last_at: null,
  latest: [],
  calibration: "cell@1.0.0",
  calibration_state: null,
  checked_at: "2026-11-18T08:00:00Z",
  campaign: "autumn",
  left: 40,
  next_levels: null,
  today_query: "",
};

const board = {
  now: "2026-11-18T12:00:00Z",
  people: false,
  me: null,
  stations: [station],
  alarms: [],
} as unknown as BoardFacts;

const health = {
  time_ns: 0,
  state: "idle",
  streams: [],
  alarms: [],
  facts: { station: "s10", operator: "ann", task: "reach" },
  floor: noFloor,
} as unknown as Health;

const recorder: Recorder = {
  address: "127.0.0.1:8790",
  status: "connected",
  sentence: "",
  health,
  history: {},
  pictures: {},
};

describe("tiles", () => {
  it("are every station once, by number, whether its recorder speaks or not", () => {
    const tiles = tilesOf(board, [recorder]);
    expect(tiles.map(({ name }) => name)).toEqual(["s2", "s10"]);
    expect(tiles[0]?.recorder).toBeNull();
    expect(doesOf(tiles[0] as never)).toEqual({ text: "No recorder", colour: "grey" });
    expect(doesOf(tiles[1] as never).text).toBe("Ready");
  });

  it("name people only to those who may see them", () => {
    const tile = tilesOf(board, [recorder])[1] as never;
    expect(whoOf(tile, board)).toBeNull();
    expect(whoOf(tile, { ...board, people: true })).toBe("ann");
    expect(whoOf(tile, { ...board, me: "ann" })).toBe("ann");
    expect(whoOf(tile, { ...board, me: "ben" })).toBeNull();
  });

  it("say what is due and what is left", () => {
    const [tile] = tilesOf(board, []);
    expect(calibrationOf(tile as never, board.now)).toEqual({
      words: "check 4 h ago",
      look: "plain",
    });
    expect(leftOf(tile as never)).toBe("40 left in autumn");
    const planned = { ...health, floor: { ...noFloor, plan: 50, today: 12 } };
    expect(leftOf({ name: "s1", facts: null, recorder: { ...recorder, health: planned } })).toBe(
      "38 left today",
    );
  });
});

describe("words", () => {
  it("compare a rate with its target", () => {
    expect(rateOf(12.34, null)).toEqual({ words: "12.3 an hour", look: "plain" });
    expect(rateOf(12.34, 12).look).toBe("good");
    expect(rateOf(10, 12).look).toBe("warn");
    expect(rateOf(5, 12).look).toBe("bad");
    expect(rateOf(null, 12).look).toBe("plain");
  });

  it("say when a break is due", () => {
    const work = { worked_min: 20, day_min: 60, sentence: "", until: null };
    expect(breakOf({ ...work, state: "good" }).words).toBe("20 min at work");
    const due = { ...work, state: "due" as const, sentence: "Break in 4 min: 15 minutes." };
    expect(breakOf(due)).toEqual({ words: "Break in 4 min", look: "warn" });
    const halted = { ...work, state: "halted" as const, until: "2026-11-18T12:15:00+00:00" };
    expect(breakOf(halted).words).toBe("break until 12:15");
  });

  it("say when a campaign will be done, where that can be told", () => {
    const line = { days_left: 11.6, days_low: 9, days_high: 15 } as CampaignLine;
    expect(doneText(line)).toBe("done in 12 (9 to 15) working days");
    expect(doneText({ ...line, days_high: null })).toBe("done in 12 (9 or many more) working days");
    expect(doneText({ ...line, days_left: null })).toBe("");
  });

  it("lead from each alarm to its evidence, what is loud first", () => {
    const alarms = [
      {
        kind: "figure" as const,
        station: null,
        at: null,
        sentence: "acceptance rate fell",
        link: "/dashboards",
        query: "batch = b1",
      },
      {
        kind: "halt" as const,
        station: "s2",
        at: null,
        sentence: "head_left was moved",
        link: "/calibrations",
        query: null,
      },
    ];
    const lines = linesOf({ ...board, alarms }, [{ ...recorder, status: "gone", sentence: "" }]);
    expect(lines.map(({ address }) => address)).toEqual([
      "/live",
      "/calibrations",
      "/episodes?query=batch%20%3D%20b1",
    ]);
    expect(lines[0]?.sentence).not.toContain("ann");
  });
});
