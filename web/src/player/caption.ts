// What stands below a picture: which one it is, and how far it is from now.
import { frameAt } from "./clock";

export interface CaptionFacts {
  /** The frame that is drawn; -1 for none. */
  shown: number;
  timeNs: number;
  rateHz: number | null;
}

const usualPeriodNs = 1e9 / 30;

export function captionOf(
  stamps: ArrayLike<number>,
  { shown, timeNs, rateHz }: CaptionFacts,
): string {
  const count = stamps.length;
  if (!count) return "no picture at all";
  const now = frameAt(stamps, timeNs);
  if (now < 0) return `not yet: first picture in ${seconds((stamps[0] as number) - timeNs)}`;
  if (shown < 0) return "loading…";
  const place = `${shown} / ${count - 1}`;
  const ageNs = timeNs - (stamps[shown] as number);
  const periodNs = rateHz ? 1e9 / rateHz : usualPeriodNs;
  if (ageNs < 0 || ageNs <= 1.5 * periodNs) return place;
  if (shown !== now) return `${place} · ${Math.round(ageNs / 1e6)} ms late`;
  return ageNs < 1e8
    ? `${place} · ${Math.round(ageNs / 1e6)} ms old`
    : `${place} · no picture for ${seconds(ageNs)}`;
}

function seconds(ns: number): string {
  return `${(ns / 1e9).toFixed(ns < 1e10 ? 1 : 0)} s`;
}
