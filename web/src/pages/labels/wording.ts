// What the label pages say, in words that need no statistics.
import type { GateFacts, ListedTask } from "../../api/schema";

export function plural(count: number, noun: string, many = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : many}`;
}

export function minutes(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

export function spoken(name: string): string {
  return name.replaceAll("_", " ");
}

/** A day, or the time of day for today. */
export function when(at: string): string {
  return at.slice(0, 10) === new Date().toISOString().slice(0, 10)
    ? `today ${at.slice(11, 16)}`
    : at.slice(0, 10);
}

/** A state as the person who works on it would say it. */
export function stateWords(task: ListedTask): string {
  const said: Record<string, string> = {
    open: "not begun",
    working: "begun",
    returned: "returned",
    submitted: "with the lead",
    done: "accepted",
  };
  return said[task.state] ?? task.state;
}

/** How far from the others somebody's boundaries lie, and which way. */
export function biasWords(gates: GateFacts): string {
  const bias = gates.bias_frames;
  if (bias === null) return "";
  if (Math.abs(bias) < 0.5) return "neither early nor late";
  const frames = `${Math.abs(bias).toFixed(1)} frames`;
  return bias < 0 ? `${frames} early on average` : `${frames} late on average`;
}

export function share(value: number | null): string {
  return value === null ? "–" : `${Math.round(value * 100)} %`;
}

export function figure(value: number | null, digits = 2): string {
  return value === null ? "–" : value.toFixed(digits);
}

/** The lowest kappa counts: one label type that nobody agrees on is not mended by the others. */
export function lowestKappa(gates: GateFacts): { name: string; value: number } | null {
  const known = Object.entries(gates.kappa).flatMap(([name, value]) =>
    value === null ? [] : [{ name, value }],
  );
  return known.length ? known.reduce((a, b) => (b.value < a.value ? b : a)) : null;
}
