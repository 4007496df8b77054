// Totals and what waits for the visitor, as the start page shows them.
import { getJson } from "./client";
import { prefetched } from "./prefetch";
import type { WorkspaceOverview } from "./schema";

export const overviewKey = "overview";

export function fetchOverview(signal?: AbortSignal): Promise<WorkspaceOverview> {
  return getJson("/overview", {}, signal);
}

export function getOverview(signal?: AbortSignal): Promise<WorkspaceOverview> {
  return prefetched(overviewKey, () => fetchOverview(signal));
}
