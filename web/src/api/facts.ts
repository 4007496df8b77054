// What is known of an episode beside its samples: scores, history, lineage, checks, other formats.
import { below } from "./episode";
import { getJson, sendJson } from "./client";

export interface Distribution {
  episodes: number;
  counts: number[];
  median: number | null;
  quartiles: number[];
  percentile: number | null;
}

export interface PartScore {
  part: string;
  title: string;
  value: number | null;
  weight: number | null;
  share: number | null;
  distribution: Distribution;
}

export interface ScoreFacts {
  task: string | null;
  score: number | null;
  sampled: boolean;
  total: Distribution;
  parts: PartScore[];
}

export function getScore(id: string, signal?: AbortSignal): Promise<ScoreFacts> {
  return getJson<ScoreFacts>(below(id, "score"), {}, signal);
}

export interface History {
  documents: { kind: string; name: string; version: string; hash: string }[];
  changes: { at: string; who: string; what: string; state: string | null; why: string | null }[];
}

export function getHistory(id: string, signal?: AbortSignal): Promise<History> {
  return getJson<History>(below(id, "history"), {}, signal);
}

export interface LineageNode {
  id: string;
  kind: string;
  label: string;
  facts: Record<string, unknown>;
}

export interface LineageEdge {
  child: string;
  parent: string;
  relation: string;
}

export interface Lineage {
  subject: string;
  nodes: LineageNode[];
  edges: LineageEdge[];
}

export function getLineage(id: string, signal?: AbortSignal): Promise<Lineage> {
  return getJson<Lineage>(below(id, "lineage"), {}, signal);
}

export interface CheckFacts {
  name: string;
  title: string;
  what: string;
  why: string;
  fix: string;
  topic: string;
  severity: string;
  unit: string;
}

export function getCheck(name: string, signal?: AbortSignal): Promise<CheckFacts> {
  return getJson<CheckFacts>(`/checks/${encodeURIComponent(name)}`, {}, signal);
}

export type OtherFormat = "rrd" | "mcap";

export interface Conversion {
  format: OtherFormat;
  state: "missing" | "working" | "ready" | "failed";
  bytes: number | null;
  reason: string | null;
}

export function startConversion(id: string, format: OtherFormat): Promise<Conversion> {
  return sendJson<Conversion>("POST", `${below(id, "conversion")}?to=${format}`);
}

export function getConversion(id: string, format: OtherFormat, signal?: AbortSignal): Promise<Conversion> {
  return getJson<Conversion>(below(id, "conversion"), { to: format }, signal);
}
