// The list of episodes.

import { address, getJson, sendJson } from "./client";
import type {
  Completion,
  EpisodesPage,
  ListingFacets,
  NewView,
  PageKeys,
  RefinedQuery,
  RelaxedQuery,
  SavedView,
  ViewLook,
} from "./schema";

export type Layout = ViewLook["layout"];

export function getRows(
  query: string,
  order: string,
  after: string | undefined,
  limit: number,
  signal?: AbortSignal,
): Promise<EpisodesPage> {
  return getJson("/episodes", { query, order, after, limit }, signal);
}

export function getLandmarks(
  query: string,
  order: string,
  signal?: AbortSignal,
): Promise<PageKeys> {
  return getJson("/listing/landmarks", { query, order }, signal);
}

export function getFacets(query: string, signal?: AbortSignal): Promise<ListingFacets> {
  return getJson("/listing/facets", { query }, signal);
}

export function getSuggestions(
  query: string,
  cursor: number,
  signal?: AbortSignal,
): Promise<Completion> {
  return getJson("/listing/suggestions", { query, cursor }, signal);
}

/** Resolves when the query can be read; rejects with the sentence that says where it cannot. */
export function checkQuery(query: string, signal?: AbortSignal): Promise<unknown> {
  return getJson("/listing/count", { query, up_to: 1 }, signal);
}

export function getRelaxed(query: string, signal?: AbortSignal): Promise<RelaxedQuery[]> {
  return getJson("/listing/relaxed", { query }, signal);
}

/** A change of the query by a click; `value` null is "unknown". */
export interface Refinement {
  facet: string;
  value?: string | null;
  span?: string;
  clear?: boolean;
}

export async function refine(
  query: string,
  { facet, value, span, clear }: Refinement,
): Promise<string> {
  const found = await getJson<RefinedQuery>("/listing/refined", {
    query,
    facet,
    value,
    span,
    clear,
  });
  return found.query;
}

export function thumbnailAddress(id: string, width: number, at = 0.5): string {
  return address(`/episodes/${encodeURIComponent(id)}/thumbnail`, { width, at: at.toFixed(3) });
}

export function getViews(page: ViewLook["page"], signal?: AbortSignal): Promise<SavedView[]> {
  return getJson("/views", { page }, signal);
}

export function saveView(view: NewView): Promise<SavedView> {
  return sendJson("POST", "/views", view);
}

export function deleteView(number: number): Promise<void> {
  return sendJson("DELETE", `/views/${number}`);
}
