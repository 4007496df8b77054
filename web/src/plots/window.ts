// The part of an episode that plots and timeline show: one for each clock, shared by all of them.
import type { Clock } from "../player/clock";

const MIN_SPAN_NS = 1e6;
const FOLLOW = { late: 0.92, early: 0.08 };

type Listener = () => void;

export class ViewWindow {
  private from: number;
  private to: number;
  private pointed: number | null = null;
  private readonly onChange = new Set<Listener>();
  private readonly onHover = new Set<Listener>();

  constructor(
    readonly wholeStartNs: number,
    readonly wholeEndNs: number,
  ) {
    this.from = wholeStartNs;
    this.to = Math.max(wholeEndNs, wholeStartNs + MIN_SPAN_NS);
  }

  get startNs(): number {
    return this.from;
  }

  get endNs(): number {
    return this.to;
  }

  get spanNs(): number {
    return this.to - this.from;
  }

  get isWhole(): boolean {
    return this.spanNs >= this.wholeSpanNs;
  }

  /** The time below the pointer, on whichever plot it is. */
  get hoverNs(): number | null {
    return this.pointed;
  }

  subscribe = (listener: Listener): (() => void) => {
    this.onChange.add(listener);
    return () => this.onChange.delete(listener);
  };

  subscribeHover = (listener: Listener): (() => void) => {
    this.onHover.add(listener);
    return () => this.onHover.delete(listener);
  };

  set(startNs: number, endNs: number): void {
    const span = Math.min(Math.max(endNs - startNs, MIN_SPAN_NS), this.wholeSpanNs);
    const latest = this.wholeStartNs + this.wholeSpanNs - span;
    const from = Math.round(Math.min(Math.max(startNs, this.wholeStartNs), latest));
    const to = Math.round(from + span);
    if (from === this.from && to === this.to) return;
    this.from = from;
    this.to = to;
    for (const listener of this.onChange) listener();
  }

  /** Show `factor` times as much; what is at `timeNs` stays where it is. */
  zoom(timeNs: number, factor: number): void {
    const span = Math.min(Math.max(this.spanNs * factor, MIN_SPAN_NS), this.wholeSpanNs);
    const share = (timeNs - this.from) / this.spanNs;
    const from = timeNs - share * span;
    this.set(from, from + span);
  }

  pan(byNs: number): void {
    this.set(this.from + byNs, this.to + byNs);
  }

  reset(): void {
    this.set(this.wholeStartNs, this.wholeStartNs + this.wholeSpanNs);
  }

  /** Keep a moving time in view: turn the page when it comes near the edge. */
  follow(timeNs: number, isPlaying: boolean): void {
    if (this.isWhole) return;
    const share = (timeNs - this.from) / this.spanNs;
    if (isPlaying && share > FOLLOW.late && share <= 1.5)
      this.pan((share - FOLLOW.early) * this.spanNs);
    else if (share < 0 || share > 1) this.pan((share - 0.5) * this.spanNs);
  }

  hover(timeNs: number | null): void {
    if (timeNs === this.pointed) return;
    this.pointed = timeNs;
    for (const listener of this.onHover) listener();
  }

  private get wholeSpanNs(): number {
    return Math.max(this.wholeEndNs - this.wholeStartNs, MIN_SPAN_NS);
  }
}

const windows = new WeakMap<Clock, ViewWindow>();

/** The window of an episode page; it follows the page's clock. */
export function windowOf(clock: Clock): ViewWindow {
  let found = windows.get(clock);
  if (!found) {
    const made = new ViewWindow(clock.startNs, clock.endNs);
    let last = clock.timeNs;
    clock.subscribe((now) => {
      if (now !== last) made.follow(now, clock.isPlaying);
      last = now;
    });
    windows.set(clock, made);
    found = made;
  }
  return found;
}

/** Where a time is on a line of `width`, and back. */
export function placeOf(timeNs: number, startNs: number, endNs: number, width: number): number {
  return ((timeNs - startNs) / (endNs - startNs)) * width;
}

export function timeAt(place: number, startNs: number, endNs: number, width: number): number {
  return Math.round(startNs + (place / Math.max(width, 1)) * (endNs - startNs));
}
