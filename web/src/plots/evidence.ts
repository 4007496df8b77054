// What findings say about a plot: when, and beyond which value.
import type { EpisodeDetail, EpisodeFinding } from "../api/schema";
import type { Trace } from "../api/signal";
import { type ColumnGroup, columnNames } from "./column_groups";
import type { Mark } from "./draw";
import type { Panel } from "./panels";

/** Checks whose limit is a value of the stream itself, of either sign. */
const LIMITS_ARE_VALUES = new Set([
  "torque_beyond_limit",
  "force_off_protocol",
  "force_sensor_saturated",
]);
const MOST_MARKS = 400;

export function findingsOf(panel: Panel, episode: EpisodeDetail): EpisodeFinding[] {
  const paths = [panel.stream.path, panel.commanded?.path];
  return episode.findings.filter((each) => each.stream !== null && paths.includes(each.stream));
}

export function marksOf(findings: EpisodeFinding[], selected: number | null): Mark[] {
  const marks = findings.flatMap((each) =>
    each.spans.map((span) => ({
      startNs: span.start_ns,
      endNs: span.end_ns,
      severity: each.severity,
      isSelected: each.number === selected,
    })),
  );
  // The selected one lies on top.
  return marks.slice(0, MOST_MARKS).sort((a, b) => Number(a.isSelected) - Number(b.isSelected));
}

/** Limits to draw: those that are values of the stream itself. */
export function limitsOf(findings: EpisodeFinding[]): number[] {
  const isMeant = (each: EpisodeFinding) =>
    each.limit !== null && each.spans.length > 0 && LIMITS_ARE_VALUES.has(each.check);
  return [...new Set(findings.filter(isMeant).map((each) => each.limit as number))].slice(0, 4);
}

/**
 * The group to show first: what a finding names, else the one that follows worst, else the limb
 * that moves most, else the first.
 */
export function firstGroup(
  groups: ColumnGroup[],
  panel: Panel,
  findings: EpisodeFinding[],
  trace: Trace | null,
  worst: ColumnGroup | null = null,
): ColumnGroup {
  const names = columnNames(panel.stream);
  const named = groups.find(({ columns }) =>
    findings.some((each) =>
      columns.some((column) => each.message.includes(names[column] as string)),
    ),
  );
  const first = groups[0] as ColumnGroup;
  const isLimbs =
    panel.stream.components !== null && /joint/.test(panel.stream.name) && groups.length > 2;
  if (isLimbs && named) return named;
  if (worst) return worst;
  if (!isLimbs || !trace) return first;
  let best = first;
  let most = -1;
  for (const group of groups.slice(0, -1)) {
    const motion = Math.max(...group.columns.map((column) => reach(trace, column)));
    if (motion > most) [best, most] = [group, motion];
  }
  return best;
}

function reach(trace: Trace, column: number): number {
  const lows = trace.low.get(column) ?? [];
  const highs = trace.high.get(column) ?? [];
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (let place = 0; place < lows.length; place += 1) {
    low = Math.min(low, lows[place] as number);
    high = Math.max(high, highs[place] as number);
  }
  return Number.isFinite(high - low) ? high - low : 0;
}
