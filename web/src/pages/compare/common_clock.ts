// One clock for episodes side by side: it begins with the first of them and ends with the last.
import { mapTime } from "../../api/comparison";
import type { EpisodeDetail } from "../../api/schema";
import { Clock } from "../../player/clock";
import { FollowingClock, type Moments, SAME } from "./following_clock";

type Span = Pick<EpisodeDetail, "start_ns" | "end_ns">;

/** From the first moment of any to the last of any, in the time of the first episode. */
export function commonSpan(sides: readonly { span: Span; moments: Moments }[]): [number, number] {
  const ends = sides.flatMap(({ span, moments }) =>
    [span.start_ns, span.end_ns].map((time) => mapTime(moments.time_b, moments.time_a, time)),
  );
  return [Math.min(...ends), Math.max(...ends)];
}

export class CommonClock {
  shared: Clock;
  readonly own: FollowingClock[];

  constructor(
    private readonly spans: readonly Span[],
    asked: number | null,
  ) {
    const [start, end] = commonSpan(spans.map((span) => ({ span, moments: SAME })));
    const first = spans[0] as Span;
    const begin = Math.max(first.start_ns, Math.min(0, first.end_ns));
    this.shared = new Clock(start, end, asked ?? begin);
    this.own = spans.map((span) => new FollowingClock(this.shared, span.start_ns, span.end_ns));
  }

  /** Align all by their moments; the common clock is another one where the span is another. */
  align(moments: readonly Moments[]): Clock {
    const sides = this.spans.map((span, place) => ({ span, moments: moments[place] ?? SAME }));
    const [start, end] = commonSpan(sides);
    const before = this.shared;
    if (start !== before.startNs || end !== before.endNs) {
      this.shared = new Clock(start, end, before.timeNs);
      this.shared.setRate(before.rate);
      if (before.isPlaying) this.shared.play();
      before.close();
    }
    this.own.forEach((clock, place) => {
      clock.align(moments[place] ?? SAME, this.shared);
    });
    return this.shared;
  }

  close(): void {
    for (const clock of this.own) clock.close();
    this.shared.close();
  }
}
