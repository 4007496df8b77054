// Frames that the server makes ready one by one: depth, and pictures where nothing can decode them.
import {
  asError,
  type FrameListener,
  type FrameSource,
  isAbort,
  isStillGood,
} from "./frame_source";

export interface FetchOptions<T> {
  get: (frame: number, signal: AbortSignal) => Promise<T>;
  free?: (value: T) => void;
  /** How many are kept, so that steps back cost nothing. */
  keep?: number;
  /** How many are asked for at a time. */
  outstanding?: number;
}

export class FetchedFrames<T> implements FrameSource {
  private readonly ready = new Map<number, T>();
  private readonly coming = new Map<number, AbortController>();
  private wanted: number[] = [];
  private isPlaying = false;
  private shown = -1;

  constructor(
    private readonly options: FetchOptions<T>,
    private readonly listener: FrameListener<T>,
  ) {}

  want(frames: number[], isPlaying: boolean): void {
    this.wanted = frames;
    this.isPlaying = isPlaying;
    if (!frames.length) this.shown = -1;
    // While playing, what is late may still be shown; after a jump nobody waits for it.
    if (!isPlaying) {
      for (const [frame, control] of this.coming) {
        if (frames.includes(frame)) continue;
        this.coming.delete(frame);
        control.abort();
      }
    }
    this.show();
    this.ask();
  }

  close(): void {
    for (const control of this.coming.values()) control.abort();
    this.coming.clear();
    for (const value of this.ready.values()) this.options.free?.(value);
    this.ready.clear();
    this.wanted = [];
  }

  private show(): void {
    const now = this.wanted[0];
    if (now === undefined || now === this.shown) return;
    const value = this.ready.get(now);
    if (value !== undefined) this.draw(now, value);
  }

  private draw(frame: number, value: T): void {
    this.shown = frame;
    this.listener.draw(frame, value);
  }

  private ask(): void {
    for (const frame of this.wanted) {
      if (this.coming.size >= (this.options.outstanding ?? 4)) return;
      if (!this.ready.has(frame) && !this.coming.has(frame)) this.fetch(frame);
    }
  }

  private fetch(frame: number): void {
    const control = new AbortController();
    this.coming.set(frame, control);
    this.options.get(frame, control.signal).then(
      (value) => {
        if (this.coming.get(frame) !== control) {
          this.options.free?.(value);
          return;
        }
        this.coming.delete(frame);
        this.take(frame, value);
        this.ask();
      },
      (reason: unknown) => {
        if (this.coming.get(frame) === control) this.coming.delete(frame);
        if (!control.signal.aborted && !isAbort(reason)) this.listener.fail(asError(reason));
      },
    );
  }

  private take(frame: number, value: T): void {
    this.ready.set(frame, value);
    const now = this.wanted[0] ?? -1;
    if (frame === now) this.show();
    else if (this.isPlaying && isStillGood(frame, { shown: this.shown, now }))
      this.draw(frame, value);
    for (const [oldest, old] of this.ready) {
      if (this.ready.size <= (this.options.keep ?? 32)) break;
      if (this.wanted.includes(oldest)) continue;
      this.ready.delete(oldest);
      this.options.free?.(old);
    }
  }
}
