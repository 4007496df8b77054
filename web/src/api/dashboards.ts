// Charts as the server answers them.

import { getJson } from "./client";
import type { BarMarks, ChartAnswer, ChartFacts } from "./schema";

export type Payload = NonNullable<ChartAnswer["payload"]>;
export type Tone = BarMarks["bars"][number]["tone"];
export type Unit = BarMarks["unit"];

/** Which episodes the charts are about; `days` null means all times. */
export interface Scope {
  query: string;
  days: number | null;
}

export function getCharts(signal?: AbortSignal): Promise<ChartFacts[]> {
  return getJson<ChartFacts[]>("/dashboards", {}, signal);
}

export function getChart(
  id: string,
  scope: Scope,
  settings: Record<string, string>,
  signal?: AbortSignal,
): Promise<ChartAnswer> {
  const set = Object.entries(settings).map(([name, value]) => `${name}:${value}`);
  return getJson<ChartAnswer>(`/dashboards/${encodeURIComponent(id)}`, { ...scope, set }, signal);
}

/** The list of episodes that stand behind a mark. */
export function browseAddress(query: string | null): string | null {
  if (query === null) return null;
  return query ? `/episodes?query=${encodeURIComponent(query)}` : "/episodes";
}
