// Signals as `corporeal.studio.routes.signal` packs them, made ready to be drawn.

import { type Arrays, getArrays, getJson, type Values } from "./client";
import { below } from "./episode";
import type { JointError, SampleFacts } from "./schema";

export interface SignalFacts {
  mode: "samples" | "envelope";
  stream: string;
  columns: string[];
  units: string[];
  numbers: number[];
  samples: number;
  backward: number;
  repeated: number;
  gap_ns: number;
  /** Only a glimpse: all samples are still being looked through. */
  coarse: boolean;
}

/** A span of a stream; for samples `low` and `high` are the same arrays. Keys are column numbers. */
export interface Trace {
  startNs: number;
  endNs: number;
  facts: SignalFacts;
  isSamples: boolean;
  time: Float64Array;
  gap: Values;
  low: Map<number, Values>;
  high: Map<number, Values>;
}

export interface SignalWish {
  stream: string;
  /** A stream of commands: then it is what was commanded less what was measured. */
  against?: string;
  columns: number[];
  startNs: number;
  endNs: number;
  points: number;
}

export async function getTrace(id: string, wish: SignalWish, signal?: AbortSignal): Promise<Trace> {
  const answer = await getArrays<SignalFacts>(
    below(id, "signal"),
    {
      stream: wish.stream,
      against: wish.against,
      columns: wish.columns.join(","),
      start_ns: Math.round(wish.startNs),
      end_ns: Math.round(wish.endNs),
      points: wish.points,
    },
    signal,
  );
  return traceOf(answer, wish.startNs, wish.endNs);
}

export function traceOf(answer: Arrays<SignalFacts>, startNs: number, endNs: number): Trace {
  const { facts, values } = answer;
  const isSamples = facts.mode === "samples";
  const low = byColumn(answer, isSamples ? "values" : "low");
  return {
    startNs,
    endNs,
    facts,
    isSamples,
    time: values.time_ns as Float64Array,
    gap: values.gap as Values,
    low,
    high: isSamples ? low : byColumn(answer, "high"),
  };
}

function byColumn(
  { facts, values, shapes }: Arrays<SignalFacts>,
  name: string,
): Map<number, Values> {
  const all = values[name] as Values;
  const count = shapes[name]?.[1] ?? 0;
  return new Map(
    facts.numbers.map((number, place) => [
      number,
      all.subarray(place * count, (place + 1) * count),
    ]),
  );
}

/** The sample that holds at a time, read from the file itself. */
export function getSample(
  id: string,
  stream: string,
  timeNs: number,
  signal?: AbortSignal,
): Promise<SampleFacts> {
  return getJson<SampleFacts>(below(id, "sample"), { stream, time_ns: Math.round(timeNs) }, signal);
}

/** How far each joint was from its command, the farthest off first; none where nothing follows. */
export function getErrors(
  id: string,
  stream: string,
  against: string,
  signal?: AbortSignal,
): Promise<JointError[]> {
  return getJson<JointError[]>(below(id, "errors"), { stream, against }, signal);
}
