// The tactile maps of an episode.

import { getJson } from "./client";
import { below } from "./episode";
import type { TactileMap } from "./schema";

export function getTactile(id: string, signal?: AbortSignal): Promise<TactileMap[]> {
  return getJson<TactileMap[]>(below(id, "tactile"), {}, signal);
}
