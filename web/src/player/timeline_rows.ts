// Where things stand on the timeline: rows without overlaps, near ones made one.
import type { EpisodeDetail, EpisodeFinding } from "../api/schema";
import { severityRank } from "../parts/severity";

export interface Bar {
  /** Shares of the whole timeline, 0 to 1. */
  from: number;
  to: number;
  startNs: number;
  endNs: number;
}

export interface FindingBar extends Bar {
  finding: EpisodeFinding;
  /** False for a finding about a whole stream, or the episode. */
  isMoment: boolean;
  row: number;
}

const MOST_BARS_EACH = 60;
const MOST_ROWS = 4;
/** Narrower ones could not be hit: they count as this wide when rows are filled. */
const HIT_SHARE = 0.012;

export function shareOf(timeNs: number, startNs: number, endNs: number): number {
  return Math.min(Math.max((timeNs - startNs) / Math.max(endNs - startNs, 1), 0), 1);
}

/** Spans that lie closer than a mark is wide become one. */
export function joined(bars: Bar[], near: number): Bar[] {
  const found: Bar[] = [];
  for (const bar of [...bars].sort((a, b) => a.from - b.from)) {
    const last = found.at(-1);
    if (!last || bar.from - last.to > near) found.push({ ...bar });
    else {
      last.to = Math.max(last.to, bar.to);
      last.endNs = Math.max(last.endNs, bar.endNs);
    }
  }
  return found;
}

/** The findings as bars: the worst first, each in the first row that has room for all of it. */
export function findingBars(episode: EpisodeDetail): { bars: FindingBar[]; rows: number } {
  const { start_ns: start, end_ns: end } = episode;
  const sorted = [...episode.findings].sort(
    (a, b) => severityRank(a.severity) - severityRank(b.severity),
  );
  const rows: Bar[][] = [];
  const bars: FindingBar[] = [];
  for (const finding of sorted.filter((each) => each.spans.length)) {
    const own = finding.spans.map((span) => ({
      from: shareOf(span.start_ns, start, end),
      to: shareOf(span.end_ns, start, end),
      startNs: span.start_ns,
      endNs: span.end_ns,
    }));
    let merged = joined(own, 0.002);
    for (let near = 0.004; merged.length > MOST_BARS_EACH; near *= 2) merged = joined(own, near);
    const free = rows.findIndex((row) =>
      merged.every((bar) => row.every((other) => isApart(bar, other))),
    );
    const row = free >= 0 ? free : Math.min(rows.length, MOST_ROWS - 1);
    rows[row] = [...(rows[row] ?? []), ...merged];
    bars.push(...merged.map((bar) => ({ ...bar, finding, isMoment: true, row })));
  }
  return { bars, rows: rows.length };
}

function isApart(a: Bar, b: Bar): boolean {
  return a.from > Math.max(b.to, b.from + HIT_SHARE) || b.from > Math.max(a.to, a.from + HIT_SHARE);
}

/** Findings about a whole stream or the episode: they have no place in time. */
export function wholeFindings(episode: EpisodeDetail): EpisodeFinding[] {
  const found = episode.findings.filter((each) => !each.spans.length);
  return found.sort((a, b) => severityRank(a.severity) - severityRank(b.severity));
}

/** The time of the first frame that a finding is about; null when it has none. */
export function momentOf(finding: EpisodeFinding): number | null {
  return finding.spans.length ? Math.min(...finding.spans.map((span) => span.start_ns)) : null;
}

/** Every moment of these, in order and once. */
export function moments(times: number[]): number[] {
  return [...new Set(times)].sort((a, b) => a - b);
}

/** The next of some times after now, or the last before it (`direction` -1); null at the end. */
export function neighbour(times: number[], now: number, direction: 1 | -1): number | null {
  if (direction > 0) return times.find((each) => each > now) ?? null;
  return times.findLast((each) => each < now) ?? null;
}

/** Events are moments; between two of them lies a phase, named by the one that began it. */
export function laneBars(
  items: { label: string; detail: string; start_ns: number; end_ns: number }[],
  startNs: number,
  endNs: number,
) {
  return items.map((item, place) => {
    const isEvent = item.start_ns === item.end_ns;
    const after = items[place + 1]?.start_ns ?? endNs;
    const until = isEvent ? after : item.end_ns;
    return {
      item,
      isEvent,
      from: shareOf(item.start_ns, startNs, endNs),
      to: shareOf(until, startNs, endNs),
    };
  });
}
