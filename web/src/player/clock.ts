// The one clock of an episode page. Time is whole nanoseconds since the episode's epoch, so that
// every stream answers the same question: which of my samples is it now?

export const RATES = [0.25, 0.5, 1, 2, 4] as const;

type Listener = (timeNs: number) => void;

export interface Loop {
  startNs: number;
  endNs: number;
}

/** Pictures that are further behind than this are late. */
export const LATE_NS = 200_000_000;
/** A picture that does not come is not waited for any longer. */
const patienceMs = 10_000;

/** A longer wait between two pictures of the screen means that nobody saw the time pass. */
const longestGapMs = 1000;

export class Clock {
  private time: number;
  private begun: { at: number; from: number } | null = null;
  private lastTick = 0;
  private range: Loop | null = null;
  private name = "";
  private speed = 1;
  private frame = 0;
  private steps: ArrayLike<number> = [];
  private heldSince: number | null = null;
  private readonly pictures = new Set<(timeNs: number) => number>();
  private readonly onTime = new Set<Listener>();
  private readonly onState = new Set<() => void>();

  /** Whether playing stands still while pictures are late, so that what passes is seen. */
  waitsForPictures = false;

  constructor(
    readonly startNs: number,
    readonly endNs: number,
    timeNs: number = startNs,
  ) {
    this.time = this.inside(timeNs);
  }

  get timeNs(): number {
    return this.time;
  }

  get isPlaying(): boolean {
    return this.begun !== null;
  }

  /** How far the picture that is furthest behind is from the time. */
  get behindNs(): number {
    return this.behindAt(this.time);
  }

  /** The same for another time: how far what is drawn now is from what belongs there. */
  behindAt(timeNs: number): number {
    let most = 0;
    for (const behind of this.pictures) most = Math.max(most, behind(timeNs));
    return most;
  }

  /** A picture that follows this clock says how far it is behind; what is returned ends that. */
  addPicture(behindNs: (timeNs: number) => number): () => void {
    this.pictures.add(behindNs);
    return () => this.pictures.delete(behindNs);
  }

  get rate(): number {
    return this.speed;
  }

  /** The stamps that `step` goes by: those of the camera people look at. */
  get stepTimes(): ArrayLike<number> {
    return this.steps;
  }

  /** The stream that they are of. */
  get stepName(): string {
    return this.name;
  }

  setSteps(stamps: ArrayLike<number>, name = ""): void {
    this.steps = stamps;
    this.name = name;
    this.tellState();
  }

  /** What is played over and over; null for all of it, once. */
  get loop(): Loop | null {
    return this.range;
  }

  setLoop(loop: Loop | null): void {
    this.range = loop && loop.endNs > loop.startNs ? loop : null;
    this.tellState();
  }

  /** Called with the time whenever it changes, at most once per picture of the screen. */
  subscribe = (listener: Listener): (() => void) => {
    this.onTime.add(listener);
    listener(this.time);
    return () => this.onTime.delete(listener);
  };

  /** Called when playing begins or ends, or the rate or the steps change. */
  subscribeState = (listener: () => void): (() => void) => {
    this.onState.add(listener);
    return () => this.onState.delete(listener);
  };

  seek(timeNs: number): void {
    const time = this.inside(Math.round(timeNs));
    if (this.begun) this.begin(time);
    if (time === this.time) return;
    this.time = time;
    this.tell();
  }

  play(): void {
    if (this.begun) return;
    if (this.range && (this.time < this.range.startNs || this.time >= this.range.endNs)) {
      this.seek(this.range.startNs);
    } else if (this.time >= this.endNs) this.seek(this.startNs);
    this.begin(this.time);
    this.frame = requestAnimationFrame(this.tick);
    this.tellState();
  }

  pause(): void {
    if (!this.begun) return;
    this.begun = null;
    cancelAnimationFrame(this.frame);
    this.tellState();
  }

  toggle(): void {
    if (this.begun) this.pause();
    else this.play();
  }

  setRate(rate: number): void {
    if (this.begun) this.begin(this.time);
    this.speed = rate;
    this.tellState();
  }

  /** Go `count` frames on (or back) and stop there. */
  step(count: number): void {
    this.pause();
    const now = frameAt(this.steps, this.time);
    const last = this.steps.length - 1;
    if (last < 0) {
      this.seek(this.time + count * 1e7);
      return;
    }
    const wanted = Math.min(Math.max(now + count, 0), last);
    // At the ends a step would lead the other way: from after the last frame back to it.
    if (wanted === now || (now < 0 && count < 0)) return;
    this.seek(this.steps[wanted] as number);
  }

  close(): void {
    this.pause();
    this.onTime.clear();
    this.onState.clear();
    this.pictures.clear();
  }

  private begin(from: number): void {
    this.lastTick = performance.now();
    this.begun = { at: this.lastTick, from };
  }

  private tick = (): void => {
    if (!this.begun) return;
    const now = performance.now();
    // A hidden tab draws nothing: playing goes on from where it was last seen.
    if (now - this.lastTick > longestGapMs) this.begin(this.time);
    this.lastTick = now;
    if (this.isHeld(now)) {
      this.begin(this.time);
      this.frame = requestAnimationFrame(this.tick);
      return;
    }
    const passed = (now - this.begun.at) * 1e6 * this.speed;
    const next = Math.round(this.begun.from + passed);
    if (this.waitsForPictures && next - this.time > LATE_NS) {
      // A screen that draws too seldom slows the clock down: nothing is passed over unseen.
      this.time = this.inside(this.time + LATE_NS);
      this.begin(this.time);
    } else this.time = this.inside(next);
    if (this.range && this.time >= this.range.endNs) {
      this.time = this.inside(this.range.startNs);
      this.begin(this.time);
    }
    const isOver = this.time >= this.endNs;
    this.tell();
    // A listener may have paused or sought meanwhile.
    if (!this.begun) return;
    if (isOver && this.time >= this.endNs) this.pause();
    else this.frame = requestAnimationFrame(this.tick);
  };

  private isHeld(now: number): boolean {
    if (!this.waitsForPictures || this.behindNs <= LATE_NS) {
      this.heldSince = null;
      return false;
    }
    this.heldSince ??= now;
    return now - this.heldSince < patienceMs;
  }

  private inside(timeNs: number): number {
    return Math.min(Math.max(timeNs, this.startNs), this.endNs);
  }

  private tell(): void {
    for (const listener of this.onTime) listener(this.time);
  }

  private tellState(): void {
    for (const listener of this.onState) listener();
  }
}

/** The number of the last stamp that is not after `timeNs`; -1 before the first. */
export function frameAt(stamps: ArrayLike<number>, timeNs: number): number {
  let low = 0;
  let high = stamps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((stamps[middle] as number) <= timeNs) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** A moment, the same on every page: 4.236 s, with the sign of what lies before the start. */
export function clockText(timeNs: number, digits = 3): string {
  const sign = timeNs < 0 ? "-" : "";
  const ticks = Math.floor(Math.abs(timeNs) / 10 ** (9 - digits));
  const seconds = Math.floor(ticks / 10 ** digits);
  const rest = String(ticks % 10 ** digits).padStart(digits, "0");
  return `${sign}${seconds}${digits ? `.${rest}` : ""} s`;
}
