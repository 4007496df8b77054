import type { CalibrationFacts } from "../../api/schema";

/** "4 min ago", "3 h ago", "2 days ago". */
export function agoText(at: string, now: number): string {
  const minutes = Math.max(0, Math.round((now - Date.parse(at)) / 60_000));
  if (minutes < 120) return `${minutes} min ago`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h ago` : `${Math.round(hours / 24)} days ago`;
}

/** When the markers are to be looked at next. */
export function dueText(facts: CalibrationFacts, now: number): string {
  if (facts.state === null) return "names no markers";
  if (facts.state === "halted") return "once what moved is fastened";
  if (facts.due_at === null) return "before the next episode";
  const minutes = Math.round((Date.parse(facts.due_at) - now) / 60_000);
  if (minutes <= 0) return "before the next episode";
  return minutes < 120 ? `in ${minutes} min` : `in ${Math.round(minutes / 60)} h`;
}

const words: Record<string, { text: string; chip: string }> = {
  good: { text: "good", chip: "chip accepted" },
  due: { text: "check due", chip: "chip quarantine" },
  overdue: { text: "check due", chip: "chip quarantine" },
  halted: { text: "halted", chip: "chip fail" },
};

export function stateOf(facts: CalibrationFacts): { text: string; chip: string } {
  return words[facts.state ?? ""] ?? { text: "not verified", chip: "chip" };
}

/** "2026-11-19 10:40", in UTC as everywhere. */
export function minuteText(at: string): string {
  return new Date(at).toISOString().slice(0, 16).replace("T", " ");
}
