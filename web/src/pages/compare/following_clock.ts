import { mapTime } from "../../api/comparison";
import { Clock } from "../../player/clock";

export interface Moments {
  time_a: number[];
  time_b: number[];
}

/** The clock of the second episode: it shows what belongs to the first, and moves the first. */
export class FollowingClock extends Clock {
  private moments: Moments = { time_a: [0], time_b: [0] };
  private readonly stop: () => void;

  constructor(
    private readonly leader: Clock,
    startNs: number,
    endNs: number,
  ) {
    super(startNs, endNs);
    this.stop = leader.subscribe(() => this.follow());
  }

  align(moments: Moments): void {
    this.moments = moments;
    this.follow();
  }

  override get isPlaying(): boolean {
    return this.leader.isPlaying;
  }

  override get rate(): number {
    return this.leader.rate;
  }

  override subscribeState = (listener: () => void): (() => void) =>
    this.leader.subscribeState(listener);

  override seek(timeNs: number): void {
    this.leader.seek(mapTime(this.moments.time_b, this.moments.time_a, timeNs));
  }

  override play(): void {
    this.leader.play();
  }

  override pause(): void {
    this.leader.pause();
  }

  override toggle(): void {
    this.leader.toggle();
  }

  override setRate(rate: number): void {
    this.leader.setRate(rate);
  }

  override step(count: number): void {
    this.leader.step(count);
  }

  override close(): void {
    this.stop();
  }

  private follow(): void {
    super.seek(mapTime(this.moments.time_a, this.moments.time_b, this.leader.timeNs));
  }
}
