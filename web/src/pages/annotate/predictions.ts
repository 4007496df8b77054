// What a policy predicted, as a task brings it along, and values as people write them.
import type { Predicted } from "../../api/annotation";
import type { Correction } from "../../api/schema";

export interface Prediction {
  time_ns: number;
  kind: Correction["kind"];
  predicted: Predicted;
}

export function predictionsOf(settings: Record<string, unknown>): Prediction[] {
  const found = settings.predictions;
  if (!Array.isArray(found)) return [];
  return found.flatMap((each: unknown) => {
    if (!each || typeof each !== "object") return [];
    const { time_ns, kind, predicted } = each as Partial<Prediction>;
    const isWhole =
      typeof time_ns === "number" &&
      (kind === "grasp" || kind === "action") &&
      predicted &&
      typeof predicted === "object";
    return isWhole ? [{ time_ns, kind, predicted } as Prediction] : [];
  });
}

export function valueText(value: Predicted[string] | undefined): string {
  return Array.isArray(value)
    ? value.join(", ")
    : value === null || value === undefined
      ? ""
      : String(value);
}

/** 0.04 is a number, "0.1, 0.2" a list of them, anything else a word. */
export function readValue(text: string): Predicted[string] {
  const said = text.trim();
  if (said === "") return null;
  const parts = said
    .replace(/^\[|\]$/g, "")
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(Number);
  if (parts.length && parts.every(Number.isFinite))
    return parts.length > 1 || said.startsWith("[") ? parts : (parts[0] as number);
  if (said === "true" || said === "false") return said === "true";
  return said;
}
