// A camera's pictures, decoded in the page. A packet's timestamp is its frame's number, so that what
// comes out of the decoder says by itself which picture it is.
import type { Packets } from "../api/movie";
import type { Chunks } from "./decoder_chunks";
import { decodeFrom } from "./decoder_plan";
import {
  asError,
  type FrameListener,
  type FrameSource,
  isAbort,
  isStillGood,
} from "./frame_source";

/** Pictures that are decoded or on their way, at most, besides those that the one of now needs. */
const mostOutstanding = 12;
/** Some decoders hold pictures back until they are told that no more come. */
const patienceMs = 80;
/** Prefetched while playing, in blocks of about half a second. */
const blocksAhead = 2;
/** Who stands still for so long may step on from there; who drags will not. */
const restMs = 200;

export interface DecoderListener extends FrameListener<VideoFrame> {
  /** This movie cannot be decoded here. */
  giveUp: () => void;
}

export function decoderConfig(packets: Packets): VideoDecoderConfig | null {
  if (!packets.codec) return null;
  return {
    codec: packets.codec,
    codedWidth: packets.width,
    codedHeight: packets.height,
    description: packets.description,
    optimizeForLatency: true,
  };
}

export async function canDecode(packets: Packets): Promise<boolean> {
  const config = decoderConfig(packets);
  if (!config || typeof VideoDecoder === "undefined") return false;
  try {
    return (await VideoDecoder.isConfigSupported(config)).supported === true;
  } catch {
    return false;
  }
}

export class MovieDecoder implements FrameSource {
  private decoder: VideoDecoder | null = null;
  private readonly ready = new Map<number, VideoFrame>();
  private readonly inFlight = new Set<number>();
  private wanted: number[] = [];
  private isPlaying = false;
  private isBusy = false;
  private isClosed = false;
  private shown = -1;
  /** The frame that the decoder takes next without a key frame; -1 when it needs one. */
  private next = -1;
  private failures = 0;
  private patience = 0;
  private rest = 0;

  constructor(
    private readonly packets: Packets,
    private readonly chunks: Chunks,
    private readonly listener: DecoderListener,
  ) {}

