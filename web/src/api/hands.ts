// A person's hands on the pictures of a camera.
import { getArrays } from "./client";
import { below } from "./episode";

export const HAND_JOINTS = 26;
/** Pictures in one answer. */
export const HANDS_AT_ONCE = 256;

/** What `first` and the pictures behind it show of the left hand and the right one. */
export interface HandRun {
  first: number;
  count: number;
  /** Size of the pictures that the pixels are of. */
  width: number;
  height: number;
  /** Why there are none, where the camera cannot say where hands are. */
  reason: string | null;
  pixels: Float32Array;
  state: Uint8Array;
  confidence: Float32Array;
  distanceM: Float32Array;
  trail: Float32Array;
  trailPoints: number;
}

interface Facts {
  first: number;
  reason: string | null;
  width: number;
  height: number;
}

export async function getHands(
  id: string,
  stream: string,
  first: number,
  signal?: AbortSignal,
): Promise<HandRun> {
  const params = { stream, first, count: HANDS_AT_ONCE };
  const { facts, values, shapes } = await getArrays<Facts>(below(id, "hands"), params, signal);
  return {
    first: facts.first,
    count: shapes.state?.[0] ?? 0,
    width: facts.width,
    height: facts.height,
    reason: facts.reason,
    pixels: (values.pixels as Float32Array) ?? new Float32Array(),
    state: (values.state as Uint8Array) ?? new Uint8Array(),
    confidence: (values.confidence as Float32Array) ?? new Float32Array(),
    distanceM: (values.distance_m as Float32Array) ?? new Float32Array(),
    trail: (values.trail as Float32Array) ?? new Float32Array(),
    trailPoints: shapes.trail?.[2] ?? 0,
  };
}
