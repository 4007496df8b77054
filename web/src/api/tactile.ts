// The tactile maps of an episode; the same names as in `corporeal.studio.routes.tactile`.
import { getJson } from "./client";
import { below } from "./episode";

export interface TactileMap {
  stream: string;
  name: string;
  height: number;
  width: number;
  /** Numbers per taxel: 1, or 3 for a force with a direction. */
  depth: number;
  unit: string;
  rate_hz: number | null;
  samples: number;
  low: number;
  high: number;
}

export function getTactile(id: string, signal?: AbortSignal): Promise<TactileMap[]> {
  return getJson<TactileMap[]>(below(id, "tactile"), {}, signal);
}
