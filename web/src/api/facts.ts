// What is known of an episode beside its samples: scores, history, lineage, checks, other formats.

import { getJson, sendJson } from "./client";
import { below } from "./episode";
import type { CheckFacts, Conversion, EpisodeHistory, Lineage, ScoreFacts } from "./schema";

export function getScore(id: string, signal?: AbortSignal): Promise<ScoreFacts> {
  return getJson<ScoreFacts>(below(id, "score"), {}, signal);
}

export function getHistory(id: string, signal?: AbortSignal): Promise<EpisodeHistory> {
  return getJson<EpisodeHistory>(below(id, "history"), {}, signal);
}

export function getLineage(id: string, signal?: AbortSignal): Promise<Lineage> {
  return getJson<Lineage>(below(id, "lineage"), {}, signal);
}

export function getCheck(name: string, signal?: AbortSignal): Promise<CheckFacts> {
  return getJson<CheckFacts>(`/checks/${encodeURIComponent(name)}`, {}, signal);
}

export type OtherFormat = Conversion["format"];

export function startConversion(id: string, format: OtherFormat): Promise<Conversion> {
  return sendJson<Conversion>("POST", `${below(id, "conversion")}?to=${format}`);
}

export function getConversion(
  id: string,
  format: OtherFormat,
  signal?: AbortSignal,
): Promise<Conversion> {
  return getJson<Conversion>(below(id, "conversion"), { to: format }, signal);
}
