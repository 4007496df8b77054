// Operators, their training, and what is known of tiredness.
import { getJson } from "./client";
import type { FatigueFacts, OperatorsPage, TrainingFacts } from "./schema";

export function getOperators(signal?: AbortSignal): Promise<OperatorsPage> {
  return getJson("/operators", {}, signal);
}

export function getTraining(name: string, signal?: AbortSignal): Promise<TrainingFacts[]> {
  return getJson(`/operators/${encodeURIComponent(name)}/training`, {}, signal);
}

export function getFatigue(signal?: AbortSignal): Promise<FatigueFacts> {
  return getJson("/fatigue", {}, signal);
}
