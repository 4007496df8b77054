// Episodes side by side: each with its letter, its clock, and how its time belongs to the first's.
import type { EpisodeDetail } from "../../api/schema";
import type { FollowingClock, Moments } from "./following_clock";

export const LETTERS = ["A", "B", "C", "D", "E", "F", "G", "H"] as const;
/** As many as there are letters and colours. */
export const MOST_SIDES = LETTERS.length;
export type Letter = (typeof LETTERS)[number];

export interface Side {
  letter: Letter;
  episode: EpisodeDetail;
  clock: FollowingClock;
  moments: Moments;
}

/** The colour of each: the first two as they were always, the others apart from them. */
export function inkOf(letter: Letter): string {
  return `var(--line-${LETTERS.indexOf(letter) + 1})`;
}

/** Where these are compared. */
export function compareAddress(ids: readonly string[]): string {
  const [a, b, ...more] = ids.map(encodeURIComponent);
  if (!a) return "/compare";
  return `/compare?a=${a}${b ? `&b=${b}` : ""}${more.length ? `&more=${more.join(",")}` : ""}`;
}
