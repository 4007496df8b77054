// What the server says of one episode; the same names as in `corporeal.studio.routes.episode`.
import { getJson } from "./client";
import { early } from "./early";

export type Kind = "array" | "video" | "depth" | "points" | "text";

export interface StreamFacts {
  path: string;
  group: "observations" | "actions" | "debug";
  name: string;
  kind: Kind;
  dtype: string;
  shape: number[];
  rate_hz: number | null;
  unit: string | string[];
  frame: string | null;
  components: string[] | null;
  placement: string;
  description: string | null;
  samples: number;
  first_ns: number | null;
  last_ns: number | null;
  measured_hz: number | null;
  /** Steps of more than one and a half periods; none for a stream without a rate. */
  gaps: number | null;
  longest_gap_ns: number | null;
}

export interface Span {
  first: number;
  stop: number;
  start_ns: number;
  end_ns: number;
}

export type Severity = "fail" | "quarantine" | "note";

export interface FindingFacts {
  number: number;
  check: string;
  severity: Severity;
  stream: string | null;
  value: number | null;
  limit: number | null;
  message: string;
  spans: Span[];
  evidence: Record<string, (number | null)[]> | null;
}

export interface LaneItem {
  label: string;
  detail: string;
  start_ns: number;
  end_ns: number;
}

export interface Lane {
  name: string;
  items: LaneItem[];
}

export interface ScorePart {
  part: string;
  value: number | null;
  weight: number | null;
}

export interface EpisodeRow {
  id: string;
  file: string;
  hash: string;
  bytes: number;
  state: string;
  task: string | null;
  instruction: string | null;
  robot: string | null;
  operator: string | null;
  station: string | null;
  session: string | null;
  batch: string | null;
  recorded_ns: number | null;
  duration_s: number | null;
  success: boolean | null;
  failure: string | null;
  verdict: "accepted" | "quarantined" | "failed" | null;
  score: number | null;
  [more: string]: unknown;
}

export interface EpisodeFacts {
  id: string;
  /** Unix nanoseconds, as text: more digits than a number of the page holds. */
  epoch_ns: string;
  start_ns: number;
  end_ns: number;
  row: EpisodeRow;
  metadata: Record<string, unknown>;
  streams: StreamFacts[];
  findings: FindingFacts[];
  scores: ScorePart[];
  lanes: Lane[];
  releases: string[];
}

export function episodeKey(id: string): string {
  return `episode ${id}`;
}

export function fetchEpisode(id: string, signal?: AbortSignal): Promise<EpisodeFacts> {
  return getJson<EpisodeFacts>(`/episodes/${encodeURIComponent(id)}`, {}, signal);
}

export function getEpisode(id: string, signal?: AbortSignal): Promise<EpisodeFacts> {
  return early(episodeKey(id), () => fetchEpisode(id, signal));
}

/** The address of something below an episode. */
export function below(id: string, rest: string): string {
  return `/episodes/${encodeURIComponent(id)}/${rest}`;
}
