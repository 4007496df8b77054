import type { EpisodeDetail } from "../api/schema";
import { type Clock, frameAt } from "./clock";

// What people type to jump: "1:02.5", "12.5", "12.5 s".

const pattern = /^\s*(-?)\s*(?:(?:(\d{1,3}):)?(\d{1,3}):)?(\d{1,6}(?:[.,]\d{1,9})?)\s*s?\s*$/;

/** Nanoseconds; null for what is no time. */
export function momentOf(text: string): number | null {
  const found = pattern.exec(text);
  if (!found) return null;
  const [, sign, hours = "0", minutes = "0", seconds = "0"] = found;
  const [whole = "0", rest = ""] = seconds.replace(",", ".").split(".");
  // Whole numbers all the way: 12.345 s is exactly 12345000000 ns.
  const ns =
    (Number(hours) * 3600 + Number(minutes) * 60 + Number(whole)) * 1e9 +
    Number(rest.padEnd(9, "0"));
  return sign ? -ns : ns;
}

/** A frame's number, such as "120" or "#120"; null for anything else. */
export function frameOf(text: string): number | null {
  const found = /^\s*#?\s*(\d{1,9})\s*$/.exec(text);
  return found ? Number(found[1]) : null;
}

/** A moment in the other ways to say it: the frame of the chosen camera, date and time of day. */
export function momentTitle(
  { epoch_ns, row }: Pick<EpisodeDetail, "epoch_ns" | "row">,
  clock: Clock,
  timeNs: number,
): string {
  const frame = frameAt(clock.stepTimes, timeNs);
  const parts = frame < 0 ? [] : [`frame ${frame} of ${clock.stepName}`];
  // Only what was recorded has a time of day; what was imported without one does not.
  if (row.recorded_ns !== null) {
    const at = new Date(Number(BigInt(epoch_ns) / 1_000_000n) + timeNs / 1e6);
    parts.push(`${at.toISOString().replace("T", " ").replace("Z", "")} UTC`);
  }
  return parts.join(" · ");
}

const LATE_NS = 1e9;

/** From when on every camera has a picture; one that begins a second after the first is not waited for. */
export function allPicturesFrom({ streams, start_ns }: EpisodeDetail): number {
  const firsts = streams.flatMap(({ kind, first_ns }) =>
    (kind === "video" || kind === "depth") && first_ns !== null ? [first_ns] : [],
  );
  if (!firsts.length) return start_ns;
  const earliest = Math.min(...firsts);
  return Math.max(...firsts.filter((first) => first <= earliest + LATE_NS));
}
