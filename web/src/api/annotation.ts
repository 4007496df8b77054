// Tasks of labelling, their edits and events; the same names as in `corporeal.studio.routes.annotation`.
import { address, getJson, sendJson, StudioError } from "./client";
import { below } from "./episode";

export type Value = string | number | boolean | null;

export interface Segment {
  id: string;
  lane: string;
  label: string;
  start_ns: number;
  end_ns: number;
  attributes: Record<string, Value>;
  source: "person" | "proposal";
  confirmed: boolean;
  confidence: number | null;
}

export interface Instruction {
  id: string;
  text: string;
  language: string;
  source: "person" | "proposal" | "recorded";
}

export type Predicted = Record<string, Value | number[]>;

export interface Correction {
  id: string;
  time_ns: number;
  kind: "grasp" | "action";
  predicted: Predicted;
  corrected: Predicted;
  note: string;
}

export type Item = Segment | Instruction | Correction;

export interface Annotation {
  reference: string;
  segments: Segment[];
  instructions: Instruction[];
  corrections: Correction[];
  outcome: "success" | "failure" | null;
  failure_mode: string | null;
  variant: string | null;
  flags: string[];
}

export type Step = { put: Item } | { drop: string } | { set: Partial<Annotation> };

export interface Edit {
  id: string;
  action: string;
  steps: Step[];
}

export interface MadeEdit extends Edit {
  who: string;
  at: string;
}

export interface Rule {
  event: string;
  otherwise: string[];
  text: string;
}

export interface Label {
  name: string;
  definition: string;
  parent: string | null;
  starts: Rule | null;
  ends: Rule | null;
  examples: string[];
  not_this: string[];
  attributes: string[];
  key: string | null;
}

export interface LabelLane {
  name: string;
  kind: "phase" | "contact" | "object" | "quality" | "discrepancy";
  title: string;
  tiles: boolean;
  labels: Label[];
}

export interface Choice {
  name: string;
  definition: string;
}

export interface Requirement {
  task: string;
  lanes: string[];
  order: string[];
  outcome: boolean;
  instructions: number;
  variants: string[];
}

export interface Taxonomy {
  name: string;
  version: string;
  lanes: LabelLane[];
  grasp_types: Choice[];
  failure_modes: Choice[];
  discrepancies: Choice[];
  objects: { name: string; description: string; aliases: string[] }[];
  requirements: Requirement[];
  guidelines: string | null;
  tolerance_frames: number;
}

export interface LabelTask {
  id: string;
  episode: string;
  kind: "annotate" | "qualify" | "adjudicate" | "correct";
  queue: string;
  state: "open" | "working" | "submitted" | "returned" | "done" | "dropped";
  assigned_to: string | null;
  /** Why the visitor can look but not change; null when they can change. */
  closed: string | null;
  /** Why a lead gave it back. */
  returned: string | null;
  is_double: boolean;
  has_proposals: boolean;
  seconds: number;
  settings: Record<string, unknown>;
  version: number;
  start: Annotation;
  content: Annotation;
  edits: MadeEdit[];
  taxonomy: Taxonomy;
  /** The stream whose frames boundaries lie on, and where its last frame ends. */
  reference: string;
  end_ns: number;
}

export interface Saved {
  version: number;
  content: Annotation;
}

export interface Stale {
  error: string;
  version: number;
  since: Edit[];
  who: string[];
}

export interface PhysicalEvent {
  time_ns: number;
  name: string;
  side: string;
  stream: string;
  confidence: number;
  uncertainty_ns: number;
}

export interface Comment {
  number: number;
  time_ns: number | null;
  who: string;
  at: string;
  text: string;
  resolved: boolean;
}

/** Somebody else has changed the same task meanwhile. */
export class StaleError extends Error {
  constructor(readonly stale: Stale) {
    super(stale.error);
  }
}

function taskAddress(id: string, rest = ""): string {
  return `/label-tasks/${encodeURIComponent(id)}${rest}`;
}

export function getTask(id: string, signal?: AbortSignal): Promise<LabelTask> {
  return getJson<LabelTask>(taskAddress(id), {}, signal);
}

/** Send edits; the server keeps each id once, so that sending again after a lost answer is safe. */
export async function sendEdits(id: string, baseVersion: number, edits: Edit[]): Promise<Saved> {
  const sent = edits.map(({ id: edit, action, steps }) => ({ id: edit, action, steps }));
  try {
    return await sendJson<Saved>("POST", taskAddress(id, "/edits"), { base_version: baseVersion, edits: sent });
  } catch (error) {
    const said = error instanceof StudioError && error.status === 409 ? error.said : null;
    if (said && typeof said === "object" && "since" in said) throw new StaleError(said as Stale);
    throw error;
  }
}

export function getMissing(id: string, signal?: AbortSignal): Promise<{ version: number; missing: string[] }> {
  return getJson(taskAddress(id, "/missing"), {}, signal);
}

export function submitTask(id: string): Promise<{ submitted: boolean; missing: string[] }> {
  return sendJson("POST", taskAddress(id, "/submit"));
}

export function sendSeconds(id: string, seconds: number): Promise<{ seconds: number }> {
  return sendJson("POST", taskAddress(id, "/seconds"), { seconds });
}

export function getComments(id: string, signal?: AbortSignal): Promise<Comment[]> {
  return getJson(taskAddress(id, "/comments"), {}, signal);
}

export function sendComment(id: string, text: string, timeNs: number | null): Promise<Comment> {
  return sendJson("POST", taskAddress(id, "/comments"), { text, time_ns: timeNs });
}

export function resolveComment(id: string, number: number): Promise<Comment> {
  return sendJson("POST", taskAddress(id, `/comments/${number}/resolve`));
}

export function getEvents(episode: string, signal?: AbortSignal): Promise<PhysicalEvent[]> {
  return getJson(below(episode, "events"), {}, signal);
}

export function filmstripAddress(episode: string, stream: string, frame: number, count: number, width: number): string {
  return address(below(episode, "filmstrip"), { stream, frame, count, width });
}
