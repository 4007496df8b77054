// The supervisor's board: a floor today, by the catalogue.
import { getJson } from "./client";
import type { BoardFacts } from "./schema";

export function getBoard(signal?: AbortSignal): Promise<BoardFacts> {
  return getJson("/board", {}, signal);
}
