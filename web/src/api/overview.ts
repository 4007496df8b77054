// Totals and what waits for the visitor, as the start page shows them.
import { getJson } from "./client";
import type { WorkspaceOverview } from "./schema";

export function getOverview(signal?: AbortSignal): Promise<WorkspaceOverview> {
  return getJson("/overview", {}, signal);
}
