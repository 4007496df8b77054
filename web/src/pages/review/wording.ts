// What the review page says, in words that need no statistics.
import type { EpisodeDetail, EpisodeFinding, ReviewItem } from "../../api/schema";

const NEIGHBOUR = "neighbour of ";

export interface Because {
  title: string;
  detail: string;
  /** The rejected episode that pulled this one in. */
  episode: string | null;
}

export function becauseOf({ because, stratum }: ReviewItem): Because {
  if (because.startsWith(NEIGHBOUR)) {
    const episode = because.slice(NEIGHBOUR.length);
    return {
      title: "Neighbour of a rejected episode",
      detail: "not counted for the batch",
      episode,
    };
  }
  if (because === "quarantined")
    return { title: "Quarantined", detail: "all of them are looked at", episode: null };
  return { title: "Random sample", detail: `of ${stratum}`, episode: null };
}

export function lotChip(state: string): string {
  return { accepted: "accepted", "not accepted": "failed" }[state] ?? "";
}

/** When the first camera shows something: signals often begin a little earlier. */
export function firstPicture(episode: EpisodeDetail): number {
  const firsts = episode.streams.flatMap(({ kind, first_ns }) =>
    kind === "video" && first_ns !== null ? [first_ns] : [],
  );
  return firsts.length ? Math.min(...firsts) : episode.start_ns;
}

/** The findings that have a moment, in the order of time. */
export function marksOf(episode: EpisodeDetail): { finding: EpisodeFinding; timeNs: number }[] {
  return episode.findings
    .flatMap((finding) =>
      finding.spans.slice(0, 20).map(({ start_ns }) => ({ finding, timeNs: start_ns })),
    )
    .sort((one, other) => one.timeNs - other.timeNs);
}

/** The first mark after a time; behind the last one it begins again. */
export function nextMark<T extends { timeNs: number }>(marks: T[], timeNs: number): T | null {
  return marks.find((mark) => mark.timeNs > timeNs) ?? marks[0] ?? null;
}

export function minutes(seconds: number): string {
  return seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Words of the server as a sentence. */
export function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}
