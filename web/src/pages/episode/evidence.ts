// What a finding is drawn from, read as the reports of `corporeal check` read it.
import type { EpisodeFinding } from "../../api/schema";

export interface Curve {
  name: string;
  values: (number | null)[];
}

export interface Evidence {
  /** Seconds on the clock of the episode; null where the curves run along their own numbers. */
  timeS: number[] | null;
  curves: Curve[];
  limit: number | null;
  low: number;
  high: number;
}

const MOST_CURVES = 4;

/** What to draw: one picture, or one for each curve where one would flatten the others. */
export function evidenceOf(finding: EpisodeFinding): Evidence[] {
  const whole = wholeOf(finding);
  if (!whole) return [];
  const { timeS, curves } = whole;
  const spreads = curves.map(({ values }) => spread(values));
  const isFlat = spreads.some((each) => each > 0 && each < FLAT * Math.max(...spreads));
  if (!isFlat) return [whole];
  return curves
    .map(({ name, values }) =>
      wholeOf({ ...finding, evidence: { ...(timeS && { time_s: timeS }), [name]: values } }),
    )
    .filter((each) => each !== null);
}

/** A curve that takes less than this share of the height tells nothing. */
const FLAT = 0.2;

function spread(values: (number | null)[]): number {
  const finite = values.filter((each) => each !== null);
  return finite.length ? Math.max(...finite) - Math.min(...finite) : 0;
}

/** Curves, range and limit in one; null where there is nothing to draw. */
function wholeOf(finding: EpisodeFinding): Evidence | null {
  const { time_s: given, ...rest } = finding.evidence ?? {};
  if (given?.some((each) => each === null)) return null;
  const timeS = (given as number[] | undefined) ?? null;
  const curves = Object.entries(rest)
    .filter(
      ([, values]) => values.length >= 3 && (timeS === null || values.length === timeS.length),
    )
    .slice(0, MOST_CURVES)
    .map(([name, values]) => ({ name, values }));
  const finite = curves.flatMap(({ values }) => values.filter((each) => each !== null));
  if (finite.length === 0) return null;
  const limit = finding.limit !== null && isDrawn(finding.value, curves) ? finding.limit : null;
  return { timeS, curves, ...range(finite, limit) };
}

/** The limit is of the kind that is drawn only if the value that broke it is the peak of a curve. */
function isDrawn(value: number | null, curves: Curve[]): boolean {
  if (value === null) return false;
  return curves.some(({ values }) => {
    const finite = values.filter((each) => each !== null);
    if (finite.length === 0) return false;
    const peaks = [Math.max(...finite), Math.min(...finite)];
    return peaks.some((peak) => Math.abs(peak - value) <= 0.05 * Math.abs(value));
  });
}

function range(
  values: number[],
  limit: number | null,
): { low: number; high: number; limit: number | null } {
  let low = Math.min(...values);
  let high = Math.max(...values);
  const room = high - low;
  const isNear = limit !== null && low - room <= limit && limit <= high + room;
  if (isNear) {
    low = Math.min(low, limit);
    high = Math.max(high, limit);
  }
  const margin = (high - low) * 0.08 || Math.max(Math.abs(high) * 0.1, 1e-9);
  return { low: low - margin, high: high + margin, limit: isNear ? limit : null };
}

const units: Record<string, string> = {
  deg: "°",
  hz: "Hz",
  m: "m",
  mm: "mm",
  ms: "ms",
  n: "N",
  nm: "N m",
  pa: "Pa",
  rad: "rad",
  s: "s",
  share: "share of 1",
};

/** A curve's name in words, with its unit: `tilt (°)` of `tilt_deg`. */
export function curveName(name: string): string {
  const [, words, end] = /^(.+)_([a-z]+)$/.exec(name) ?? [];
  const unit = end ? units[end] : undefined;
  return unit && words ? `${words.replaceAll("_", " ")} (${unit})` : name.replaceAll("_", " ");
}
