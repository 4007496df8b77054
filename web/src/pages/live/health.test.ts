import { describe, expect, it } from "vitest";
import {
  alarmsOf,
  bytesText,
  elapsedText,
  type Health,
  nameOf,
  type Recorder,
  type StreamHealth,
  skewText,
  stopped,
  withoutNumbers,
} from "./health";
import { grown } from "./live_feed";

const stream: StreamHealth = {
  path: "observations/head_left",
  kind: "video",
  state: "good",
  samples: 100,
  rate_hz: 30,
  nominal_hz: 30,
  age_s: 0.01,
  late: 0,
  refused: 0,
  reason: "",
  skew_ms: 0,
};

const health: Health = {
  time_ns: 0,
  state: "recording",
  episode: "reach_0001",
  episodes: 0,
  elapsed_s: 10,
  streams: [stream],
  waiting_bytes: 0,
  written_bytes: 0,
  slowest_sync_s: 0,
  disk_free_bytes: 1e12,
  alarms: [],
};

const recorder: Recorder = {
  address: "127.0.0.1:8790",
  status: "connected",
  sentence: "",
  health,
  history: {},
  pictures: {},
};

function silent(age: number): Recorder {
  const dead = { ...stream, state: "silent" as const, age_s: age };
  const alarms = [
    `observations/head_left is silent for ${age.toFixed(1)} s: check its cable and power`,
  ];
  return { ...recorder, health: { ...health, streams: [dead], alarms } };
}

describe("alarms", () => {
  it("are none for a recorder in good health", () => {
    expect(alarmsOf(recorder)).toEqual([]);
  });

  it("are loud for a stream that dies, and the same alarm while it goes on", () => {
    const [first] = alarmsOf(silent(1.2));
    const [later] = alarmsOf(silent(12.5));
    expect(first?.isLoud).toBe(true);
    expect(first?.key).toBe(later?.key);
    expect(withoutNumbers(first?.sentence ?? "")).toBe(withoutNumbers(later?.sentence ?? ""));
  });

  it("are loud for a calibration that is halted, and told for one whose check is overdue", () => {
    const sentence = "cell@1.0.1 is halted: head_left was moved by 4.2 mm; no episode begins";
    const calibration = {
      reference: "cell@1.0.1",
      state: "halted" as const,
      sentence,
      checked_at: null,
      due_at: null,
      ask: "",
    };
    const halted = { ...health, alarms: [sentence], calibration };
    expect(alarmsOf({ ...recorder, health: halted })[0]?.isLoud).toBe(true);
    const overdue = { ...halted, calibration: { ...calibration, state: "overdue" as const } };
    expect(alarmsOf({ ...recorder, health: overdue })[0]?.isLoud).toBe(false);
  });

  it("are quiet for samples that were refused", () => {
    const alarms = [
      "observations/head_left: 3 samples refused, last because the encoder was behind",
    ];
    expect(alarmsOf({ ...recorder, health: { ...health, alarms } })[0]?.isLoud).toBe(false);
  });

  it("are loud for a recorder that is gone, and none for one that has ended in order", () => {
    const gone = {
      ...recorder,
      status: "gone" as const,
      sentence: "Recorder 127.0.0.1:8790 is offline: nothing answers there.",
    };
    expect(alarmsOf(gone)[0]?.isLoud).toBe(true);
    expect(alarmsOf({ ...gone, status: "ended" })).toEqual([]);
  });

  it("name the recorder as people do, and end with one full stop", () => {
    const facts = { station: "st1", operator: "anna", task: "pick_place" };
    const gone = {
      ...recorder,
      status: "gone" as const,
      health: { ...health, facts },
      sentence: "Recorder 127.0.0.1:8790 is offline: it has said nothing for 5 s.",
    };
    const said = alarmsOf(gone)[0]?.sentence ?? "";
    expect(said).toBe("Recorder st1 · anna · pick_place is offline: it has said nothing for 5 s.");
    expect(stopped(said)).toBe(said);
    expect(stopped("no power")).toBe("no power.");
    expect(nameOf(recorder)).toBe("127.0.0.1:8790");
  });

  it("keep addresses and names where they leave out numbers that change", () => {
    const said = "Recorder 127.0.0.1:8790 is offline: nothing answers there.";
    expect(withoutNumbers(said)).toBe(said);
    expect(withoutNumbers("observations/imu_2 is silent for 1.2 s: check its cable")).toBe(
      "observations/imu_2 is silent: check its cable",
    );
  });
});

describe("skew", () => {
  it("is told with its uncertainty once the clock is known", () => {
    const known = { ...stream, clock: "known" as const, skew_ms: 0.42, skew_error_ms: 0.87 };
    expect(skewText(known)).toBe("+0.4 ms ± 0.9");
    expect(skewText({ ...known, skew_ms: -1.26 })).toBe("−1.3 ms ± 0.9");
  });

  it("is never the raw offset of a clock", () => {
    const early = { ...stream, skew_ms: null, clock: "estimating" as const };
    expect(skewText(early)).toBe("estimating…");
    expect(skewText({ ...stream, skew_ms: -50_502_659 })).toBe("");
    expect(skewText({ ...early, clock: "on arrival" })).toBe("stamped on arrival");
  });
});

describe("the history of a rate", () => {
  it("falls to zero when the stream is silent, and forgets what is old", () => {
    let history: Record<string, number[]> = {};
    for (let turn = 0; turn < 200; turn += 1) history = grown(history, health);
    expect(history[stream.path]).toHaveLength(120);
    history = grown(history, silent(2).health as Health);
    expect(history[stream.path]?.at(-1)).toBe(0);
  });
});

describe("numbers as people read them", () => {
  it("have units", () => {
    expect(bytesText(999)).toBe("999 B");
    expect(bytesText(1.25e9)).toBe("1.3 GB");
    expect(elapsedText(75)).toBe("1:15");
    expect(elapsedText(3675)).toBe("1:01:15");
  });
});
