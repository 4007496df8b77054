// Counts and times as people read them.

/** `1 episode`, `12,400 episodes`. */
export function count(number: number, noun: string): string {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/** A moment, the same on every page: 4.236 s. */
export function secondsText(timeNs: number): string {
  return `${(timeNs / 1e9).toFixed(3)} s`;
}
