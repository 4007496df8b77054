// Links that show some episodes to others; the same names as in `corporeal.studio.routes.share`.
import { getJson, sendJson } from "./client";

export interface ShareFacts {
  id: string;
  label: string;
  address: string;
  episodes: string[];
  created_by: string;
  created_at: string;
  expires_at: string | null;
}

export interface ShareWish {
  episodes: string[];
  address: string;
  label: string;
  days: number;
}

export function makeShare(wish: ShareWish): Promise<ShareFacts & { path: string }> {
  return sendJson("POST", "/shares", wish);
}

export function listShares(episode: string, signal?: AbortSignal): Promise<ShareFacts[]> {
  return getJson("/shares", { episode }, signal);
}

export function endShare(id: string): Promise<void> {
  return sendJson("DELETE", `/shares/${encodeURIComponent(id)}`);
}
