// Notes on an episode, pinned to moments of it.
import { getJson, sendJson } from "./client";
import { below } from "./episode";
import type { EpisodeNote, LaneFacts } from "./schema";

export function getNotes(id: string, signal?: AbortSignal): Promise<EpisodeNote[]> {
  return getJson(below(id, "notes"), {}, signal);
}

export function writeNote(id: string, text: string, timeNs: number | null): Promise<EpisodeNote> {
  return sendJson("POST", below(id, "notes"), { text, time_ns: timeNs });
}

export function settleNote(id: string, number: number): Promise<EpisodeNote> {
  return sendJson("POST", below(id, `notes/${number}/resolve`));
}

/** What the lane of notes is called. */
export const noteLane = "notes";

/** Open notes of moments as a lane of the timeline; none where there are none. */
export function noteLanes(notes: EpisodeNote[]): LaneFacts[] {
  const pinned = notes.filter((note) => note.time_ns !== null && !note.resolved);
  if (!pinned.length) return [];
  const items = pinned.map((note) => ({
    label: note.text,
    detail: [note.who, note.at.slice(0, 10)].filter(Boolean).join(", "),
    start_ns: note.time_ns as number,
    end_ns: note.time_ns as number,
  }));
  return [{ name: noteLane, items: items.sort((a, b) => a.start_ns - b.start_ns) }];
}
