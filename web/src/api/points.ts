// One scan of a point cloud.
import { getArrays } from "./client";
import { below } from "./episode";

export interface Scan {
  frame: number;
  /** Points in the scan, and every how manyth of them is here. */
  total: number;
  step: number;
  points: Float32Array;
  intensity: Float32Array | null;
}

export async function getScan(
  id: string,
  stream: string,
  frame: number,
  signal?: AbortSignal,
): Promise<Scan> {
  const answer = await getArrays<{ total: number; step: number }>(
    below(id, "points"),
    { stream, frame },
    signal,
  );
  return {
    frame,
    total: answer.facts.total,
    step: answer.facts.step,
    points: answer.values.points as Float32Array,
    intensity: (answer.values.intensity as Float32Array | undefined) ?? null,
  };
}
