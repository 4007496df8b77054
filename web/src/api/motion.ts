// Exact samples of a narrow stream.
import { getArrays } from "./client";
import { below } from "./episode";

export interface Motion {
  /** The number of the first sample given. */
  first: number;
  total: number;
  timeNs: Float64Array;
  values: Float32Array;
  width: number;
  /** When the first sample is that did not fit in, if any. */
  nextNs: number | null;
}

interface Head {
  first: number;
  total: number;
  next_ns: number | null;
}

export async function getMotion(
  id: string,
  stream: string,
  startNs: number,
  endNs: number,
  signal?: AbortSignal,
): Promise<Motion> {
  const params = { stream, start_ns: Math.round(startNs), end_ns: Math.round(endNs) };
  const answer = await getArrays<Head>(below(id, "motion"), params, signal);
  return {
    first: answer.facts.first,
    total: answer.facts.total,
    timeNs: answer.values.time_ns as Float64Array,
    values: answer.values.values as Float32Array,
    width: answer.shapes.values?.[1] ?? 1,
    nextNs: answer.facts.next_ns,
  };
}
