// Pictures and depth of an episode.
import { address, getArrays, getBytes } from "./client";
import { below } from "./episode";
import { prefetched } from "./prefetch";

/** Where each picture's packet lies in its MP4; the place in the arrays is the frame's number. */
export interface Packets {
  timeNs: Float64Array;
  start: Float64Array;
  size: Float64Array;
  key: Uint8Array;
  width: number;
  height: number;
  /** As browsers name it; null for a movie that is better shown picture by picture. */
  codec: string | null;
  description: Uint8Array;
}

interface PacketFacts {
  codec: string;
  codec_string: string | null;
  extradata: string;
  width: number;
  height: number;
}

export function packetsKey(id: string, stream: string): string {
  return `packets ${id} ${stream}`;
}

export function getPackets(id: string, stream: string, signal?: AbortSignal): Promise<Packets> {
  return prefetched(packetsKey(id, stream), () => fetchPackets(id, stream, signal));
}

export async function fetchPackets(
  id: string,
  stream: string,
  signal?: AbortSignal,
): Promise<Packets> {
  const { facts, values } = await getArrays<PacketFacts>(below(id, "packets"), { stream }, signal);
  return {
    timeNs: values.time_ns as Float64Array,
    start: values.start as Float64Array,
    size: values.size as Float64Array,
    key: values.key as Uint8Array,
    width: facts.width,
    height: facts.height,
    codec: facts.codec_string,
    description: Uint8Array.from(atob(facts.extradata), (letter) => letter.charCodeAt(0)),
  };
}

/** Bytes `first` to `stop` (not included) of a camera's MP4. */
export async function getMovieBytes(
  id: string,
  stream: string,
  [first, stop]: [number, number],
  signal?: AbortSignal,
): Promise<Uint8Array> {
  const bytes = await getBytes(below(id, "movie"), { stream }, [first, stop], signal);
  if (bytes.byteLength !== stop - first)
    throw new Error(`${stream}: the server sent another part of the movie.`);
  return new Uint8Array(bytes);
}

export function pictureAddress(id: string, stream: string, frame: number, width?: number): string {
  return address(below(id, "picture"), { stream, frame, width });
}

/** Some seconds of a camera as a movie of the packets as they are. */
export function clipAddress(
  id: string,
  stream: string,
  [startNs, endNs]: [number, number],
): string {
  const span = { start_ns: Math.round(startNs), end_ns: Math.round(endNs) };
  return address(below(id, "clip"), { stream, ...span });
}

/** One picture, decoded by the server. */
export async function getPicture(
  id: string,
  stream: string,
  frame: number,
  width?: number,
  signal?: AbortSignal,
): Promise<ImageBitmap> {
  const bytes = await getBytes(below(id, "picture"), { stream, frame, width }, undefined, signal);
  return createImageBitmap(new Blob([bytes], { type: "image/jpeg" }));
}

/** Distances as they were measured: counts, 0 where there is none. */
export interface DepthFrame {
  counts: Uint16Array;
  width: number;
  height: number;
  /** null where the unit is no length. */
  metresPerUnit: number | null;
  /** Counts between which nearly all of the frame lies. */
  near: number;
  far: number;
}

interface DepthFacts {
  metres_per_unit: number | null;
  near: number;
  far: number;
}

export async function getDepth(
  id: string,
  stream: string,
  frame: number,
  stride: number,
  signal?: AbortSignal,
): Promise<DepthFrame> {
  const { facts, values, shapes } = await getArrays<DepthFacts>(
    below(id, "depth"),
    { stream, frame, stride },
    signal,
  );
  const [height = 0, width = 0] = shapes.depth ?? [];
  return {
    counts: values.depth as Uint16Array,
    width,
    height,
    metresPerUnit: facts.metres_per_unit,
    near: facts.near,
    far: facts.far,
  };
}
