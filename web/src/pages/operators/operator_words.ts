// What the operators' page says in a few words.
import type { CertificateFacts } from "../../api/schema";

/** "pick place until 2027-03-02", "pick place, revoked 2026-04-01". */
export function certificateText({ task, ends, holds, revoked_why }: CertificateFacts): string {
  const day = ends.slice(0, 10);
  const name = task.replaceAll("_", " ");
  if (holds) return `${name} until ${day}`;
  return revoked_why === null ? `${name}, ended ${day}` : `${name}, revoked ${day}`;
}

/** "3.4 h", "12 h"; a dash where it is not known or not shown. */
export function hoursText(hours: number | null): string {
  if (hours === null) return "–";
  return `${hours >= 10 ? Math.round(hours) : hours.toFixed(1)} h`;
}

/** How a criterion looks: kept, missed, or open while nobody can tell. */
export function markOf(passed: boolean | null): "yes" | "no" | "open" {
  return passed === null ? "open" : passed ? "yes" : "no";
}
