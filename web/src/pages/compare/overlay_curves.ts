// Signals of episodes over each other, on the time of the first.
import { mapTime } from "../../api/comparison";
import type { Trace } from "../../api/signal";
import { frameAt } from "../../player/clock";
import type { Moments } from "./following_clock";

const PLACES = 200;

/** The columns in which the others differ most from the first, the greatest difference first. */
export function mostDifferent(
  traces: readonly Trace[],
  moments: readonly Moments[],
  count: number,
): number[] {
  const [a, ...others] = traces as [Trace, ...Trace[]];
  const shared = [...a.low.keys()].filter((column) => others.every((b) => b.low.has(column)));
  const apart = (column: number) =>
    others.reduce(
      (sum, b, place) => sum + difference(a, b, moments[place + 1] as Moments, column),
      0,
    );
  const found = shared.map((column) => [column, apart(column)] as const);
  found.sort((x, y) => y[1] - x[1] || x[0] - y[0]);
  return found.slice(0, count).map(([column]) => column);
}

function difference(a: Trace, b: Trace, moments: Moments, column: number): number {
  let sum = 0;
  for (let place = 0; place < PLACES; place += 1) {
    const timeNs = a.startNs + ((a.endNs - a.startNs) * place) / (PLACES - 1);
    const [own, other] = [
      valueAt(a, column, timeNs),
      valueAt(b, column, mapTime(moments.time_a, moments.time_b, timeNs)),
    ];
    if (own !== null && other !== null) sum += (own - other) ** 2;
  }
  return sum;
}

/** The value that holds at a time: the middle of an envelope; null where there is none. */
export function valueAt(trace: Trace, column: number, timeNs: number): number | null {
  const place = frameAt(trace.time, timeNs);
  if (place < 0 || timeNs > trace.endNs) return null;
  const value =
    ((trace.low.get(column)?.[place] ?? Number.NaN) +
      (trace.high.get(column)?.[place] ?? Number.NaN)) /
    2;
  return Number.isFinite(value) ? value : null;
}

export interface Scale {
  startNs: number;
  endNs: number;
  low: number;
  high: number;
}

export function scaleOf(
  traces: Trace[],
  column: number,
  startNs: number,
  endNs: number,
): Scale | null {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const trace of traces) {
    for (const value of trace.low.get(column) ?? []) if (value < low) low = value;
    for (const value of trace.high.get(column) ?? []) if (value > high) high = value;
  }
  if (!(low <= high)) return null;
  const margin = (high - low) * 0.06 || Math.max(Math.abs(high) * 0.1, 1e-6);
  return { startNs, endNs, low: low - margin, high: high + margin };
}

/** A line as an SVG path in a box of 1000 x 100; `when` says where a time lies on the axis. */
export function pathOf(
  trace: Trace,
  column: number,
  scale: Scale,
  when: (timeNs: number) => number,
): string {
  const [low, high] = [trace.low.get(column), trace.high.get(column)];
  if (!low || !high) return "";
  const parts: string[] = [];
  let isDown = false;
  for (let place = 0; place < trace.time.length; place += 1) {
    const [from, to] = [low[place] as number, high[place] as number];
    if (!Number.isFinite(from) || !Number.isFinite(to)) {
      isDown = false;
      continue;
    }
    const x = (
      ((when(trace.time[place] as number) - scale.startNs) / (scale.endNs - scale.startNs)) *
      1000
    ).toFixed(1);
    if (trace.gap[place]) isDown = false;
    parts.push(`${isDown ? "L" : "M"}${x} ${y(scale, from)}`);
    if (to !== from) parts.push(`L${x} ${y(scale, to)}`);
    isDown = true;
  }
  return parts.join("");
}

function y({ low, high }: Scale, value: number): string {
  return (100 * (1 - (value - low) / (high - low))).toFixed(1);
}
