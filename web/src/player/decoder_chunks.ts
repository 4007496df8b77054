// A camera's compressed pictures in memory: fetched in blocks, the oldest let go when it gets full.
import { getMovieBytes, type Packets } from "../api/movie";
import { type Block, blockOf, blocksOf } from "./decoder_plan";

const mostBytes = 64 * 1024 * 1024;

interface Held {
  bytes: Uint8Array | null;
  coming: Promise<Uint8Array>;
  control: AbortController;
}

export type Fetch = (range: [number, number], signal: AbortSignal) => Promise<Uint8Array>;

export class Chunks {
  private readonly blocks: Block[];
  private readonly held = new Map<number, Held>();
  private kept = 0;

  constructor(
    private readonly packets: Packets,
    private readonly fetch: Fetch,
    private readonly most = mostBytes,
  ) {
    this.blocks = blocksOf(packets);
  }

  static of(id: string, stream: string, packets: Packets): Chunks {
    return new Chunks(packets, (range, signal) => getMovieBytes(id, stream, range, signal));
  }

  /** A packet that is in memory, else null. */
  at(frame: number): Uint8Array | null {
    const number = blockOf(this.blocks, frame);
    const bytes = this.held.get(number)?.bytes;
    const block = this.blocks[number];
    if (!bytes || !block) return null;
    this.touch(number);
    const first = (this.packets.start[frame] as number) - block.from;
    return bytes.subarray(first, first + (this.packets.size[frame] as number));
  }

  /** Wait until these frames are in memory. */
  async load(first: number, last: number): Promise<void> {
    const waits = [];
    for (
      let number = blockOf(this.blocks, first);
      number <= blockOf(this.blocks, last);
      number += 1
    ) {
      waits.push(this.block(number));
    }
    await Promise.all(waits);
  }

  /** Fetch the blocks around a frame before anybody waits for them. */
  prefetch(frame: number, { before, after }: { before: number; after: number }): void {
    const middle = blockOf(this.blocks, frame);
    for (let number = middle - before; number <= middle + after; number += 1) {
      if (this.blocks[number]) this.block(number).catch(() => undefined);
    }
  }

  /** Stop fetching what is further from a frame than a few blocks. */
  dropFar(frame: number): void {
    const middle = blockOf(this.blocks, frame);
    for (const [number, { bytes, control }] of this.held) {
      if (bytes || Math.abs(number - middle) <= 3) continue;
      control.abort();
      this.held.delete(number);
    }
  }

  close(): void {
    for (const { control } of this.held.values()) control.abort();
    this.held.clear();
  }

  private block(number: number): Promise<Uint8Array> {
    const known = this.held.get(number);
    if (known) return known.coming;
    const block = this.blocks[number];
    if (!block) return Promise.reject(new Error("There is no such picture."));
    const control = new AbortController();
    const coming = this.fetch([block.from, block.to], control.signal);
    const held: Held = { bytes: null, coming, control };
    this.held.set(number, held);
    coming.then(
      (bytes) => {
        if (this.held.get(number) !== held) return;
        held.bytes = bytes;
        this.kept += bytes.length;
        this.makeRoom(number);
      },
      () => {
        if (this.held.get(number) === held) this.held.delete(number);
      },
    );
    return coming;
  }

  private touch(number: number): void {
    const held = this.held.get(number);
    if (!held) return;
    this.held.delete(number);
    this.held.set(number, held);
  }

  private makeRoom(newest: number): void {
    for (const [number, { bytes }] of this.held) {
      if (this.kept <= this.most) return;
      if (!bytes || number === newest) continue;
      this.held.delete(number);
      this.kept -= bytes.length;
    }
  }
}
