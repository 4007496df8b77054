import { describe, expect, it } from "vitest";
import { unframed } from "../../api/framed";
import { type Progress, type Sight, share, stepsOf } from "./guide_feed";
import { levelOf } from "./guide_picture";

const sight: Sight = {
  words: "hold still",
  outline: [
    [0, 0],
    [1, 0],
    [1, 1],
    [0, 1],
  ],
  place: 0.02,
  distance: -0.12,
  angle_deg: 7.4,
  is_matched: false,
  is_good: false,
  is_still: true,
  is_sharp: false,
  is_taken: false,
};

const progress: Progress = {
  state: "guiding",
  said: "",
  camera: "head_left",
  cameras: ["head_left"],
  done: [],
  board: "charuco_a4@1.0.0",
  out: "cell.yaml",
  goal_px: 0.25,
  goal_rms_px: 0.3,
  width: 640,
  height: 480,
  views: [],
  asked: null,
  map: null,
  mean_px: null,
  rms_px: null,
  trouble: "",
};

describe("a view", () => {
  it("says what is as asked and how far the rest is off", () => {
    const steps = stepsOf(sight);
    expect(steps.map(({ isDone }) => isDone)).toEqual([true, false, true, true, false]);
    expect(steps[1]?.text).toBe("12 % too near");
    expect(steps[2]?.text).toBe("7°");
  });

  it("without a board has nothing as asked", () => {
    expect(stepsOf(null).some(({ isDone }) => isDone)).toBe(false);
    const unseen = { ...sight, outline: null, place: null, distance: null, angle_deg: null };
    expect(stepsOf(unseen).some(({ isDone }) => isDone)).toBe(false);
  });

  it("comes with its picture", () => {
    const head = new TextEncoder().encode(JSON.stringify(sight));
    const message = new Uint8Array(2 + head.length + 3);
    new DataView(message.buffer).setUint16(0, head.length, true);
    message.set(head, 2);
    message.set([1, 2, 3], 2 + head.length);
    const found = unframed<Sight>(message.buffer);
    expect(found.head).toEqual(sight);
    expect([...found.jpeg]).toEqual([1, 2, 3]);
  });
});

describe("the goal", () => {
  it("is as near as the worse of its two figures", () => {
    expect(share(progress)).toBe(0);
    expect(share({ ...progress, mean_px: 0.5, rms_px: 0.1 })).toBe(0.5);
    expect(share({ ...progress, mean_px: 0.2, rms_px: 0.6 })).toBe(0.5);
    expect(share({ ...progress, mean_px: 0.2, rms_px: 0.1 })).toBe(1);
  });

  it("colours only the parts of the picture that are not as sure", () => {
    expect(levelOf(0.2, 0.25)).toBe("guide-sure");
    expect(levelOf(0.4, 0.25)).toBe("guide-unsure");
    expect(levelOf(0.9, 0.25)).toBe("guide-bad");
    expect(levelOf(5, 0.25)).toBe("guide-unknown");
  });
});
