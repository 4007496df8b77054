// Exports on the server, of a release or of episodes that somebody chose.
import { getJson, sendJson } from "./client";
import type { MarkTarget } from "./marks";
import type { ExportState, NewExport, StartedExport } from "./schema";

export type ExportFormat = NewExport["format"];

export const exportFormats: ExportFormat[] = [
  "lerobot",
  "lerobot_v21",
  "groot",
  "rlds",
  "robomimic",
  "aloha",
  "zarr",
  "mcap",
];

function ofRelease(reference: string): string {
  return `/releases/${encodeURIComponent(reference)}/exports`;
}

export function getReleaseExports(reference: string, signal?: AbortSignal): Promise<ExportState[]> {
  return getJson(ofRelease(reference), {}, signal);
}

export function exportRelease(reference: string, format: ExportFormat): Promise<ExportState[]> {
  return sendJson("POST", ofRelease(reference), { format });
}

export function exportEpisodes(target: MarkTarget, format: ExportFormat): Promise<StartedExport> {
  return sendJson("POST", "/exports", { ...target, format });
}

/** How far an export of episodes is, by the name that it was given when it was started. */
export function getEpisodeExports(name: string, signal?: AbortSignal): Promise<ExportState[]> {
  return getJson(`/exports/${encodeURIComponent(name)}`, {}, signal);
}
