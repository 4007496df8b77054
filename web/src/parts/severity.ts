// How grave a finding is: the order of severities, and how people are told.
import type { CheckFacts } from "../api/schema";

type Severity = CheckFacts["severity"];

const words: Record<Severity, string> = {
  fail: "failed",
  quarantine: "needs review",
  note: "note",
};
const gravestFirst: string[] = ["fail", "quarantine", "note"] satisfies Severity[];

/** Smaller is graver; a severity that is not known comes last. */
export function severityRank(severity: string): number {
  const rank = gravestFirst.indexOf(severity);
  return rank < 0 ? gravestFirst.length : rank;
}

export function severityText(severity: string): string {
  return severity in words ? words[severity as Severity] : severity;
}
