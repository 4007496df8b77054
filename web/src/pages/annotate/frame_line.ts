// Boundaries lie on frames: at the stamp of one, or where the last one ends.
import type { EventFacts } from "../../api/schema";
import { frameAt } from "../../player/clock";

export class FrameLine {
  constructor(
    readonly stamps: ArrayLike<number>,
    readonly endNs: number,
  ) {}

  get count(): number {
    return this.stamps.length;
  }

  get firstNs(): number {
    return this.stamps[0] ?? 0;
  }

  /** The frame that is shown at a time, from 0 on; `count` at the end of the last. */
  frameOf(timeNs: number): number {
    if (this.count && timeNs >= this.endNs) return this.count;
    return Math.max(frameAt(this.stamps, timeNs), 0);
  }

  timeOf(frame: number): number {
    const place = Math.min(Math.max(Math.round(frame), 0), this.count);
    return place === this.count ? this.endNs : (this.stamps[place] as number);
  }

  /** The boundary nearest to a time. */
  nearest(timeNs: number): number {
    const frame = this.frameOf(timeNs);
    const [before, after] = [this.timeOf(frame), this.timeOf(frame + 1)];
    return timeNs - before <= after - timeNs ? before : after;
  }

  /** The first frame that shows what happened at a time: the first at or after it. */
  showing(timeNs: number): number {
    const before = this.timeOf(this.frameOf(timeNs));
    return before >= timeNs ? before : this.timeOf(this.frameOf(timeNs) + 1);
  }

  moved(timeNs: number, frames: number): number {
    return this.timeOf(this.frameOf(timeNs) + frames);
  }
}

/** The boundary that an event asks for, where one is near enough; the surest among the nearest. */
export function snapped(
  timeNs: number,
  events: readonly EventFacts[],
  line: FrameLine,
  reachNs: number,
): EventFacts | null {
  let best: EventFacts | null = null;
  let least = reachNs;
  for (const event of events) {
    const away = Math.abs(line.showing(event.time_ns) - timeNs);
    if (away < least || (away === least && best && event.confidence > best.confidence)) {
      best = event;
      least = away;
    }
  }
  return best;
}
