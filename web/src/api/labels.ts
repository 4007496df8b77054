// Queues, tasks, pairs and their disagreements.

import { getJson, sendJson } from "./client";
import type {
  AdjudicationFacts,
  AgreementFacts,
  AnnotatorFacts,
  ListedTask,
  MyWork,
  NewCardDecision,
  NewQueue,
  OpenComment,
  PairFacts,
  QueueFacts,
  QueuePreview,
  TaskPreview,
  TaxonomyFacts,
} from "./schema";

export const STAGES = ["open", "working", "returned", "submitted", "done"] as const;
export type Stage = (typeof STAGES)[number];

/** All that a queue holds is made of. */
export type QueueWish = Required<Omit<NewQueue, "name" | "needs_qualification">>;

const at = encodeURIComponent;

export const getMyWork = (signal?: AbortSignal) => getJson<MyWork>("/labels/mine", {}, signal);
export const getQueues = (signal?: AbortSignal) =>
  getJson<QueueFacts[]>("/labels/queues", {}, signal);
export const getTaxonomies = (signal?: AbortSignal) =>
  getJson<TaxonomyFacts[]>("/labels/taxonomies", {}, signal);
export const getPeople = (signal?: AbortSignal) =>
  getJson<AnnotatorFacts[]>("/labels/people", {}, signal);
export const getAgreement = (signal?: AbortSignal) =>
  getJson<AgreementFacts>("/labels/agreement", {}, signal);
export const getComments = (signal?: AbortSignal) =>
  getJson<OpenComment[]>("/labels/comments", {}, signal);
export const getPairs = (signal?: AbortSignal) => getJson<PairFacts[]>("/labels/pairs", {}, signal);

export function getQueuePreview(wish: QueueWish, signal?: AbortSignal): Promise<QueuePreview> {
  return getJson<QueuePreview>("/labels/preview", { ...wish }, signal);
}

export function makeQueue(wanted: NewQueue): Promise<QueueFacts> {
  return sendJson<QueueFacts>("POST", "/labels/queues", wanted);
}

export function takeTask(queue: string): Promise<ListedTask | null> {
  return sendJson<ListedTask | null>("POST", `/labels/queues/${at(queue)}/take`);
}

export function getTasks(
  params: { state?: string; queue?: string },
  signal?: AbortSignal,
): Promise<ListedTask[]> {
  return getJson<ListedTask[]>("/labels/tasks", params, signal);
}

export function getTaskPreview(id: string, signal?: AbortSignal): Promise<TaskPreview> {
  return getJson<TaskPreview>(`/labels/tasks/${at(id)}`, {}, signal);
}

export function acceptTask(id: string): Promise<ListedTask> {
  return sendJson<ListedTask>("POST", `/labels/tasks/${at(id)}/accept`);
}

export function returnTask(id: string, why: string): Promise<ListedTask> {
  return sendJson<ListedTask>("POST", `/labels/tasks/${at(id)}/return`, { why });
}

export function assignTask(id: string, to: string | null): Promise<ListedTask> {
  return sendJson<ListedTask>("POST", `/labels/tasks/${at(id)}/assign`, { to });
}

export function resolveComment(number: number): Promise<void> {
  return sendJson<void>("POST", `/labels/comments/${number}/resolve`);
}

export function getAdjudication(pair: string, signal?: AbortSignal): Promise<AdjudicationFacts> {
  return getJson<AdjudicationFacts>(`/labels/pairs/${at(pair)}`, {}, signal);
}

export function decideCard(
  pair: string,
  card: string,
  decision: NewCardDecision,
): Promise<AdjudicationFacts> {
  return sendJson<AdjudicationFacts>(
    "POST",
    `/labels/pairs/${at(pair)}/cards/${at(card)}`,
    decision,
  );
}

export function acceptPair(pair: string): Promise<AdjudicationFacts> {
  return sendJson<AdjudicationFacts>("POST", `/labels/pairs/${at(pair)}/accept`);
}
