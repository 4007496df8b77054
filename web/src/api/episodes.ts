// The list of episodes; the same names as in `corporeal.studio.routes.episodes` and `.views`.
import { address, getJson, sendJson } from "./client";

export interface TopFinding {
  check: string;
  severity: string;
  message: string;
  of: number;
}

export interface ListedEpisode {
  id: string;
  file: string;
  state: string;
  task: string | null;
  instruction: string | null;
  robot: string | null;
  operator: string | null;
  station: string | null;
  session: string | null;
  batch: string | null;
  environment: string | null;
  mode: string | null;
  recorded_ns: number | null;
  duration_s: number | null;
  success: boolean | null;
  failure: string | null;
  verdict: string | null;
  score: number | null;
  bytes: number;
  finding: TopFinding | null;
}

export interface RowsPage {
  rows: ListedEpisode[];
  after: string | null;
}

export interface Landmarks {
  total: number;
  step: number;
  /** The last id of each full page: with one as `after`, the next page begins. */
  ids: string[];
}

export interface FacetValue {
  value: string | null;
  count: number;
  chosen: boolean;
}

export interface Facet {
  name: string;
  values: FacetValue[];
  more: boolean;
}

export interface Bar {
  low: string;
  high: string;
  count: number;
}

export interface Facets {
  facets: Facet[];
  scores: Bar[];
  days: Bar[];
  total: number;
}

export interface Suggestion {
  text: string;
  kind: "field" | "sign" | "value" | "keyword";
  detail: string;
}

export interface Suggestions {
  start: number;
  end: number;
  items: Suggestion[];
}

export interface Relaxation {
  part: string;
  query: string;
  count: number;
}

export type Layout = "table" | "grid";

export interface Look {
  order: string;
  layout: Layout;
  columns: string[] | null;
}

export interface SavedView {
  number: number;
  name: string;
  owner: string;
  mine: boolean;
  shared: boolean;
  query: string;
  look: Look;
}

export function getRows(
  query: string,
  order: string,
  after: string | undefined,
  limit: number,
  signal?: AbortSignal,
): Promise<RowsPage> {
  return getJson("/episodes", { query, order, after, limit }, signal);
}

export function getLandmarks(query: string, order: string, signal?: AbortSignal): Promise<Landmarks> {
  return getJson("/listing/landmarks", { query, order }, signal);
}

export function getFacets(query: string, signal?: AbortSignal): Promise<Facets> {
  return getJson("/listing/facets", { query }, signal);
}

export function getSuggestions(query: string, cursor: number, signal?: AbortSignal): Promise<Suggestions> {
  return getJson("/listing/suggestions", { query, cursor }, signal);
}

/** Resolves when the query can be read; rejects with the sentence that says where it cannot. */
export function checkQuery(query: string, signal?: AbortSignal): Promise<unknown> {
  return getJson("/listing/count", { query, up_to: 1 }, signal);
}

export function getRelaxed(query: string, signal?: AbortSignal): Promise<Relaxation[]> {
  return getJson("/listing/relaxed", { query }, signal);
}

/** A change of the query by a click; `value` null is "unknown". */
export interface Refinement {
  facet: string;
  value?: string | null;
  span?: string;
  clear?: boolean;
}

export async function refine(query: string, { facet, value, span, clear }: Refinement): Promise<string> {
  const found = await getJson<{ query: string }>("/listing/refined", { query, facet, value, span, clear });
  return found.query;
}

export function thumbnailAddress(id: string, width: number, at = 0.5): string {
  return address(`/episodes/${encodeURIComponent(id)}/thumbnail`, { width, at: at.toFixed(3) });
}

export function getViews(signal?: AbortSignal): Promise<SavedView[]> {
  return getJson("/views", {}, signal);
}

export function saveView(view: { name: string; query: string; shared: boolean; look: Look }): Promise<SavedView> {
  return sendJson("POST", "/views", view);
}

export function deleteView(number: number): Promise<void> {
  return sendJson("DELETE", `/views/${number}`);
}
