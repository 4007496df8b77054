// Numbers along an axis: round ones, as many as there is room for.
import type { Trace } from "../api/signal";
import { frameAt } from "../player/clock";

/** Round numbers from `low` to `high`, about `count` of them. */
export function ticks(low: number, high: number, count: number): number[] {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return [];
  const rough = span / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((each) => each * power >= rough) ?? 10) * power;
  const found = [];
  for (let place = Math.ceil(low / step); place * step <= high + step * 1e-9; place += 1)
    found.push(place * step);
  return found;
}

/** A number with as many digits as tell neighbouring ticks apart. */
export function tickText(value: number, step: number): string {
  if (Math.abs(value) < step / 1e6) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-4) return value.toExponential(1).replace("e+", "e");
  return value.toFixed(Math.min(Math.max(0, -Math.floor(Math.log10(step) + 1e-9)), 8));
}

export function valueText(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size >= 1e6 || (size > 0 && size < 1e-4)) return value.toExponential(3);
  const digits = size >= 1000 ? 1 : size >= 100 ? 2 : size >= 1 ? 3 : 4;
  return value.toFixed(digits).replace("-", "−");
}

export interface Range {
  low: number;
  high: number;
}

/** The lowest and highest finite value of some columns in a span; null when there is none. */
export function rangeOf(
  trace: Trace,
  columns: number[],
  startNs: number,
  endNs: number,
): Range | null {
  const first = Math.max(frameAt(trace.time, startNs), 0);
  const stop = Math.min(frameAt(trace.time, endNs) + 2, trace.time.length);
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const column of columns) {
    const lows = trace.low.get(column);
    const highs = trace.high.get(column);
    if (!lows || !highs) continue;
    for (let place = first; place < stop; place += 1) {
      const least = lows[place] as number;
      const most = highs[place] as number;
      if (least < low && least > Number.NEGATIVE_INFINITY) low = least;
      if (most > high && most < Number.POSITIVE_INFINITY) high = most;
    }
  }
  return low <= high ? { low, high } : null;
}

/** A range with some air, never of no height. */
export function padded({ low, high }: Range): Range {
  const air = (high - low) * 0.08 || Math.max(Math.abs(high) * 0.05, 1e-3);
  return { low: low - air, high: high + air };
}
