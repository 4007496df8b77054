// Axes: round ticks, and values in a unit that people can read.
import type { Unit } from "../../api/dashboards";

/** Round numbers from `low` to `high`, some `count` of them. */
export function ticks(low: number, high: number, count: number): number[] {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((each) => each * power >= rough) ?? 10) * power;
  const found: number[] = [];
  for (let place = Math.ceil(low / step - 1e-9); place * step <= high + step * 1e-9; place += 1) {
    found.push(Number((place * step).toPrecision(12)));
  }
  return found;
}

export interface Reading {
  factor: number;
  suffix: string;
}

/** How values up to `most` are written: small lengths in mm, short times in minutes. */
export function readingOf(unit: Unit, most: number): Reading {
  if (unit === "share") return { factor: 100, suffix: " %" };
  if (unit === "m")
    return most < 0.1 ? { factor: 1000, suffix: " mm" } : { factor: 1, suffix: " m" };
  if (unit === "rad")
    return most < 0.1 ? { factor: 1000, suffix: " mrad" } : { factor: 1, suffix: " rad" };
  if (unit === "hours")
    return most < 1 ? { factor: 60, suffix: " min" } : { factor: 1, suffix: " h" };
  return { factor: 1, suffix: "" };
}

export function shown(value: number, { factor, suffix }: Reading): string {
  const scaled = value * factor;
  const digits =
    Math.abs(scaled) >= 100 || Number.isInteger(scaled) ? 0 : Math.abs(scaled) >= 10 ? 1 : 2;
  const text = scaled.toLocaleString("en-GB", { maximumFractionDigits: digits });
  return text + suffix;
}

/** A range that holds all values with some air; shares stay between 0 and 1. */
export function rangeOf(values: number[], unit: Unit): [number, number] {
  const known = values.filter(Number.isFinite);
  if (known.length === 0) return [0, 1];
  let low = Math.min(...known);
  let high = Math.max(...known);
  const air = (high - low || Math.abs(high) || 1) * 0.08;
  low -= air;
  high += air;
  if (unit === "share") return [Math.max(0, low), Math.min(1, high)];
  return [Math.min(...known) >= 0 ? Math.max(0, low) : low, high];
}

/** Which of `count` labels fit side by side, each `width` wide, always with the last one. */
export function labelled(count: number, room: number, width: number): Set<number> {
  const every = Math.max(1, Math.ceil((count * width) / Math.max(1, room)));
  const found = new Set<number>();
  for (let place = count - 1; place >= 0; place -= every) found.add(place);
  return found;
}

interface Dated {
  label: string;
  at: string;
}

/** Where points lie along time, from 0 to 1; side by side where they have no time or one only. */
export function timesOf(points: readonly Dated[]): number[] {
  const times = points.map(({ at }) => Date.parse(at));
  const [first, last] = [Math.min(...times), Math.max(...times)];
  if (times.every(Number.isFinite) && last > first)
    return times.map((time) => (time - first) / (last - first));
  return points.map((_, place) => (points.length === 1 ? 0.5 : place / (points.length - 1)));
}

const dayMs = 86_400_000;

/** At most `count` days along the axis of time; the labels of points where there are no times. */
export function dateTicks(
  points: readonly Dated[],
  count: number,
): { share: number; text: string }[] {
  const times = points.map(({ at }) => Date.parse(at));
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const shares = timesOf(points);
  if (!times.every(Number.isFinite) || last === first)
    return [...labelled(points.length, count * 84, 84)]
      .sort((one, other) => one - other)
      .map((place) => ({
        share: shares[place] ?? 0,
        text: points[place]?.label.slice(0, 12) ?? "",
      }));
  const days = Math.max(1, Math.ceil((last - first) / dayMs / Math.max(1, count)));
  const step = ([1, 2, 7, 14, 28, 56, 91, 182, 365].find((each) => each >= days) ?? days) * dayMs;
  const found = [];
  for (let time = Math.ceil(first / dayMs) * dayMs; time <= last; time += step)
    found.push({
      share: (time - first) / (last - first),
      text: new Date(time).toISOString().slice(0, 10),
    });
  return found.length
    ? found
    : [{ share: 0, text: new Date(first).toISOString().slice(0, 16).replace("T", " ") }];
}
