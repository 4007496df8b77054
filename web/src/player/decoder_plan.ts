// What to fetch and what to decode: plain functions of numbers, without a network or a decoder.
import type { Packets } from "../api/movie";
import { frameAt } from "./clock";

/** Neighbours that are fetched in one request: frames `first` to `stop` (not included). */
export interface Block {
  first: number;
  stop: number;
  from: number;
  to: number;
}

const blockFrames = 16;
const blockBytes = 384 * 1024;

/** Cut a movie into blocks that begin with a key frame: about half a second each, or 384 kB. */
export function blocksOf({ start, size, key }: Pick<Packets, "start" | "size" | "key">): Block[] {
  const blocks: Block[] = [];
  let open: Block | null = null;
  for (let frame = 0; frame < start.length; frame += 1) {
    const from = start[frame] as number;
    const to = from + (size[frame] as number);
    const isFull =
      open && (frame - open.first >= blockFrames || Math.max(open.to, to) - open.from > blockBytes);
    // Packets that do not follow each other in the file are no neighbours.
    if (!open || from < open.to || from > open.to + blockBytes || (isFull && key[frame])) {
      open = { first: frame, stop: frame + 1, from, to };
      blocks.push(open);
    } else {
      open.stop = frame + 1;
      open.to = to;
    }
  }
  return blocks;
}

/** The number of the block that holds a frame. */
export function blockOf(blocks: Block[], frame: number): number {
  let low = 0;
  let high = blocks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((blocks[middle] as Block).first <= frame) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The key frame at or before a frame: decoding begins there. */
export function keyBefore(key: ArrayLike<number>, frame: number): number {
  let place = frame;
  while (place > 0 && !key[place]) place -= 1;
  return place;
}

/** Where to begin decoding so that `frame` comes out, when the decoder takes `next` without a key. */
export function decodeFrom(key: ArrayLike<number>, frame: number, next: number): number {
  const begin = keyBefore(key, frame);
  return next > begin && next <= frame ? next : begin;
}

/** The frame of now, then those of the screen's next pictures; without repeats. */
export function framesAhead(
  stamps: ArrayLike<number>,
  timeNs: number,
  { isPlaying, rate, screenHz = 60, most = 8, aheadMs = 300 }: AheadOptions,
): number[] {
  const now = frameAt(stamps, timeNs);
  const found = now >= 0 ? [now] : [];
  if (!isPlaying) return found;
  const step = (1e9 / screenHz) * rate;
  const until = timeNs + aheadMs * 1e6 * rate;
  let last = now;
  for (let time = timeNs + step; time <= until && found.length <= most; time += step) {
    const frame = frameAt(stamps, time);
    if (frame > last) found.push(frame);
    last = frame;
  }
  return found;
}

export interface AheadOptions {
  isPlaying: boolean;
  rate: number;
  screenHz?: number;
  most?: number;
  aheadMs?: number;
}
