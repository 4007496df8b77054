import { afterEach, expect, test, vi } from "vitest";
import * as api from "../api/motion";
import { MotionTrack, sampleIn, windowNs } from "./motion_track";

function piece(first: number, times: number[], nextNs: number | null = null): api.Motion {
  return {
    first,
    total: 99,
    timeNs: Float64Array.from(times),
    values: Float32Array.from(times),
    width: 1,
    nextNs,
  };
}

afterEach(() => vi.restoreAllMocks());

test("the sample of a time is the last one not after it, whatever piece it is in", () => {
  const pieces = [piece(10, [1, 2, 3]), piece(13, [4, 6])];
  expect(sampleIn(pieces, 0).frame).toBe(-1);
  expect(sampleIn(pieces, 3).frame).toBe(12);
  expect(sampleIn(pieces, 5).frame).toBe(13);
  expect(sampleIn(pieces, 99)).toMatchObject({ frame: 14, timeNs: 6 });
});

test("an empty stream has no sample", () => {
  expect(sampleIn([piece(0, [])], 5).frame).toBe(-1);
  expect(sampleIn([], 5).frame).toBe(-1);
});

test("a window is short for wide and fast streams", () => {
  expect(windowNs(100, 29)).toBe(20e9);
  expect(windowNs(1000, 29)).toBeCloseTo((120_000 / 29_000) * 1e9);
  expect(windowNs(100_000, 29)).toBe(0.5e9);
  expect(windowNs(null, 0)).toBe(20e9);
});

test("a window is asked for once, and on until nothing is left out", async () => {
  const asked: number[] = [];
  vi.spyOn(api, "getMotion").mockImplementation(async (_id, _stream, start) => {
    asked.push(start);
    return asked.length === 1 ? piece(0, [0, 1e9], 2e9) : piece(1, [1e9, 2e9]);
  });
  const arrived = vi.fn();
  const track = new MotionTrack("x", "observations/a", 100, 29, arrived, 5e9);
  expect(track.at(1e9)).toBeNull();
  expect(track.at(2e9)).toBeNull();
  await vi.waitFor(() => expect(arrived).toHaveBeenCalled());
  expect(asked).toEqual([0, 2e9]);
  expect(track.at(2.5e9)).toMatchObject({ frame: 2, timeNs: 2e9 });
  track.close();
});

test("a failed window says why, and is asked for again", async () => {
  vi.useFakeTimers();
  const ask = vi
    .spyOn(api, "getMotion")
    .mockRejectedValueOnce(new Error("away"))
    .mockResolvedValue(piece(0, [0]));
  const track = new MotionTrack("x", "s", 100, 1, () => void track.at(0), 1e9);
  track.at(0);
  await vi.advanceTimersByTimeAsync(10);
  expect(track.error?.message).toBe("away");
  await vi.advanceTimersByTimeAsync(3000);
  expect(ask).toHaveBeenCalledTimes(2);
  expect(track.error).toBeNull();
  expect(track.at(0)?.frame).toBe(0);
  vi.useRealTimers();
});
