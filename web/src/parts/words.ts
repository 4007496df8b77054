// Counts as people read them.

/** `1 episode`, `12,400 episodes`. */
export function count(number: number, noun: string): string {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}
