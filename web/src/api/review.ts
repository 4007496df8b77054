// Reviews; the same names as in `corporeal.studio.routes.review`.
import { getJson, sendJson } from "./client";

export interface Plan {
  lot: number;
  sample: number;
  accept: number | null;
  proves: number;
  confidence: number;
  limit: number | null;
  enough: number | null;
  words: string;
}

export interface Lot {
  state: "accepted" | "not accepted" | "undecided";
  decided: number;
  rejected: number;
  share: number | null;
  most_bad: number | null;
  words: string;
}

export interface Review {
  name: string;
  condition: string;
  created_by: string;
  created_at: string;
  closed_at: string | null;
  by: string[];
  seed: number;
  items: number;
  decided: number;
  accepted: number;
  rejected: number;
  neighbours: number;
  seconds: number;
  plan: Plan;
  lot: Lot;
}

export interface ReviewItem {
  review: string;
  episode: string;
  place: number;
  stratum: string;
  because: string;
  taken_by: string | null;
  taken_at: string | null;
  decision: "accept" | "reject" | null;
  why: string | null;
  decided_by: string | null;
  decided_at: string | null;
  seconds: number | null;
  version: number;
}

export interface Turn {
  review: Review;
  item: ReviewItem | null;
  after: string | null;
  recent: ReviewItem[];
  others: number;
  reasons: string[];
}

export interface Decided {
  review: Review;
  item: ReviewItem;
  state: string;
  pulled: string[];
  releases: string[];
  note: string | null;
  again: boolean;
}

export interface Draw {
  query: string;
  share: number;
  limit: number | null;
  all_quarantined: boolean;
}

export function getReviews(signal?: AbortSignal): Promise<Review[]> {
  return getJson<Review[]>("/reviews", {}, signal);
}

export function getReview(name: string, signal?: AbortSignal): Promise<{ review: Review; items: ReviewItem[] }> {
  return getJson(`/reviews/${encodeURIComponent(name)}`, {}, signal);
}

export function getPreview(draw: Draw, signal?: AbortSignal): Promise<Plan> {
  return getJson<Plan>("/reviews/preview", { ...draw }, signal);
}

export function makeReview(name: string, draw: Draw, seed: number): Promise<Review> {
  return sendJson<Review>("POST", "/reviews", { name, seed, ...draw });
}

export function takeNext(name: string, avoid: string[]): Promise<Turn> {
  return sendJson<Turn>("POST", `/reviews/${encodeURIComponent(name)}/next`, { avoid });
}

export function skipItem(item: ReviewItem): Promise<void> {
  return sendJson<void>("POST", `${itemAddress(item.review, item.episode)}/skip`);
}

export function closeReview(name: string): Promise<Review> {
  return sendJson<Review>("POST", `/reviews/${encodeURIComponent(name)}/close`);
}

export function itemAddress(review: string, episode: string): string {
  return `/reviews/${encodeURIComponent(review)}/items/${encodeURIComponent(episode)}`;
}

/** What reviews say of an episode, the last decision first. */
export function getReviewsOf(episode: string, signal?: AbortSignal): Promise<ReviewItem[]> {
  return getJson<ReviewItem[]>(`/episodes/${encodeURIComponent(episode)}/reviews`, {}, signal);
}
