// Two episodes side by side.

import { getJson } from "./client";
import { below } from "./episode";
import type { EpisodeComparison, FirstDifference, PeerEpisode } from "./schema";

export type Alignment = EpisodeComparison["align"];
export const ALIGNMENTS: readonly Alignment[] = ["time", "start", "phase", "motion"];

export function getComparison(
  a: string,
  b: string,
  align: Alignment,
  signal?: AbortSignal,
): Promise<EpisodeComparison> {
  return getJson<EpisodeComparison>("/comparison", { a, b, align }, signal);
}

export function getPeers(id: string, q: string, signal?: AbortSignal): Promise<PeerEpisode[]> {
  return getJson<PeerEpisode[]>(below(id, "peers"), { q }, signal);
}

export function getFirstDifference(
  a: string,
  b: string,
  align: Alignment,
  signal?: AbortSignal,
): Promise<FirstDifference> {
  return getJson<FirstDifference>("/comparison/first-difference", { a, b, align }, signal);
}

/** The moment of B for a moment of A: straight between the points, both clocks alike outside. */
export function mapTime(timeA: number[], timeB: number[], timeNs: number): number {
  const last = timeA.length - 1;
  if (last < 0) return timeNs;
  const first = [timeA[0] as number, timeB[0] as number] as const;
  if (timeNs <= first[0]) return first[1] + timeNs - first[0];
  const end = [timeA[last] as number, timeB[last] as number] as const;
  if (timeNs >= end[0]) return end[1] + timeNs - end[0];
  let low = 0;
  let high = last;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((timeA[middle] as number) <= timeNs) low = middle;
    else high = middle;
  }
  const [a0, a1, b0, b1] = [timeA[low], timeA[high], timeB[low], timeB[high]] as [
    number,
    number,
    number,
    number,
  ];
  return Math.round(b0 + ((timeNs - a0) / Math.max(1, a1 - a0)) * (b1 - b0));
}
