// An episode's outcome in one sentence, and the moment it turns on: what a newcomer looks for.
import type { EpisodeDetail, EpisodeFinding, LaneItem } from "../../api/schema";
import { LEAST_ASSESSED } from "../../parts/notice";
import { severityRank } from "../../parts/severity";
import { count } from "../../parts/words";
import { clockText } from "../../player/clock";

export interface Story {
  tone: "good" | "warn" | "bad" | "note";
  /** "failed", "passed", ... */
  verdict: string;
  /** Why, as one sentence. */
  cause: string;
  /** The moment it turns on, and what it is called ("the fall"). */
  moment: { timeNs: number; name: string } | null;
  finding: EpisodeFinding | null;
}

/** Findings as people want them: the gravest first, then by time; those of no moment last. */
export function byWeight(findings: EpisodeFinding[]): EpisodeFinding[] {
  return [...findings].sort(
    (a, b) =>
      severityRank(a.severity) - severityRank(b.severity) ||
      momentOf(a) - momentOf(b) ||
      a.number - b.number,
  );
}

function momentOf(finding: EpisodeFinding): number {
  return finding.spans[0]?.start_ns ?? Number.POSITIVE_INFINITY;
}

/** The share of the checks that could run. */
export function assessedShare({ checks, not_assessed }: EpisodeDetail): number {
  return checks ? Math.max(checks - not_assessed.length, 0) / checks : 0;
}

const ends = new Set(["start", "end", "success", "begin", "stop"]);

/** Whether an item of a lane is a moment that was logged, and says more than begin or end. */
export function isLogged({ label, start_ns, end_ns }: LaneItem): boolean {
  return start_ns === end_ns && !ends.has(label.toLowerCase());
}

/** When a failure such as "fall" happened: the event of that name, or what a check saw of it. */
export function failureMoment(episode: EpisodeDetail): { timeNs: number; name: string } | null {
  const mode = episode.row.failure?.trim().toLowerCase();
  if (!mode) return null;
  for (const lane of episode.lanes) {
    const found = lane.items.find(({ label, detail }) => {
      const said = label.toLowerCase();
      return (
        !ends.has(said) &&
        (said.includes(mode) || mode.includes(said) || detail.toLowerCase() === mode)
      );
    });
    if (found) return { timeNs: found.start_ns, name: `the ${mode}` };
  }
  const seen = witness(episode, mode);
  return seen ? { timeNs: momentOf(seen), name: `the ${mode}` } : null;
}

/** The finding that saw this failure happen. */
function witness(episode: EpisodeDetail, mode: string): EpisodeFinding | null {
  return (
    byWeight(episode.findings).find(({ check, spans }) => spans.length > 0 && isOf(check, mode)) ??
    null
  );
}

/** Whether a check looks at what this way of failing is made of. */
function isOf(check: string, mode: string): boolean {
  if (check.includes(mode)) return true;
  return (
    /fall|fell|tip/.test(mode) &&
    ["robot_fell", "base_height_wrong", "end_state_off_protocol"].includes(check)
  );
}

const words: Record<string, [Story["tone"], string]> = {
  accepted: ["good", "accepted"],
  quarantined: ["warn", "quarantined"],
  failed: ["bad", "failed"],
};

/** Whether something speaks against the episode that a visitor must see at once. */
export function isIncident({ row }: EpisodeDetail): boolean {
  return row.success === false || row.verdict === "failed" || row.verdict === "quarantined";
}

export function storyOf(episode: EpisodeDetail): Story {
  const { row } = episode;
  const [tone, verdict] = words[row.verdict ?? ""] ?? ["note", "not checked"];
  const gravest = byWeight(episode.findings).find(({ severity }) => severity !== "note") ?? null;
  const moment = failureMoment(episode);
  if (row.failure || row.success === false) {
    const seen = row.failure ? witness(episode, row.failure.toLowerCase()) : null;
    const finding =
      seen ?? episode.findings.find(({ check }) => check === "task_failed") ?? gravest;
    return {
      tone,
      verdict,
      cause: failureSentence(episode, moment),
      moment: moment ?? placeOf(finding),
      finding,
    };
  }
  if (!episode.checked && !gravest) {
    const whose = row.verdict === null ? "" : "a person decided, and ";
    const cause = `${whose}no check has looked at it${whose ? "" : " yet"}.`;
    return { tone: tone === "good" ? "note" : tone, verdict, cause, moment: null, finding: null };
  }
  if (!gravest) {
    const notes = episode.findings.length;
    const blind = episode.not_assessed.length;
    const open = blind ? `; ${count(blind, "check")} of ${episode.checks} could not run` : "";
    const cause = `nothing was found against it${notes ? `; ${count(notes, "note")}` : ""}${open}.`;
    // A verdict that rests on less than that is no green light.
    const sure = tone === "good" && assessedShare(episode) < LEAST_ASSESSED ? "note" : tone;
    return { tone: sure, verdict, cause, moment: null, finding: null };
  }
  return { tone, verdict, cause: gravest.message, moment: placeOf(gravest), finding: gravest };
}

function placeOf(finding: EpisodeFinding | null): Story["moment"] {
  const first = finding?.spans[0];
  return first ? { timeNs: first.start_ns, name: "the moment" } : null;
}

function failureSentence(episode: EpisodeDetail, moment: Story["moment"]): string {
  const mode = episode.row.failure?.trim();
  const fell = mode !== undefined && /^(fall|fell|falls)$/i.test(mode);
  const what = !mode
    ? "the task was not done"
    : fell
      ? "the robot fell"
      : `the task failed: ${mode.replaceAll("_", " ")}`;
  if (!moment) return `${what}.`;
  return `${what} at ${clockText(moment.timeNs)}.`;
}
