// Values of the list as people read them.
import type { ListedEpisode } from "../../api/schema";
import { checkTitle } from "../../parts/words";

/** Date and minute in UTC, as queries and the command line have them. */
export function timeText(recordedNs: number | null): string {
  if (recordedNs === null) return "";
  return new Date(recordedNs / 1e6).toISOString().slice(0, 16).replace("T", " ");
}

export function durationText(seconds: number | null): string {
  if (seconds === null) return "";
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")} min`;
}

export function outcomeText(row: ListedEpisode): string {
  if (row.failure) return row.failure.replaceAll("_", " ");
  if (row.success === null) return "";
  return row.success ? "success" : "failure";
}

/** The part of an episode that its picture shows: where something failed, the end tells more. */
export function tellingMoment(row: ListedEpisode): number {
  return row.failure !== null || row.success === false ? 11 / 12 : 0.5;
}

export function countText(count: number): string {
  return count.toLocaleString("en-GB");
}

export function compactCount(count: number): string {
  if (count < 10_000) return String(count);
  return `${Math.round(count / 1000)}k`;
}

const facetTitles: Record<string, string> = {
  task: "Task",
  operator: "Operator",
  station: "Station",
  robot: "Robot",
  verdict: "Verdict",
  state: "State",
  failure: "Failure",
  batch: "Batch",
  finding: "Finding",
  tag: "Tag",
};

export function facetTitle(name: string): string {
  return facetTitles[name] ?? name;
}

export function valueText(facet: string, value: string | null): string {
  if (value === null)
    return facet === "failure" ? "none" : facet === "verdict" ? "not checked" : "unknown";
  if (facet === "finding") return checkTitle(value);
  return facet === "failure" ? value.replaceAll("_", " ") : value;
}
