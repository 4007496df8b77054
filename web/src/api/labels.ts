// Queues, tasks, pairs and their disagreements; the same names as in `corporeal.studio.labelling.facts`.
import type { Lane } from "./episode";
import { getJson, sendJson } from "./client";

export const STAGES = ["open", "working", "returned", "submitted", "done"] as const;
export type Stage = (typeof STAGES)[number];

export interface LabelTask {
  id: string;
  episode: string;
  episode_task: string | null;
  instruction: string | null;
  kind: "annotate" | "qualify" | "adjudicate" | "correct";
  queue: string;
  taxonomy: string;
  state: Stage | "dropped";
  assigned_to: string | null;
  /** Null for those who must not know. */
  pair: string | null;
  is_double: boolean | null;
  has_proposal: boolean | null;
  seconds: number;
  edits: number;
  changed_at: string;
  /** Why it was given back. */
  why: string | null;
  comments: number;
}

export interface Offer {
  queue: string;
  kind: string;
  taxonomy: string;
  open: number;
  mine: number;
  may_take: boolean;
  why_not: string | null;
}

export interface Gates {
  episodes: number;
  edit_score: number | null;
  kappa: Record<string, number | null>;
  boundaries: number;
  mean_difference_frames: number | null;
  bias_frames: number | null;
  hit_rate: number | null;
  hit_rate_bounds: [number | null, number | null];
  failed: string[];
}

export interface AgreementFacts {
  gates: Gates;
  alerts: string[];
}

export interface Qualified {
  account: string;
  taxonomy: string;
  passed: boolean;
  at: string;
  words: string;
}

export interface MyWork {
  name: string;
  offers: Offer[];
  tasks: LabelTask[];
  done: number;
  seconds: number;
  qualifications: Qualified[];
  figures: Gates | null;
  words: string[];
}

export interface Making {
  wanted: number;
  made: number;
  proposed: number;
  is_running: boolean;
  error: string | null;
}

export interface LabelQueue {
  name: string;
  kind: string;
  taxonomy: string;
  taxonomy_hash: string;
  counts: Record<string, number>;
  total: number;
  episodes: number;
  pairs: number;
  without_proposal: number;
  seconds: number;
  people: string[];
  needs_qualification: boolean;
  query: string | null;
  created_by: string;
  created_at: string;
  making: Making | null;
}

export interface TaxonomyChoice {
  reference: string;
  description: string | null;
  labels: number;
  tasks: string[];
}

export interface QueuePreview {
  episodes: number;
  labelled: number;
  queued: number;
  doubles: number;
  blind: number;
  tasks: number;
  hours: number | null;
  words: string;
}

export interface QueueWish {
  query: string;
  taxonomy: string;
  double_share: number;
  blind_share: number;
  skip_labelled: boolean;
  kind: "annotate" | "qualify";
}

export interface NewQueue extends QueueWish {
  name: string;
  needs_qualification: boolean;
}

export interface TaskPreview {
  task: LabelTask;
  lanes: Lane[];
  outcome: string | null;
  failure_mode: string | null;
  instructions: string[];
  complaints: string[];
  reference: string;
}

export interface Person {
  name: string;
  role: string;
  done: number;
  working: number;
  seconds: number;
  seconds_per_episode: number | null;
  qualifications: Qualified[];
  figures: Gates | null;
}

export interface LabelComment {
  number: number;
  episode: string;
  task: string | null;
  time_ns: number | null;
  who: string;
  at: string;
  text: string;
}

export interface Side {
  label: string;
  definition: string;
  time_ns: number;
  frame: number;
}

export interface CardDecision {
  choice: "first" | "second" | "other";
  frame: number | null;
  label: string | null;
  by: string;
  at: string;
}

export interface Card {
  id: string;
  kind: "boundary" | "label" | "missing" | "attribute" | "outcome";
  lane: string;
  lane_title: string;
  rule: string;
  rule_text: string | null;
  question: string;
  first: Side;
  second: Side;
  frames: number;
  start_ns: number;
  end_ns: number;
  choices: string[];
  /** Events that the rule goes by, the surest first. */
  events: string[];
  decided: CardDecision | null;
}

