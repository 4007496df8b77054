// Which part of an episode was on the screen, in time, and not only passed by.
import { type Clock, LATE_NS } from "../../player/clock";

export interface ShownSpan {
  startNs: number;
  endNs: number;
}

/** A picture stands for this much time at most: what a jump leaves out was not shown. */
const longestNs = LATE_NS;

export class Shown {
  private list: ShownSpan[] = [];
  private last: number | null = null;

  constructor(
    readonly startNs: number,
    readonly endNs: number,
  ) {}

  get spans(): readonly ShownSpan[] {
    return this.list;
  }

  /** How much of the episode it is, between 0 and 1. */
  get share(): number {
    const whole = this.endNs - this.startNs;
    if (whole <= 0) return 1;
    return this.list.reduce((sum, { startNs, endNs }) => sum + endNs - startNs, 0) / whole;
  }

  /** What belongs to a time is on the screen. */
  see(timeNs: number): void {
    const from = this.last;
    this.last = timeNs;
    if (from === null || timeNs <= from) return;
    this.add(Math.max(from, timeNs - longestNs, this.startNs), Math.min(timeNs, this.endNs));
  }

  private add(startNs: number, endNs: number): void {
    if (endNs <= startNs) return;
    const apart = this.list.filter((each) => each.endNs < startNs || each.startNs > endNs);
    const joined = this.list.filter((each) => !apart.includes(each));
    const span = {
      startNs: Math.min(startNs, ...joined.map((each) => each.startNs)),
      endNs: Math.max(endNs, ...joined.map((each) => each.endNs)),
    };
    this.list = [...apart, span].sort((one, other) => one.startNs - other.startNs);
  }
}

const lookEveryMs = 100;

/** Note what the clock shows while the window can be seen, once its pictures are drawn. */
export function watchShown(clock: Clock, startNs: number): { shown: Shown; stop: () => void } {
  const shown = new Shown(startNs, clock.endNs);
  let at = clock.timeNs;
  const look = () => {
    if (!document.hidden && clock.behindAt(at) <= LATE_NS) shown.see(at);
  };
  // When the clock goes on, what is on the screen is of the time that it leaves.
  const stop = clock.subscribe((timeNs) => {
    look();
    at = timeNs;
  });
  const timer = setInterval(look, lookEveryMs);
  return {
    shown,
    stop: () => {
      clearInterval(timer);
      stop();
    },
  };
}
