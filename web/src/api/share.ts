// Links that show some episodes to others.

import { getJson, sendJson } from "./client";
import type { MadeShare, NewShare, ShareFacts } from "./schema";

export function makeShare(wish: NewShare): Promise<MadeShare> {
  return sendJson("POST", "/shares", wish);
}

export function listShares(episode: string, signal?: AbortSignal): Promise<ShareFacts[]> {
  return getJson("/shares", { episode }, signal);
}

export function endShare(id: string): Promise<void> {
  return sendJson("DELETE", `/shares/${encodeURIComponent(id)}`);
}
