// What the server says of one episode.

import { getJson } from "./client";
import { prefetched } from "./prefetch";
import type { EpisodeDetail, EpisodeStream } from "./schema";

export type Kind = EpisodeStream["kind"];

export function episodeKey(id: string): string {
  return `episode ${id}`;
}

export function fetchEpisode(id: string, signal?: AbortSignal): Promise<EpisodeDetail> {
  return getJson<EpisodeDetail>(`/episodes/${encodeURIComponent(id)}`, {}, signal);
}

export function getEpisode(id: string, signal?: AbortSignal): Promise<EpisodeDetail> {
  return prefetched(episodeKey(id), () => fetchEpisode(id, signal));
}

/** The address of something below an episode. */
export function below(id: string, rest: string): string {
  return `/episodes/${encodeURIComponent(id)}/${rest}`;
}
