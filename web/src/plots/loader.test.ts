import { expect, it } from "vitest";
import type { SignalFacts, Trace } from "../api/signal";
import { askedSpan, isFine } from "./loader";
import { readingOf } from "./painter";
import { pixelOf, type Raster, rasterLine } from "./raster";
import { padded, rangeOf, ticks, tickText, valueText } from "./scale";

function trace(part: Partial<Trace>, values: number[] = [], highs = values): Trace {
  return {
    startNs: 0,
    endNs: 100,
    isSamples: true,
    facts: {} as SignalFacts,
    time: Float64Array.from(values, (_, place) => place * 10),
    gap: new Uint8Array(values.length),
    low: new Map([[0, Float64Array.from(values)]]),
    high: new Map([[0, Float64Array.from(highs)]]),
    ...part,
  };
}

it("asks for a finer envelope only when it zooms in far enough", () => {
  const envelope = trace({ isSamples: false });
  expect(isFine(envelope, { startNs: 0, endNs: 60 })).toBe(true);
  expect(isFine(envelope, { startNs: 40, endNs: 50 })).toBe(false);
  expect(isFine(trace({}), { startNs: 40, endNs: 50 })).toBe(true);
  expect(isFine(trace({}), { startNs: 90, endNs: 110 })).toBe(false);
  expect(askedSpan({ startNs: 10, endNs: 30 }, { startNs: 5, endNs: 35 })).toEqual({
    startNs: 5,
    endNs: 35,
  });
});

it("reads the last sample not after a time", () => {
  const found = trace({}, [1, 2, 3]);
  expect(readingOf(found, 0, 19)).toEqual({ low: 2, high: 2, isExact: true });
  expect(readingOf(found, 0, -1)).toBeNull();
  expect(readingOf(trace({ isSamples: false }, [1, 2], [5, 6]), 0, 10)?.isExact).toBe(false);
});

it("scales by finite values in view", () => {
  const found = trace({}, [1, Number.NaN, 9, Number.POSITIVE_INFINITY, 4]);
  expect(rangeOf(found, [0], 0, 40)).toEqual({ low: 1, high: 9 });
  expect(rangeOf(trace({}, [Number.NaN]), [0], 0, 40)).toBeNull();
  const flat = padded({ low: 2, high: 2 });
  expect(flat.high).toBeGreaterThan(flat.low);
});

it("writes round numbers", () => {
  expect(ticks(0, 1, 4)).toEqual([0, 0.5, 1]);
  expect(ticks(1, 1, 4)).toEqual([]);
  expect(tickText(0.5, 0.5)).toBe("0.5");
  expect(valueText(null)).toBe("–");
  expect(valueText(-0.5)).toBe("−0.5000");
});

function picture(found: Trace): number[] {
  const raster: Raster = {
    pixels: new Uint32Array(50),
    width: 5,
    height: 10,
    x: (t) => t / 20,
    y: (v) => 9 - v,
    thick: 1,
  };
  rasterLine(raster, found, 0, 0, found.time.length, 1);
  return Array.from({ length: 5 }, (_, x) =>
    Array.from({ length: 10 }, (_, y) => raster.pixels[y * 5 + x] as number).reduce(
      (a, b) => a + b,
    ),
  );
}

it("shows the extremes of all samples in a column of pixels, and leaves gaps open", () => {
  expect(picture(trace({}, [0, 9, 0, 0, 0, 0, 0, 0, 0, 0]))).toEqual([10, 1, 1, 1, 1]);
  const broken = trace({}, [0, 0, 0, 0, 0, 0]);
  broken.time.set([80, 85], 4);
  expect(picture(broken)).toEqual([1, 1, 1, 1, 1]);
  broken.gap[4] = 1;
  expect(picture(broken)).toEqual([1, 1, 0, 0, 1]);
  expect(picture(trace({}, [0, 0, Number.NaN, Number.NaN, 0, 0]))).toEqual([1, 0, 1, 0, 0]);
});

it("knows the pixels of the tokens", () => {
  expect(pixelOf("#010203")).toBe(0xff030201);
  expect(pixelOf("red")).toBeNull();
});
