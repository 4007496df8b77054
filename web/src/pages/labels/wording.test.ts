import { describe, expect, it } from "vitest";
import type { GateFacts } from "../../api/schema";
import { biasWords, lowestKappa, minutes, plural } from "./wording";

const gates: GateFacts = {
  episodes: 3,
  edit_score: 1,
  kappa: { phase: 0.9, hand: 0.7, outcome: null },
  boundaries: 12,
  mean_difference_frames: 1.2,
  bias_frames: -1.25,
  hit_rate: 0.9,
  hit_rate_bounds: [0.6, 1],
  failed: [],
};

describe("words", () => {
  it("say which way somebody leans", () => {
    expect(biasWords(gates)).toBe("1.3 frames early on average");
    expect(biasWords({ ...gates, bias_frames: 0.2 })).toBe("neither early nor late");
    expect(biasWords({ ...gates, bias_frames: null })).toBe("");
  });
  it("name the label type that is agreed on least", () => {
    expect(lowestKappa(gates)).toEqual({ name: "hand", value: 0.7 });
    expect(lowestKappa({ ...gates, kappa: {} })).toBeNull();
  });
  it("count and time", () => {
    expect(plural(1, "task")).toBe("1 task");
    expect(plural(2, "boundary", "boundaries")).toBe("2 boundaries");
    expect([minutes(40), minutes(600), minutes(7200)]).toEqual(["40 s", "10 min", "2.0 h"]);
  });
});
