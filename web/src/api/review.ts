// Reviews.

import { getJson, sendJson } from "./client";
import type {
  NewReview,
  PlanFacts,
  ReviewFacts,
  ReviewItem,
  ReviewItems,
  ReviewTurn,
} from "./schema";

/** What a sample is drawn by. */
export type Draw = Required<Pick<NewReview, "query" | "share" | "limit" | "all_quarantined">>;

export function getReviews(signal?: AbortSignal): Promise<ReviewFacts[]> {
  return getJson<ReviewFacts[]>("/reviews", {}, signal);
}

export function getReview(name: string, signal?: AbortSignal): Promise<ReviewItems> {
  return getJson(`/reviews/${encodeURIComponent(name)}`, {}, signal);
}

export function getPreview(draw: Draw, signal?: AbortSignal): Promise<PlanFacts> {
  return getJson<PlanFacts>("/reviews/preview", { ...draw }, signal);
}

export function makeReview(name: string, draw: Draw, seed: number): Promise<ReviewFacts> {
  return sendJson<ReviewFacts>("POST", "/reviews", { name, seed, ...draw });
}

export function takeNext(name: string, avoid: string[]): Promise<ReviewTurn> {
  return sendJson<ReviewTurn>("POST", `/reviews/${encodeURIComponent(name)}/next`, { avoid });
}

export function skipItem(item: ReviewItem): Promise<void> {
  return sendJson<void>("POST", `${itemAddress(item.review, item.episode)}/skip`);
}

export function closeReview(name: string): Promise<ReviewFacts> {
  return sendJson<ReviewFacts>("POST", `/reviews/${encodeURIComponent(name)}/close`);
}

export function itemAddress(review: string, episode: string): string {
  return `/reviews/${encodeURIComponent(review)}/items/${encodeURIComponent(episode)}`;
}

/** What reviews say of an episode, the last decision first. */
export function getReviewsOf(episode: string, signal?: AbortSignal): Promise<ReviewItem[]> {
  return getJson<ReviewItem[]>(`/episodes/${encodeURIComponent(episode)}/reviews`, {}, signal);
}
