// Verdicts, tags and notes that people put on episodes; every change can be taken back.
import { getJson, sendJson } from "./client";
import type { MadeMark, NewMark, TagCount } from "./schema";

/** Some episodes, or all that a query finds. */
export type MarkTarget = { episodes: string[] } | { query: string; expected: number };

export type Mark = Omit<Partial<NewMark>, "episodes" | "query" | "expected">;

export function putMark(target: MarkTarget, mark: Mark): Promise<MadeMark> {
  return sendJson("POST", "/marks", { ...target, ...mark });
}

export function undoMark(key: string): Promise<MadeMark> {
  return sendJson("POST", `/marks/${encodeURIComponent(key)}/undo`);
}

export function getTags(signal?: AbortSignal): Promise<TagCount[]> {
  return getJson("/tags", {}, signal);
}

export interface Marked {
  words: string;
  key: string;
}

/** Tell the page that episodes have changed; with a mark, that it can be taken back. */
export function announceMark(made: Marked | null): void {
  window.dispatchEvent(new CustomEvent("studio:marked", { detail: made }));
}

export function watchMarks(run: (made: Marked | null) => void): () => void {
  const listener = (event: Event) => run((event as CustomEvent<Marked | null>).detail);
  window.addEventListener("studio:marked", listener);
  return () => window.removeEventListener("studio:marked", listener);
}
