// Charts as the server answers them; the same names as in `corporeal.studio.chart`.
import { getJson } from "./client";

export type Tone = "plain" | "good" | "warn" | "bad" | "quiet";
export type Unit = "count" | "share" | "number" | "hours" | "m" | "rad";

export interface Point {
  label: string;
  at: string;
  value: number;
  size: number;
  lower: number | null;
  upper: number | null;
  state: "reference" | "within" | "out" | "unknown";
  detail: string;
  query: string;
}

export interface Line {
  kind: "line";
  unit: Unit;
  name: string;
  points: Point[];
  target: number | null;
}

export interface Bar {
  label: string;
  value: number;
  detail: string;
  tone: Tone;
  query: string | null;
}

export interface Bars {
  kind: "bars";
  unit: Unit;
  name: string;
  bars: Bar[];
  limit: number | null;
  limit_label: string;
}

export interface Segment {
  name: string;
  value: number;
  detail: string;
  tone: Tone;
  query: string | null;
}

export interface Stack {
  label: string;
  detail: string;
  segments: Segment[];
  query: string | null;
}

export interface Stacked {
  kind: "stacked";
  unit: Unit;
  name: string;
  standing: boolean;
  fill: boolean;
  legend: Record<string, Tone>;
  stacks: Stack[];
}

export interface Cell {
  value: number | null;
  text: string;
  detail: string;
  empty: boolean;
  query: string | null;
}

export interface Heat {
  kind: "heat";
  row_name: string;
  column_name: string;
  rows: string[];
  columns: string[];
  cells: Cell[][];
  most: number;
  tone: Tone;
  empty_means: string;
}

export interface Bin {
  low: number;
  high: number;
  count: number;
  detail: string;
  query: string;
}

export interface Histogram {
  kind: "histogram";
  name: string;
  bins: Bin[];
  mean: number | null;
}

export interface Table {
  kind: "table";
  columns: string[];
  rows: { cells: string[]; tone: Tone; query: string | null; address: string | null }[];
}

export interface Figures {
  kind: "figures";
  figures: { label: string; value: string; detail: string; query: string | null }[];
}

export type Payload = Line | Bars | Stacked | Heat | Histogram | Table | Figures;

export interface Choice {
  name: string;
  label: string;
  value: string;
  options: string[];
  unit: string;
}

export interface ChartFacts {
  id: string;
  title: string;
  section: string;
  wide: boolean;
}

export interface ChartAnswer {
  id: string;
  title: string;
  section: string;
  answer: string;
  payload: Payload | null;
  notes: string[];
  advice: string;
  choices: Choice[];
  query: string;
  took_ms: number;
}

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
  return query ? `/?query=${encodeURIComponent(query)}` : "/";
}