export interface PairFacts {
  pair: string;
  episode: string;
  episode_task: string | null;
  queue: string;
  taxonomy: string;
  state: "open" | "done";
  cards: number;
  decided: number;
  changed_at: string;
}

export interface Adjudication {
  facts: PairFacts;
  reference: string;
  start_ns: number;
  end_ns: number;
  frames: number;
  names: [string, string] | null;
  first: Lane[];
  second: Lane[];
  result: Lane[];
  cards: Card[];
}

export interface LabelEvent {
  time_ns: number;
  name: string;
  side: string;
  stream: string;
  confidence: number;
}

const at = encodeURIComponent;

export function getEvents(episode: string, signal?: AbortSignal): Promise<LabelEvent[]> {
  return getJson<LabelEvent[]>(`/episodes/${at(episode)}/events`, {}, signal);
}


export const getMyWork = (signal?: AbortSignal) => getJson<MyWork>("/labels/mine", {}, signal);
export const getQueues = (signal?: AbortSignal) => getJson<LabelQueue[]>("/labels/queues", {}, signal);
export const getTaxonomies = (signal?: AbortSignal) => getJson<TaxonomyChoice[]>("/labels/taxonomies", {}, signal);
export const getPeople = (signal?: AbortSignal) => getJson<Person[]>("/labels/people", {}, signal);
export const getAgreement = (signal?: AbortSignal) => getJson<AgreementFacts>("/labels/agreement", {}, signal);
export const getComments = (signal?: AbortSignal) => getJson<LabelComment[]>("/labels/comments", {}, signal);
export const getPairs = (signal?: AbortSignal) => getJson<PairFacts[]>("/labels/pairs", {}, signal);

export function getQueuePreview(wish: QueueWish, signal?: AbortSignal): Promise<QueuePreview> {
  return getJson<QueuePreview>("/labels/preview", { ...wish }, signal);
}

export function makeQueue(wanted: NewQueue): Promise<LabelQueue> {
  return sendJson<LabelQueue>("POST", "/labels/queues", wanted);
}

export function takeTask(queue: string): Promise<LabelTask | null> {
  return sendJson<LabelTask | null>("POST", `/labels/queues/${at(queue)}/take`);
}

export function getTasks(params: { state?: string; queue?: string }, signal?: AbortSignal): Promise<LabelTask[]> {
  return getJson<LabelTask[]>("/labels/tasks", params, signal);
}

export function getTaskPreview(id: string, signal?: AbortSignal): Promise<TaskPreview> {
  return getJson<TaskPreview>(`/labels/tasks/${at(id)}`, {}, signal);
}

export function acceptTask(id: string): Promise<LabelTask> {
  return sendJson<LabelTask>("POST", `/labels/tasks/${at(id)}/accept`);
}

export function returnTask(id: string, why: string): Promise<LabelTask> {
  return sendJson<LabelTask>("POST", `/labels/tasks/${at(id)}/return`, { why });
}

export function assignTask(id: string, to: string | null): Promise<LabelTask> {
  return sendJson<LabelTask>("POST", `/labels/tasks/${at(id)}/assign`, { to });
}

export function resolveComment(number: number): Promise<void> {
  return sendJson<void>("POST", `/labels/comments/${number}/resolve`);
}

export function getAdjudication(pair: string, signal?: AbortSignal): Promise<Adjudication> {
  return getJson<Adjudication>(`/labels/pairs/${at(pair)}`, {}, signal);
}

export function decideCard(
  pair: string,
  card: string,
  decision: { choice: "first" | "second" | "other"; frame?: number; label?: string; key: string },
): Promise<Adjudication> {
  return sendJson<Adjudication>("POST", `/labels/pairs/${at(pair)}/cards/${at(card)}`, decision);
}

export function acceptPair(pair: string): Promise<Adjudication> {
  return sendJson<Adjudication>("POST", `/labels/pairs/${at(pair)}/accept`);
}
