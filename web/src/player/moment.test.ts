import { expect, it } from "vitest";
import type { EpisodeDetail } from "../api/schema";
import { captionOf } from "./caption";
import { clockText } from "./clock";
import { allPicturesFrom, frameOf, momentOf } from "./moment";

it("a time is understood as people write it", () => {
  expect(momentOf("12.345")).toBe(12_345_000_000);
  expect(momentOf(" 1:02,5 ")).toBe(62_500_000_000);
  expect(momentOf("1:00:00")).toBe(3600e9);
  expect(momentOf("-0:01.2")).toBe(-1_200_000_000);
  expect(momentOf("7 s")).toBe(7e9);
  for (const wrong of ["", "x", "1:2:3:4", "1e9", "--1"]) expect(momentOf(wrong)).toBeNull();
});

it("a time that is shown can be typed back", () => {
  for (const time of [0, 1e6, 59_999e6, 61_001e6, 3_725_250e6, -1_200e6])
    expect(momentOf(clockText(time))).toBe(time);
});

it("a frame is a whole number", () => {
  expect([frameOf("12"), frameOf("#7"), frameOf("1.5"), frameOf("-1"), frameOf("")]).toEqual([
    12,
    7,
    null,
    null,
    null,
  ]);
});

it("a caption tells the frame, and how old it is when it should have been replaced", () => {
  const stamps = [1e9, 1.033e9, 3e9];
  const of = (shown: number, timeNs: number) => captionOf(stamps, { shown, timeNs, rateHz: 30 });
  expect(of(-1, 5e8)).toBe("not yet: first picture in 0.5 s");
  expect(of(0, 1.03e9)).toBe("0 / 2");
  expect(of(1, 1.1e9)).toBe("1 / 2 · 67 ms old");
  expect(of(1, 2.033e9)).toBe("1 / 2 · no picture for 1.0 s");
  expect(of(0, 2.033e9)).toBe("0 / 2 · 1033 ms late");
  expect(captionOf([], { shown: -1, timeNs: 0, rateHz: 30 })).toBe("no picture at all");
});

it("an episode begins where every camera has a picture, but waits for none that comes late", () => {
  const streams = [
    { kind: "video", first_ns: 100 },
    { kind: "video", first_ns: 300 },
    { kind: "depth", first_ns: 5e9 },
    { kind: "vector", first_ns: 0 },
  ];
  expect(allPicturesFrom({ start_ns: -9, streams } as EpisodeDetail)).toBe(300);
  expect(allPicturesFrom({ start_ns: -9, streams: streams.slice(3) } as EpisodeDetail)).toBe(-9);
});