  want(frames: number[], isPlaying: boolean): void {
    this.wanted = frames;
    this.isPlaying = isPlaying;
    clearTimeout(this.rest);
    for (const [number, picture] of this.ready) {
      if (frames.includes(number)) continue;
      this.ready.delete(number);
      picture.close();
    }
    const now = frames[0];
    if (now === undefined) {
      this.shown = -1;
      return;
    }
    const picture = this.ready.get(now);
    if (picture) {
      this.ready.delete(now);
      this.draw(now, picture);
    }
    this.chunks.dropFar(now);
    void this.pump();
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.patience);
    clearTimeout(this.rest);
    this.chunks.close();
    for (const picture of this.ready.values()) picture.close();
    this.ready.clear();
    if (this.decoder && this.decoder.state !== "closed") this.decoder.close();
  }

  private draw(number: number, picture: VideoFrame): void {
    this.shown = number;
    this.listener.draw(number, picture);
    picture.close();
  }

  /** The first wanted frame that is neither there nor coming. */
  private missing(): number | null {
    for (const [place, frame] of this.wanted.entries()) {
      if (this.inFlight.has(frame) || this.ready.has(frame)) continue;
      if (frame === this.shown) continue;
      if (place > 0 && this.inFlight.size + this.ready.size >= mostOutstanding) return null;
      return frame;
    }
    return null;
  }

  /** Fetch and decode until nothing is missing; one at a time. */
  private async pump(): Promise<void> {
    if (this.isBusy || this.isClosed) return;
    this.isBusy = true;
    try {
      for (let frame = this.missing(); frame !== null; frame = this.missing()) {
        try {
          if (!this.feed(frame))
            await this.chunks.load(decodeFrom(this.packets.key, frame, -1), frame);
        } catch (reason) {
          if (!isAbort(reason)) throw reason;
        }
        if (this.isClosed) return;
      }
      this.lookAhead();
    } catch (reason) {
      if (!this.isClosed) this.listener.fail(asError(reason));
    } finally {
      this.isBusy = false;
    }
  }

  /** Have the neighbours at hand: at once while playing, after a rest while not. */
  private lookAhead(): void {
    const now = this.wanted[0];
    if (now === undefined) return;
    clearTimeout(this.rest);
    if (this.isPlaying) this.chunks.prefetch(now, { before: 0, after: blocksAhead });
    else
      this.rest = window.setTimeout(
        () => this.chunks.prefetch(now, { before: 1, after: 1 }),
        restMs,
      );
  }

  /** Hand a frame, and those it builds upon, to the decoder; false when they are not in memory. */
  private feed(frame: number): boolean {
    const first = decodeFrom(this.packets.key, frame, this.next);
    const data = [];
    for (let number = first; number <= frame; number += 1) {
      const bytes = this.chunks.at(number);
      if (!bytes) return false;
      data.push(bytes);
    }
    const decoder = this.opened();
    try {
      for (const [place, bytes] of data.entries()) this.decode(decoder, first + place, bytes);
    } catch {
      // A packet that is not what the file says, or a decoder that the browser took away.
      this.lose(decoder);
      return true;
    }
    this.next = frame + 1;
    this.beginPatience();
    return true;
  }

  private decode(decoder: VideoDecoder, number: number, data: Uint8Array): void {
    const type = this.packets.key[number] ? "key" : "delta";
    decoder.decode(new EncodedVideoChunk({ type, timestamp: number, data }));
    this.inFlight.add(number);
  }

  private opened(): VideoDecoder {
    if (this.decoder && this.decoder.state === "configured") return this.decoder;
    const config = decoderConfig(this.packets);
    if (!config) throw new Error("This movie has no name that browsers know.");
    const decoder = new VideoDecoder({
      output: (picture) => this.take(picture),
      error: () => this.lose(decoder),
    });
    decoder.configure(config);
    this.decoder = decoder;
    return decoder;
  }

  private take(picture: VideoFrame): void {
    const number = picture.timestamp;
    this.inFlight.delete(number);
    this.failures = 0;
    const now = this.wanted[0] ?? -1;
    const isLate = this.isPlaying && isStillGood(number, { shown: this.shown, now });
    if (this.isClosed) picture.close();
    else if (number === now || isLate) this.draw(number, picture);
    else if (this.wanted.includes(number) && !this.ready.has(number))
      this.ready.set(number, picture);
    else picture.close();
    this.beginPatience();
    void this.pump();
  }

  private beginPatience(): void {
    clearTimeout(this.patience);
    if (this.inFlight.size && !this.isClosed)
      this.patience = window.setTimeout(() => void this.flush(), patienceMs);
  }

  /** Have the decoder give what it holds back; it needs a key frame afterwards. */
  private async flush(): Promise<void> {
    const decoder = this.decoder;
    if (decoder?.state !== "configured" || this.isClosed) return;
    this.next = -1;
    try {
      await decoder.flush();
    } catch {
      // The decoder's error has been told already, or it was closed meanwhile.
      return;
    }
    if (this.decoder !== decoder || !this.inFlight.size) return;
    const isLost = this.wanted[0] !== undefined && this.inFlight.has(this.wanted[0]);
    this.inFlight.clear();
    if (isLost) this.lose(decoder);
  }

  /** Begin anew with another decoder; after two in a row that gave nothing, leave it to the server. */
  private lose(decoder: VideoDecoder): void {
    if (this.decoder !== decoder || this.isClosed) return;
    if (decoder.state !== "closed") decoder.close();
    this.decoder = null;
    this.inFlight.clear();
    this.next = -1;
    this.failures += 1;
    if (this.failures >= 2) this.listener.giveUp();
    else void this.pump();
  }
}
