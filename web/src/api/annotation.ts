// Tasks of labelling, their edits and events.

import { address, getJson, StudioError, sendJson } from "./client";
import { below } from "./episode";
import type {
  Correction,
  Edit,
  EventFacts,
  Instruction,
  MissingParts,
  ObjectPose,
  SavedEdits,
  Segment,
  StaleEdits,
  SubmittedTask,
  TaskComment,
  TimeSpent,
  TopicExamples,
  WorkbenchTask,
} from "./schema";

export type Value = Segment["attributes"][string];

export type Predicted = Correction["predicted"];

export type Item = Segment | Instruction | Correction | ObjectPose;

export type Step = Edit["steps"][number];

/** Somebody else has changed the same task meanwhile. */
export class StaleError extends Error {
  constructor(readonly stale: StaleEdits) {
    super(stale.error);
  }
}

function taskAddress(id: string, rest = ""): string {
  return `/label-tasks/${encodeURIComponent(id)}${rest}`;
}

export function getTask(id: string, signal?: AbortSignal): Promise<WorkbenchTask> {
  return getJson<WorkbenchTask>(taskAddress(id), {}, signal);
}

/** Send edits; the server keeps each id once, so that sending again after a lost answer is safe. */
export async function sendEdits(
  id: string,
  baseVersion: number,
  edits: Edit[],
): Promise<SavedEdits> {
  const sent = edits.map(({ id: edit, action, steps }) => ({ id: edit, action, steps }));
  try {
    return await sendJson<SavedEdits>("POST", taskAddress(id, "/edits"), {
      base_version: baseVersion,
      edits: sent,
    });
  } catch (error) {
    const said = error instanceof StudioError && error.status === 409 ? error.said : null;
    if (said && typeof said === "object" && "since" in said)
      throw new StaleError(said as StaleEdits);
    throw error;
  }
}

export function getMissing(id: string, signal?: AbortSignal): Promise<MissingParts> {
  return getJson(taskAddress(id, "/missing"), {}, signal);
}

export function submitTask(id: string): Promise<SubmittedTask> {
  return sendJson("POST", taskAddress(id, "/submit"));
}

export function skipTask(id: string): Promise<void> {
  return sendJson("POST", taskAddress(id, "/skip"));
}

export function returnTask(id: string, why: string): Promise<void> {
  return sendJson("POST", taskAddress(id, "/return"), { why });
}

export function sendSeconds(id: string, seconds: number): Promise<TimeSpent> {
  return sendJson("POST", taskAddress(id, "/seconds"), { seconds });
}

export function getComments(id: string, signal?: AbortSignal): Promise<TaskComment[]> {
  return getJson(taskAddress(id, "/comments"), {}, signal);
}

export function getCards(id: string, signal?: AbortSignal): Promise<TopicExamples[]> {
  return getJson(taskAddress(id, "/cards"), {}, signal);
}

export function sendComment(id: string, text: string, timeNs: number | null): Promise<TaskComment> {
  return sendJson("POST", taskAddress(id, "/comments"), { text, time_ns: timeNs });
}

export function resolveComment(id: string, number: number): Promise<TaskComment> {
  return sendJson("POST", taskAddress(id, `/comments/${number}/resolve`));
}

export function getEvents(episode: string, signal?: AbortSignal): Promise<EventFacts[]> {
  return getJson(below(episode, "events"), {}, signal);
}

export function filmstripAddress(
  episode: string,
  stream: string,
  frame: number,
  count: number,
  width: number,
): string {
  return address(below(episode, "filmstrip"), { stream, frame, count, width });
}
